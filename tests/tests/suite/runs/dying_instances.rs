//! Instances that fail while batch size and instances are turned: the others go on, and the events say so.

use std::fs;

use proctor_tests::{Bench, Finished};
use serde_json::Value;

/// A device that takes 4 ms for a batch and 0.1 ms for each of its samples. Its third instance fails after 20 batches.
const MOCK: &str = "--plugin mock --set mock.service=fixed --set mock.service_us=4000 --set mock.per_sample_us=100 \
                    --set mock.fail_instance=3 --set mock.fail_after=20";

fn scale(bench: &Bench, flags: &str) -> (Finished, Value) {
    let folder = bench.file("scaled");
    let finished = bench.host(&format!("scale --output {} {flags}", folder.display()));
    let text = fs::read_to_string(folder.join("scale.json"));
    let text = text.unwrap_or_else(|error| panic!("{error}: {finished}"));
    (finished, serde_json::from_str(&text).unwrap())
}

fn kinds(events: &Value) -> Vec<&str> {
    events.as_array().unwrap().iter().map(|event| event["kind"].as_str().unwrap()).collect()
}

/// Asserts that the third instance was retired once, and that the policy settled on the others.
fn assert_went_on(finished: &Finished, course: &Value) {
    assert_eq!(kinds(&course["events"]), ["instance-failed"], "{finished}: {}", course["events"]);
    let event = &course["events"][0];
    assert_eq!(event["instance"], 2);
    // The range has lost one, however few were in use.
    let (most, bound) =
        (event["most"].as_u64().unwrap(), course["goal"]["most"]["instances"].as_u64().unwrap());
    assert_eq!(most, bound - 1, "{event}");
    let setting = course["setting"]["instances"].as_u64();
    assert!(setting.is_some_and(|instances| instances <= most), "{finished}: {}", course["decisions"]);
    let told = format!("of {bound} instances no more than {most} could be had");
    assert!(finished.stdout.contains(&told), "{finished}");
    assert!(
        course["decisions"].as_array().unwrap().iter().any(|decision| decision["cause"] == "bound"),
        "{finished}"
    );
    let counts = &course["counts"];
    let (completed, failed) = (counts["completed"].as_u64().unwrap(), counts["failed"].as_u64().unwrap());
    assert!(failed > 0 && completed > 10 * failed, "{finished}");
    assert!(finished.stdout.contains("instance 2 failed a batch and was retired: "), "{finished}");
    assert!(finished.stdout.contains("this is fail_instance"), "{finished}");
}

#[test]
fn scaling_goes_on_without_an_instance_that_fails() {
    let bench = Bench::new();
    let (finished, result) = scale(&bench, &format!("--slo-ms 12 --duration 20 --virtual-time {MOCK}"));
    assert_eq!(finished.code(), 1, "samples failed: {finished}");
    assert_went_on(&finished, &result["courses"][0]);
}

#[test]
fn scaling_goes_on_without_an_instance_that_fails_in_real_time() {
    let bench = Bench::new();
    let flags = "--slo-ms 400 --batch-size 2 --instances 3 --policy dnnscaler --duration 6";
    let (finished, result) = scale(&bench, &format!("{flags} {MOCK}"));
    assert_eq!(finished.code(), 1, "samples failed: {finished}");
    assert_went_on(&finished, &result["courses"][0]);
}

#[test]
fn a_plugin_of_which_no_instance_is_left_ends_the_scaling() {
    let bench = Bench::new();
    let mock = "--plugin mock --set mock.service=fixed --set mock.service_us=1000 --set mock.fail_instance=1 \
                --set mock.fail_after=30";
    let flags = format!("--slo-ms 5 --batch-size 4 --instances 1 --duration 300 {mock}");
    let (finished, result) = scale(&bench, &flags);
    assert_eq!(finished.code(), 1, "{finished}");
    let course = &result["courses"][0];
    assert!(course["given_up"] == true && course["setting"].is_null(), "{finished}: {course}");
    assert!(
        finished.stdout.contains("as no batch had an answer any more; there is no setting to use"),
        "{finished}"
    );
    assert!(finished.stdout.contains("this is fail_instance"), "{finished}");
    assert!(!finished.stdout.contains("--duration") && !finished.stdout.contains("use batch"), "{finished}");
}

#[test]
fn an_instance_that_cannot_be_destroyed_is_told_apart_from_one_that_cannot_be_made() {
    let bench = Bench::new();
    // The profile has two instances; batches gain more, so that one of them goes.
    let flags = "--slo-ms 400 --batch-size 32 --instances 2 --policy dnnscaler --duration 4 --plugin faulty \
                 --set faulty.fault=panic-at-drop";
    let (finished, result) = scale(&bench, flags);
    assert_eq!(finished.code(), 1, "{finished}");
    let events = &result["courses"][0]["events"];
    assert!(!kinds(events).contains(&"no-instance"), "{finished}: {events}");
    // Not always the first: this plugin answers at once, so that batches may go unseen while an instance starts.
    let not_destroyed = events.as_array().unwrap().iter().find(|event| event["kind"] == "not-destroyed");
    let what = not_destroyed.unwrap_or_else(|| panic!("{finished}: {events}"))["what"].as_str().unwrap();
    assert!(what.starts_with("an instance could not be destroyed: "), "{what}");
}

#[test]
fn a_run_goes_on_without_an_instance_that_fails_and_is_invalid_for_its_samples() {
    for flags in [
        "--virtual-time --duration 10 --target-qps 5000 --policy joint --slo-ms 12",
        "--duration 6 --target-qps 200 --policy dnnscaler --slo-ms 400 --batch-size 2 --instances 3",
    ] {
        let run = Bench::new().run(&format!("--scenario Offline --mode performance {flags} {MOCK}"));
        run.assert_invalid(&["this is fail_instance", "failed"]);
        let part = &run.result()["performance_run"]["scaling"];
        assert_eq!(kinds(&part["events"]), ["instance-failed"], "{}: {}", run.finished, part["events"]);
        let most = part["events"][0]["most"].as_u64().unwrap();
        assert!(part["last"]["instances"].as_u64().unwrap() <= most, "{}: {part}", run.finished);
        let samples = run.samples();
        let failed = samples.iter().filter(|(_, latency_ns)| latency_ns >> 63 == 1).count();
        assert!(failed > 0 && failed * 10 < samples.len(), "{failed} of {}: {}", samples.len(), run.finished);
        assert!(run.finished.stdout.contains("; 1 event"), "{}", run.finished);
    }
}

//! `host run` with a policy that scales: what it gains, what stands in the result, and where it is refused.

use std::fs;

use proctor_tests::{Bench, Run};
use serde_json::{Value, json};

/// A device that takes 4 ms for a batch and 0.1 ms for each of its samples, however many instances there are.
const MOCK: &str =
    "--plugin mock --set mock.service=fixed --set mock.service_us=4000 --set mock.per_sample_us=100";

const OFFLINE: &str = "--scenario Offline --mode performance --virtual-time --duration 8";

fn scaling(run: &Run) -> &Value {
    &run.result()["performance_run"]["scaling"]
}

fn throughput_qps(run: &Run) -> f64 {
    run.result()["metric"]["value"].as_f64().unwrap()
}

#[test]
fn a_policy_serves_more_than_single_samples_and_the_same_twice() {
    let bench = Bench::new();
    let single = bench.run(&format!("{OFFLINE} {MOCK} --target-qps 250"));
    let flags = format!("{OFFLINE} {MOCK} --target-qps 60000 --policy joint --slo-ms 12");
    let scaled = bench.run(&flags);
    scaled.assert_valid();
    // 80 samples take 12 ms on each of ten instances: 66,667 in a second, less what was tried before.
    assert!((throughput_qps(&single) - 243.9).abs() < 0.1, "{}", single.finished);
    assert!(throughput_qps(&scaled) > 40_000.0, "{}", scaled.finished);

    let part = scaling(&scaled);
    assert_eq!((&part["policy"], &part["latency_from"]), (&json!("joint"), &json!("batch-start")));
    assert_eq!(part["goal"]["target_ns"], 12_000_000);
    let size = part["setting"]["batch_size"].as_u64().unwrap();
    assert!((76..=80).contains(&size) && part["setting"]["instances"] == 10, "{part}");
    assert_eq!(
        (&part["setting"], &part["violation_share"], &part["events"]),
        (&part["last"], &json!(0.0), &json!([]))
    );
    let decisions = part["decisions"].as_array().unwrap();
    assert_eq!(decisions[0]["reason"]["kind"], "start");
    for decision in &decisions[1..] {
        assert!(decision["seen"]["tail_ns"].as_u64().unwrap() > 4_000_000, "{decision}");
    }
    assert!(decisions.iter().any(|decision| decision["predicted"]["tail_ns"].is_f64()), "{part}");
    assert_eq!(scaled.result()["settings"]["batch_size"]["value"], 128, "the bound, if none is given");
    let shown = format!("joint: settled at batch {size} x 10 instances after {} decisions", decisions.len());
    assert!(scaled.finished.stdout.contains(&shown), "{}", scaled.finished);
    assert!(scaled.finished.stdout.contains("which the rules leave to the system"), "{}", scaled.finished);

    let again = bench.run(&flags);
    assert_eq!(again.files(), scaled.files());
    for name in again.files() {
        let bytes = |run: &Run| fs::read(run.folder().join(&name)).unwrap();
        assert!(bytes(&again) == bytes(&scaled), "{name} differs");
    }
}

#[test]
fn in_server_latency_counts_from_the_arrival_and_the_run_stays_valid() {
    let bench = Bench::new();
    // One sample at a time is served at 244 in a second: at 500 there have to be batches, or instances. The queue of
    // the first second is a part of the run, as all of it is.
    let run = bench.run(&format!(
        "--scenario Server --mode performance --virtual-time --duration 5m --target-qps 500 --policy joint --slo-ms 30 \
         --set server_target_latency_ns=30000000 {MOCK}"
    ));
    run.assert_valid();
    let part = scaling(&run);
    assert_eq!(part["latency_from"], "arrival");
    assert_eq!(
        (&part["goal"]["target_ns"], &part["decisions"][0]["target_ns"]),
        (&json!(30_000_000), &json!(15_000_000))
    );
    assert!(part["setting"].is_object(), "{part}");
}

#[test]
fn the_accuracy_run_has_the_least_knobs_and_nothing_is_scaled() {
    let bench = Bench::new();
    let flags =
        "--scenario Offline --virtual-time --duration 2 --target-qps 20000 --policy joint --slo-ms 12";
    let run = bench.run(&format!("{flags} {MOCK}"));
    let accuracy = &run.result()["accuracy_run"];
    assert_eq!(accuracy["scaling"], Value::Null, "{}", run.finished);
    assert_eq!(accuracy["scheduler"]["batch_size_mean"], 1.0);
    assert_eq!(accuracy["scheduler"]["instance_busy_ns"].as_array().unwrap().len(), 1);
    assert!(scaling(&run)["decisions"].as_array().unwrap().len() > 1, "{}", run.finished);
    let alone = bench.run(&format!("{flags} --mode accuracy {MOCK}"));
    assert_eq!(alone.result()["accuracy_run"]["scheduler"]["batch_size_mean"], 1.0);
    let warning = "policy joint has no effect in mode accuracy";
    assert!(alone.finished.stderr.contains(warning), "{}", alone.finished);
}

#[test]
fn no_query_waits_for_an_instance_that_starts() {
    let bench = Bench::new();
    let run = bench.run(&format!(
        "--scenario Server --mode performance --duration 6 --target-qps 50 --policy dnnscaler --slo-ms 400 \
         --batch-size 4 --instances 2 --set mock.start_us=2000000 --set floor=false \
         --set server_target_latency_ns=400000000 {MOCK}"
    ));
    let part = scaling(&run);
    let started = part["decisions"].as_array().unwrap().iter().any(|it| it["knobs"]["instances"] == 2);
    assert!(started, "{}: {part}", run.finished);
    assert_eq!(run.result()["performance_run"]["scheduler"]["instance_busy_ns"].as_array().unwrap().len(), 2);
    // An instance starts for 2 s: a query that waited for it would take as long.
    let slowest_ns = run.samples().into_iter().map(|(_, latency_ns)| latency_ns).max().unwrap();
    assert!(slowest_ns < 1_500_000_000, "{slowest_ns} ns: {}", run.finished);
    assert!(run.finished.stderr.contains("batch 1 x 2 instances"), "{}", run.finished);
}

#[test]
fn instances_that_were_made_before_are_scaled_in_real_time() {
    let bench = Bench::new();
    let run = bench.run(
        "--scenario Offline --mode performance --policy dnnscaler --slo-ms 200 --batch-size 4 --instances 2 \
         --duration 1 --target-qps 100000",
    );
    assert!(!scaling(&run)["decisions"].as_array().unwrap().is_empty(), "{}", run.finished);
    assert!(run.samples().iter().all(|(_, latency_ns)| latency_ns >> 63 == 0), "{}", run.finished);
}

#[test]
fn runs_in_which_a_policy_makes_no_sense_are_refused() {
    let bench = Bench::new();
    for (command, expected) in [
        (
            "run --policy joint --scenario Offline",
            "a policy that scales needs a latency target: give --slo-ms",
        ),
        ("run --policy joint --slo-ms 5", "policy joint has nothing to scale in SingleStream"),
        ("run --policy joint --slo-ms 5 --scenario MultiStream", "choose --scenario Server or Offline"),
        (
            "run --policy joint --slo-ms 5 --scenario Offline --batch-size 1 --instances 1",
            "there is nothing to scale: batch_size = 1",
        ),
        (
            "run --policy joint --slo-ms 5 --scenario Offline --mode SubmissionRun",
            "SubmissionRun makes one test",
        ),
        (
            "run --policy joint --slo-ms 5 --scenario Server --mode FindPeakPerformance",
            "while FindPeakPerformance compares rates",
        ),
        (
            "run --policy joint --slo-ms 5 --scenario Offline --set issue=true",
            "issue = true hands the plugin",
        ),
        ("run --policy joint --slo-ms 5 --scenario Offline --record calls", "which no replay repeats"),
        (
            "run --policy dnnscaler --slo-ms 5 --scenario Offline --curves none.csv",
            "none.csv: host scale makes the file of what it measures",
        ),
        (
            "find-max --policy joint --slo-ms 5 --target-qps 100",
            "no two probes measure the same system; have host scale find a setting",
        ),
    ] {
        let finished = bench.host(command);
        assert_eq!(finished.code(), 2, "{command}: {finished}");
        assert!(finished.stderr.contains(expected), "{command}: {finished}");
    }
}

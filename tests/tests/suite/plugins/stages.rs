//! The stages that a plugin reports of its work, in batches and in whole queries: they are in the result, or named as
//! faults if they are impossible.

use proctor_tests::{Bench, PLACES, Run, compile, json};

/// Runs the null plugin with stages that are wrong in this way; `None` without a C compiler.
fn run(wrong: &str, issue: bool) -> Option<Run> {
    let bench = Bench::new();
    let library = compile("stages_plugin.c", &[&format!("WRONG=\"{wrong}\"")], bench.path(), "zeros")?;
    Some(bench.run(&format!(
        "--plugin {} --set issue={issue} --duration 50ms --mode performance --set floor=false",
        library.display()
    )))
}

/// Asserts that each of these stages was reported once for each sample, and that their figures make sense.
fn assert_told(run: &Run, names: &[&str]) {
    let result = run.assert_valid().result();
    let stages = result["plugin"]["stages"].as_object().unwrap();
    assert_eq!(stages.keys().collect::<Vec<_>>(), names, "{}", run.finished);
    for (name, stage) in stages {
        assert_eq!(stage["count"].as_u64(), Some(run.samples().len() as u64), "{name}: {}", run.finished);
        let [least, mean, greatest] =
            ["least_ns", "mean_ns", "greatest_ns"].map(|key| stage[key].as_f64().unwrap());
        assert!(least <= mean && mean <= greatest, "{name}: {least} {mean} {greatest}");
    }
}

#[test]
fn stages_of_batches_and_of_whole_queries_are_in_the_result() {
    for issue in [false, true] {
        let Some(run) = run("none", issue) else { return };
        assert_told(&run, &["compute", "copy_in"]);
    }
    for issue in [false, true] {
        let run = Bench::new().run(&format!(
            "--plugin mock --set mock.stages=true --set mock.service=fixed --set mock.service_us=200 \
             --set issue={issue} --duration 50ms --mode performance --set floor=false"
        ));
        assert_told(&run, &["compute"]);
        let least_ns = run.result()["plugin"]["stages"]["compute"]["least_ns"].as_u64().unwrap();
        assert!(least_ns >= 200_000, "{}", run.finished);
    }
}

#[test]
fn spans_of_a_plugin_in_rust_are_stages_in_its_process_and_in_one_of_its_own() {
    for isolate in PLACES {
        let bench = Bench::new();
        let run = bench.run(&format!(
            "--plugin faulty --set faulty.fault=none --set faulty.spans=true --set issue=false {isolate} \
             --duration 50ms --mode performance --set floor=false --trace-host host.json"
        ));
        assert_told(&run, &["answer"]);
        let timeline = json(&bench.file("host.json"));
        let events = timeline["traceEvents"].as_array().unwrap();
        let named = |name: &str| events.iter().filter(|event| event["name"] == name).count();
        assert!(named("batch") > 0, "{}", run.finished);
        // Stages of another process are summed up there.
        let expected = if isolate.is_empty() { named("batch") } else { 0 };
        assert_eq!(named("answer"), expected, "{}", run.finished);
    }
}

#[test]
fn without_stages_there_are_none_in_the_result() {
    let run = Bench::new().run("--plugin mock --duration 50ms --mode performance --set floor=false");
    assert_eq!(run.assert_valid().result()["plugin"]["stages"], serde_json::json!({}), "{}", run.finished);
}

#[test]
fn stages_that_cannot_be_are_named_and_make_the_run_invalid() {
    for (wrong, reason) in [
        ("early", "it begins before the work was handed over at "),
        ("late", "it ends after the work was handed back at "),
        ("backwards", "it ends before it begins"),
        ("overlap", "it begins before the stage before it ended at "),
        ("name", "stage \"two words\" from "),
        ("names", "there are stages of 64 other names already"),
        ("many", "told stages that cannot be: 65 stages are more than 64"),
        ("null", "told stages that cannot be: ProctorStage is null"),
        ("size", "told stages that cannot be: ProctorStage has 8 bytes"),
    ] {
        for issue in [false, true] {
            let Some(run) = run(wrong, issue) else { return };
            run.assert_invalid(&["plugin zeros: ", reason]);
        }
    }
}

//! Several issuing threads: at the same time in a plugin that says so, in turns in any other.

use proctor_tests::{Bench, Finished, Run, compile};

const PLUGIN: i32 = 3;

/// Set in the latency of a sample that failed.
const FAILED_BIT: u64 = 1 << 63;

/// Asserts that the plugin took all queries and completed all samples: too few for early stopping, and maybe late.
fn assert_all_completed(run: &Run, at_least: usize) {
    let samples = run.samples();
    assert!(samples.len() >= at_least, "{}", run.finished);
    assert!(samples.iter().all(|(_, latency_ns)| latency_ns & FAILED_BIT == 0), "{}", run.finished);
    assert!(!run.reasons().contains("issue failed"), "{}", run.reasons());
}

/// A short Server run of the plugin with two issuing threads; `None` without a compiler.
fn run(capabilities: &str, meets: u8) -> Option<(Finished, Run)> {
    let bench = Bench::new();
    let defines = [format!("CAPABILITIES={capabilities}"), format!("MEETS={meets}")];
    let defines = defines.each_ref().map(String::as_str);
    let library = compile("concurrent_plugin.c", &defines, bench.path(), "zeros")?;
    let described = bench.start(&format!("describe {}", library.display())).finish();
    let run = bench.run(&format!(
        "--plugin {} --mode performance --scenario Server --target-qps 500 --duration 60ms \
         --set min_query_count=20 --set server_num_issue_query_threads=2",
        library.display()
    ));
    Some((described, run))
}

#[test]
fn issuing_threads_meet_in_a_plugin_that_says_so() {
    let Some((described, run)) = run("PROCTOR_CAPABILITY_ISSUE | PROCTOR_CAPABILITY_CONCURRENT_ISSUE", 1)
    else {
        return;
    };
    assert!(described.stdout.contains("concurrent issue  yes"), "{described}");
    assert_all_completed(&run, 20);
}

#[test]
fn issuing_threads_take_turns_in_any_other_plugin() {
    let Some((described, run)) = run("PROCTOR_CAPABILITY_ISSUE", 0) else { return };
    assert!(described.stdout.contains("concurrent issue  no"), "{described}");
    assert_all_completed(&run, 20);
}

#[test]
fn who_takes_no_queries_cannot_take_several() {
    let Some((described, run)) = run("PROCTOR_CAPABILITY_CONCURRENT_ISSUE", 0) else { return };
    let why = "the capability CONCURRENT_ISSUE is there without ISSUE";
    described.assert_error(PLUGIN, &[why]);
    run.finished.assert_error(PLUGIN, &[why]);
}

#[test]
fn the_mock_takes_queries_of_several_threads() {
    for threads in [0, 2] {
        let run = Bench::new().run(&format!(
            "--plugin mock --mode performance --scenario Server --target-qps 2000 --duration 50ms \
             --set min_query_count=50 --set mock.threads={threads} --set server_num_issue_query_threads=3"
        ));
        assert_all_completed(&run, 50);
    }
}

//! A query of Offline that is too large for one call, and comes in parts.

use proctor_tests::{Bench, Run, compile};

/// Maximum number of samples of a part.
const PART: usize = 65_536;

/// Set in the latency of a sample that failed.
const FAILED_BIT: u64 = 1 << 63;

/// A run with a query of three parts by the plugin in C; `None` without a compiler.
fn run(defines: &[&str]) -> Option<Run> {
    let bench = Bench::new();
    let library = compile("parts_plugin.c", defines, bench.path(), "zeros")?;
    let plugin = library.display();
    Some(bench.run(&format!(
        "--plugin {plugin} --mode performance --scenario Offline --duration 1ms --set min_query_count=150000"
    )))
}

fn count_of_failed(samples: &[(u64, u64)]) -> usize {
    samples.iter().filter(|(_, latency_ns)| latency_ns & FAILED_BIT != 0).count()
}

#[test]
fn the_parts_of_a_query_fit_together_and_count_from_one_instant() {
    let Some(run) = run(&[]) else { return };
    let samples = run.assert_valid().samples();
    assert!(samples.len() > 2 * PART, "{}", run.finished);
    assert!(samples.iter().all(|(scheduled_ns, _)| *scheduled_ns == 0), "{}", run.finished);
    assert_eq!(run.result()["performance_run"]["issued_query_count"], 1);
    assert_eq!(run.result()["performance_run"]["issued_sample_count"], samples.len());
}

#[test]
fn a_part_that_is_refused_fails_and_the_others_go_on() {
    let Some(run) = run(&["REFUSED=1"]) else { return };
    run.assert_invalid(&["this part is refused", "65536 samples failed"]);
    let samples = run.samples();
    assert_eq!(count_of_failed(&samples[..PART]), 0);
    assert_eq!(count_of_failed(&samples[PART..2 * PART]), PART);
    assert_eq!(count_of_failed(&samples[2 * PART..]), 0);
}

#[test]
fn the_mock_takes_a_query_in_parts() {
    let run = Bench::new().run(
        "--plugin mock --mode performance --scenario Offline --duration 1ms --set min_query_count=150000 \
         --set mock.threads=0",
    );
    assert!(run.assert_valid().samples().len() > 2 * PART, "{}", run.finished);
}

//! A plugin whose flush takes longer than the pause between two phases.

use std::path::Path;

use proctor_tests::{Bench, compile};

/// A search that takes three steps to find a rate that is too high, and then halves the gap without a load in between.
fn search(library: &Path) -> String {
    format!(
        "--plugin {} --scenario Server --mode FindPeakPerformance --set issue=true --set target_qps=10000 \
         --set min_query_count=700 --duration 1ms --set server_target_latency_ns=60000000000 --set floor=false",
        library.display()
    )
}

#[test]
fn in_a_search_for_the_peak_nothing_is_asked_of_the_plugin_until_its_flush_has_returned() {
    let bench = Bench::new();
    let Some(library) = compile("slow_flush_plugin.c", &[], bench.path(), "slow_flush") else { return };
    let run = bench.run(&search(&library));
    let result = run.assert_valid().result();
    assert_eq!(result["plugin"]["dispatch"], "whole queries");
    // Met at 10000 and 20000, failed at 40000.
    assert_eq!(result["metric"]["value"], 20000.0, "{}", run.finished);
    let steps = result["performance_run"]["search"]["steps"].as_array().unwrap();
    assert!(steps.len() > 8, "{result}");
}

#[test]
fn a_flush_that_hangs_between_two_steps_of_a_search_is_named() {
    let bench = Bench::new();
    let defines = &["HANGING_FLUSH=4"];
    let Some(library) = compile("slow_flush_plugin.c", defines, bench.path(), "slow_flush") else { return };
    let run = bench.run(&format!("{} --set watchdog_ms=1000", search(&library)));
    run.finished.assert_error(3, &["hangs: it was asked to flush", "watchdog_ms = 1000"]);
}

//! The numbers on a page match the result's.

use proctor_tests::Bench;
use serde_json::Value;

use crate::report::page::{Page, SERVER, Shown, value_of};

/// The number that a text says, in the unit of the result, if it has a unit that is known; and the share of it by which
/// rounding may be off.
fn said(shown: &Shown) -> f64 {
    let (number, unit) = shown.text.split_once(' ').unwrap_or((&shown.text, ""));
    let number: f64 = number.replace(',', "").parse().unwrap_or_else(|_| panic!("{shown:?}"));
    let size = match unit {
        "µs" => 1e3,
        "ms" | "MB" => 1e6,
        "s" | "GB" => 1e9,
        "%" => 0.01,
        _ => 1.0,
    };
    number * size
}

fn assert_all_equal(page: &Page, result: &Value, least_count: usize) {
    let shown = page.shown();
    assert!(shown.len() >= least_count, "only {} numbers", shown.len());
    for number in &shown {
        let expected = value_of(result, &number.key).unwrap_or_else(|| panic!("no such key: {number:?}"));
        assert_eq!(expected.as_number(), Some(&number.value), "{number:?}");
        let (said, meant) = (said(number), number.value.as_f64().unwrap());
        assert!((said - meant).abs() <= meant.abs() * 5.1e-4 + 5.1e-4, "{number:?} says {said}");
    }
}

#[test]
fn every_number_is_that_of_the_result() {
    let bench = Bench::new();
    let run = bench.run(SERVER);
    let page = Page::of(&bench, &[run.folder().to_owned()]);
    assert_all_equal(&page, run.result(), 100);
    let keys: Vec<_> = page.shown().into_iter().map(|shown| shown.key).collect();
    for key in [
        "metric.value",
        "performance_run.figures.query_latency.p99_ns",
        "performance_run.figures.over_latency_count",
        "performance_run.findings.0.measured",
        "performance_run.scheduler.batch_sizes.4",
        "seeds.schedule_rng_seed",
        "machine.memory_bytes",
    ] {
        assert!(keys.iter().any(|other| other == key), "{key} in {keys:?}");
    }
    assert!(page.text.contains("✗ INVALID") && page.text.contains(">Batches by size</title>"));
}

#[test]
fn so_it_is_of_tokens_searches_and_policies() {
    let bench = Bench::new();
    let mock = "--plugin mock --mode performance --set mock.service=fixed";
    let tokens = bench.run(&format!(
        "{mock} --scenario Server --set use_token_latencies=true --set mock.tokens=4 --target-qps 400 --duration 500ms"
    ));
    let page = Page::of(&bench, &[tokens.folder().to_owned()]);
    assert_all_equal(&page, tokens.result(), 100);
    assert!(page.text.contains(">Time to the first token</title>"), "{:?}", page.path);
    // In real time there is a floor, and a trace with delays.
    assert!(page.shown().iter().any(|shown| shown.key == "harness_floor.latency_p99_ns"));
    assert!(
        page.text.contains(">Where the time went</title>")
            && page.text.contains(">Issue delay over time</title>")
    );

    let peak = "--plugin mock --virtual-time --scenario Server --mode FindPeakPerformance --set mock.service=fixed \
                --target-qps 100 --set min_duration_ms=200 --set min_query_count=50";
    let peak = bench.run(peak);
    let page = Page::of(&bench, &[peak.folder().to_owned()]);
    assert_all_equal(&page, peak.result(), 50);
    assert!(page.text.contains(">Steps of the search</title>"));

    let policy = bench.run(&format!(
        "{mock} --virtual-time --scenario Offline --policy joint --slo-ms 20 --set mock.per_sample_us=100 \
         --set offline_expected_qps=10000"
    ));
    let page = Page::of(&bench, &[policy.folder().to_owned()]);
    assert_all_equal(&page, policy.result(), 100);
    assert!(page.text.contains(">Tail latency under the policy</title>"));

    let search = bench.file("search");
    let finished = bench.host(&format!(
        "find-max --output {} --plugin mock --virtual-time --set mock.service=fixed --target-qps 100 \
         --set server_target_latency_ns=10000000 --duration 200ms --set enable_trace=false",
        search.display()
    ));
    assert_eq!(finished.code(), 0, "{finished}");
    let result = std::fs::read_to_string(search.join("find_max.json")).unwrap();
    let page = Page::of(&bench, &[search]);
    assert_all_equal(&page, &serde_json::from_str(&result).unwrap(), 30);
    assert!(page.text.contains(">Latency by load</title>"));
}

#[test]
fn the_same_run_has_the_same_page() {
    let bench = Bench::new();
    let run = bench.run(SERVER);
    let folders = [run.folder().to_owned()];
    let (first, second) = (Page::of(&bench, &folders), Page::of(&bench, &folders));
    assert!(first.text == second.text);
    assert!(first.text.len() < 300_000, "{} bytes", first.text.len());
}

#[test]
fn the_page_of_a_long_run_can_be_measured() {
    let bench = Bench::new();
    let finished = bench.host("bench page --quick --output here");
    assert_eq!(finished.code(), 0, "{finished}");
    for figure in ["time to make a page", "memory that it takes", "size of the page", "too short for figures"]
    {
        assert!(finished.stdout.contains(figure), "{finished}");
    }
    assert!(bench.file("here/run/report.html").is_file());
}

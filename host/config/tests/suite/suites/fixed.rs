//! Settings that a round has for every run, through the loader: another value deviates.

use std::fs;

use proctor_config::{Deviation, Loader, Settings, benchmarks};
use proctor_loadgen::Rules;

use super::links::Linked;

fn load(assignments: &[&str]) -> Settings {
    let loader = Loader::new().set_all(assignments);
    loader.load().unwrap()
}

/// The deviations that are about these settings.
fn of_every_run(settings: &Settings) -> Vec<String> {
    let is_fixed = |it: &Deviation| matches!(it, Deviation::Fixed { .. } | Deviation::AccuracySet { .. });
    settings.deviations("f32").iter().filter(|it| is_fixed(it)).map(ToString::to_string).collect()
}

#[test]
fn what_the_round_has_for_every_run_deviates_if_it_is_otherwise() {
    for (assignments, expected) in [
        (
            &["single_stream_target_latency_percentile=0.5"][..],
            "single_stream_target_latency_percentile is 0.5, and the round wants 0.9",
        ),
        // The percentile is the figure of the result: a higher one is another figure.
        (
            &["single_stream_target_latency_percentile=0.95"],
            "single_stream_target_latency_percentile is 0.95, and the round wants 0.9",
        ),
        (
            &["rules=v0.5", "single_stream_target_latency_percentile=0.95"],
            "single_stream_target_latency_percentile is 0.95, and the round wants 0.9",
        ),
        (
            &["scenario=MultiStream", "multi_stream_target_latency_percentile=0.9"],
            "multi_stream_target_latency_percentile is 0.9, and the round wants 0.99",
        ),
        (
            &["scenario=MultiStream", "multi_stream_target_latency_percentile=0.999"],
            "multi_stream_target_latency_percentile is 0.999, and the round wants 0.99",
        ),
        (
            &["rules=v0.7", "scenario=MultiStream", "multi_stream_target_latency_percentile=0.9"],
            "multi_stream_target_latency_percentile is 0.9, and the round wants 0.99",
        ),
        (
            &["scenario=MultiStream", "multi_stream_samples_per_query=4"],
            "multi_stream_samples_per_query is 4, and the round wants 8",
        ),
        (
            &["scenario=Server", "server_target_latency_percentile=0.97"],
            "server_target_latency_percentile is 0.97, and the round wants 0.99",
        ),
        (&["accuracy_log_probability=0.5"], "accuracy_log_probability is 0.5, and the round wants 0"),
        (&["accuracy_sample_count_override=7"], "the accuracy run has 7 samples, and the round wants 600"),
    ] {
        assert_eq!(of_every_run(&load(assignments)), [expected], "{assignments:?}");
    }
}

#[test]
fn what_the_round_leaves_open_or_the_run_does_not_use_deviates_from_nothing() {
    for assignments in [
        // Stricter than the round's.
        &["scenario=Server", "server_target_latency_percentile=0.999"][..],
        &["rules=v0.7", "scenario=MultiStream", "multi_stream_target_latency_percentile=0.999"],
        // The result.
        &["rules=v0.5", "scenario=MultiStream", "multi_stream_samples_per_query=4"],
        // Of another scenario or run.
        &["scenario=Offline", "single_stream_target_latency_percentile=0.5"],
        &["mode=performance", "accuracy_sample_count_override=7"],
        // All samples.
        &["accuracy_sample_count_override=60000"],
        // As submitters set them.
        &["scenario=Server", "target_qps=7", "server_coalesce_queries=1", "accuracy_log_sampling_target=9"],
    ] {
        assert_eq!(of_every_run(&load(assignments)), [""; 0], "{assignments:?}");
    }
    // In percent, as LoadGen's files have it.
    let folder = tempfile::tempdir().unwrap();
    let user = folder.path().join("user.conf");
    let lines = "*.SingleStream.target_latency_percentile = 90\n*.Server.target_latency_percentile = 99\n";
    fs::write(&user, lines).unwrap();
    for scenario in ["SingleStream", "Server"] {
        let loader = Loader::new().user_conf(&user).flag("--scenario", "scenario", scenario);
        assert_eq!(of_every_run(&loader.load().unwrap()), [""; 0], "{scenario}");
    }
}

/// Only rows of a round say which benchmarks are measured by tokens.
#[test]
fn settings_of_tokens_are_those_of_the_benchmark() {
    let of = |suite: &str, assignments: &[&str]| {
        let settings = Linked::new(suite, "top1").load(assignments);
        let texts = settings.deviations("f32").into_iter().map(|it| it.to_string());
        texts.filter(|text| text.contains("token_lat")).collect::<Vec<_>>()
    };
    assert_eq!(of("llama2-70b", &["scenario=Offline"]), [""; 0]);
    let off = ["use_token_latencies is false, and the round wants true"];
    for scenario in ["Offline", "Server"] {
        let scenario = format!("scenario={scenario}");
        assert_eq!(of("llama2-70b", &[scenario.as_str(), "use_token_latencies=0"]), off, "{scenario}");
    }
    assert_eq!(
        of("resnet50", &["scenario=Server", "use_token_latencies=1"]),
        ["use_token_latencies is true, and the round wants false"]
    );
    assert_eq!(of("gptj", &["scenario=Offline"]), [""; 0]);
    assert_eq!(
        of("gptj", &["scenario=Offline", "token_latency_scaling_factor=1"]),
        ["token_latency_scaling_factor is 1, and the round wants 69"]
    );
    let unlinked = load(&["scenario=Server", "use_token_latencies=1"]);
    assert_eq!(of_every_run(&unlinked), [""; 0]);
}

#[test]
fn no_benchmark_deviates_by_itself() {
    for rules in ["v0.7", "v5.0"] {
        let round: Rules = rules.parse().unwrap();
        for benchmark in benchmarks() {
            for scenario in benchmark.scenarios.keys() {
                // One in a scenario that the round does not have for it deviates in any case.
                if benchmark.row(round).is_some_and(|(_, row)| !row.all_scenarios().contains(scenario)) {
                    continue;
                }
                let loader = Loader::new().benchmark(&benchmark.id).set(&format!("rules={rules}"));
                let settings = loader.set(&format!("scenario={scenario}")).load().unwrap();
                assert_eq!(of_every_run(&settings), [""; 0], "{} in {scenario}, {rules}", benchmark.id);
            }
        }
    }
}

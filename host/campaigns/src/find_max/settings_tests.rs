//! Effects of every setting in a campaign, so that a new one has them by decision.

use proctor_config::{Loader, keys};

use super::{options::FindMaxOptions, plan::SearchPlan};

/// Effect of a setting in `host find-max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InSearch {
    /// Each run of the search has it as it is given.
    AsGiven,
    /// The search chooses the value of each run, and begins at the one that is given.
    Chosen,
    /// Such a value is refused.
    Refused(&'static str),
}

/// Settings by their effects: whether there is one in `host scale`, and which one in `host find-max`.
#[rustfmt::skip]
const EFFECTS: &[(bool, InSearch, &[&str])] = &[
    (true, InSearch::AsGiven, &[
        "plugin", "benchmark", "rules", "suite", "arrivals", "arrivals_cv", "arrivals_on_ms", "arrivals_off_ms",
        "arrivals_off_share", "arrivals_period_s", "arrivals_amplitude", "arrivals_trace", "arrivals_speed",
        "data_root", "model_file", "dataset_folder", "row_aggregation", "output_folder", "plugin_path", "precision",
        "device", "devices", "cache_folder", "strict", "virtual_time", "isolate", "isolate_memory_mib",
        "isolate_spin_us", "isolate_read", "isolate_devices", "isolate_env", "isolate_network", "watchdog_ms",
        "wait", "wait_spin_us", "issue", "batch_size", "instances", "placement", "slo_ms", "slo_x", "tail",
        "approach", "curves", "warm_up_batches", "schedule_rng_seed", "performance_sample_count_override",
        "python",
    ]),
    (false, InSearch::AsGiven, &[
        "preset", "quality_target", "server_run_count", "enable_trace", "copy_summary_to_stdout",
        "copy_detail_to_stdout", "response_arena_bytes", "floor", "noise", "batch_timeout_us", "queue_capacity",
        "single_stream_expected_latency_ns", "single_stream_target_latency_percentile",
        "multi_stream_expected_latency_ns", "multi_stream_target_latency_percentile", "multi_stream_interval_ms",
        "server_target_latency_ns", "server_target_latency_percentile", "server_coalesce_queries",
        "server_find_peak_qps_decimals_of_precision", "server_find_peak_qps_boundary_step_size",
        "server_max_async_queries", "server_num_issue_query_threads", "offline_expected_qps",
        "sample_concatenate_permutation", "min_duration_ms", "min_query_count", "qsl_rng_seed",
        "sample_index_rng_seed", "accuracy_log_rng_seed", "accuracy_log_probability",
        "accuracy_log_sampling_target", "test05", "test05_qsl_rng_seed", "test05_sample_index_rng_seed",
        "test05_schedule_rng_seed", "print_timestamps", "performance_issue_unique", "performance_issue_same",
        "performance_issue_same_index", "accuracy_sample_count_override", "use_token_latencies",
        "server_ttft_latency", "server_tpot_latency", "infer_token_latencies", "token_latency_scaling_factor",
        "loadgen",
    ]),
    (true, InSearch::Chosen, &["server_target_qps"]),
    (false, InSearch::Chosen, &["multi_stream_samples_per_query"]),
    (true, InSearch::Refused("Offline"), &["scenario"]),
    (true, InSearch::Refused("calls"), &["record"]),
    (true, InSearch::Refused("official"), &["engine"]),
    (true, InSearch::Refused("joint"), &["policy"]),
    (false, InSearch::Refused("accuracy"), &["mode"]),
    (false, InSearch::Refused("audit.config"), &["audit_config"]),
    (false, InSearch::Refused("1"), &["max_duration_ms", "max_query_count"]),
];

/// Returns each setting with its effects.
fn effects() -> impl Iterator<Item = (&'static str, bool, InSearch)> {
    EFFECTS
        .iter()
        .flat_map(|(in_scale, in_search, names)| names.iter().map(move |name| (*name, *in_scale, *in_search)))
}

#[test]
fn every_key_has_its_effects_here() {
    let mut here: Vec<_> = effects().map(|(name, in_scale, _)| (name, in_scale)).collect();
    let mut known: Vec<_> = keys().iter().map(|key| (key.name, key.in_scale)).collect();
    here.sort_unstable();
    known.sort_unstable();
    assert_eq!(here, known, "say what a new setting does in host scale and in host find-max");
}

#[test]
fn a_search_chooses_the_load_and_leaves_all_else_as_it_is_given() {
    for (scenario, latency_bound_ns, load) in [
        ("Server", None, "server_target_qps"),
        ("MultiStream", Some(50_000_000), "multi_stream_samples_per_query"),
    ] {
        let settings = Loader::new().set(&format!("scenario={scenario}")).load().unwrap();
        let options = FindMaxOptions { latency_bound_ns, ..FindMaxOptions::default() };
        let run = SearchPlan::new(&settings, &options).unwrap().at(7.0);
        for (name, _, in_search) in effects() {
            let is_chosen = run.effective[name] != settings.effective[name];
            assert_eq!(is_chosen, name == load, "{scenario}: {name}");
            assert!(!is_chosen || in_search == InSearch::Chosen, "{name}");
        }
    }
}

#[test]
fn what_no_search_can_obey_is_refused_before_it_begins() {
    for (name, _, in_search) in effects() {
        let InSearch::Refused(value) = in_search else { continue };
        let loader = Loader::new().set("scenario=Server").set(&format!("{name}={value}"));
        let plan = SearchPlan::new(&loader.load().unwrap(), &FindMaxOptions::default());
        assert!(plan.is_err(), "{name} = {value}");
    }
}

//! Random cases, weighted to the edges.

use proctor_vocabulary::Scenario;
use proptest::{collection::vec, option::weighted, prelude::*};
use serde_json::{Map, Value, json};

use crate::differential::{
    case::{Case, Script},
    generate_config,
};

type Field = BoxedStrategy<Option<(&'static str, Value)>>;

/// Cases of one scenario that run a test.
pub fn tests(scenario: Scenario) -> BoxedStrategy<Case> {
    let plain = test(scenario, library().boxed(), settings(scenario).boxed());
    // Files could ask for more than fits into the time for a case.
    let large = test(scenario, large_library().boxed(), large_settings(scenario).boxed())
        .prop_map(|case| Case { config_files: Vec::new(), audit_config: None, ..case })
        .boxed();
    match scenario {
        Scenario::Server => prop_oneof![30 => plain, 1 => large, 4 => peak_search()].boxed(),
        Scenario::MultiStream => prop_oneof![30 => plain, 1 => large, 1 => expecting_many()].boxed(),
        _ => prop_oneof![30 => plain, 1 => large].boxed(),
    }
}

/// Cases that compare what configuration files do to the settings.
pub fn configurations() -> BoxedStrategy<Case> {
    let settings = vec(boolean_settings().boxed(), 0..3).prop_map(|all| map(all.into_iter().flatten()));
    let files = vec(generate_config::file(), 1..4);
    (settings, files)
        .prop_map(|(settings, config_files)| Case {
            config_files,
            only_configure: true,
            ..Case::of(10, settings, Script::default())
        })
        .boxed()
}

fn test(
    scenario: Scenario,
    library: BoxedStrategy<(u64, u64)>,
    settings: BoxedStrategy<Map<String, Value>>,
) -> BoxedStrategy<Case> {
    let files = prop_oneof![
        6 => Just(Vec::new()),
        1 => vec(generate_config::user_file(scenario), 1..3),
    ];
    let audit_config = weighted(0.12, generate_config::audit_text(scenario));
    (library, settings, files, audit_config, script(scenario))
        .prop_map(move |((total_count, performance_count), settings, config_files, audit_config, script)| {
            Case {
                total_count,
                performance_count,
                // The configuration files must not lengthen the test.
                settings_after: if config_files.is_empty() { Map::new() } else { settings.clone() },
                settings,
                config_files,
                audit_config,
                script,
                only_configure: false,
            }
        })
        .boxed()
}

fn library() -> impl Strategy<Value = (u64, u64)> {
    let total = prop_oneof![6 => 1_u64..=40, 3 => 41_u64..=150];
    total.prop_flat_map(|total| {
        let most = prop_oneof![8 => total / 12 + 1..=total, 1 => total..=total + 5];
        (Just(total), most)
    })
}

/// From 65536 on, shuffling takes another path.
fn large_library() -> impl Strategy<Value = (u64, u64)> {
    (65_530_u64..70_000).prop_flat_map(|total| (Just(total), 65_530..=total))
}

fn map(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn field<S>(probability: f64, name: &'static str, values: S) -> Field
where
    S: Strategy + 'static,
    S::Value: Into<Value>,
{
    let given = values.prop_map(move |value| (name, value.into()));
    if probability < 1.0 { weighted(probability, given).boxed() } else { given.prop_map(Some).boxed() }
}

/// Settings that are always given: the scenario, and what bounds the length of the test.
fn bounded(scenario: Scenario) -> BoxedStrategy<Vec<(&'static str, Value)>> {
    let duration = prop_oneof![1 => Just(0_u64), 4 => 1_u64..30];
    let few = prop_oneof![1 => Just(0_u64), 1 => Just(1_u64), 8 => 2_u64..40];
    let count = prop_oneof![few.clone(), 40_u64..500];
    let named = move |fields: Vec<(&'static str, Value)>| {
        let mut all = vec![("scenario", json!(scenario.name()))];
        all.extend(fields);
        all
    };
    let strategy = match scenario {
        Scenario::SingleStream => (duration, count, 15e3..2e6)
            .prop_map(|(duration, count, latency_ns)| {
                bounds(duration, count, "single_stream_expected_latency_ns", latency_ns)
            })
            .boxed(),
        Scenario::MultiStream => (duration, count, 1e5..5e6)
            .prop_map(|(duration, count, latency_ns)| {
                bounds(duration, count, "multi_stream_expected_latency_ns", latency_ns)
            })
            .boxed(),
        Scenario::Server => {
            let slow = (duration.clone(), few, 150.0..2e3);
            let fast = (duration, count, 2e3..4e4);
            prop_oneof![1 => slow, 3 => fast]
                .prop_map(|(duration, count, qps)| bounds(duration, count, "server_target_qps", qps))
                .boxed()
        }
        Scenario::Offline => (duration, prop_oneof![count, 500_u64..3000], prop_oneof![1.0..1e3, 1e3..5e4])
            .prop_map(|(duration, count, qps)| bounds(duration, count, "offline_expected_qps", qps))
            .boxed(),
    };
    strategy.prop_map(named).boxed()
}

fn bounds(duration_ms: u64, count: u64, rate_name: &'static str, rate: f64) -> Vec<(&'static str, Value)> {
    vec![("min_duration_ms", json!(duration_ms)), ("min_query_count", json!(count)), (rate_name, json!(rate))]
}

fn seed() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0_u64..4,
        any::<u32>().prop_map(u64::from),
        (1_u64..9).prop_map(|high| high << 32)
    ]
}

fn quantile() -> BoxedStrategy<f64> {
    let usual = proptest::sample::select(vec![0.5, 0.9, 0.95, 0.97, 0.99, 0.999, 0.999_000_000_000_000_1]);
    // Early stopping needs up to 10^10 queries there, whose odds are hardly distinguishable.
    let extreme = proptest::sample::select(vec![0.9999, 0.99995, 0.99999, 0.999_999]);
    prop_oneof![
        5 => usual,
        5 => 0.01..0.9999,
        1 => 0.0001..0.01,
        2 => extreme,
        1 => 0.9999..0.999_999,
        1 => 0.9999991..0.9999999,
    ]
    .boxed()
}

fn boolean_settings() -> impl Strategy<Value = Option<(&'static str, Value)>> {
    let names = vec![
        "use_token_latencies",
        "infer_token_latencies",
        "test05",
        "print_timestamps",
        "performance_issue_same",
    ];
    (proptest::sample::select(names), any::<bool>()).prop_map(|(name, value)| Some((name, json!(value))))
}

fn settings(scenario: Scenario) -> impl Strategy<Value = Map<String, Value>> {
    let modes = proptest::sample::select(vec!["AccuracyOnly", "SubmissionRun", "PerformanceOnly"]);
    let mut fields = vec![
        field(0.5, "mode", modes),
        field(0.1, "max_query_count", prop_oneof![1_u64..60, 1_u64..600]),
        field(0.1, "max_duration_ms", prop_oneof![12 => 1_u64..20, 1 => huge()]),
        field(0.8, "qsl_rng_seed", seed()),
        field(0.8, "sample_index_rng_seed", seed()),
        field(0.8, "schedule_rng_seed", seed()),
        field(0.4, "accuracy_log_rng_seed", seed()),
        field(0.4, "accuracy_log_probability", prop_oneof![12 => 0.0..1.0, 3 => Just(1.0), 1 => 1.0..3.0]),
        field(0.15, "accuracy_log_sampling_target", prop_oneof![8 => 1_u64..300, 1 => huge()]),
        field(0.06, "test05", Just(true)),
        field(0.1, "test05_qsl_rng_seed", seed()),
        field(0.1, "test05_sample_index_rng_seed", seed()),
        field(0.1, "test05_schedule_rng_seed", seed()),
        field(0.05, "print_timestamps", Just(true)),
        field(0.12, "performance_issue_unique", Just(true)),
        field(0.12, "performance_issue_same", Just(true)),
        field(0.3, "performance_issue_same_index", prop_oneof![4 => 0_u64..4, 1 => 0_u64..60]),
        field(0.2, "performance_sample_count_override", prop_oneof![20 => 1_u64..200, 1 => huge()]),
        field(0.2, "accuracy_sample_count_override", prop_oneof![20 => 1_u64..200, 1 => huge()]),
        field(0.25, "sample_concatenate_permutation", Just(true)),
        field(0.3, "use_token_latencies", Just(true)),
        field(0.2, "infer_token_latencies", Just(true)),
        field(0.2, "token_latency_scaling_factor", prop_oneof![4 => 0_u64..100, 1 => huge()]),
    ];
    fields.extend(scenario_settings(scenario));
    (bounded(scenario), fields)
        .prop_map(|(bounds, fields)| map(bounds.into_iter().chain(fields.into_iter().flatten())))
}

fn scenario_settings(scenario: Scenario) -> Vec<Field> {
    let bound_ns =
        || prop_oneof![8 => 1_000_u64..1_000_000, 8 => 1_000_000_u64..40_000_000, 1 => huge()].boxed();
    match scenario {
        Scenario::SingleStream => vec![field(0.6, "single_stream_target_latency_percentile", quantile())],
        Scenario::MultiStream => vec![
            field(0.6, "multi_stream_target_latency_percentile", quantile()),
            field(0.7, "multi_stream_samples_per_query", 1_u64..20),
        ],
        Scenario::Server => vec![
            field(0.6, "server_target_latency_percentile", quantile()),
            field(0.7, "server_target_latency_ns", bound_ns()),
            field(0.4, "server_coalesce_queries", Just(true)),
            field(0.2, "server_max_async_queries", 1_u64..8),
            // It replaces the rate that bounds the length of the test.
            field(0.01, "server_target_qps", Just(2e9)),
            field(0.3, "server_ttft_latency", bound_ns()),
            field(0.3, "server_tpot_latency", bound_ns()),
        ],
        Scenario::Offline => Vec::new(),
    }
}

/// Few queries of a large library.
fn large_settings(scenario: Scenario) -> impl Strategy<Value = Map<String, Value>> {
    let fields = vec![
        field(1.0, "qsl_rng_seed", seed()),
        field(1.0, "sample_index_rng_seed", seed()),
        field(
            0.3,
            "sample_concatenate_permutation",
            Just(scenario != Scenario::SingleStream && scenario != Scenario::Server),
        ),
    ];
    (bounded(scenario), fields)
        .prop_map(|(bounds, fields)| map(bounds.into_iter().chain(fields.into_iter().flatten())))
}

/// Numbers at the ends of signed and unsigned integers.
fn huge() -> BoxedStrategy<u64> {
    let ends = vec![
        1_000_000_000_000_000_000,
        1_000_000_000_000_000_001,
        u64::from(u32::MAX),
        1 << 33,
        (1 << 63) - 1,
        1 << 63,
        (1 << 63) + 1,
        u64::MAX - 1,
        u64::MAX,
    ];
    prop_oneof![proptest::sample::select(ends), (31_u32..64).prop_map(|bit| 1 << bit), any::<u64>()].boxed()
}

/// Few queries, but so many expected samples that their number wraps.
fn expecting_many() -> BoxedStrategy<Case> {
    let fields = vec![
        field(1.0, "multi_stream_samples_per_query", 1_u64..64),
        field(
            1.0,
            "accuracy_log_sampling_target",
            prop_oneof![huge(), (1_u64..40).prop_map(|tenths| tenths * 100_000_000_000_000_000)],
        ),
        field(0.5, "sample_index_rng_seed", seed()),
    ];
    (fields, 64_u64..150, script(Scenario::MultiStream))
        .prop_map(|(fields, total_count, script)| {
            let mut settings = map(fields.into_iter().flatten());
            settings.extend(map(bounds(1_000_000_000_000, 1, "multi_stream_expected_latency_ns", 1.0)));
            settings
                .extend(map([("scenario", json!("MultiStream")), ("performance_issue_unique", json!(true))]));
            Case::of(total_count, settings, script)
        })
        .boxed()
}

/// Several threads that issue queries, merged or not, while a system is busy in the call.
pub fn issuing_threads() -> BoxedStrategy<Case> {
    let fields = vec![
        field(0.8, "server_coalesce_queries", Just(true)),
        field(0.8, "sample_index_rng_seed", seed()),
        field(0.8, "schedule_rng_seed", seed()),
    ];
    let busy_us = vec(prop_oneof![4 => 0_u64..100, 2 => 100_u64..1500], 1..5);
    (fields, 2_u64..6, 1_u64..120, 2e2..2e4, busy_us, 1_u64..40)
        .prop_map(|(fields, threads, query_count, qps, busy_us, total_count)| {
            let mut settings = map(fields.into_iter().flatten());
            settings.extend(map(bounds(0, query_count, "server_target_qps", qps)));
            settings.extend(map([
                ("scenario", json!("Server")),
                ("server_num_issue_query_threads", json!(threads)),
            ]));
            let script = Script { busy_us, response_len: vec![1], ..Script::default() };
            Case::of(total_count, settings, script)
        })
        .boxed()
}

/// Searches for the peak. The rate is met as long as the phases are fast.
fn peak_search() -> BoxedStrategy<Case> {
    // With few decimals, the smaller steps make boundaries that agree at once.
    let step = prop_oneof![0.1..3.0, 0.001..0.002];
    let fields = vec![
        field(1.0, "schedule_rng_seed", seed()),
        field(0.5, "sample_index_rng_seed", seed()),
        field(0.8, "server_find_peak_qps_decimals_of_precision", 0_i32..3),
        field(0.5, "server_find_peak_qps_boundary_step_size", step),
        field(0.3, "accuracy_log_sampling_target", 1_u64..50),
        field(0.4, "server_max_async_queries", 1_u64..12),
        field(0.3, "use_token_latencies", Just(true)),
        field(0.5, "server_ttft_latency", prop_oneof![3 => Just(15_000_000_u64), 1 => Just(1_u64)]),
    ];
    // A slow phase takes longer for each of up to 40 tokens.
    let tpot_ns = prop_oneof![3 => Just(500_000_u64), 1 => Just(1_u64)];
    let first = prop_oneof![8 => Just(0_u64), 1 => Just(25_000_u64)];
    let phases = vec(prop_oneof![3 => Just(0_u64), 2 => Just(25_000_u64)], 0..10);
    let system = (prop_oneof![1 => Just(0_u64), 1 => 1_u64..12], vec(2_u64..40, 1..4), any::<bool>());
    (fields, 500.0..5e3, 0_u64..5, 1_u64..20, tpot_ns, (first, phases), system)
        .prop_map(|(fields, qps, duration_ms, count, tpot_ns, (first, phases), system)| {
            let mut settings = map(fields.into_iter().flatten());
            settings.extend(map(bounds(duration_ms, count, "server_target_qps", qps)));
            settings.extend(map([
                ("scenario", json!("Server")),
                ("mode", json!("FindPeakPerformance")),
                ("server_target_latency_ns", json!(15_000_000)),
                ("server_tpot_latency", json!(tpot_ns)),
            ]));
            let mut slow_phases = vec![first];
            slow_phases.extend(phases);
            slow_phases.push(25_000);
            let (hold, tokens, early_tokens) = system;
            let first_tokens = vec![1];
            let response_len = vec![2];
            let script = Script {
                hold,
                tokens,
                early_tokens,
                first_tokens,
                response_len,
                slow_phases,
                ..Script::default()
            };
            Case { performance_count: 10, ..Case::of(20, settings, script) }
        })
        .boxed()
}

fn script(scenario: Scenario) -> impl Strategy<Value = Script> {
    let streams = matches!(scenario, Scenario::SingleStream | Scenario::MultiStream);
    let hold = if streams { Just(0).boxed() } else { prop_oneof![2 => Just(0_u64), 2 => 1_u64..6].boxed() };
    let group = prop_oneof![2 => Just(0_u64), 1 => 1_u64..6];
    let busy_us = vec(prop_oneof![4 => 0_u64..20, 1 => 20_u64..400], 0..5);
    let response_len = vec(prop_oneof![1 => Just(0_u64), 6 => 1_u64..12], 0..4);
    // The last two are against the rules.
    let tokens = prop_oneof![8 => vec(2_u64..40, 1..4), 1 => Just(Vec::new()), 1 => vec(0_u64..4, 1..4)];
    let first_tokens = prop_oneof![14 => Just(vec![1_u64]), 1 => Just(Vec::new()), 1 => vec(0_u64..3, 1..4)];
    let again = prop_oneof![30 => Just(Vec::new()), 1 => vec(0_u64..2, 1..5)];
    let order = (hold, any::<bool>(), any::<bool>(), group);
    (order, busy_us, response_len, tokens, first_tokens, any::<bool>(), again).prop_map(
        |(
            (hold, newest_first, reverse, group),
            busy_us,
            response_len,
            tokens,
            first_tokens,
            early_tokens,
            again,
        )| Script {
            hold,
            newest_first,
            reverse,
            group,
            busy_us,
            response_len,
            tokens,
            first_tokens,
            early_tokens,
            again,
            slow_phases: Vec::new(),
        },
    )
}

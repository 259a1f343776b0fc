//! Settings that no run can be made of are refused by name, and any others make a plan.

use proctor_loadgen::{
    EffectiveSettings, QueryGenerator, Rules, SettingKind, SettingValue, SettingsError, TestSettings, phases,
};
use proctor_vocabulary::{Scenario, TestMode};
use proptest::prelude::*;

fn refusal(change: impl FnOnce(&mut TestSettings)) -> String {
    let mut request = TestSettings::default();
    change(&mut request);
    EffectiveSettings::new(&request, 4, 10).unwrap_err().to_string()
}

#[test]
fn numbers_without_sense_are_named_with_their_value() {
    let message = refusal(|request| {
        request.scenario = Scenario::Server;
        request.server_target_qps = -5.0;
    });
    assert_eq!(
        message,
        "setting server_target_qps = -5 is out of range: give a number from 1e-6 to 1000000000.0"
    );
    let message = refusal(|request| request.single_stream_expected_latency_ns = f64::NAN);
    assert!(
        message.starts_with("setting single_stream_expected_latency_ns = NaN is out of range"),
        "{message}"
    );
    let message = refusal(|request| request.single_stream_target_latency_percentile = 99.0);
    assert!(message.contains("single_stream_target_latency_percentile = 99"), "{message}");
    let message = refusal(|request| {
        request.scenario = Scenario::MultiStream;
        request.multi_stream_samples_per_query = 0;
    });
    assert!(message.contains("multi_stream_samples_per_query = 0"), "{message}");
    assert!(
        refusal(|request| request.min_duration_ms = u64::MAX)
            .contains("min_duration_ms = 18446744073709551615")
    );
}

/// LoadGen takes a bound from 2^63 ns on for a negative number, which no latency keeps.
#[test]
fn a_bound_of_centuries_is_refused() {
    let server = TestSettings { scenario: Scenario::Server, ..TestSettings::default() };
    let too_long = 1_000_000_000_000_000_001;
    let message = refusal(|request| {
        *request = TestSettings { server_target_latency_ns: too_long, ..server.clone() };
    });
    assert_eq!(
        message,
        "setting server_target_latency_ns = 1000000000000000001 is out of range: give a whole number from 0 to \
         1000000000000000000"
    );
    let tokens = TestSettings { server_ttft_latency: too_long, ..server.clone() };
    assert!(EffectiveSettings::new(&tokens, 4, 10).is_ok(), "it is not used");
    for request in [
        TestSettings { use_token_latencies: true, ..tokens },
        TestSettings { use_token_latencies: true, server_tpot_latency: u64::MAX, ..server },
    ] {
        assert!(EffectiveSettings::new(&request, 4, 10).is_err());
    }
}

/// LoadGen asks for memory for all of them, and ends where there is none.
#[test]
fn a_huge_performance_count_is_cut_to_the_library() {
    let request = TestSettings { performance_sample_count_override: 1 << 40, ..TestSettings::default() };
    let settings = EffectiveSettings::new(&request, 4, 10).unwrap().0;
    assert_eq!(settings.performance_sample_count, 1 << 40);
    assert_eq!(phases(&settings)[0].set.indices.len(), 10);
}

#[test]
fn a_test_without_queries_is_refused() {
    let message = refusal(|request| {
        request.min_query_count = 0;
        request.min_duration_ms = 0;
    });
    assert_eq!(
        message,
        "the settings generate no query: min_query_count and min_duration_ms are both 0; raise one"
    );
    let message = refusal(|request| {
        request.scenario = Scenario::Offline;
        request.performance_issue_unique = true;
        request.performance_sample_count_override = 11;
    });
    assert!(message.contains("lower performance_sample_count_override"), "{message}");
    let request = TestSettings::default();
    let error = EffectiveSettings::new(&request, 0, 10).unwrap_err();
    assert_eq!(error, SettingsError::Library { key: "performance_sample_count", count: 0 });
    assert!(EffectiveSettings::new(&request, 4, 0).is_err());
}

#[test]
fn the_sample_to_repeat_must_be_in_every_loaded_set() {
    let mut request = TestSettings {
        performance_issue_same: true,
        performance_issue_same_index: 3,
        ..TestSettings::default()
    };
    assert!(EffectiveSettings::new(&request, 4, 10).is_ok());
    // The last accuracy set has 2 samples.
    request.mode = TestMode::SubmissionRun;
    let error = EffectiveSettings::new(&request, 4, 10).unwrap_err();
    assert_eq!(error, SettingsError::IssueSameOutsideSet { index: 3, set_len: 2 });
}

#[test]
fn a_contradiction_is_reported_but_does_not_stop_the_run() {
    let request = TestSettings {
        performance_issue_same: true,
        performance_issue_unique: true,
        performance_issue_same_index: 9,
        ..TestSettings::default()
    };
    let (_, errors) = EffectiveSettings::new(&request, 4, 10).unwrap();
    assert_eq!(errors.len(), 2);
}

#[test]
fn test_05_replaces_mode_and_seeds() {
    let request = TestSettings {
        mode: TestMode::AccuracyOnly,
        test05: true,
        qsl_rng_seed: 1,
        test05_qsl_rng_seed: 2,
        ..TestSettings::default()
    };
    let (effective, _) = EffectiveSettings::new(&request, 4, 10).unwrap();
    assert_eq!((effective.request.mode, effective.request.qsl_rng_seed), (TestMode::PerformanceOnly, 2));
}

/// Values of a kind, with the edges often.
fn any_value(kind: SettingKind) -> BoxedStrategy<SettingValue> {
    match kind {
        SettingKind::Bool => any::<bool>().prop_map(SettingValue::Bool).boxed(),
        SettingKind::Unsigned => {
            prop_oneof![Just(0), Just(1), Just(u64::MAX), 0_u64..200, Just(1 << 32), any::<u64>()]
                .prop_map(SettingValue::Unsigned)
                .boxed()
        }
        SettingKind::Signed => any::<i32>().prop_map(|value| SettingValue::Signed(value.into())).boxed(),
        SettingKind::Float => {
            prop_oneof![Just(0.0), Just(-1.0), Just(f64::NAN), 0.0..1.0, 1.0..1e10, any::<f64>()]
                .prop_map(SettingValue::Float)
                .boxed()
        }
        SettingKind::Scenario => {
            proptest::sample::select(Scenario::ALL).prop_map(SettingValue::Scenario).boxed()
        }
        SettingKind::Mode => proptest::sample::select(TestMode::ALL).prop_map(SettingValue::Mode).boxed(),
        SettingKind::Rules => {
            proptest::sample::select(Rules::all().collect::<Vec<_>>()).prop_map(SettingValue::Rules).boxed()
        }
    }
}

fn any_change() -> impl Strategy<Value = (&'static str, SettingValue)> {
    proptest::sample::select(TestSettings::FIELDS)
        .prop_flat_map(|field| any_value(field.kind).prop_map(move |value| (field.name, value)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_settings_are_refused_or_make_a_plan(
        scenario in proptest::sample::select(Scenario::ALL),
        changes in proptest::collection::vec(any_change(), 0..6),
        performance_count in prop_oneof![0_u64..12, Just(u64::MAX)],
        total_count in 0_u64..12,
    ) {
        let mut request = TestSettings { scenario, ..TestSettings::default() };
        for (name, value) in changes {
            request.set(name, value).unwrap();
        }
        if let Ok((effective, _)) = EffectiveSettings::new(&request, performance_count, total_count) {
            for phase in phases(&effective) {
                prop_assert!((1..=total_count).contains(&(phase.set.end as u64)));
                prop_assert!(phase.set.indices.iter().all(|index| index.0 < total_count));
            }
        }
    }
}

/// Small settings whose generation cannot take long.
fn small_request() -> impl Strategy<Value = TestSettings> {
    let switches = (any::<bool>(), any::<bool>(), any::<bool>());
    let sizes = (0_u64..40, 0_u64..30, 1_u64..6, 0_u64..12, 0_u64..12);
    let names = (
        proptest::sample::select(Scenario::ALL),
        proptest::sample::select(TestMode::ALL),
        proptest::sample::select(&[0_u64, 2, 5][..]),
    );
    (names, switches, sizes).prop_map(|((scenario, mode, same_index), (unique, same, equal), sizes)| {
        let (min_query_count, min_duration_ms, samples_per_query, performance_count, accuracy_count) = sizes;
        TestSettings {
            scenario,
            mode,
            performance_issue_unique: unique,
            performance_issue_same: same,
            performance_issue_same_index: same_index,
            sample_concatenate_permutation: equal,
            min_query_count,
            min_duration_ms,
            multi_stream_samples_per_query: samples_per_query,
            performance_sample_count_override: performance_count,
            accuracy_sample_count_override: accuracy_count,
            single_stream_expected_latency_ns: 300_000.0,
            server_target_qps: 2000.0,
            offline_expected_qps: 2000.0,
            ..TestSettings::default()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn accepted_settings_generate_what_the_totals_say(request in small_request()) {
        if let Ok((effective, _)) = EffectiveSettings::new(&request, 4, 10) {
            for phase in phases(&effective) {
                let mut generator = QueryGenerator::new(&effective, &phase);
                let totals = generator.totals();
                prop_assert!(totals.query_count > 0);
                let (mut query_count, mut last_ns) = (0, 0);
                while let Some(query) = generator.next_query() {
                    prop_assert!(query.offset_ns >= last_ns);
                    last_ns = query.offset_ns;
                    query_count += 1;
                    let samples: Vec<_> = generator.samples().collect();
                    prop_assert_eq!(samples.len() as u64, query.sample_count);
                    prop_assert_eq!(query.sample_count, totals.samples_per_query);
                    prop_assert!(samples.iter().all(|index| phase.set.indices.contains(index)));
                }
                prop_assert_eq!(query_count, totals.query_count);
            }
        }
    }
}

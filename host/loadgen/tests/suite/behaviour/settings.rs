//! Settings that are not refused make a plan.

use proctor_loadgen::{
    EffectiveSettings, QueryGenerator, Rules, SettingKind, SettingValue, TestSettings, phases,
};
use proctor_vocabulary::{Scenario, TestMode};
use proptest::prelude::*;

/// LoadGen asks for memory for all of them, and ends where there is none.
#[test]
fn a_huge_performance_count_is_cut_to_the_library() {
    let request = TestSettings { performance_sample_count_override: 1 << 40, ..TestSettings::default() };
    let settings = EffectiveSettings::new(&request, 4, 10).unwrap().0;
    assert_eq!(settings.performance_sample_count, 1 << 40);
    assert_eq!(phases(&settings)[0].set.indices.len(), 10);
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

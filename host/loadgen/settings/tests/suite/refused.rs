//! Settings that no run can be made of are refused by name; contradictions are told.

use proctor_loadgen_settings::{Contradiction, EffectiveSettings, SettingsError, TestSettings};
use proctor_vocabulary::{Scenario, TestMode};

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
    let outside = Contradiction::IssueSameIndex { index: 9, sample_count: 4 };
    assert_eq!(errors, [outside, Contradiction::UniqueAndSame]);
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

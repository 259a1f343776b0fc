//! Selects the responses for the accuracy log.

use proctor_loadgen_settings::EffectiveSettings;
use proctor_mt19937::{Mt19937, canonical};
use proctor_vocabulary::Scenario;

use crate::plan::phases::PhaseMode;

/// Decides for each sample of a test, in the order of their creation, whether its response is logged.
///
/// It lives for one whole test. Every generated sample takes one variate, even if it is never issued.
///
/// The variates come from a generator with the default seed: LoadGen does not apply `accuracy_log_rng_seed` to it but
/// only shifts all of them by one offset, which that seed gives. Audit tests rely on the same choice, so it is kept.
///
/// Source: LoadGen 6.0.17, `ResponseDelegateDetailed` and `GenerateAccuracyLogVariate`.
#[derive(Debug, Clone)]
pub struct AccuracySampler {
    variates: Mt19937,
    offset: f64,
    probability: f64,
    /// The upper half of `1 - offset`. The sum of a variate and the offset can be 1 only if the upper half of the
    /// variate is near to it.
    high_of_one: u32,
}

impl AccuracySampler {
    /// Returns the sampler of a test.
    #[must_use]
    pub fn new(settings: &EffectiveSettings) -> Self {
        let offset = Mt19937::new(settings.request.accuracy_log_rng_seed).canonical();
        Self {
            variates: Mt19937::new(Mt19937::DEFAULT_SEED),
            offset,
            probability: probability(settings),
            // A cast saturates, so 1 itself becomes the largest value, which is near.
            high_of_one: ((1.0 - offset) * 4_294_967_296.0) as u32,
        }
    }

    /// Goes on to a phase with other settings: the share to log may depend on their rate, the variates do not.
    pub(crate) fn go_on(&mut self, settings: &EffectiveSettings) {
        self.probability = probability(settings);
    }

    /// Returns whether to log the response of the next sample. An accuracy phase logs all.
    #[inline]
    pub fn select(&mut self, mode: PhaseMode) -> bool {
        let (low, high) = self.variates.next_pair();
        mode == PhaseMode::Accuracy || self.is_selected(low, high)
    }

    /// Returns whether a sample is selected. With probability 0 a variate of exactly 0 still is, but impossible ones
    /// need not be computed.
    #[inline]
    fn is_selected(&self, low: u32, high: u32) -> bool {
        let cannot_be_zero = high.abs_diff(self.high_of_one) > 2 && high != 0;
        if self.probability <= 0.0 && cannot_be_zero {
            return false;
        }
        self.variate(low, high) <= self.probability
    }

    fn variate(&self, low: u32, high: u32) -> f64 {
        let sum = canonical(low, high) + self.offset;
        if sum < 1.0 { sum } else { sum - 1.0 }
    }

    /// Passes over samples that were generated but not issued.
    pub fn skip(&mut self, sample_count: u64) {
        for _ in 0..sample_count {
            self.variates.next_pair();
        }
    }
}

/// Returns the share to log: as set, or the wanted number of responses over the number of samples that are expected,
/// which wraps at 2^64 as LoadGen's does.
fn probability(settings: &EffectiveSettings) -> f64 {
    let target = settings.request.accuracy_log_sampling_target;
    if target == 0 {
        return settings.request.accuracy_log_probability;
    }
    let expected = ((settings.target_qps * settings.request.min_duration_ms as f64) / 1000.0) as u64;
    let expected = match settings.request.scenario {
        Scenario::Offline => expected,
        _ => expected.wrapping_mul(settings.samples_per_query),
    };
    target as f64 / expected.max(settings.min_sample_count) as f64
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proctor_loadgen_settings::TestSettings;
    use proptest::prelude::*;

    use super::*;

    fn sampler(seed: u64, offset: Option<f64>) -> AccuracySampler {
        let request = TestSettings { accuracy_log_rng_seed: seed, ..TestSettings::default() };
        let settings = EffectiveSettings::new(&request, 10, 10).expect("the settings make a test").0;
        let sampler = AccuracySampler::new(&settings);
        let offset = offset.unwrap_or(sampler.offset);
        AccuracySampler { offset, high_of_one: ((1.0 - offset) * 4_294_967_296.0) as u32, ..sampler }
    }

    /// Compares the rule with its definition, close to a sum of 1 and elsewhere.
    fn check(sampler: &AccuracySampler, low: u32, far: u32) {
        let near = (-4..=4).map(|step| sampler.high_of_one.wrapping_add_signed(step));
        for high in near.chain([0, u32::MAX, far]) {
            let as_defined = sampler.variate(low, high) <= 0.0;
            assert_eq!(sampler.is_selected(low, high), as_defined, "{low} {high} {}", sampler.offset);
        }
    }

    #[test]
    fn a_sum_of_exactly_one_is_found() {
        // 3/4 + 1/4, and 0 + 0.
        assert!(sampler(0, Some(0.25)).is_selected(0, 3 << 30));
        assert!(sampler(0, Some(0.0)).is_selected(0, 0));
        assert!(!sampler(0, Some(0.0)).is_selected(u32::MAX, u32::MAX));
        // Rounded to 1 from below.
        assert!(sampler(0, Some(0.25)).is_selected(u32::MAX, (3 << 30) - 1));
    }

    /// LoadGen multiplies 10^18 queries by 20 samples, and keeps the low 64 bits.
    #[test]
    fn the_expected_samples_wrap_as_loadgens_do() {
        let request = TestSettings {
            scenario: Scenario::MultiStream,
            performance_issue_unique: true,
            min_duration_ms: 1_000_000_000_000,
            multi_stream_expected_latency_ns: 1.0,
            multi_stream_samples_per_query: 20,
            accuracy_log_sampling_target: 1_000_000_000_000_000_000,
            ..TestSettings::default()
        };
        let settings = EffectiveSettings::new(&request, 100, 100).expect("the settings make a test").0;
        assert_eq!(probability(&settings), 1e18 / 1_553_255_926_290_448_384.0);
    }

    proptest! {
        #[test]
        fn with_probability_0_the_rule_is_the_same(
            seed: u64,
            low in prop_oneof![Just(0), Just(u32::MAX), any::<u32>()],
            far: u32,
            offset in proptest::option::of(0.0..1.0_f64),
        ) {
            check(&sampler(seed, offset), low, far);
        }
    }
}

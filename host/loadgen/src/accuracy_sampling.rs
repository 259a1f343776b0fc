//! Which responses go into the accuracy log.

use proctor_vocabulary::Scenario;

use crate::{EffectiveSettings, plan::PhaseMode, rng::Mt19937};

/// Decides for each sample of a test, in the order of their creation, whether its response is logged.
///
/// It lives for one whole test. Every generated sample takes one variate, also those that are never issued.
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
}

impl AccuracySampler {
    /// Returns the sampler of a test.
    #[must_use]
    pub fn new(settings: &EffectiveSettings) -> Self {
        Self {
            variates: Mt19937::new(Mt19937::DEFAULT_SEED),
            offset: Mt19937::new(settings.accuracy_log_rng_seed).canonical(),
            probability: probability(settings),
        }
    }

    /// Goes on to a phase with other settings: the share to log may depend on their rate, the variates do not.
    pub(crate) fn go_on(&mut self, settings: &EffectiveSettings) {
        self.probability = probability(settings);
    }

    /// Returns whether the response of the next sample is to be logged. An accuracy phase logs all.
    pub fn select(&mut self, mode: PhaseMode) -> bool {
        let sum = self.variates.canonical() + self.offset;
        let variate = if sum < 1.0 { sum } else { sum - 1.0 };
        mode == PhaseMode::Accuracy || variate <= self.probability
    }

    /// Passes over samples that were generated but not issued.
    pub fn skip(&mut self, sample_count: u64) {
        for _ in 0..sample_count {
            self.variates.canonical();
        }
    }
}

/// The share to log: as set, or the wanted number of responses over the number of samples that are expected.
fn probability(settings: &EffectiveSettings) -> f64 {
    let target = settings.accuracy_log_sampling_target;
    if target == 0 {
        return settings.accuracy_log_probability;
    }
    let expected = ((settings.target_qps * settings.min_duration_ms as f64) / 1000.0) as u64;
    let expected = match settings.scenario {
        Scenario::Offline => expected,
        _ => expected.saturating_mul(settings.samples_per_query),
    };
    target as f64 / expected.max(settings.min_sample_count) as f64
}

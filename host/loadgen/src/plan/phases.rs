//! Plans the samples that are loaded together, and the phases of a test.

use proctor_loadgen_settings::EffectiveSettings;
use proctor_mt19937::Mt19937;
use proctor_vocabulary::{SampleIndex, Scenario, TestMode};

/// The purpose of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseMode {
    /// Every sample once; all responses are logged.
    Accuracy,
    /// Timed queries.
    Performance,
}

impl PhaseMode {
    /// Returns the phases that the figures of a test in this mode are about.
    #[must_use]
    pub fn reported_of(mode: TestMode) -> Self {
        match mode {
            TestMode::AccuracyOnly => Self::Accuracy,
            TestMode::PerformanceOnly | TestMode::FindPeakPerformance | TestMode::SubmissionRun => {
                Self::Performance
            }
        }
    }
}

/// Samples that are loaded together, in load order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedSet {
    /// Library indices. For MultiStream, the first `samples_per_query - 1` of them (cyclically) follow once more, so
    /// that a query of neighbours can start anywhere.
    pub indices: Vec<SampleIndex>,
    /// Number of entries before that padding: where a query may start.
    pub end: usize,
}

/// One cycle of load, generate, issue, flush, wait, unload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhasePlan {
    /// The purpose of the phase.
    pub mode: PhaseMode,
    /// The samples to load.
    pub set: LoadedSet,
}

/// Returns the phases of a test, in order. The search for the peak repeats its one phase.
///
/// Their memory is bounded by the library: an accuracy run has every sample in one of its sets.
#[must_use]
pub fn phases(settings: &EffectiveSettings) -> Vec<PhasePlan> {
    let plans =
        |mode, sample_count| loadable_sets(settings, sample_count).map(move |set| PhasePlan { mode, set });
    let accuracy = || plans(PhaseMode::Accuracy, settings.accuracy_sample_count);
    let performance = || plans(PhaseMode::Performance, settings.performance_sample_count).take(1);
    match settings.request.mode {
        TestMode::AccuracyOnly => accuracy().collect(),
        TestMode::PerformanceOnly | TestMode::FindPeakPerformance => performance().collect(),
        TestMode::SubmissionRun => accuracy().chain(performance()).collect(),
    }
}

/// Shuffles the first `requested_count` samples of the library and cuts them into sets.
///
/// Source: LoadGen 6.0.17, `GenerateLoadableSets`.
fn loadable_sets(settings: &EffectiveSettings, requested_count: u64) -> impl Iterator<Item = LoadedSet> {
    let count = requested_count.min(settings.qsl_total_count);
    let mut indices: Vec<_> = (0..count).map(SampleIndex).collect();
    Mt19937::new(settings.request.qsl_rng_seed).shuffle(&mut indices);
    let padding = match settings.request.scenario {
        Scenario::MultiStream => settings.samples_per_query as usize - 1,
        _ => 0,
    };
    let set_len = settings.performance_sample_count.min(count) as usize;
    let sets: Vec<_> = indices.chunks(set_len).map(|set| padded(set, padding)).collect();
    sets.into_iter()
}

fn padded(set: &[SampleIndex], padding: usize) -> LoadedSet {
    let indices = set.iter().chain(set.iter().cycle().take(padding)).copied().collect();
    LoadedSet { indices, end: set.len() }
}

#[cfg(test)]
mod tests {
    use proctor_loadgen_settings::TestSettings;

    use super::*;

    fn settings(request: TestSettings) -> EffectiveSettings {
        EffectiveSettings::new(&request, 4, 10).unwrap().0
    }

    #[test]
    fn an_accuracy_run_loads_every_sample_once() {
        let request = TestSettings { mode: TestMode::AccuracyOnly, ..TestSettings::default() };
        let phases = phases(&settings(request));
        assert_eq!(phases.iter().map(|phase| phase.set.end).collect::<Vec<_>>(), [4, 4, 2]);
        let mut indices: Vec<_> =
            phases.iter().flat_map(|phase| &phase.set.indices).map(|index| index.0).collect();
        indices.sort_unstable();
        assert!(indices.into_iter().eq(0..10));
    }

    #[test]
    fn a_multi_stream_set_ends_with_its_first_entries() {
        let request = TestSettings {
            scenario: Scenario::MultiStream,
            multi_stream_samples_per_query: 7,
            ..TestSettings::default()
        };
        let phases = phases(&settings(request));
        let [PhasePlan { set, .. }] = &phases[..] else { panic!("one phase expected") };
        assert_eq!((set.end, set.indices.len()), (4, 10));
        assert_eq!(set.indices[4..8], set.indices[..4]);
        assert_eq!(set.indices[8..], set.indices[..2]);
    }
}

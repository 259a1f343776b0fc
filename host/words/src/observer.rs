//! The user's side of a run: its display, and how it ends the program.

use std::{collections::BTreeMap, os::fd::OwnedFd, path::Path, sync::Arc};

use proctor_loadgen::{EffectiveSettings, Progress};
use proctor_noise::SoFar;
use proctor_plugin_host::PluginMetric;
use proctor_recipes::Progress as FileProgress;
use proctor_scaling::Knobs;
use proctor_vocabulary::{Scenario, TestMode};

use crate::{error::HostError, run_folder::RunFolder};

/// A verdict, rendered for people and for programs.
pub struct RenderedVerdict {
    /// A block of lines for people.
    pub text: String,
    /// A line of JSON for programs.
    pub line: String,
}

/// Receives the output of a running run. Every method but [`end`](Self::end) may do nothing. [any thread]
pub trait Observer: Send + Sync {
    /// Learns the folder of the results once it is made, before anything is in it.
    fn folder_is_made(&self, _folder: &RunFolder) {}

    /// Takes a piece of the answer, which a program prints to stdout.
    fn answer(&self, _text: &str) {}

    /// Returns the rendering of a verdict that the user wants: the text by default.
    fn verdict(&self, verdict: RenderedVerdict) -> String {
        verdict.text
    }

    /// Takes the verdict in this form, which is the end of the answer.
    fn conclude(&self, verdict: &str) {
        self.answer(verdict);
    }

    /// Returns the file for answers, so that one can be given when the process crashes; none by default.
    fn answer_file(&self) -> Option<OwnedFd> {
        None
    }

    /// Takes a message, a line or more without the final line break: a warning, or the program's next action.
    fn message(&self, _text: &str) {}

    /// Receives a test that begins, to observe until [`test_ends`](Self::test_ends).
    fn test_begins(&self, _test: ShownTest) {}

    /// Receives new knobs of the test's policy, and whether it intends to stay there.
    fn knobs_turned(&self, _knobs: Knobs, _is_settled: bool) {}

    /// Called when the test is over.
    fn test_ends(&self) {}

    /// Receives the written part of a generated model file.
    fn writes_model(&self, _file: &Path, _written: FileProgress) {}

    /// Ends the program: the user wants to stop, or the plugin hangs. Must not wait.
    fn end(&self, error: &HostError) -> !;
}

/// A test that the user sees while it continues.
pub struct ShownTest {
    /// Counts and latencies.
    pub progress: Progress,
    /// Known facts about the test before it begins.
    pub plan: TestPlan,
    /// The figures that the plugin has reported so far, by name.
    pub metrics: Arc<dyn Fn() -> BTreeMap<String, PluginMetric> + Send + Sync>,
    /// Noise of the machine so far; `None` if no guard runs.
    pub noise: Option<Arc<dyn Fn() -> SoFar + Send + Sync>>,
}

/// Plan of a test: its end, and the bounds of its latencies.
#[derive(Debug, Clone, PartialEq)]
pub struct TestPlan {
    /// Purpose of the test.
    pub mode: TestMode,
    /// Scenario of the test.
    pub scenario: Scenario,
    /// Minimum duration of issuing; 0 if the samples alone decide.
    pub least_duration_ns: u64,
    /// Minimum number of samples that are issued.
    pub least_sample_count: u64,
    /// Quantile of the latency that the metric or the bound is about, as a fraction.
    pub quantile: f64,
    /// Bound of the latency at this quantile, if a sample's latency has one.
    pub bound_ns: Option<u64>,
}

impl TestPlan {
    /// Returns the plan of a test with these settings.
    #[must_use]
    pub fn of(settings: &EffectiveSettings) -> Self {
        let request = &settings.request;
        let is_performance = request.mode != TestMode::AccuracyOnly;
        let (least_duration_ms, least_sample_count) = match is_performance {
            true => {
                let queries = settings.min_query_count.max(1);
                let samples = queries.saturating_mul(settings.samples_per_query);
                (
                    settings.target_duration_ms,
                    if request.scenario == Scenario::Offline { settings.samples_per_query } else { samples },
                )
            }
            false => (0, settings.accuracy_sample_count.min(settings.qsl_total_count)),
        };
        // Tokens have their own bounds, and a query of MultiStream has its slowest sample's.
        let has_bound = request.scenario == Scenario::Server && !request.use_token_latencies;
        Self {
            mode: request.mode,
            scenario: request.scenario,
            least_duration_ns: least_duration_ms.saturating_mul(1_000_000),
            least_sample_count,
            quantile: settings.target_latency_percentile,
            bound_ns: (is_performance && has_bound).then_some(settings.target_latency_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use proctor_loadgen::TestSettings;

    use super::*;

    fn plan(request: &TestSettings) -> TestPlan {
        TestPlan::of(&EffectiveSettings::new(request, 100, 600).unwrap().0)
    }

    #[test]
    fn a_plan_says_when_a_test_may_end_and_what_binds_it() {
        let server = TestSettings {
            scenario: Scenario::Server,
            min_duration_ms: 2000,
            min_query_count: 70,
            server_target_latency_ns: 5_000_000,
            ..TestSettings::default()
        };
        let found = plan(&server);
        assert_eq!((found.least_duration_ns, found.least_sample_count), (2_000_000_000, 70));
        assert_eq!((found.quantile, found.bound_ns), (0.99, Some(5_000_000)));
        let tokens = TestSettings { use_token_latencies: true, ..server.clone() };
        assert_eq!(plan(&tokens).bound_ns, None);
        let accuracy = plan(&TestSettings { mode: TestMode::AccuracyOnly, ..server });
        let planned = (accuracy.least_duration_ns, accuracy.least_sample_count, accuracy.bound_ns);
        assert_eq!(planned, (0, 600, None));
        let streams =
            TestSettings { scenario: Scenario::MultiStream, min_query_count: 7, ..TestSettings::default() };
        assert_eq!(plan(&streams).least_sample_count, 56);
    }

    #[test]
    fn the_one_query_of_offline_has_all_samples() {
        let offline =
            TestSettings { scenario: Scenario::Offline, min_query_count: 5000, ..TestSettings::default() };
        let found = plan(&offline);
        assert_eq!((found.least_duration_ns, found.bound_ns), (0, None));
        assert!(found.least_sample_count >= 5000, "{found:?}");
    }
}

//! Performance runs of a result: one, or, if the rules want several, the one of them that counts.
//!
//! Source: MLPerf Inference Benchmark, section 4.6: five runs of Server, and the result is their lowest. An INVALID run
//! makes the result INVALID, so the runs after it are not made. If the plugin's process has ended, however, the next
//! run gets a fresh process, which shows whether that happens each time.

use proctor_bed::{Test, TestBed};
use proctor_config::Settings;
use proctor_results::MetricPart;
use proctor_vocabulary::{Scenario, TestMode};
use proctor_words::{HostError, RunFolder};

/// Runs in execution order.
#[derive(Default)]
pub struct PerformanceRuns {
    /// The runs that were made.
    pub tests: Vec<Test>,
    /// Number of runs that there should be.
    pub planned_count: u64,
}

impl PerformanceRuns {
    /// Creates the record of one run.
    pub fn of(test: Test) -> Self {
        Self { tests: vec![test], planned_count: 1 }
    }

    /// Makes the runs; the last one is not settled. The logs of a single one are in `folder` itself, the logs
    /// of several in `run_1`, `run_2` and so on.
    ///
    /// # Errors
    /// If a run could not begin; the ones before it are kept.
    pub(crate) fn make(
        &mut self,
        bed: &TestBed<'_>,
        mode: TestMode,
        folder: &RunFolder,
    ) -> Result<(), HostError> {
        self.planned_count = planned_count(bed.settings(), mode);
        for number in 1..=self.planned_count {
            let name = if self.planned_count == 1 { String::new() } else { format!("run_{number}") };
            // The answers of the first are enough.
            let mode = if number == 1 { mode } else { TestMode::PerformanceOnly };
            let test = bed.test_unsettled(&bed.request_in_mode(mode, &folder.subfolder(&name)?))?;
            self.tests.push(test);
            let test = self.tests.last_mut().expect("it was made just now");
            let may_go_on =
                |test: &Test, is_valid: bool| test.may_go_on() && (is_valid || bed.process_has_ended());
            if number == self.planned_count || !may_go_on(test, test.is_valid_so_far()) {
                break;
            }
            bed.settle(test);
            if !may_go_on(test, test.outcome.is_valid()) {
                break;
            }
        }
        Ok(())
    }

    /// Returns the run that the result is about: the INVALID one, else the one with the lowest metric.
    pub(crate) fn deciding(&self) -> Option<&Test> {
        self.deciding_position().map(|position| &self.tests[position])
    }

    fn deciding_position(&self) -> Option<usize> {
        let invalid = self.tests.iter().position(|test| !test.outcome.is_valid());
        invalid.or_else(|| self.lowest_position())
    }

    fn lowest_position(&self) -> Option<usize> {
        (0..self.tests.len()).min_by(|a, b| rate(&self.tests[*a]).total_cmp(&rate(&self.tests[*b])))
    }

    /// Returns all completed runs, if there should be several.
    pub(crate) fn several(&self) -> &[Test] {
        if self.planned_count > 1 { &self.tests } else { &[] }
    }

    /// Returns each run, with its number if there are several: the start of a reason.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (String, &Test)> {
        let number = |position| match self.planned_count {
            0 | 1 => String::new(),
            planned => format!("run {} of {planned}: ", position + 1),
        };
        self.tests.iter().enumerate().map(move |(position, test)| (number(position), test))
    }

    /// Returns the metric of the result, which is the deciding run's, and how many runs it is the lowest of, if it is.
    pub(crate) fn name(&self, metric: MetricPart) -> MetricPart {
        let is_lowest = self.deciding_position() == self.lowest_position();
        match self.tests.len() {
            count if count > 1 && is_lowest => {
                MetricPart { name: format!("{}, lowest of {count} runs", metric.name), ..metric }
            }
            _ => metric,
        }
    }
}

/// Returns the planned number of runs: several only in Server, whose rate they confirm; a search makes its own runs.
fn planned_count(settings: &Settings, mode: TestMode) -> u64 {
    let is_server = settings.run.scenario.loadgen() == Scenario::Server;
    let is_one = !is_server || mode == TestMode::FindPeakPerformance;
    if is_one { 1 } else { settings.run.server_run_count }
}

/// Returns the metric by which the runs are compared.
fn rate(test: &Test) -> f64 {
    test.metric().map_or(0.0, |metric| metric.value)
}

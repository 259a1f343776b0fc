//! Searches for the highest rate at which a Server keeps its latency bound: only decides, and knows no time.

use std::fmt;

use proctor_loadgen_settings::{MAX_QPS, TestSettings};

use crate::{
    issue::end::IssueEnd, measure::phase_error::PhaseError, verdict::results::recommendation::Recommendation,
};

/// One run of the search. Displays as LoadGen's message about it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PeakStep {
    /// The first run, at the requested rate.
    Base {
        /// The rate, in queries per second.
        qps: f64,
    },
    /// Widening the boundaries: at the upper rate.
    Boundary {
        /// The highest rate that was met so far.
        lower_qps: f64,
        /// The rate to try.
        upper_qps: f64,
    },
    /// The narrowing: at the rate in the middle.
    Middle {
        /// The highest rate that was met so far.
        lower_qps: f64,
        /// The lowest rate that was not met so far.
        upper_qps: f64,
    },
}

impl PeakStep {
    /// Returns the rate of the run, in queries per second.
    #[must_use]
    pub fn qps(self) -> f64 {
        match self {
            Self::Base { qps } => qps,
            Self::Boundary { upper_qps, .. } => upper_qps,
            Self::Middle { lower_qps, upper_qps } => lower_qps + (upper_qps - lower_qps) / 2.0,
        }
    }
}

impl fmt::Display for PeakStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base { qps } => {
                write!(f, "FindPeakPerformance: Check validity of the base settings field: {qps:.6}")
            }
            Self::Boundary { lower_qps, upper_qps } => {
                write!(f, "FindBoundaries: Checking fields [{lower_qps:.6}, {upper_qps:.6})")
            }
            Self::Middle { lower_qps, upper_qps } => write!(
                f,
                "FindPeakPerformanceBinarySearch: Testing the mid value of bounds [{lower_qps:.6}, {upper_qps:.6}): {:.6}",
                self.qps()
            ),
        }
    }
}

/// Reason why a rate is not met.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RateNotMet {
    /// Samples failed, or lack tokens.
    #[error("{0}")]
    Failed(PhaseError),
    /// Too many queries were outstanding.
    #[error("{0}")]
    EndedEarly(IssueEnd),
    /// A latency is over its bound: LoadGen's advice, with its line break between that for both bounds of the tokens.
    #[error("{}", advice.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n * "))]
    OverBound {
        /// Advice for each bound.
        advice: Vec<Recommendation>,
    },
}

/// End of a search. Displays as the message or error of the detail log; the first two are LoadGen's.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum PeakEnd {
    #[error("FindPeakPerformance: Found peak performance field: {qps:.6}")]
    Found { qps: f64 },
    #[error("FindPeakPerformance: Initial lower bound does not satisfy performance constraints, msg: {0}")]
    BaseNotMet(RateNotMet),
    #[error(
        "FindPeakPerformance: the latency bound was met at every rate, and the next, {next_qps:.6}, is above \
         the largest server_target_qps, {MAX_QPS:.0}: lower server_target_latency_ns or raise min_query_count"
    )]
    MaxRate { next_qps: f64 },
    /// In virtual time, every sample of a run was complete at its scheduled instant, or some far above the first rate,
    /// so no rate can be too high.
    #[error(
        "FindPeakPerformance: the system under test takes no virtual time, so that it has no peak: give it a service \
         time"
    )]
    Timeless,
    #[error(
        "FindPeakPerformance: no boundary was found in {count} runs: raise server_find_peak_qps_boundary_step_size \
         or server_target_qps"
    )]
    OutOfRuns { count: usize },
    #[error("FindPeakPerformance: the search ended early, because a run did not end.")]
    Broken,
}

/// A search for the peak. Its runs are the phases of the test, one for each step.
#[derive(Debug, Clone, PartialEq)]
pub struct PeakSearch {
    /// The runs, in order.
    pub steps: Vec<PeakStep>,
    /// Range of rates in which the narrowing began: the lower was met, the upper was not. `None` if it did not begin.
    pub boundaries_qps: Option<(f64, f64)>,
    /// Way in which it ended.
    pub end: PeakEnd,
    /// Step of the reported run: the highest rate that was met, else the last. `None` without any run.
    pub reported_step: Option<usize>,
    /// For each step whether its rate was met; one fewer if the last did not end.
    met: Vec<bool>,
    lower_qps: Option<f64>,
    /// The lowest rate that was not met, and why.
    upper: Option<(f64, RateNotMet)>,
    base_qps: f64,
    growth: f64,
    scale: f64,
}

impl PeakSearch {
    pub(crate) fn new(request: &TestSettings) -> Self {
        Self {
            steps: Vec::new(),
            boundaries_qps: None,
            end: PeakEnd::Broken,
            reported_step: None,
            met: Vec::new(),
            lower_qps: None,
            upper: None,
            base_qps: request.server_target_qps,
            growth: 1.0 + request.server_find_peak_qps_boundary_step_size,
            scale: 10_f64.powi(request.server_find_peak_qps_decimals_of_precision),
        }
    }

    /// Returns the peak in queries per second, if it was found.
    #[must_use]
    pub fn peak_qps(&self) -> Option<f64> {
        match self.end {
            PeakEnd::Found { qps } => Some(qps),
            _ => None,
        }
    }

    /// Returns the next rate above the peak that was tried, in queries per second, and why it is not met; if there is a
    /// peak.
    pub(crate) fn above_peak(&self) -> Option<(f64, &RateNotMet)> {
        self.peak_qps()?;
        self.upper.as_ref().map(|(qps, reason)| (*qps, reason))
    }

    /// Returns the rate at which it begins, in queries per second.
    pub(crate) fn base_qps(&self) -> f64 {
        self.base_qps
    }

    /// Returns the rate of the reported run, in queries per second.
    #[must_use]
    pub fn reported_qps(&self) -> Option<f64> {
        self.reported_step.map(|step| self.steps[step].qps())
    }

    /// Returns for each step whether its rate was met; `None` for a last one that was cut off.
    pub fn steps_met(&self) -> impl Iterator<Item = Option<bool>> {
        (0..self.steps.len()).map(|step| self.met.get(step).copied())
    }

    /// Returns the next run to make, or the end of the search.
    pub(crate) fn next_step(&mut self) -> Result<PeakStep, PeakEnd> {
        match (self.lower_qps, self.upper.as_ref().map(|(qps, _)| *qps)) {
            (None, _) => Ok(PeakStep::Base { qps: self.base_qps }),
            (Some(lower_qps), None) => {
                let upper_qps = lower_qps * self.growth;
                if upper_qps > MAX_QPS {
                    return Err(PeakEnd::MaxRate { next_qps: upper_qps });
                }
                Ok(PeakStep::Boundary { lower_qps, upper_qps })
            }
            (Some(lower_qps), Some(upper_qps)) => {
                self.boundaries_qps.get_or_insert((lower_qps, upper_qps));
                let step = PeakStep::Middle { lower_qps, upper_qps };
                if self.is_narrow(lower_qps, upper_qps) || !(lower_qps < step.qps() && step.qps() < upper_qps)
                {
                    return Err(PeakEnd::Found { qps: lower_qps });
                }
                Ok(step)
            }
        }
    }

    /// Returns whether the ends agree to the wanted decimals. Doubles may end before that at high rates.
    fn is_narrow(&self, lower_qps: f64, upper_qps: f64) -> bool {
        (lower_qps * self.scale).floor() + 1.0 >= (upper_qps * self.scale).floor()
    }

    /// Takes note of a run that ended; `Err` says why its rate is not met.
    pub(crate) fn record(&mut self, step: PeakStep, met: Result<(), RateNotMet>) -> Result<(), PeakEnd> {
        self.steps.push(step);
        self.met.push(met.is_ok());
        match met {
            Ok(()) => {
                self.lower_qps = Some(step.qps());
                self.reported_step = Some(self.steps.len() - 1);
            }
            Err(reason) if self.lower_qps.is_none() => return Err(PeakEnd::BaseNotMet(reason)),
            Err(reason) => self.upper = Some((step.qps(), reason)),
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Searches with a system that meets every rate up to `peak_qps`, and returns the search and its end.
    fn search(request: &TestSettings, peak_qps: f64) -> (PeakSearch, PeakEnd) {
        let mut search = PeakSearch::new(request);
        loop {
            let step = match search.next_step() {
                Ok(step) => step,
                Err(end) => return (search, end),
            };
            let met = if step.qps() <= peak_qps { Ok(()) } else { Err(too_fast()) };
            if let Err(end) = search.record(step, met) {
                return (search, end);
            }
        }
    }

    fn too_fast() -> RateNotMet {
        RateNotMet::OverBound { advice: vec![Recommendation::ReduceTargetQps] }
    }

    fn request(base_qps: f64, growth_step: f64, decimals: i32) -> TestSettings {
        TestSettings {
            server_target_qps: base_qps,
            server_find_peak_qps_boundary_step_size: growth_step,
            server_find_peak_qps_decimals_of_precision: decimals,
            ..TestSettings::default()
        }
    }

    proptest! {
        #[test]
        fn the_peak_is_met_and_slightly_more_is_not(
            base_qps in 0.01_f64..1e5,
            ratio in 1.0_f64..900.0,
            growth_step in 0.01_f64..10.0,
            decimals in 0_i32..=9,
        ) {
            let peak_qps = base_qps * ratio;
            let (search, end) = search(&request(base_qps, growth_step, decimals), peak_qps);
            let PeakEnd::Found { qps } = end.clone() else { panic!("{end}") };
            prop_assert_eq!(search.reported_qps(), Some(qps));
            prop_assert!(qps <= peak_qps);
            // The end is returned here, for the caller to keep.
            let search = PeakSearch { end, ..search };
            let Some((above_qps, reason)) = search.above_peak() else { panic!("all rates were met") };
            prop_assert!(above_qps > peak_qps);
            prop_assert!(*reason == too_fast());
            // The floors of both ends differ by one at most, so the ends differ by less than two units; or by one step
            // of a double.
            let unit = 10_f64.powi(-decimals).max(qps * f64::EPSILON);
            prop_assert!(peak_qps - qps < 2.0 * unit * 1.001, "{} for {}", qps, peak_qps);
        }
    }

    #[test]
    fn a_rate_that_is_missed_at_once_ends_the_search() {
        let (search, end) = search(&request(100.0, 1.0, 1), 99.0);
        assert_eq!(end, PeakEnd::BaseNotMet(too_fast()));
        assert_eq!(search.steps, [PeakStep::Base { qps: 100.0 }]);
    }

    #[test]
    fn what_never_fails_ends_at_the_largest_rate() {
        let (search, end) = search(&request(1e8, 1.0, 1), f64::INFINITY);
        assert_eq!(end, PeakEnd::MaxRate { next_qps: 1.6e9 });
        assert_eq!(search.reported_qps(), Some(8e8));
        assert_eq!(search.boundaries_qps, None);
    }
}

//! Searches for the highest rate at which a Server keeps its latency bound.
//!
//! The rate is doubled (or multiplied by the step that is set) until the bound is missed, then the gap is halved
//! until the wanted decimals of its ends agree. Each rate is one run with the same seeds, so the arrivals of all runs
//! are the same pattern, stretched.
//!
//! A rate is met if its run meets the latency bound; its length and early stopping are judged only for the reported
//! run, as in LoadGen. Beyond LoadGen, a rate at which samples fail, lack tokens in a token run, or too many queries
//! are outstanding is not met: a system that turns queries away quickly would keep any bound.
//!
//! [`PeakSearch`] decides and knows nothing of time; [`Run::find_peak`] makes the runs.
//!
//! Source: LoadGen 6.0.17, `FindPeakPerformanceMode`, `FindBoundaries`, `FindPeakPerformanceBinarySearch`.

use proctor_loadgen_settings::EffectiveSettings;

use crate::{
    error::LoadGenError,
    issue::end::IssueEnd,
    measure::{phase_error::PhaseError, phase_outcome::PhaseOutcome},
    plan::phases::PhasePlan,
    record::{
        response_id::MAX_PHASE_COUNT,
        slots::{Counted, SampleRecord},
    },
    session::run::Run,
    time::clock::Clock,
    verdict::{
        peak_search::{PeakEnd, PeakSearch, PeakStep, RateNotMet},
        results::{PerformanceResult, recommendation::Recommendation},
    },
};

impl<C: Clock> Run<'_, C> {
    /// Runs the whole search. The set is loaded for each run of the widening, and once for all of the narrowing.
    pub(super) fn find_peak(&mut self, plan: &PhasePlan) -> Result<PeakSearch, LoadGenError> {
        let mut search = PeakSearch::new(&self.settings.request);
        let mut is_loaded = false;
        search.end = loop {
            let step = match search.next_step() {
                Ok(_) if self.is_broken() => break PeakEnd::Broken,
                Ok(_) if self.is_out_of_runs() => break PeakEnd::OutOfRuns { count: search.steps.len() },
                Ok(step) => step,
                Err(end) => break end,
            };
            if !is_loaded {
                self.load(plan)?;
                is_loaded = true;
            }
            let settings = EffectiveSettings { target_qps: step.qps(), ..self.settings.clone() };
            self.measure(&settings, plan)?;
            if !matches!(step, PeakStep::Middle { .. }) {
                self.unload(plan);
                is_loaded = false;
            }
            if self.is_broken() {
                search.steps.push(step);
                break PeakEnd::Broken;
            }
            let phase = self.phases.last_mut().expect("it was measured just now");
            if let Err(end) = search.record(step, check(phase, &settings)) {
                break end;
            }
            if self.clock.is_virtual() && takes_no_time(phase, step.qps() / search.base_qps()) {
                break PeakEnd::Timeless;
            }
        };
        if is_loaded {
            self.unload(plan);
        }
        search.reported_step = search.reported_step.or(search.steps.len().checked_sub(1));
        Ok(search)
    }

    fn is_out_of_runs(&self) -> bool {
        self.phases.len() as u64 + self.options.earlier_phase_count >= MAX_PHASE_COUNT
    }
}

/// Returns whether samples take no virtual time: all of a run or, far above the rate at which the search began, some. A
/// sample that fills a batch completes with it at once, while the previous ones have waited for it; at a low rate
/// batches do not fill. Service times that are 0 by chance do not make a peak lie that far up.
fn takes_no_time(phase: &PhaseOutcome, growth: f64) -> bool {
    const FAR: f64 = 1000.0;
    let is_at_once = |sample: SampleRecord| sample.answered_latency_ns() == Some(0);
    phase.record.max_latency_ns == 0 || (growth >= FAR && phase.phase.samples(0).any(is_at_once))
}

/// Returns whether the run meets its rate, or why not. Records failed or tokenless samples as an error of the run.
fn check(phase: &mut PhaseOutcome, settings: &EffectiveSettings) -> Result<(), RateNotMet> {
    let is_failed = |sample: &SampleRecord| sample.is_failed();
    let failed_count = phase.phase.samples(0).filter(is_failed).count();
    let tokens = phase.phase.tokens(Counted::Answered);
    let tokenless_count = tokens.map_or(0, |tokens| tokens.left_out.count());
    let qps = settings.target_qps;
    let error = match (failed_count as u64, tokenless_count) {
        (0, 0) => None,
        (0, count) => Some(PhaseError::TokenlessSamples { count, qps }),
        (count, _) => Some(PhaseError::FailedSamples { count, qps }),
    };
    if let Some(error) = error {
        phase.errors.push(error);
        return Err(RateNotMet::Failed(error));
    }
    if let IssueEnd::TooManyOutstanding { .. } = phase.end {
        return Err(RateNotMet::EndedEarly(phase.end));
    }
    let result = PerformanceResult::new(&phase.record, settings);
    if result.perf_constraints_met {
        return Ok(());
    }
    let mut advice = result.recommendations;
    // The length of the run is no reason here.
    advice.retain(|it| !matches!(it, Recommendation::IncreaseTargetQps | Recommendation::ExitedEarly));
    Err(RateNotMet::OverBound { advice })
}

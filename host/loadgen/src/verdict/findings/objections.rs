//! Lists objections to a test that do not depend on its figures, and remedies for the author of the system under test.

use proctor_vocabulary::Scenario;

use super::finding::{Cause, Finding, Rule, Scope};
use crate::{
    issue::end::IssueEnd,
    measure::{phase_error::PhaseError, phase_outcome::PhaseOutcome},
    record::violations::{Violation, ViolationKind},
    verdict::peak_search::{PeakEnd, PeakSearch, RateNotMet},
};

/// Returns objections to one phase. `is_stopped` says that the user stopped the test: missing samples were
/// then given up by a second stop, unless the system had stalled, and are not the system's fault.
pub(crate) fn of_phase(
    phase: &PhaseOutcome,
    number: usize,
    is_stopped: bool,
) -> impl Iterator<Item = Finding> {
    let objection = move |rule, cause, advice| Finding::objection(rule, Scope::Phase(number), cause, advice);
    let missing = phase.missing.clone().map(|missing| {
        let advice = match is_given_up(phase, is_stopped) {
            true => "given up by a second Ctrl-C or SIGTERM",
            false => {
                "complete every sample, as failed if need be; if the system is only slow, raise watchdog_ms"
            }
        };
        objection(Rule::Missing, Cause::Missing(missing), Some(advice))
    });
    let stalled = (phase.end == IssueEnd::Stalled).then(|| {
        let advice = "find out why the system stopped; if it is only slow, raise watchdog_ms";
        objection(Rule::Stalled, Cause::Stalled, Some(advice))
    });
    let unload = phase.unload_error.clone().map(|error| objection(Rule::Unload, Cause::Unload(error), None));
    let order = phase.wrong_samples.clone().map(|wrong| {
        // The standard library of GCC 10 and older makes other samples of the same random numbers.
        let advice = "take the LoadGen of the round whose seeds and rules the run has, compiled by GCC 11 or later, \
                      and give it the same settings";
        objection(Rule::Order, Cause::Order(wrong), Some(advice))
    });
    missing.into_iter().chain(stalled).chain(order).chain(unload)
}

/// Returns whether samples of a phase are missing because a second stop from outside gave them up.
pub(crate) fn is_given_up(phase: &PhaseOutcome, is_stopped: bool) -> bool {
    is_stopped && phase.missing.is_some() && phase.is_awaited
}

/// Returns objections to the test that belong to none of its phases. A search deliberately makes samples fail above the
/// peak. `is_given_up` says that a second stop gave up samples: a later completion is not late.
pub(crate) fn of_test(
    violations: &[Violation],
    interrupted: Option<&str>,
    is_given_up: bool,
    search: Option<&PeakSearch>,
    scenario: Scenario,
) -> impl Iterator<Item = Finding> {
    let peak_found = search.is_some_and(|search| search.peak_qps().is_some());
    let is_excused = move |kind| match kind {
        ViolationKind::Failed => peak_found,
        ViolationKind::Late => is_given_up,
        _ => false,
    };
    let counted = violations.iter().filter(move |violation| !is_excused(violation.kind));
    let completions = counted.map(move |violation| {
        let (rule, cause) = (Rule::Completion(violation.kind), Cause::Completion(violation.clone()));
        Finding::objection(rule, Scope::Test, cause, Some(advice(violation.kind, scenario)))
    });
    let interruption = interrupted.map(|reason| {
        let cause = Cause::Interrupted(reason.to_owned());
        Finding::objection(Rule::Interrupted, Scope::Test, cause, None)
    });
    completions.chain(interruption)
}

/// Returns a search that found no peak.
pub(crate) fn of_search(search: &PeakSearch) -> Option<Finding> {
    let advice = match &search.end {
        PeakEnd::Found { .. } => return None,
        PeakEnd::BaseNotMet(RateNotMet::EndedEarly(_)) => {
            Some("raise server_max_async_queries, or lower server_target_qps, at which the search begins")
        }
        PeakEnd::BaseNotMet(RateNotMet::Failed(PhaseError::FailedSamples { .. })) => {
            Some("lower server_target_qps, at which the search begins")
        }
        // These say what to do, or other findings do.
        PeakEnd::BaseNotMet(RateNotMet::Failed(_) | RateNotMet::OverBound { .. })
        | PeakEnd::MaxRate { .. }
        | PeakEnd::Timeless
        | PeakEnd::OutOfRuns { .. }
        | PeakEnd::Broken => None,
    };
    Some(Finding::objection(Rule::PeakFound, Scope::Test, Cause::PeakSearch(search.end.clone()), advice))
}

fn advice(kind: ViolationKind, scenario: Scenario) -> &'static str {
    match kind {
        ViolationKind::UnknownId => "complete samples with the response ids that they were issued with",
        ViolationKind::NotIssued => "complete a sample only after it was issued",
        ViolationKind::Duplicate => "complete each sample once, on one path through the system",
        ViolationKind::Late => {
            "complete all samples before the last is waited for, and none from an earlier test"
        }
        ViolationKind::Failed if scenario == Scenario::Server => {
            "the system has to answer every sample; at a lower rate fewer may fail"
        }
        ViolationKind::Failed => "the system has to answer every sample",
        ViolationKind::FirstTokenOfNoSample => {
            "report first tokens by the response ids of samples that the system was given"
        }
        ViolationKind::FirstTokenAfterCompletion | ViolationKind::NoFirstToken => {
            "report the first token of each sample before its completion"
        }
        ViolationKind::FirstTokenTwice => "report the first token of each sample once",
        ViolationKind::TokensOfNoSample => {
            "report tokens by the response ids of samples that the system was given"
        }
        ViolationKind::TokensAfterCompletion => "report the tokens of each sample before its completion",
        ViolationKind::TokenCountDiffers => {
            "complete each sample with the number of tokens that were reported of it, the first one included"
        }
        ViolationKind::NoTokenCount => "report the number of output tokens with each completion",
        ViolationKind::SingleToken => {
            "a single token has no time per output token: generate at least two, or measure without \
             use_token_latencies"
        }
        ViolationKind::TooManyTokens => {
            "the data of an answer have each of its tokens: complete it with their number, and with no more"
        }
    }
}

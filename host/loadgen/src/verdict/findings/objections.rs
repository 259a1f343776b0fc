//! Objections to a test, whatever its figures are, and what the author of the system under test can do about them.

use super::finding::{Cause, Finding, Rule, Scope};
use crate::{
    issue::end::IssueEnd,
    measure::phase_outcome::PhaseOutcome,
    record::violations::{Violation, ViolationKind},
    verdict::peak_search::{PeakEnd, PeakSearch, RateNotMet},
};

/// Objections to one phase.
pub(crate) fn of_phase(phase: &PhaseOutcome, number: usize) -> impl Iterator<Item = Finding> {
    let objection = move |rule, cause, advice| Finding::objection(rule, Scope::Phase(number), cause, advice);
    let missing = phase.missing.clone().map(|missing| {
        let advice =
            "complete every sample, as failed if need be; if the system is only slow, raise watchdog_ms";
        objection(Rule::Missing, Cause::Missing(missing), Some(advice))
    });
    let stalled = (phase.end == IssueEnd::Stalled).then(|| {
        let advice = "find out why the system stopped; if it is only slow, raise watchdog_ms";
        objection(Rule::Stalled, Cause::Stalled, Some(advice))
    });
    let unload = phase.unload_error.clone().map(|error| objection(Rule::Unload, Cause::Unload(error), None));
    missing.into_iter().chain(stalled).chain(unload)
}

/// Objections to the test that belong to none of its phases. Samples that fail above the peak are what the search
/// looks for.
pub(crate) fn of_test(
    violations: &[Violation],
    interrupted: Option<&str>,
    search: Option<&PeakSearch>,
) -> impl Iterator<Item = Finding> {
    let peak_found = search.is_some_and(|search| search.peak_qps().is_some());
    let counted = violations.iter().filter(move |it| !(peak_found && it.kind == ViolationKind::Failed));
    let completions = counted.map(|violation| {
        let (rule, cause) = (Rule::Completion(violation.kind), Cause::Completion(violation.clone()));
        Finding::objection(rule, Scope::Test, cause, Some(advice(violation.kind)))
    });
    let interruption = interrupted.map(|reason| {
        let cause = Cause::Interrupted(reason.to_owned());
        Finding::objection(Rule::Interrupted, Scope::Test, cause, None)
    });
    completions.chain(interruption)
}

/// A search that found no peak.
pub(crate) fn of_search(search: &PeakSearch) -> Option<Finding> {
    let advice = match &search.end {
        PeakEnd::Found { .. } => return None,
        PeakEnd::BaseNotMet(RateNotMet::EndedEarly(_)) => {
            Some("raise server_max_async_queries, or lower server_target_qps, at which the search begins")
        }
        PeakEnd::BaseNotMet(RateNotMet::Failed(_)) => {
            Some("lower server_target_qps, at which the search begins")
        }
        // These say what to do, or other findings do.
        PeakEnd::BaseNotMet(RateNotMet::OverBound { .. })
        | PeakEnd::MaxRate { .. }
        | PeakEnd::Timeless
        | PeakEnd::OutOfRuns { .. }
        | PeakEnd::Broken => None,
    };
    Some(Finding::objection(Rule::PeakFound, Scope::Test, Cause::PeakSearch(search.end.clone()), advice))
}

fn advice(kind: ViolationKind) -> &'static str {
    match kind {
        ViolationKind::UnknownId => "complete samples with the response ids that they were issued with",
        ViolationKind::NotIssued => "complete a sample only after it was issued",
        ViolationKind::Duplicate => "complete each sample once, on one path through the system",
        ViolationKind::Late => {
            "complete all samples before the last is waited for, and none from an earlier test"
        }
        ViolationKind::Failed => "the system has to answer every sample; at a lower rate fewer may fail",
        ViolationKind::FirstTokenOfNoSample => {
            "report first tokens by the response ids of samples that were issued"
        }
        ViolationKind::FirstTokenAfterCompletion | ViolationKind::NoFirstToken => {
            "report the first token of each sample before its completion"
        }
        ViolationKind::FirstTokenTwice => "report the first token of each sample once",
        ViolationKind::TokensOfNoSample => "report tokens by the response ids of samples that were issued",
        ViolationKind::TokensAfterCompletion => "report the tokens of each sample before its completion",
        ViolationKind::TokenCountDiffers => {
            "complete each sample with the number of tokens that were reported of it, the first one included"
        }
        ViolationKind::NoTokenCount => "report the number of output tokens with each completion",
        ViolationKind::SingleToken => {
            "a single token has no time per output token: generate at least two, or measure without \
             use_token_latencies"
        }
    }
}

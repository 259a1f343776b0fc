//! What a system under test did against the rules, and what its author can do about it.

use super::{Finding, Remedy, Rule};
use crate::{
    issue::end::IssueEnd,
    measure::missing_samples::MissingSamples,
    record::violations::{Violation, ViolationKind},
};

/// The finding behind a sentence about a phase.
pub(super) fn objection(sentence: &str, missing: &[&MissingSamples], violations: &[Violation]) -> Finding {
    let (rule, advice) = if let Some(violation) = violations.iter().find(|it| it.to_string() == sentence) {
        (Rule::Completion(violation.kind), Some(advice(violation.kind)))
    } else if missing.iter().any(|it| it.to_string() == sentence) {
        (
            Rule::Missing,
            Some(
                "complete every sample, as failed if need be; if the system is only slow, raise watchdog_ms",
            ),
        )
    } else if sentence == IssueEnd::Stalled.to_string() {
        (Rule::Stalled, Some("find out why the system stopped; if it is only slow, raise watchdog_ms"))
    } else if sentence.starts_with("interrupted: ") {
        (Rule::Interrupted, None)
    } else {
        (Rule::Other, None)
    };
    Finding::stated(rule, sentence, advice.map(Remedy::Do))
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
        ViolationKind::FirstTokenAfterCompletion | ViolationKind::NoFirstToken => {
            "report the first token of each sample before its completion"
        }
        ViolationKind::FirstTokenTwice => "report the first token of each sample once",
        ViolationKind::NoTokenCount => "report the number of output tokens with each completion",
        ViolationKind::SingleToken => {
            "no time per output token can be told of one token: generate at least two, or measure without \
             use_token_latencies"
        }
    }
}

//! Handles tokens in virtual time, where a plugin computes a batch at one instant and says how long it took: tokens
//! reported meanwhile would all lie at the beginning of the batch. They count as not reported, and the advice says why.

use std::sync::Arc;

use proctor_loadgen::{Remedy, Rule, TestOutcome, ViolationKind};
use proctor_vocabulary::{CompletionSink, QuerySampleResponse, ResponseId};

const ADVICE: &str =
    "in virtual time tokens have no instant, so that none counts as the first: run in real time";

/// A sink that ignores reports of tokens.
pub(super) struct Timeless(pub(super) Arc<dyn CompletionSink>);

impl CompletionSink for Timeless {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        self.0.complete(responses);
    }

    fn first_token(&self, _: &[QuerySampleResponse<'_>]) {}

    fn now_ns(&self) -> u64 {
        self.0.now_ns()
    }

    fn latency_begins_ns(&self, id: ResponseId) -> Option<u64> {
        self.0.latency_begins_ns(id)
    }

    fn complete_at(&self, now_ns: u64, responses: &[QuerySampleResponse<'_>]) {
        self.0.complete_at(now_ns, responses);
    }
}

/// Explains that samples have no first token in virtual time.
pub(super) fn explain(outcome: &mut TestOutcome) {
    let lacks_first = |rule| matches!(rule, Rule::Completion(ViolationKind::NoFirstToken));
    for finding in outcome.findings.iter_mut().filter(|finding| lacks_first(finding.rule)) {
        finding.remedy = Some(Remedy::Do(ADVICE));
    }
}

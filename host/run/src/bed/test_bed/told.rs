//! The span of a test, and those that are told when it is over: nothing comes or goes while queries are under way.

use proctor_loadgen::TestOutcome;
use proctor_vocabulary::TestMode;
use tracing::{error_span, span::EnteredSpan};

use crate::{
    bed::{clock::HostClock, plugin_instance::batch_log::BatchFile, test_bed::TestBed},
    spans::{TARGET, enter},
};

/// Enters the span of a test in this mode.
pub(super) fn span_of(mode: TestMode) -> EnteredSpan {
    match mode {
        TestMode::AccuracyOnly => enter!("accuracy test"),
        mode => enter!("performance test", mode = mode.name()),
    }
}

impl TestBed<'_> {
    /// Tells the timed parts of a test that is over, with the batches that are kept of it. In virtual time they have no
    /// place beside the work of the program.
    pub(super) fn tell_timed_parts(&self, outcome: &TestOutcome, batches: Option<&BatchFile>) {
        let HostClock::Real(clock) = &self.clock else { return };
        for phase in &outcome.phases {
            let Some(begun_ns) = phase.begun_ns() else { continue };
            let begin_ns = clock.origin_ns() + begun_ns;
            let part = error_span!(
                target: TARGET,
                "timed part",
                begin_ns,
                end_ns = begin_ns.saturating_add(phase.duration_ns),
                queries = phase.record.issued_query_count
            );
            // They are kept of a test of one phase alone.
            batches.into_iter().for_each(|batches| batches.tell(begin_ns, &part));
        }
    }
}

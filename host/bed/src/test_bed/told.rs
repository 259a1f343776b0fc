//! Reports the span of a test, and after it the spans and messages of its timed parts: nothing while queries are under
//! way.

use proctor_loadgen::TestOutcome;
use proctor_plugin_host::SampleFailure;
use proctor_results::Batches;
use proctor_vocabulary::TestMode;
use proctor_words::{enter, spans::TARGET};
use tracing::{error_span, span::EnteredSpan};

use crate::{clock::HostClock, plugin_instance::batch_log, test_bed::TestBed};

/// Enters the span of a test in this mode.
pub(super) fn span_of(mode: TestMode) -> EnteredSpan {
    match mode {
        TestMode::AccuracyOnly => enter!("accuracy test"),
        mode => enter!("performance test", mode = mode.name()),
    }
}

impl TestBed<'_> {
    /// Shows and returns the plugin's messages about failed samples, and shows the number of further ones. This waits
    /// for the end of the test, since samples fail in its timed part.
    pub(super) fn show_failures(&self) -> Vec<SampleFailure> {
        let (first, count) = self.plugin.backend.host_side().take_failures();
        for failure in &first {
            tracing::warn!(target: "plugin", plugin = self.plugin.library.manifest().name, "{failure}");
        }
        let more = count - first.len() as u64;
        if more > 0 {
            let plugin = &self.plugin.library.manifest().name;
            tracing::warn!(target: "plugin", plugin, "{} more failed samples have a message", more);
        }
        let left_out = self.plugin.backend.host_side().take_left_out_lines();
        if left_out > 0 {
            let plugin = &self.plugin.library.manifest().name;
            tracing::warn!(target: "plugin", plugin, "{left_out} lines were left out: more than 1000 in a second");
        }
        first
    }

    /// Reports the timed parts of a finished test, with the batches kept from it. In virtual time they have
    /// no place next to the program's own work.
    pub(super) fn tell_timed_parts(&self, outcome: &TestOutcome, batches: Option<&Batches>) {
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
            batches.into_iter().for_each(|batches| batch_log::tell(batches, begin_ns, &part));
        }
    }
}

//! An observer called after each issue, on the issuing thread, which may end the test.

use proctor_loadgen::{Progress, StopHandle, SystemUnderTest};
use proctor_vocabulary::{QueryPart, QuerySample};

/// An observer called after each issue. In virtual time it sees the same events on every machine.
pub trait Watch: Sync {
    /// Checks the progress after a query was issued. Has to be quick: the next query waits. [issuing thread]
    fn issued(&self, progress: &Progress, stop: &StopHandle);
}

/// A system under test with an observer of each issue.
pub struct WatchedSystem<'a> {
    /// Watched system.
    pub system: &'a dyn SystemUnderTest,
    /// Observer of the issued queries.
    pub watch: &'a dyn Watch,
    /// Observed progress.
    pub progress: Progress,
    /// Handle that ends the test.
    pub stop: StopHandle,
}

impl SystemUnderTest for WatchedSystem<'_> {
    fn name(&self) -> &str {
        self.system.name()
    }

    fn issue(&self, samples: &[QuerySample]) {
        self.issue_part(QueryPart::whole(samples));
    }

    fn issue_part(&self, part: QueryPart<'_>) {
        self.system.issue_part(part);
        self.watch.issued(&self.progress, &self.stop);
    }

    fn flush(&self) {
        self.system.flush();
    }

    fn end_flush(&self) {
        self.system.end_flush();
    }
}

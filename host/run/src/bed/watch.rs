//! Something that looks on while a test issues, on the issuing thread, and may end the test.

use proctor_loadgen::{Progress, StopHandle, SystemUnderTest};
use proctor_vocabulary::QuerySample;

/// Looks on while a test issues. It sees the same at the same instant of virtual time, whatever the machine does.
pub(crate) trait Watch: Sync {
    /// A query was issued. Has to be quick: the next one waits. [issuing thread]
    fn issued(&self, progress: &Progress, stop: &StopHandle);
}

/// A system with somebody looking on.
pub(crate) struct WatchedSystem<'a> {
    pub(crate) system: &'a dyn SystemUnderTest,
    pub(crate) watch: &'a dyn Watch,
    pub(crate) progress: Progress,
    pub(crate) stop: StopHandle,
}

impl SystemUnderTest for WatchedSystem<'_> {
    fn name(&self) -> &str {
        self.system.name()
    }

    fn issue(&self, samples: &[QuerySample]) {
        self.system.issue(samples);
        self.watch.issued(&self.progress, &self.stop);
    }

    fn flush(&self) {
        self.system.flush();
    }
}

//! The process of an isolated plugin while a test runs.

use proctor_loadgen::StopHandle;

use crate::{plugin::isolated::Isolated, sample_library::SampleLibrary};

/// Stops the test when the plugin's process ends, until this is dropped. Does nothing for a plugin without a process.
pub(super) struct ProcessInTest<'a>(Option<&'a Isolated>);

impl<'a> ProcessInTest<'a> {
    /// Stops the test that begins now when the process ends.
    pub(super) fn begin(isolated: Option<&'a Isolated>, stop: StopHandle) -> Self {
        if let Some(isolated) = isolated {
            isolated.begin_test(stop);
        }
        Self(isolated)
    }

    /// Ends the watch after a test. Ends a process that has not completed its samples, as nothing will read them.
    pub(super) fn end(self, library: &SampleLibrary) {
        let isolated = self.0;
        drop(self);
        if let Some(isolated) = isolated.filter(|_| library.is_abandoned()) {
            isolated.end_incomplete();
            library.take_back();
        }
    }
}

impl Drop for ProcessInTest<'_> {
    fn drop(&mut self) {
        if let Some(isolated) = self.0 {
            isolated.end_test();
        }
    }
}

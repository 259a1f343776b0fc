//! The two sides that the load generator drives: the system under test, and the library that its samples come from.

use proctor_vocabulary::{QueryPart, QuerySample, SampleIndex};

/// Everything behind the issue call: scheduler, plugin and device.
///
/// The load generator hands out queries and learns of their end through the
/// [`CompletionSink`](proctor_vocabulary::CompletionSink) of the same test.
pub trait SystemUnderTest: Sync {
    /// Returns the name for reports. [any thread, before, during and after a test]
    fn name(&self) -> &str;

    /// Takes one query, several overdue ones merged, or a part of a large one; it may complete the samples in
    /// any order.
    ///
    /// May complete samples inside the call, and must not block until they are complete. The time spent in here delays
    /// the next issue. [issuing threads: with `server_num_issue_query_threads` above 1 several at once, each with its
    /// own queries; the one that runs the test is among them]
    fn issue(&self, samples: &[QuerySample]);

    /// Works as [`issue`](Self::issue), with the position of the samples in their query. The load generator
    /// calls this. A system that needs neither the issuer nor the parts of a query implements `issue` alone.
    #[inline]
    fn issue_part(&self, part: QueryPart<'_>) {
        self.issue(part.samples);
    }

    /// Announces that no further sample comes in this phase, so that nothing is held back to fill a batch.
    /// [the thread that runs the test, once a phase, right after the last issue of all threads]
    fn flush(&self);

    /// Waits until the flush of the phase before is over, in a system that continues with it after
    /// [`flush`](Self::flush) has returned, by a [`BackgroundFlush`](crate::BackgroundFlush) for example: nothing is
    /// issued before that.
    ///
    /// [the thread that runs the test, before each phase, outside of the timed part; also where no flush is under way,
    /// and never after a phase whose samples are missing]
    fn end_flush(&self) {}
}

/// Reason why a library could not load or unload its samples.
pub type LibraryError = Box<dyn std::error::Error + Send + Sync>;

/// The samples of a data set, preprocessed, and loaded into memory by the set.
///
/// All functions are called on the thread that runs the test, and outside the timed part.
pub trait QuerySampleLibrary {
    /// Returns the name for reports.
    fn name(&self) -> &str;

    /// Returns the number of samples in the library; valid indices are below it.
    fn total_sample_count(&self) -> u64;

    /// Returns the number of samples that surely fit into memory together.
    fn performance_sample_count(&self) -> u64;

    /// Makes these samples ready to be issued. An index may be listed more than once (MultiStream padding).
    ///
    /// # Errors
    /// Returns any reason why the samples are not loaded; it ends the test.
    fn load(&self, samples: &[SampleIndex]) -> Result<(), LibraryError>;

    /// Releases these samples; always the same list as the load before.
    ///
    /// # Errors
    /// If the samples are not unloaded, for any reason; it makes the test INVALID, and the measurements are kept.
    fn unload(&self, samples: &[SampleIndex]) -> Result<(), LibraryError>;
}

/// A library whose samples are numbers alone, for measurements and tests: loading does nothing.
#[derive(Debug, Clone, Copy)]
pub struct BareLibrary {
    /// The name for reports.
    pub name: &'static str,
    /// Number of samples in the library.
    pub total_sample_count: u64,
    /// Number of samples that surely fit into memory together.
    pub performance_sample_count: u64,
}

impl BareLibrary {
    /// Creates a library that fits into memory as a whole.
    #[must_use]
    pub const fn of(sample_count: u64) -> Self {
        Self { name: "numbers", total_sample_count: sample_count, performance_sample_count: sample_count }
    }
}

impl QuerySampleLibrary for BareLibrary {
    fn name(&self) -> &str {
        self.name
    }

    fn total_sample_count(&self) -> u64 {
        self.total_sample_count
    }

    fn performance_sample_count(&self) -> u64 {
        self.performance_sample_count
    }

    fn load(&self, _: &[SampleIndex]) -> Result<(), LibraryError> {
        Ok(())
    }

    fn unload(&self, _: &[SampleIndex]) -> Result<(), LibraryError> {
        Ok(())
    }
}

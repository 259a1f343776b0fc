//! The spans that a run is made of: a tree of `tracing` spans, which a program may write as the timeline of its run.
//!
//! Their names and meanings are in `docs/run-folder.md`. A span is entered and left where its work is done,
//! but not while queries are under way: then no span comes or goes, on any thread. The timed part of a test,
//! its kept batches and the stages that the plugin reported for each are emitted when the test is over, by
//! spans that have their instants as fields.
//!
//! They have the level of errors. A level says how much of the log is wanted, and a timeline is not part of
//! the log: with any other level plugins would be asked for lines that are never read.

/// Common target of all spans.
pub const TARGET: &str = "timeline";

/// Fields of a span that has been already: when it began and when it ended, in ns on the clock that
/// [`RealClock::origin_ns`](proctor_loadgen::RealClock::origin_ns) is on.
pub const BEGIN_NS: &str = "begin_ns";
/// See [`BEGIN_NS`].
pub const END_NS: &str = "end_ns";

/// Field of a span of an instance of the plugin: its number.
pub const INSTANCE: &str = "instance";

/// Field of a stage of the plugin's work: its name, which is shown instead of the span's.
pub const STAGE: &str = "stage";

/// Enters a span of this name, with fields if there are any, until the value is dropped.
#[macro_export]
macro_rules! enter {
    ($name:literal $($fields:tt)*) => {
        ::tracing::error_span!(target: $crate::spans::TARGET, $name $($fields)*).entered()
    };
}

//! The two ways of work to a plugin.

/// Way in which the plugin is given its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dispatch {
    /// Batches, formed by the scheduler.
    Batches,
    /// Whole queries, as they are issued.
    WholeQueries,
}

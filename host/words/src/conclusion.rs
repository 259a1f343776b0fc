//! Conclusion of a program that came to a result.

/// Conclusion of a run or a search that came to a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// The run is VALID and its accuracy passed; the search found a load.
    Good,
    /// The run is complete, but INVALID, or its accuracy failed; the search found no load.
    Bad,
    /// The user ended the run.
    Interrupted,
}

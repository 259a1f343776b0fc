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

impl Conclusion {
    /// Returns the exit code of a program with this conclusion.
    #[must_use]
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Good => 0,
            Self::Bad => 1,
            Self::Interrupted => 130,
        }
    }

    /// Returns the conclusion of a program that ended with this exit code; `None` if it came to no result.
    #[must_use]
    pub fn of_exit_code(code: i32) -> Option<Self> {
        [Self::Good, Self::Bad, Self::Interrupted]
            .into_iter()
            .find(|conclusion| conclusion.exit_code() == code)
    }
}

//! The verdict of a run.

use serde::{Deserialize, Serialize};

/// The verdict of a run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct VerdictPart {
    /// True if the run is VALID.
    pub valid: bool,
    /// True if the accuracy passed; `None` if it was not measured.
    pub accuracy_passed: Option<bool>,
    /// True if the user ended it.
    #[serde(default)]
    pub interrupted: bool,
    /// Reasons why it is not VALID, in words.
    #[serde(default)]
    pub reasons: Vec<Reason>,
}

/// A reason in words.
pub type Reason = String;

//! Describes how a case ends.

use std::fmt;

use proctor_plugin_host::PluginHostError;
use proctor_words::HostError;

/// End of a case other than a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The plugin breaks the rule; the text says how.
    Failed(String),
    /// The case is not about this plugin, or cannot be made with it; the text says why.
    Skipped(String),
}

/// Success, or why the case did not succeed.
pub(crate) type Verdict<T = ()> = Result<T, Ended>;

/// Returns a failure with this reason.
pub(crate) fn failed<T>(reason: impl fmt::Display) -> Verdict<T> {
    Err(Ended::Failed(reason.to_string()))
}

/// Returns a skip with this reason.
pub(crate) fn skipped<T>(reason: impl fmt::Display) -> Verdict<T> {
    Err(Ended::Skipped(reason.to_string()))
}

/// Returns a failure unless something holds.
pub(crate) fn ensure(holds: bool, reason: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { failed(reason()) }
}

impl From<PluginHostError> for Ended {
    fn from(error: PluginHostError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<HostError> for Ended {
    fn from(error: HostError) -> Self {
        Self::Failed(error.messages().join(": "))
    }
}

impl Ended {
    /// Returns the same end, with its place.
    pub(crate) fn at(self, place: &str) -> Self {
        match self {
            Self::Failed(reason) => Self::Failed(format!("{place}: {reason}")),
            Self::Skipped(reason) => Self::Skipped(reason),
        }
    }
}

//! A case of the suite.

use crate::{subject::Subject, verdict::Verdict};

/// A case of the suite.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Name, `group/case`.
    pub name: &'static str,
    /// Subject of the case, in a line.
    pub about: &'static str,
    /// The ABI's rule that it holds the plugin to, in the words of `proctor_plugin.h` or close to them.
    pub rule: &'static str,
    /// Change to the plugin that usually mends it.
    pub fix: &'static str,
    /// Name of the case that must pass for this one to be conclusive; empty for none.
    pub needs: &'static str,
    pub(crate) run: fn(&Subject) -> Verdict,
}

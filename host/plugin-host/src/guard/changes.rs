//! Changes that plugins have made to the process, as the guards of the calls have found them.

use std::fmt;

use parking_lot::Mutex;

use crate::call::Call;

/// A part of the process or of the calling thread that is the host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProcessPart {
    /// The processors that the calling thread may use.
    Processors,
    /// Rounding and flushing of floating-point numbers on the calling thread.
    Arithmetic,
    /// The signals that the calling thread blocks.
    Signals,
    /// The working folder.
    Folder,
    /// The permissions that new files do not get.
    Mask,
    /// The handlers of the signals of crashes and interrupts.
    Handlers,
}

impl fmt::Display for ProcessPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Processors => "the processors that the calling thread may use",
            Self::Arithmetic => "the rounding or flushing of floating-point numbers on the calling thread",
            Self::Signals => "the signals that the calling thread blocks",
            Self::Folder => "the working folder",
            Self::Mask => "the permissions of new files (umask)",
            Self::Handlers => "the handler of a signal",
        })
    }
}

/// A part that a plugin has changed in a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessChange {
    /// Name of the plugin, or the path of its library until the name is known.
    pub plugin: String,
    /// Call in which it did.
    pub call: Call,
    /// Part that was changed.
    pub part: ProcessPart,
}

static CHANGES: Mutex<Vec<ProcessChange>> = Mutex::new(Vec::new());

/// Returns everything that plugins have changed in this process so far, each change once. The host has put back all but
/// the handlers of signals.
#[must_use]
pub fn process_changes() -> Vec<ProcessChange> {
    CHANGES.lock().clone()
}

/// Notes a change. Returns whether it is the first of its kind.
pub(super) fn note(plugin: &str, call: Call, part: ProcessPart) -> bool {
    let change = ProcessChange { plugin: plugin.to_owned(), call, part };
    let mut changes = CHANGES.lock();
    let is_new = !changes.contains(&change);
    if is_new {
        changes.push(change);
    }
    is_new
}

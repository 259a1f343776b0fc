//! Handlers of signals, which belong to the host.

use std::{mem, ptr};

/// The signals whose handlers drivers built on LLVM, such as PoCL, take for themselves.
const SIGNALS: [libc::c_int; 10] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGABRT,
    libc::SIGTRAP,
    libc::SIGSYS,
];

/// Saved handlers, which are restored at the end: Ctrl-C, and a crash that leaves a report, are the host's
/// business, even if a driver installs its own.
pub struct Handlers([libc::sigaction; SIGNALS.len()]);

impl Handlers {
    /// Remembers the present handlers.
    #[must_use]
    pub fn kept() -> Self {
        Self(SIGNALS.map(|signal| {
            // SAFETY: all-zero bytes are a valid `sigaction`, the default action.
            let mut action: libc::sigaction = unsafe { mem::zeroed() };
            // SAFETY: no new action is given, and the old one is written to a place of its type.
            unsafe { libc::sigaction(signal, ptr::null(), &raw mut action) };
            action
        }))
    }
}

impl Drop for Handlers {
    fn drop(&mut self) {
        for (signal, action) in SIGNALS.iter().zip(&self.0) {
            // SAFETY: the action was in effect before, so that its handler is there; the old one is not asked for.
            unsafe { libc::sigaction(*signal, &raw const *action, ptr::null_mut()) };
        }
    }
}

//! Handlers of signals, which PoCL's compiler takes for itself and a real driver leaves alone.

use std::{mem, ptr};

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

/// Calls something, and puts back the handlers that were there before.
pub(crate) fn with_own_handlers<T>(call: impl FnOnce() -> T) -> T {
    let kept = SIGNALS.map(|signal| {
        // SAFETY: all-zero bytes are a valid `sigaction`.
        let mut action: libc::sigaction = unsafe { mem::zeroed() };
        // SAFETY: no new action is given, and the old one has a place of its type.
        unsafe { libc::sigaction(signal, ptr::null(), &raw mut action) };
        action
    });
    let result = call();
    for (signal, action) in SIGNALS.iter().zip(&kept) {
        // SAFETY: the action was in effect before; the old one is not asked for.
        unsafe { libc::sigaction(*signal, &raw const *action, ptr::null_mut()) };
    }
    result
}

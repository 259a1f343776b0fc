//! The signals that the host relies on, their handlers, and the plugins that replace those.

use std::{ffi::c_int, mem, ptr};

use crate::{
    call::Call,
    guard::{
        changes::{ProcessPart, note},
        shared::own_id,
    },
};

/// Signals that code raises against itself by its actions.
pub(super) const CRASHES: [(c_int, &str); 7] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGTRAP, "SIGTRAP"),
    (libc::SIGSYS, "SIGSYS"),
];

/// Signals that ask a process to end.
pub(super) const INTERRUPTS: [(c_int, &str); 3] =
    [(libc::SIGINT, "SIGINT"), (libc::SIGTERM, "SIGTERM"), (libc::SIGHUP, "SIGHUP")];

fn signals() -> impl Iterator<Item = (c_int, &'static str)> {
    CRASHES.into_iter().chain(INTERRUPTS)
}

/// The handlers at one moment.
struct Handlers([usize; CRASHES.len() + INTERRUPTS.len()]);

impl Handlers {
    fn read() -> Self {
        let mut handlers = [0; _];
        for (handler, (signal, _)) in handlers.iter_mut().zip(signals()) {
            *handler = handler_of(signal);
        }
        Self(handlers)
    }

    fn replaced_since(&self) -> Vec<&'static str> {
        let now = Self::read();
        let pairs = self.0.iter().zip(now.0).zip(signals());
        pairs.filter(|((before, now), _)| *before != now).map(|(_, (_, name))| name).collect()
    }
}

/// Returns the handler of a signal. Async-signal-safe.
pub(super) fn handler_of(signal: c_int) -> usize {
    // SAFETY: all-zero bytes are a valid `sigaction`.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: asks for the action of a valid signal and writes it to a live structure.
    unsafe { libc::sigaction(signal, ptr::null(), &raw mut action) };
    action.sa_sigaction
}

/// Returns the process that has sent a signal; `None` for the system, as where keys are pressed. Async-signal-safe.
pub(super) fn sender(info: &libc::siginfo_t) -> Option<libc::pid_t> {
    // SAFETY: a signal that a process has sent has its id in this place.
    (info.si_code == libc::SI_USER).then(|| unsafe { info.si_pid() })
}

/// Applies a signal's default action to this single-threaded process. Async-signal-safe.
pub(super) fn raise_default(signal: c_int) {
    // SAFETY: all-zero bytes are a valid set, without signals.
    let none: libc::sigset_t = unsafe { mem::zeroed() };
    // SAFETY: a valid signal gets its default action, is let through and is sent to this process.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        libc::kill(own_id(), signal);
    }
}

/// Makes calls of a plugin, and warns of the handlers that it has replaced in them: crashes are no longer
/// reported, or Ctrl-C has no effect. They are left in place, as the plugin may need its own.
pub(crate) fn watched<R>(plugin: &str, call: Call, invoke: impl FnOnce() -> R) -> R {
    // There are no signals under Miri.
    if cfg!(miri) {
        return invoke();
    }
    let before = Handlers::read();
    let result = invoke();
    let replaced = before.replaced_since();
    if !replaced.is_empty() {
        note(plugin, call, ProcessPart::Handlers);
        let signals = replaced.join(", ");
        tracing::warn!(
            target: "plugin",
            "plugin {plugin} has replaced the handler of {signals} in {call}: a crash may go without a report, Ctrl-C \
             without effect"
        );
    }
    result
}

//! A thread that may make no system calls.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicI32,
            Ordering::{Acquire, Release},
        },
    },
    thread,
    time::Duration,
};

use rustix::thread::{SecureComputingMode, gettid, set_secure_computing_mode};

use crate::skip_without_hardware;

/// Marks a thread without restrictions by the kernel.
const FREE: i32 = -1;

/// Returns whether `work` ends without a system call, on its own thread that did `prepare` before.
///
/// During `work` the kernel ends that thread at any call but `read`, `write` and the return from a signal. `None` if it
/// forbids nothing; the test has then said that it skips itself. The thread's own end is a system call too, so what it
/// holds is never given back.
#[must_use]
pub fn ends_without_system_calls(
    prepare: impl FnOnce() + Send + 'static,
    work: impl FnOnce() + Send + 'static,
) -> Option<bool> {
    let bound_thread = Arc::new(AtomicI32::new(0));
    let is_done = Arc::new(AtomicBool::new(false));
    let (tell_thread, tell_done) = (Arc::clone(&bound_thread), Arc::clone(&is_done));
    thread::spawn(move || {
        prepare();
        let this = gettid().as_raw_nonzero().get();
        // Reported before it is bound: a thread that cannot be bound reports that afterwards.
        tell_thread.store(this, Release);
        if set_secure_computing_mode(SecureComputingMode::Strict).is_err() {
            tell_thread.store(FREE, Release);
            return;
        }
        work();
        tell_done.store(true, Release);
    });
    loop {
        thread::sleep(Duration::from_millis(1));
        let thread = bound_thread.load(Acquire);
        if thread == FREE {
            skip_without_hardware("a kernel that can forbid a thread its system calls");
            return None;
        }
        // Looked at first: it may be done and ended between the two looks.
        let has_ended = thread != 0 && !PathBuf::from(format!("/proc/self/task/{thread}")).exists();
        if is_done.load(Acquire) {
            return Some(true);
        }
        if has_ended {
            return Some(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_call_ends_the_thread() {
        let Some(is_quiet) = ends_without_system_calls(|| (), || ()) else { return };
        assert!(is_quiet);
        assert_eq!(ends_without_system_calls(|| (), || thread::sleep(Duration::from_nanos(1))), Some(false));
        assert_eq!(ends_without_system_calls(|| thread::sleep(Duration::from_nanos(1)), || ()), Some(true));
    }
}

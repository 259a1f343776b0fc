//! The user's requests to end: Ctrl-C, SIGTERM and SIGHUP.
//!
//! A program with a [parent](super::parent) gets the parent's signals from it, and the signals of the whole
//! group, such as Ctrl-C of a terminal, from both: that counts once.

use std::{
    collections::VecDeque,
    ffi::{c_int, c_void},
    io::{self, Read as _},
    mem,
    os::fd::IntoRawFd as _,
    ptr,
    sync::atomic::{AtomicI32, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::guard::{
    handlers::{INTERRUPTS, handler_of, sender},
    process,
};

/// Time within which a request comes by the second way, if it comes by both.
const BOTH_WAYS: Duration = Duration::from_secs(1);

/// Descriptor that each request is written to, or -1.
static REQUESTS: AtomicI32 = AtomicI32::new(-1);

/// Way by which a request reached this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Directly from its sender.
    Itself = 0,
    /// The request came from the parent.
    Parent = 1,
}

/// Calls `act` for each request, on its own thread. A signal that was ignored when the process started, as under
/// `nohup` or in the background of a shell, stays ignored. To be called once.
///
/// # Errors
/// If the system refuses.
pub fn on_interrupt(mut act: impl FnMut() + Send + 'static) -> io::Result<()> {
    let (mut came, requests) = io::pipe()?;
    // Lets the handler never wait: a pipe holds more requests than will ever be made.
    let requests = requests.into_raw_fd();
    // SAFETY: sets a flag of a descriptor that was just made.
    if unsafe { libc::fcntl(requests, libc::F_SETFL, libc::O_NONBLOCK) } < 0 {
        return Err(io::Error::last_os_error());
    }
    REQUESTS.store(requests, Ordering::Release);
    thread::Builder::new().name("ctrl-c".to_owned()).spawn(move || {
        let (mut seen, mut byte) = (Seen::default(), [0]);
        while came.read_exact(&mut byte).is_ok() {
            let way = if byte[0] == Way::Parent as u8 { Way::Parent } else { Way::Itself };
            if seen.is_new(way, Instant::now()) {
                act();
            }
        }
    })?;
    // SAFETY: all-zero bytes are a valid `sigaction`: an empty mask, no flags, the default action.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_signal;
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    for (signal, _) in INTERRUPTS {
        if handler_of(signal) == libc::SIG_IGN {
            continue;
        }
        // SAFETY: `on_signal` has the signature that SA_SIGINFO asks for and is async-signal-safe; `action` is live.
        if unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

extern "C" fn on_signal(_signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // A copy that a plugin has forked has the pipe, too.
    if process::is_fork() {
        return;
    }
    // SAFETY: the kernel hands in a structure that lives for the handler.
    let is_from_parent = unsafe { info.as_ref() }.and_then(sender).is_some_and(process::is_id_of_parent);
    let byte = [if is_from_parent { Way::Parent as u8 } else { Way::Itself as u8 }];
    // SAFETY: the thread's own error number, which the interrupted code may be about to read.
    let error = unsafe { *libc::__errno_location() };
    // SAFETY: a live byte; `write` is async-signal-safe. An error cannot be helped here.
    unsafe { libc::write(REQUESTS.load(Ordering::Acquire), byte.as_ptr().cast(), 1) };
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = error };
}

/// Requests that came by one way, but not yet by the other.
#[derive(Debug, Default)]
struct Seen {
    by: [VecDeque<Instant>; 2],
}

impl Seen {
    /// Returns whether a request that now comes by this way did not come by the other one before.
    fn is_new(&mut self, way: Way, now: Instant) -> bool {
        let [itself, parent] = &mut self.by;
        let (own, other) = match way {
            Way::Itself => (itself, parent),
            Way::Parent => (parent, itself),
        };
        other.retain(|at| now.duration_since(*at) < BOTH_WAYS);
        if other.pop_front().is_some() {
            return false;
        }
        own.push_back(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of requests, by their ways and their instants in ms.
    fn count(came: &[(Way, u64)]) -> usize {
        let (mut seen, start) = (Seen::default(), Instant::now());
        came.iter().filter(|(way, ms)| seen.is_new(*way, start + Duration::from_millis(*ms))).count()
    }

    #[test]
    fn a_request_that_comes_by_both_ways_is_one() {
        use Way::{Itself, Parent};
        assert_eq!(count(&[(Itself, 0), (Parent, 1)]), 1);
        assert_eq!(count(&[(Parent, 0), (Itself, 900)]), 1);
        assert_eq!(count(&[(Itself, 0), (Parent, 0), (Itself, 200), (Parent, 201)]), 2);
        assert_eq!(count(&[(Itself, 0), (Itself, 200), (Parent, 300), (Parent, 301)]), 2);
    }

    #[test]
    fn requests_by_one_way_are_as_many_as_come() {
        use Way::{Itself, Parent};
        assert_eq!(count(&[(Parent, 0), (Parent, 1), (Parent, 2)]), 3);
        assert_eq!(count(&[(Itself, 0), (Itself, 1)]), 2);
        assert_eq!(count(&[(Itself, 0), (Parent, 1001)]), 2, "the second is another one");
    }
}

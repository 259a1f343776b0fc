//! The primitives of the concurrent parts: the standard library's, or loom's in a build with `--cfg loom`.

use std::{io, time::Duration};

#[cfg(loom)]
use loom::{sync, thread};
#[cfg(not(loom))]
use std::{sync, thread};

pub(crate) type AtomicU64 = sync::atomic::AtomicU64;
pub(crate) type Mutex<T> = sync::Mutex<T>;
pub(crate) type MutexGuard<'a, T> = sync::MutexGuard<'a, T>;
pub(crate) type Thread = thread::Thread;
pub(crate) type JoinHandle<T> = thread::JoinHandle<T>;

/// Starts a thread of this name.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    thread::Builder::new().name(name.to_owned()).spawn(run)
}

#[cfg(not(loom))]
mod thread_number {
    use std::{
        cell::Cell,
        sync::atomic::{AtomicU64, Ordering::Relaxed},
    };

    const NONE: u64 = u64::MAX;

    thread_local! {
        static NUMBER: Cell<u64> = const { Cell::new(NONE) };
    }

    /// Returns a number that few other threads have: the one that it was given, or the next.
    #[inline]
    pub(crate) fn thread_number() -> u64 {
        let number = NUMBER.get();
        if number == NONE { next() } else { number }
    }

    #[cold]
    fn next() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Relaxed);
        NUMBER.set(number);
        number
    }

    /// Gives the calling thread this number.
    pub(crate) fn set_thread_number(number: u64) {
        NUMBER.set(number);
    }
}

#[cfg(loom)]
mod thread_number {
    /// Returns the number of a thread, which models choose themselves.
    pub(crate) fn thread_number() -> u64 {
        0
    }

    pub(crate) fn set_thread_number(_number: u64) {}
}

pub(crate) use thread_number::{set_thread_number, thread_number};

/// Returns the calling thread.
pub(crate) fn current() -> Thread {
    thread::current()
}

/// Sleeps until the thread is unparked, or until the timeout.
#[cfg(not(loom))]
pub(crate) fn park(timeout: Duration) {
    thread::park_timeout(timeout);
}

/// Sleeps until the thread is unparked. No time passes in a model: a wait that only its timeout would end is a
/// deadlock, which loom reports.
#[cfg(loom)]
pub(crate) fn park(_timeout: Duration) {
    thread::park();
}

/// Returns the pairs of 0, in memory that takes no place before it is written.
#[cfg(not(loom))]
pub(crate) fn zeroed_pairs(len: usize) -> Box<[[AtomicU64; 2]]> {
    use zerocopy::FromZeros as _;

    <[[AtomicU64; 2]]>::new_box_zeroed_with_elems(len)
        .expect("without memory for its samples a test cannot go on")
}

/// Allocates `len` pairs of 0.
#[cfg(loom)]
pub(crate) fn zeroed_pairs(len: usize) -> Box<[[AtomicU64; 2]]> {
    (0..len).map(|_| [0; 2].map(AtomicU64::new)).collect()
}

/// A value that one thread writes often, kept apart from data that others read: alone on its cache lines, and on the
/// neighbour that the processor fetches along.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Apart<T>(pub T);

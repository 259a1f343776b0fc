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

/// The calling thread.
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

/// Pairs of 0, in memory that takes no place before it is written.
#[cfg(not(loom))]
pub(crate) fn zeroed_pairs(len: usize) -> Box<[[AtomicU64; 2]]> {
    use zerocopy::FromZeros as _;

    <[[AtomicU64; 2]]>::new_box_zeroed_with_elems(len)
        .expect("without memory for its samples a test cannot go on")
}

/// Pairs of 0.
#[cfg(loom)]
pub(crate) fn zeroed_pairs(len: usize) -> Box<[[AtomicU64; 2]]> {
    (0..len).map(|_| [0; 2].map(AtomicU64::new)).collect()
}

/// A value that one thread writes often, kept away from what others read: alone on its cache lines, also on the
/// neighbour that the processor fetches along.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Apart<T>(pub T);

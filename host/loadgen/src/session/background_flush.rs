//! A flush on its own thread, for a system whose flush returns only when everything is complete.
//!
//! The thread that runs the test must not wait for that: it has to notice when nothing more completes, and
//! has to give up when the user wants it to.

use std::{fmt, panic::resume_unwind, sync::Arc};

use crate::time::sync::{JoinHandle, Mutex, MutexGuard, spawn};

/// Flushes that block, one at a time, for the [`flush`](crate::SystemUnderTest::flush) and
/// [`end_flush`](crate::SystemUnderTest::end_flush) of a system. Clones share it.
pub struct BackgroundFlush<E> {
    flush: Arc<dyn Fn() -> Result<(), E> + Send + Sync>,
    running: Arc<Mutex<Option<Running<E>>>>,
}

type Running<E> = JoinHandle<Result<(), E>>;

impl<E: Send + 'static> BackgroundFlush<E> {
    /// Flushes by this function.
    #[must_use]
    pub fn new(flush: impl Fn() -> Result<(), E> + Send + Sync + 'static) -> Self {
        Self { flush: Arc::new(flush), running: Arc::new(Mutex::new(None)) }
    }

    /// Starts a flush without waiting for it. First waits for the previous one, unless that was already done.
    /// If the system has no thread for it, the flush runs on this one.
    ///
    /// # Errors
    /// Returns the error of the flush before; or of this one, if it ran on this thread.
    pub fn start(&self) -> Result<(), E> {
        let mut running = self.running();
        let before = end(&mut running);
        let flush = Arc::clone(&self.flush);
        match spawn("flush", move || flush()) {
            Ok(thread) => {
                *running = Some(thread);
                before
            }
            Err(_) => before.and((self.flush)()),
        }
    }

    /// Waits for the end of the flush that was started, if any.
    ///
    /// # Errors
    /// Returns the error of the flush.
    pub fn wait(&self) -> Result<(), E> {
        end(&mut self.running())
    }

    fn running(&self) -> MutexGuard<'_, Option<Running<E>>> {
        self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn end<E>(running: &mut Option<Running<E>>) -> Result<(), E> {
    match running.take().map(JoinHandle::join) {
        Some(Ok(flushed)) => flushed,
        Some(Err(panic)) => resume_unwind(panic),
        None => Ok(()),
    }
}

impl<E> Clone for BackgroundFlush<E> {
    fn clone(&self) -> Self {
        Self { flush: Arc::clone(&self.flush), running: Arc::clone(&self.running) }
    }
}

impl<E> fmt::Debug for BackgroundFlush<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackgroundFlush").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use super::*;

    #[test]
    fn the_error_of_a_flush_comes_when_it_is_waited_for_once() {
        let count = Arc::new(AtomicU32::new(0));
        let flushing = Arc::clone(&count);
        let flush = BackgroundFlush::new(move || Err(flushing.fetch_add(1, SeqCst)));
        assert_eq!(flush.wait(), Ok(()));
        assert_eq!(flush.start(), Ok(()));
        assert_eq!(flush.clone().start(), Err(0), "the one before");
        assert_eq!(flush.wait(), Err(1));
        assert_eq!(flush.wait(), Ok(()));
        assert_eq!(count.load(SeqCst), 2);
    }
}

/// Run by `RUSTFLAGS="--cfg loom" cargo test -p proctor-loadgen --release --lib loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use std::sync::atomic::Ordering::SeqCst;

    use super::*;
    use crate::time::sync::AtomicU64;

    type Flush = BackgroundFlush<()>;

    /// A system that asserts that it gets one request at a time. Leaked, because a failure unwinds through
    /// threads that still hold it.
    #[derive(Clone, Copy)]
    struct Asked(&'static AtomicU64);

    impl Asked {
        fn new() -> Self {
            Self(Box::leak(Box::new(AtomicU64::new(0))))
        }

        fn call(self) {
            assert!(self.0.fetch_add(1, SeqCst) == 0, "a call comes before another has returned");
            self.0.fetch_sub(1, SeqCst);
        }

        fn flush(self) -> Flush {
            Flush::new(move || {
                self.call();
                Ok(())
            })
        }
    }

    /// Runs two phases that each issue and flush.
    fn two_phases(wait: fn(&Flush) -> Result<(), ()>) {
        let system = Asked::new();
        let flush = system.flush();
        for _ in 0..2 {
            wait(&flush).unwrap();
            system.call();
            flush.start().unwrap();
        }
        wait(&flush).unwrap();
        system.call();
    }

    #[test]
    fn loom_nothing_is_asked_of_a_system_that_flushes() {
        loom::model(|| two_phases(Flush::wait));
    }

    /// The twin that does not wait. It must fail, or the model above proves nothing.
    #[test]
    #[should_panic(expected = "a call comes before another has returned")]
    fn loom_finds_a_phase_that_does_not_wait_for_the_flush() {
        loom::model(|| two_phases(|_| Ok(())));
    }

    /// Starts two flushes without waiting between them.
    fn two_flushes(start: fn(&Flush) -> Result<(), ()>) {
        let flush = Asked::new().flush();
        start(&flush).unwrap();
        start(&flush).unwrap();
        flush.wait().unwrap();
    }

    #[test]
    fn loom_a_flush_waits_for_the_one_before() {
        loom::model(|| two_flushes(Flush::start));
    }

    /// The twin that forgets the flush before. It must fail, or the model above proves nothing.
    #[test]
    #[should_panic(expected = "a call comes before another has returned")]
    fn loom_finds_a_flush_that_is_forgotten() {
        loom::model(|| {
            two_flushes(|flush| {
                let flushing = Arc::clone(&flush.flush);
                *flush.running() = Some(spawn("flush", move || flushing()).unwrap());
                Ok(())
            });
        });
    }
}

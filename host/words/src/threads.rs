//! Threads of the host that act at intervals.

use std::{
    io,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use parking_lot::{Condvar, Mutex};

/// A thread of the host that acts at intervals until it is stopped. It runs no foreign code, so it can be joined.
pub struct Ticker {
    stopping: Arc<(Mutex<bool>, Condvar)>,
    thread: JoinHandle<()>,
}

impl Ticker {
    /// Starts the thread. `look` returns how long to pause; the first pause is before the first look. It is called once
    /// more at the end, with `true`.
    ///
    /// # Errors
    /// If the system has no thread for it.
    pub fn start(
        name: &str,
        first_pause: Duration,
        mut look: impl FnMut(bool) -> Duration + Send + 'static,
    ) -> io::Result<Self> {
        let stopping = Arc::new((Mutex::new(false), Condvar::new()));
        let told = Arc::clone(&stopping);
        let watch = move || {
            let mut pause = first_pause;
            loop {
                let (stopping, changed) = &*told;
                let is_last = {
                    let mut is_stopping = stopping.lock();
                    changed.wait_while_for(&mut is_stopping, |is_stopping| !*is_stopping, pause);
                    *is_stopping
                };
                pause = look(is_last);
                if is_last {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(watch)?;
        Ok(Self { stopping, thread })
    }

    /// Makes the thread look once more, and waits for its end.
    pub fn stop(self) {
        *self.stopping.0.lock() = true;
        self.stopping.1.notify_all();
        if self.thread.join().is_err() {
            tracing::error!("a thread of the host has panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use super::*;

    #[test]
    fn it_looks_a_last_time_when_it_is_stopped() {
        let looks = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let seen = Arc::clone(&looks);
        let hour = Duration::from_secs(3600);
        let observer = Ticker::start("test", hour, move |is_last| {
            if is_last { &seen.1 } else { &seen.0 }.fetch_add(1, SeqCst);
            hour
        });
        observer.unwrap().stop();
        assert_eq!((looks.0.load(SeqCst), looks.1.load(SeqCst)), (0, 1));
    }
}

//! A number that one process sets and the other waits for.

use std::{
    hint, io,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    time::{Duration, Instant},
};

use rustix::thread::futex::{Flags, Timespec, wait, wake};

use crate::channels::memory::SharedMemory;

/// Number of bytes that a signal takes in shared memory: a cache line, as both processes write to it.
pub(crate) const SIGNAL_BYTES: usize = 64;

/// Longest wait before a caller checks whether the other process is still there.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Number of times that the number is read between two readings of the clock.
const LOOKS: u32 = 64;

/// A number that one process sets and the other waits for, and whether that one sleeps.
pub(crate) struct Signal<'a> {
    value: &'a AtomicU32,
    sleepers: &'a AtomicU32,
}

impl<'a> Signal<'a> {
    /// Returns the signal at this place.
    pub(crate) fn at(memory: &'a SharedMemory, offset: usize) -> Self {
        Self { value: memory.word(offset), sleepers: memory.word(offset + 4) }
    }

    /// Returns the number as it stands.
    pub(crate) fn get(&self) -> u32 {
        self.value.load(SeqCst)
    }

    /// Sets the number, and wakes the other process if it sleeps.
    pub(crate) fn set(&self, value: u32) {
        // Sequentially consistent on both sides: either this sees the sleeper, or that sees the number.
        self.value.store(value, SeqCst);
        if self.sleepers.load(SeqCst) != 0 {
            // The waiting side polls from time to time, so an error costs only time.
            let _ = wake(self.value, Flags::empty(), u32::MAX);
        }
    }

    /// Waits until the number is another one than `seen`, first awake for `spin`, then asleep, `limit` in all; returns
    /// it, or `None` if it is still the same.
    pub(crate) fn wait(&self, seen: u32, spin: Duration, limit: Duration) -> Option<u32> {
        self.wait_awake(seen, spin).or_else(|| self.wait_asleep(seen, limit))
    }

    /// Works as [`wait`](Self::wait), awake for `spin`.
    pub(crate) fn wait_awake(&self, seen: u32, spin: Duration) -> Option<u32> {
        if let Some(value) = self.changed(seen) {
            return Some(value);
        }
        if spin.is_zero() {
            return None;
        }
        let end = Instant::now() + spin;
        while Instant::now() < end {
            for _ in 0..LOOKS {
                if let Some(value) = self.changed(seen) {
                    return Some(value);
                }
                hint::spin_loop();
            }
        }
        None
    }

    /// Works as [`wait`](Self::wait), asleep for `limit`.
    pub(crate) fn wait_asleep(&self, seen: u32, limit: Duration) -> Option<u32> {
        self.sleepers.store(1, SeqCst);
        let value = self.changed(seen).or_else(|| {
            let limit = Timespec {
                tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: limit.subsec_nanos().into(),
            };
            // Woken, interrupted or too late: the number says what it was.
            let _: io::Result<()> = wait(self.value, Flags::empty(), seen, Some(&limit)).map_err(Into::into);
            self.changed(seen)
        });
        self.sleepers.store(0, SeqCst);
        value
    }

    fn changed(&self, seen: u32) -> Option<u32> {
        Some(self.get()).filter(|value| *value != seen)
    }
}

/// Decides whether a thread waits awake: where it is worth it. It is tried again now and then.
#[derive(Debug)]
pub(crate) struct Patience {
    spin: Duration,
    /// Whether the last awaited event came within `spin`.
    pays: bool,
    wait_count: u32,
}

/// Waits from one that is made awake, though it has not paid, to the next.
const TRY_EVERY: u32 = 64;

impl Patience {
    pub(crate) fn new(spin: Duration) -> Self {
        Self { spin, pays: true, wait_count: 0 }
    }

    /// Waits until the number is another one than `seen`, at most for about `limit`.
    pub(crate) fn wait(&mut self, signal: &Signal<'_>, seen: u32, limit: Duration) -> Option<u32> {
        self.wait_count = self.wait_count.wrapping_add(1);
        if !self.pays && !self.wait_count.is_multiple_of(TRY_EVERY) {
            let begin = Instant::now();
            let value = signal.wait_asleep(seen, limit);
            self.pays = value.is_some() && begin.elapsed() <= self.spin;
            return value;
        }
        let value = signal.wait_awake(seen, self.spin);
        self.pays = value.is_some();
        value.or_else(|| signal.wait_asleep(seen, limit))
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_sleeper_is_woken_and_a_spinner_sees_it() {
        for spin in [Duration::ZERO, Duration::from_millis(1)] {
            let (ping, pong) = (0, SIGNAL_BYTES);
            let memory = SharedMemory::new(1).unwrap();
            let far = Duration::from_secs(60);
            thread::scope(|scope| {
                scope.spawn(|| {
                    for round in 1..=1000 {
                        assert_eq!(Signal::at(&memory, ping).wait(round - 1, spin, far), Some(round));
                        Signal::at(&memory, pong).set(round);
                    }
                });
                for round in 1..=1000 {
                    Signal::at(&memory, ping).set(round);
                    assert_eq!(Signal::at(&memory, pong).wait(round - 1, spin, far), Some(round));
                }
            });
        }
    }

    #[test]
    fn nobody_is_waited_for_beyond_the_limit() {
        let memory = SharedMemory::new(1).unwrap();
        assert_eq!(Signal::at(&memory, 0).wait(0, Duration::ZERO, Duration::from_millis(1)), None);
    }

    #[test]
    fn a_thread_stays_awake_where_that_pays() {
        let memory = SharedMemory::new(1).unwrap();
        let signal = Signal::at(&memory, 0);
        let mut patience = Patience::new(Duration::from_micros(100));
        let short = Duration::from_millis(1);
        assert_eq!(patience.wait(&signal, 0, short), None);
        assert!(!patience.pays, "nothing came");
        assert_eq!(patience.wait(&signal, 0, short), None);
        assert!(!patience.pays, "nothing came again");
        signal.set(1);
        for _ in 0..TRY_EVERY {
            assert_eq!(patience.wait(&signal, 0, short), Some(1));
        }
        assert!(patience.pays, "it came at once");
    }
}

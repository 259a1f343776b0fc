//! The one place where time is read and waited for.

use std::time::{Duration, Instant, SystemTime};

use crate::wake::Wake;

/// A monotonic clock and the two ways in which an issuing thread waits.
///
/// The load generator is generic over it, so that the same loop runs in real time ([`RealClock`]) and in virtual
/// time ([`VirtualClock`](crate::VirtualClock)).
pub trait Clock: Send + Sync + 'static {
    /// Nanoseconds since the clock's origin; never decreases. [any thread]
    fn now_ns(&self) -> u64;

    /// Returns at `deadline_ns`, or earlier once `wake` is stopped. Completions do not wake it.
    fn wait_until(&self, deadline_ns: u64, wake: &Wake);

    /// Waits until `ready()` holds and returns true, or returns false once `deadline_ns` has passed (`None`: never).
    ///
    /// `ready` must become true only by something that then signals or stops `wake`.
    fn wait_for(&self, wake: &Wake, deadline_ns: Option<u64>, ready: &dyn Fn() -> bool) -> bool;

    /// Whether time passes only inside the wait functions, so that runs repeat exactly.
    fn is_virtual(&self) -> bool;

    /// The wall clock in ns since 1970, UTC; `None` in virtual time, which has none. Only read around a phase, for the
    /// logs. [any thread]
    fn unix_ns(&self) -> Option<u64> {
        None
    }
}

/// Real time: CLOCK_MONOTONIC, as [`Instant`] reads it. The origin is the instant of its making.
///
/// The official LoadGen reads the wall clock; a monotonic one is the same in the logs and cannot jump.
#[derive(Debug)]
pub struct RealClock {
    origin: Instant,
}

impl RealClock {
    /// How long before a deadline sleep ends and spinning starts: more than a timer usually oversleeps (some 50 us),
    /// and little against the time between queries.
    const SPIN_BEFORE_DEADLINE_NS: u64 = 150_000;

    /// How long to spin for a completion before parking: about the price of a wake-up, so that waiting costs at most
    /// twice what the better of the two would have.
    const SPIN_BEFORE_PARK_NS: u64 = 20_000;

    /// Starts a clock at 0 ns.
    #[must_use]
    pub fn new() -> Self {
        Self { origin: Instant::now() }
    }

    fn spin(&self, until_ns: u64, pause: fn(), mut done: impl FnMut() -> bool) -> bool {
        loop {
            if done() {
                return true;
            }
            if self.now_ns() >= until_ns {
                return false;
            }
            pause();
        }
    }
}

impl Default for RealClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for RealClock {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).expect("584 years do not pass in a process")
    }

    fn wait_until(&self, deadline_ns: u64, wake: &Wake) {
        loop {
            let left_ns = deadline_ns.saturating_sub(self.now_ns());
            if left_ns <= Self::SPIN_BEFORE_DEADLINE_NS || wake.is_stopped() {
                break;
            }
            wake.park_unless_stopped(Duration::from_nanos(left_ns - Self::SPIN_BEFORE_DEADLINE_NS));
        }
        self.spin(deadline_ns, std::hint::spin_loop, || wake.is_stopped());
    }

    fn wait_for(&self, wake: &Wake, deadline_ns: Option<u64>, ready: &dyn Fn() -> bool) -> bool {
        if ready() {
            return true;
        }
        let deadline_ns = deadline_ns.unwrap_or(u64::MAX);
        let spin_until_ns = self.now_ns().saturating_add(Self::SPIN_BEFORE_PARK_NS).min(deadline_ns);
        // The thread that completes may need this very processor: on a full machine a bare spin keeps it waiting.
        if self.spin(spin_until_ns, std::thread::yield_now, ready) {
            return true;
        }
        loop {
            let left_ns = deadline_ns.saturating_sub(self.now_ns());
            if left_ns == 0 {
                return ready();
            }
            if wake.park_unless(ready, Duration::from_nanos(left_ns)) {
                return true;
            }
        }
    }

    fn is_virtual(&self) -> bool {
        false
    }

    fn unix_ns(&self) -> Option<u64> {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
        u64::try_from(since_1970.as_nanos()).ok()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn wait_until_never_returns_early() {
        let clock = RealClock::new();
        let wake = Wake::new();
        for delay_ns in [0, 1_000, 100_000, 2_000_000] {
            let deadline_ns = clock.now_ns() + delay_ns;
            clock.wait_until(deadline_ns, &wake);
            assert!(clock.now_ns() >= deadline_ns);
        }
    }

    #[test]
    fn a_stop_ends_a_long_wait() {
        let clock = RealClock::new();
        let wake = Wake::new();
        std::thread::scope(|scope| {
            scope.spawn(|| wake.stop());
            clock.wait_until(u64::MAX, &wake);
        });
        assert!(wake.is_stopped());
    }

    #[test]
    fn wait_for_returns_what_ready_says() {
        let clock = RealClock::new();
        let wake = Wake::new();
        let done = AtomicBool::new(false);
        let ready = || done.load(Ordering::Acquire);
        assert!(!clock.wait_for(&wake, Some(clock.now_ns() + 1_000_000), &ready));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                done.store(true, Ordering::Release);
                wake.signal(1);
            });
            assert!(clock.wait_for(&wake, None, &ready));
        });
    }
}

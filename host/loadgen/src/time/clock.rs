//! The one place that reads time and waits for it.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, SystemTime},
};

use crate::time::{
    wait_policy::{Wait, WaitPolicy},
    wake::Wake,
};

/// A monotonic clock with the two waits of an issuing thread.
///
/// The load generator is generic over it, so that the same loop runs in real time ([`RealClock`]) and in virtual
/// time ([`VirtualClock`](crate::VirtualClock)).
pub trait Clock: Send + Sync + 'static {
    /// Returns the nanoseconds since the clock's origin; never decreases. [any thread]
    fn now_ns(&self) -> u64;

    /// Waits for `deadline_ns`, or shorter once `wake` is stopped. Completions do not wake it. Returns the time as it
    /// was read last, at or after the deadline unless stopped, so that it need not be read again.
    fn wait_until(&self, deadline_ns: u64, wake: &Wake) -> u64;

    /// Waits until `ready()` holds and returns true, or returns false once `deadline_ns` has passed (`None`: never).
    ///
    /// `ready` must become true only by something that then signals or stops `wake`.
    fn wait_for(&self, wake: &Wake, deadline_ns: Option<u64>, ready: &dyn Fn() -> bool) -> bool;

    /// Returns whether time passes only inside the wait functions, so that runs repeat exactly.
    fn is_virtual(&self) -> bool;

    /// Returns the wall clock in ns since 1970, UTC; `None` in virtual time, which has no wall clock. Only
    /// read around a phase, for the logs. [any thread]
    fn unix_ns(&self) -> Option<u64> {
        None
    }
}

/// Returns the clock that `Instant` reads, in ns since the start of the machine, so that 64 bits last for 584 years.
/// This saves the arithmetic on the seconds and nanoseconds of two instants, which would be a fifth of the cost of a
/// reading.
#[cfg(target_os = "linux")]
#[inline]
fn monotonic_ns() -> u64 {
    use rustix::time::{ClockId, clock_gettime};

    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Returns the nanoseconds since the first reading.
#[cfg(not(target_os = "linux"))]
fn monotonic_ns() -> u64 {
    use std::{sync::OnceLock, time::Instant};

    static FIRST: OnceLock<Instant> = OnceLock::new();
    let elapsed = FIRST.get_or_init(Instant::now).elapsed();
    u64::try_from(elapsed.as_nanos()).expect("584 years do not pass in a process")
}

/// Real time: CLOCK_MONOTONIC, as [`Instant`](std::time::Instant) reads it. The origin is the instant of its making.
///
/// The official LoadGen reads the wall clock; a monotonic one is the same in the logs and cannot jump.
#[derive(Debug)]
pub struct RealClock {
    origin_ns: u64,
    policy: WaitPolicy,
    /// [`Wait::Hybrid`]: end of the time in which completions are waited for asleep, because another process keeps the
    /// processor busy.
    crowded_until_ns: AtomicU64,
}

impl RealClock {
    /// Time to wait for a completion without yielding to other threads: about as long as one takes to arrive that is
    /// already on its way from another processor.
    const SPIN_BEFORE_YIELD_NS: u64 = 5_000;

    /// A yield that takes longer went to a thread that does not give the processor back before it has to, such as one
    /// of an engine that spins for work.
    const CROWDED_YIELD_NS: u64 = 500_000;

    /// Time for which such a thread is left alone, in ns. A retry costs a time slice, some ms.
    const CROWDED_NS: u64 = 200_000_000;

    /// Starts a clock at 0 ns that waits in the default way.
    #[must_use]
    pub fn new() -> Self {
        Self::with_policy(WaitPolicy::default())
    }

    /// Starts a clock at 0 ns that waits in this way.
    #[must_use]
    pub fn with_policy(policy: WaitPolicy) -> Self {
        Self { origin_ns: monotonic_ns(), policy, crowded_until_ns: AtomicU64::new(0) }
    }

    /// Returns the instant at which this clock showed 0, in ns on the system clock that all clocks of a
    /// process read: with it, instants of one clock can be converted to another.
    #[must_use]
    pub fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    /// Spins until `ready()` holds, at most until `until_ns`.
    ///
    /// The thread that completes may need this very processor: on a full machine a bare spin would keep it waiting, so
    /// after a while every look is followed by a yield.
    ///
    /// A hybrid wait ends when the processor comes back from a yield late, and so do the next ones: next to a
    /// thread that spins, too, each of them would cost a time slice, while a woken sleeper has the processor
    /// at once.
    fn spin_for(&self, until_ns: u64, ready: &dyn Fn() -> bool) -> bool {
        let yield_from_ns = self.now_ns().saturating_add(Self::SPIN_BEFORE_YIELD_NS);
        loop {
            if ready() {
                return true;
            }
            let now_ns = self.now_ns();
            if now_ns >= until_ns {
                return false;
            }
            if now_ns >= yield_from_ns {
                std::thread::yield_now();
                let back_ns = self.now_ns();
                if self.policy.wait == Wait::Hybrid && back_ns - now_ns > Self::CROWDED_YIELD_NS {
                    self.crowded_until_ns.store(back_ns + Self::CROWDED_NS, Relaxed);
                    return ready();
                }
            }
        }
    }
}

impl Default for RealClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for RealClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        monotonic_ns() - self.origin_ns
    }

    fn wait_until(&self, deadline_ns: u64, wake: &Wake) -> u64 {
        let awake_ns = match self.policy.wait {
            Wait::Sleep => 0,
            Wait::Hybrid => self.policy.spin_ns,
            Wait::Spin => u64::MAX,
        };
        loop {
            let now_ns = self.now_ns();
            if now_ns >= deadline_ns || wake.is_stopped() {
                return now_ns;
            }
            let asleep_ns = (deadline_ns - now_ns).saturating_sub(awake_ns);
            if asleep_ns > 0 {
                wake.park_unless_stopped(Duration::from_nanos(asleep_ns));
            }
        }
    }

    fn wait_for(&self, wake: &Wake, deadline_ns: Option<u64>, ready: &dyn Fn() -> bool) -> bool {
        if ready() {
            return true;
        }
        let deadline_ns = deadline_ns.unwrap_or(u64::MAX);
        let awake_ns = match self.policy.wait {
            Wait::Sleep => None,
            Wait::Hybrid if self.now_ns() < self.crowded_until_ns.load(Relaxed) => None,
            Wait::Hybrid => Some(self.policy.spin_ns),
            Wait::Spin => Some(u64::MAX),
        };
        if let Some(awake_ns) = awake_ns
            && self.spin_for(self.now_ns().saturating_add(awake_ns).min(deadline_ns), ready)
        {
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

    /// Returns one clock for each way to wait.
    fn clocks() -> impl Iterator<Item = RealClock> {
        let policies = Wait::ALL.iter().map(|wait| WaitPolicy { wait: *wait, ..WaitPolicy::default() });
        policies.map(RealClock::with_policy)
    }

    #[test]
    fn wait_until_never_returns_early() {
        for clock in clocks() {
            let wake = Wake::new();
            for delay_ns in [0, 1_000, 100_000, 2_000_000] {
                let deadline_ns = clock.now_ns() + delay_ns;
                let returned_ns = clock.wait_until(deadline_ns, &wake);
                assert!(returned_ns >= deadline_ns && returned_ns <= clock.now_ns());
            }
        }
    }

    #[test]
    fn clocks_of_a_process_can_be_told_on_each_other() {
        let (early, late) = (RealClock::new(), RealClock::new());
        let on_early_ns = early.now_ns();
        let on_late_ns = late.now_ns();
        let shared = |clock: &RealClock, now_ns| clock.origin_ns() + now_ns;
        assert!(shared(&early, 0) <= shared(&late, 0));
        assert!(shared(&early, on_early_ns) <= shared(&late, on_late_ns));
        assert!(shared(&late, on_late_ns) <= shared(&early, early.now_ns()));
    }

    #[test]
    fn a_stop_ends_a_long_wait() {
        for clock in clocks() {
            let wake = Wake::new();
            std::thread::scope(|scope| {
                scope.spawn(|| wake.stop());
                assert!(clock.wait_until(u64::MAX, &wake) < u64::MAX);
            });
            assert!(wake.is_stopped());
        }
    }

    #[test]
    fn wait_for_returns_what_ready_says() {
        clocks().for_each(|clock| wait_for_in_vain_and_with_success(&clock));
    }

    #[test]
    fn on_a_crowded_processor_completions_are_waited_for_all_the_same() {
        for clock in clocks() {
            clock.crowded_until_ns.store(u64::MAX, Relaxed);
            wait_for_in_vain_and_with_success(&clock);
        }
    }

    fn wait_for_in_vain_and_with_success(clock: &RealClock) {
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

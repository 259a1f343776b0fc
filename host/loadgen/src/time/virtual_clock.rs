//! Virtual time: a discrete-event simulation on the issuing thread.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use crate::time::{clock::Clock, wake::Wake};

/// A clock that moves only while a thread waits on it, from event to event.
///
/// Events run on the waiting thread, in the order of their time and, at the same time, of their scheduling. So a
/// simulated system that schedules its completions here makes the same run every time, and ten minutes of waiting
/// take as long as their events.
#[derive(Default)]
pub struct VirtualClock {
    now_ns: AtomicU64,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    /// Events by their instant in ns, and by how many were scheduled before.
    events: BTreeMap<(u64, u64), Box<dyn FnOnce() + Send>>,
    scheduled_count: u64,
}

impl VirtualClock {
    /// Creates a clock at 0 ns without events.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs `event` at `at_ns`; an instant in the past means now.
    ///
    /// An event may schedule further events, and complete samples, but must not wait.
    pub fn schedule(&self, at_ns: u64, event: impl FnOnce() + Send + 'static) {
        let at_ns = at_ns.max(self.now_ns());
        let mut queue = self.queue();
        let sequence = queue.scheduled_count;
        queue.scheduled_count += 1;
        queue.events.insert((at_ns, sequence), Box::new(event));
    }

    /// Runs the next event if it is due by `deadline_ns`.
    fn run_next(&self, deadline_ns: u64) -> bool {
        let mut queue = self.queue();
        let Some(next) = queue.events.first_entry().filter(|next| next.key().0 <= deadline_ns) else {
            return false;
        };
        let ((at_ns, _), event) = next.remove_entry();
        // The event may schedule, so it runs without the lock.
        drop(queue);
        self.now_ns.fetch_max(at_ns, Relaxed);
        event();
        true
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("no holder of this lock can panic")
    }
}

impl Clock for VirtualClock {
    fn now_ns(&self) -> u64 {
        self.now_ns.load(Relaxed)
    }

    fn wait_until(&self, deadline_ns: u64, wake: &Wake) -> u64 {
        while !wake.is_stopped() {
            if !self.run_next(deadline_ns) {
                self.now_ns.fetch_max(deadline_ns, Relaxed);
                break;
            }
        }
        self.now_ns()
    }

    /// Returns false also if no event is left, at the time of the last one: nothing more can happen.
    fn wait_for(&self, _wake: &Wake, deadline_ns: Option<u64>, ready: &dyn Fn() -> bool) -> bool {
        let deadline_ns = deadline_ns.unwrap_or(u64::MAX);
        while !ready() {
            if !self.run_next(deadline_ns) {
                if !self.queue().events.is_empty() {
                    self.now_ns.fetch_max(deadline_ns, Relaxed);
                }
                return false;
            }
        }
        true
    }

    fn is_virtual(&self) -> bool {
        true
    }
}

impl fmt::Debug for VirtualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let event_count = self.queue().events.len();
        f.debug_struct("VirtualClock")
            .field("now_ns", &self.now_ns())
            .field("event_count", &event_count)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;

    use super::*;

    type Journal = Arc<Mutex<Vec<(u64, &'static str)>>>;

    fn note(clock: &Arc<VirtualClock>, journal: &Journal, at_ns: u64, what: &'static str) {
        let (inner, journal) = (Arc::clone(clock), Arc::clone(journal));
        clock.schedule(at_ns, move || {
            journal.lock().expect("no test panics with it").push((inner.now_ns(), what));
        });
    }

    #[test]
    fn runs_events_in_order_of_time_and_then_of_scheduling() {
        let (clock, journal) = (Arc::new(VirtualClock::new()), Journal::default());
        note(&clock, &journal, 20, "c");
        note(&clock, &journal, 10, "a");
        note(&clock, &journal, 10, "b");
        note(&clock, &journal, 31, "late");
        clock.wait_until(30, &Wake::new());
        assert_eq!(*journal.lock().unwrap(), [(10, "a"), (10, "b"), (20, "c")]);
        assert_eq!(clock.now_ns(), 30);
    }

    #[test]
    fn an_event_may_schedule_another_that_is_due_as_well() {
        let (clock, journal) = (Arc::new(VirtualClock::new()), Journal::default());
        let (inner, inner_journal) = (Arc::clone(&clock), Arc::clone(&journal));
        clock.schedule(5, move || {
            note(&inner, &inner_journal, 3, "past means now");
            note(&inner, &inner_journal, 7, "next");
        });
        clock.wait_until(7, &Wake::new());
        assert_eq!(*journal.lock().unwrap(), [(5, "past means now"), (7, "next")]);
    }

    #[test]
    fn wait_for_stops_at_the_deadline_or_when_nothing_is_left() {
        let (clock, journal) = (Arc::new(VirtualClock::new()), Journal::default());
        let wake = Wake::new();
        note(&clock, &journal, 50, "e");
        assert!(!clock.wait_for(&wake, Some(40), &|| false));
        assert_eq!(clock.now_ns(), 40);
        assert!(!clock.wait_for(&wake, Some(1000), &|| false));
        assert_eq!(clock.now_ns(), 50, "no event is left: time does not run on");
        assert!(clock.wait_for(&wake, None, &|| true));
    }

    #[test]
    fn a_stop_inside_an_event_ends_wait_until() {
        let clock = Arc::new(VirtualClock::new());
        let wake = Arc::new(Wake::new());
        let stopper = Arc::clone(&wake);
        clock.schedule(5, move || stopper.stop());
        clock.wait_until(100, &wake);
        assert_eq!(clock.now_ns(), 5);
    }
}

//! Batches that are over and were not read yet.

use proctor_scaling::Done;

/// Notes of batches, from the threads of instances to the one that acts.
///
/// It never grows: batches that come while there is no room are counted, and no more is known of them.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    pub(super) batches: Vec<Done>,
    /// Arrivals of their samples, one batch behind the other.
    pub(super) arrived_ns: Vec<u64>,
    /// Instances that have failed a batch.
    pub(super) failed: Vec<FailedInstance>,
    /// Batches that did not fit.
    pub(super) unseen: Unseen,
}

/// An instance that has failed a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FailedInstance {
    /// Number of the instance in the scheduler.
    pub(super) instance: usize,
    /// True if it was retired, which the only one is not.
    pub(super) is_retired: bool,
}

/// Counts of batches without further information.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Unseen {
    pub(crate) batches: u64,
    pub(crate) samples: u64,
    /// Number of samples above the target.
    pub(crate) violations: u64,
}

impl Inbox {
    /// Maximum number of batches: far more than are served between two looks.
    const BATCHES_MAX: usize = 1 << 16;
    /// Maximum number of sample arrivals.
    const SAMPLES_MAX: usize = 1 << 20;

    /// Creates an inbox with all the room that it will ever have.
    pub(super) fn with_room(from_arrival: bool) -> Self {
        let samples = if from_arrival { Self::SAMPLES_MAX } else { 0 };
        Self {
            batches: Vec::with_capacity(Self::BATCHES_MAX),
            arrived_ns: Vec::with_capacity(samples),
            ..Self::default()
        }
    }

    /// Adds a batch. `target_ns` is the latency target.
    pub(super) fn push(&mut self, done: &Done, arrived_ns: &[u64], target_ns: u64) {
        let has_room = self.batches.len() < Self::BATCHES_MAX
            && self.arrived_ns.len() + arrived_ns.len() <= self.arrived_ns.capacity();
        if has_room {
            self.batches.push(*done);
            self.arrived_ns.extend_from_slice(arrived_ns);
            return;
        }
        let Unseen { batches, samples, violations } = &mut self.unseen;
        *batches += 1;
        *samples += done.samples;
        *violations += match arrived_ns {
            [] if done.completed_ns.saturating_sub(done.started_ns) > target_ns => done.samples,
            [] => 0,
            arrived_ns => {
                let is_above = |at_ns: &&u64| done.completed_ns.saturating_sub(**at_ns) > target_ns;
                arrived_ns.iter().filter(is_above).count() as u64
            }
        };
    }

    pub(super) fn clear(&mut self) {
        self.batches.clear();
        self.arrived_ns.clear();
        self.failed.clear();
        self.unseen = Unseen::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(started_ns: u64, completed_ns: u64) -> Done {
        Done { instance: 0, started_ns, completed_ns, samples: 2 }
    }

    #[test]
    fn what_comes_while_nobody_reads_is_counted_and_takes_no_memory() {
        for from_arrival in [false, true] {
            let mut inbox = Inbox::with_room(from_arrival);
            let rooms = (inbox.batches.capacity(), inbox.arrived_ns.capacity());
            let arrived_ns: &[u64] = if from_arrival { &[0, 15] } else { &[] };
            for _ in 0..Inbox::BATCHES_MAX {
                inbox.push(&batch(10, 20), arrived_ns, 15);
            }
            assert_eq!(inbox.unseen, Unseen::default());
            inbox.push(&batch(10, 20), arrived_ns, 15);
            inbox.push(&batch(10, 30), arrived_ns, 15);
            // From the arrival 20 and 5, then 30 and 15; else 10, then 20.
            let violations = 2;
            assert_eq!(inbox.unseen, Unseen { batches: 2, samples: 4, violations }, "{from_arrival}");
            assert_eq!((inbox.batches.capacity(), inbox.arrived_ns.capacity()), rooms);
            inbox.clear();
            inbox.push(&batch(10, 20), arrived_ns, 15);
            assert_eq!((inbox.batches.len(), inbox.unseen.batches), (1, 0));
        }
    }
}

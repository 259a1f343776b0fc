//! `size-or-timeout`: full batches, or what there is after a while.

use super::{Decision, Policy, PolicyEntry, QueueState};
use crate::config::SchedulerConfig;

inventory::submit! {
    PolicyEntry {
        name: "size-or-timeout",
        help: "a batch when batch_size samples wait or the oldest has waited batch_timeout_us",
        make: |config| Box::new(SizeOrTimeout::new(config)),
    }
}

/// A batch when `batch_size` samples wait, when the oldest has waited for `batch_timeout_us`, or after a flush.
///
/// An idle instance does wait for a batch to fill: that trades the latency of the first sample for larger batches.
struct SizeOrTimeout {
    batch_size: usize,
    timeout_ns: u64,
}

impl SizeOrTimeout {
    fn new(config: &SchedulerConfig) -> Self {
        Self { batch_size: config.batch_size, timeout_ns: config.batch_timeout_ns() }
    }
}

impl Policy for SizeOrTimeout {
    fn decide(&self, queue: &QueueState) -> Decision {
        let deadline_ns = queue.oldest_arrived_ns.saturating_add(self.timeout_ns);
        if queue.waiting >= self.batch_size || queue.flushing || queue.now_ns >= deadline_ns {
            Decision::Take(self.batch_size)
        } else {
            Decision::WaitUntil(deadline_ns)
        }
    }
}

//! `size-or-timeout`: full batches, or whatever has come after a while.

use super::{Decision, Policy, PolicyEntry, QueueState};

inventory::submit! {
    PolicyEntry {
        name: "size-or-timeout",
        help: "a batch when batch_size samples wait or the oldest has waited batch_timeout_us",
        make: |config| Box::new(SizeOrTimeout { timeout_ns: config.batch_timeout_ns() }),
    }
}

/// A batch when `batch_size` samples wait, when the oldest has waited for `batch_timeout_us`, or after a flush.
///
/// An idle instance does wait for a batch to fill: that trades the latency of the first sample for larger batches.
struct SizeOrTimeout {
    timeout_ns: u64,
}

impl Policy for SizeOrTimeout {
    fn decide(&self, queue: &QueueState) -> Decision {
        let deadline_ns = queue.oldest_arrived_ns.saturating_add(self.timeout_ns);
        if queue.waiting >= queue.batch_size || queue.flushing || queue.now_ns >= deadline_ns {
            Decision::Take(queue.batch_size)
        } else {
            Decision::WaitUntil(deadline_ns)
        }
    }
    fn starts_singles_at_once(&self) -> bool {
        true
    }
}

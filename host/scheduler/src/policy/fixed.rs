//! `fixed`: batches of one size.

use super::{Decision, Policy, PolicyEntry, QueueState};

inventory::submit! {
    PolicyEntry {
        name: "fixed",
        help: "batches of exactly batch_size samples; fewer only if nothing runs or nothing more comes",
        make: |_| Box::new(Fixed),
    }
}

/// Batches of exactly `batch_size` samples while that many wait.
///
/// A smaller batch goes in two cases: after a flush, and when every instance is idle. The second one is needed because
/// the load generator says that nothing more will come only at the end of a run: SingleStream issues no query before
/// the last one is complete, so fewer than `batch_size` samples would wait forever. While an instance is busy there is
/// no such danger, because its completion is its own event, and waiting may fill the batch.
///
/// The price is that the first samples that reach an idle system go alone. A server that never waits would do
/// the same; `size-or-timeout` is the policy that waits.
struct Fixed;

impl Policy for Fixed {
    fn decide(&self, queue: &QueueState) -> Decision {
        let nothing_runs = queue.busy_instances == 0 && !queue.more_coming;
        if queue.waiting >= queue.batch_size || queue.flushing || nothing_runs {
            Decision::Take(queue.batch_size)
        } else {
            Decision::Wait
        }
    }
    fn starts_singles_at_once(&self) -> bool {
        true
    }
}

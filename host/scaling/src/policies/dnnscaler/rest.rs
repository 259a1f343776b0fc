//! Tail at which a Scaler settles.

use crate::seen::Seen;

/// Averages of tail and mean since a Scaler has settled: the tail of one window is off by a tenth where times spread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rest {
    tail_ns: u64,
    mean_ns: f64,
    /// Number of windows that the two sums cover.
    windows: u32,
}

impl Rest {
    pub(super) fn at(seen: &Seen) -> Self {
        Self { tail_ns: seen.tail_ns, mean_ns: seen.mean_ns, windows: 1 }
    }

    /// Returns whether the system is another one: tail and mean are below this share of their old values.
    pub(super) fn has_fallen(&self, seen: &Seen, share: f64) -> bool {
        seen.tail_ns < share_of(self.tail_ns / u64::from(self.windows), share)
            && seen.mean_ns < self.mean_ns / f64::from(self.windows) * share
    }

    /// Returns whether the system is as it was. If so, the window counts.
    pub(super) fn is_as_before(&mut self, seen: &Seen, share: f64) -> bool {
        if self.has_fallen(seen, share) {
            return false;
        }
        self.tail_ns += seen.tail_ns;
        self.mean_ns += seen.mean_ns;
        self.windows += 1;
        true
    }
}

/// Returns this share of a time, in ns.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "below 2^52"
)]
pub(super) fn share_of(time_ns: u64, share: f64) -> u64 {
    (time_ns as f64 * share) as u64
}

//! Sizes of the caches, as the system reports them.

use proctor_rnn_layer::cache_sizes;
use serde::Serialize;

/// Sizes of the data caches in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CacheSizes {
    /// First level, of one core.
    pub l1_bytes: u64,
    /// Second level, of one core.
    pub l2_bytes: u64,
    /// Last level, shared by cores; `None` if there is no level beyond the second or the system does not report
    /// it.
    pub l3_bytes: Option<u64>,
}

impl CacheSizes {
    /// Sizes assumed where the system reports none: the smallest in common use.
    pub const ASSUMED: Self = Self { l1_bytes: 32 << 10, l2_bytes: 256 << 10, l3_bytes: None };

    /// Asks the system, and takes [`ASSUMED`](Self::ASSUMED) for sizes that it does not report.
    #[must_use]
    pub fn read() -> Self {
        Self::of(cache_sizes())
    }

    fn of(sizes: [Option<usize>; 3]) -> Self {
        let [l1, l2, l3] = sizes.map(|size| size.map(|bytes| bytes as u64));
        let Self { l1_bytes, l2_bytes, .. } = Self::ASSUMED;
        Self { l1_bytes: l1.unwrap_or(l1_bytes), l2_bytes: l2.unwrap_or(l2_bytes), l3_bytes: l3 }
    }

    /// Returns the share of the first level that can be kept from step to step: eleven twelfths, the rest is for states
    /// and gates.
    #[must_use]
    pub fn l1_kept_bytes(self) -> f64 {
        self.l1_bytes as f64 * 11.0 / 12.0
    }

    /// Returns the share of the second level that can be kept from step to step: seven eighths.
    #[must_use]
    pub fn l2_kept_bytes(self) -> f64 {
        self.l2_bytes as f64 * 7.0 / 8.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_does_not_tell_is_assumed() {
        assert_eq!(CacheSizes::of([None; 3]), CacheSizes::ASSUMED);
        let told = CacheSizes { l1_bytes: 48 << 10, l2_bytes: 2 << 20, l3_bytes: Some(105 << 20) };
        assert_eq!(CacheSizes::of([Some(48 << 10), Some(2 << 20), Some(105 << 20)]), told);
        let l2_bytes = CacheSizes::ASSUMED.l2_bytes;
        assert_eq!(CacheSizes::of([Some(48 << 10), None, Some(105 << 20)]), CacheSizes { l2_bytes, ..told });
    }
}

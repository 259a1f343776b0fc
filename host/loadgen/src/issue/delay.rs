//! Lateness of the issued queries.

use crate::record::histogram::Histogram;

/// Lateness of queries relative to their schedule. Only Server, and MultiStream at fixed intervals, have a
/// schedule; 0 otherwise.
///
/// The maximum and the mean are exact. A percentile is the delay at position `floor(count * quantile)` of all, in
/// ascending order, rounded up by at most 3.2 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IssueDelay {
    /// The longest delay in ns.
    pub max_ns: u64,
    /// The mean delay in ns, rounded down.
    pub mean_ns: u64,
    /// The median in ns.
    pub p50_ns: u64,
    /// The 99th percentile in ns.
    pub p99_ns: u64,
    /// The 99.9th percentile in ns.
    pub p99_9_ns: u64,
}

impl From<&Histogram> for IssueDelay {
    fn from(delays: &Histogram) -> Self {
        let count = delays.count();
        Self {
            max_ns: delays.max_ns(),
            mean_ns: delays.mean_ns(),
            p50_ns: delays.at(count / 2),
            p99_ns: delays.at(permille(count, 990)),
            p99_9_ns: delays.at(permille(count, 999)),
        }
    }
}

/// Returns `floor(count * permille / 1000)`, which is below `count`.
fn permille(count: u64, permille: u64) -> u64 {
    let position = u128::from(count) * u128::from(permille) / 1000;
    u64::try_from(position).expect("it is below a count of 64 bits")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn percentiles_leave_their_share_below_them() {
        let mut delays = Histogram::default();
        assert_eq!(IssueDelay::from(&delays), IssueDelay::default());
        (0..1000).for_each(|number| delays.add(number / 100));
        let expected = IssueDelay { max_ns: 9, mean_ns: 4, p50_ns: 5, p99_ns: 9, p99_9_ns: 9 };
        assert_eq!(IssueDelay::from(&delays), expected);
        assert_eq!(permille(u64::MAX, 1000), u64::MAX);
    }
}

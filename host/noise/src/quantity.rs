//! Quantities that are measured in each interval.

use serde::{Deserialize, Serialize};

/// Something for each quantity of an interval, by the keys of a result. Times are in ns, frequencies in kHz.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Quantities<T> {
    /// Time that the hypervisor gave to others while a processor had work, summed over the processors.
    pub steal_ns: T,
    /// Time for which the processors were busy with other processes than this one and its children.
    pub foreign_ns: T,
    /// Processor time of this process and its children.
    pub own_ns: T,
    /// Switches of the issuing threads that they did not ask for.
    pub involuntary_switches: T,
    /// Page faults of this process that needed no reading.
    pub minor_faults: T,
    /// Page faults of this process that waited for a disk.
    pub major_faults: T,
    /// The slowest processor at the end of the interval.
    pub frequency_least_khz: T,
    /// The fastest processor at the end of the interval.
    pub frequency_greatest_khz: T,
    /// Number of times that a processor or its package was throttled for heat.
    pub thermal_throttle_events: T,
    /// Time for which threads waited because their cgroup had used up its quota.
    pub quota_throttled_ns: T,
}

/// A value for each quantity; `None` if the machine does not show it.
pub type Values = Quantities<Option<u64>>;

impl<T> Quantities<T> {
    /// Makes something of each quantity; `of` gets the function that reads it.
    pub(crate) fn each(of: impl Fn(fn(&Values) -> Option<u64>) -> T) -> Self {
        Self {
            steal_ns: of(|it| it.steal_ns),
            foreign_ns: of(|it| it.foreign_ns),
            own_ns: of(|it| it.own_ns),
            involuntary_switches: of(|it| it.involuntary_switches),
            minor_faults: of(|it| it.minor_faults),
            major_faults: of(|it| it.major_faults),
            frequency_least_khz: of(|it| it.frequency_least_khz),
            frequency_greatest_khz: of(|it| it.frequency_greatest_khz),
            thermal_throttle_events: of(|it| it.thermal_throttle_events),
            quota_throttled_ns: of(|it| it.quota_throttled_ns),
        }
    }
}

impl Values {
    /// Returns the values of a part of the interval: this share of what adds up, and frequencies as they are.
    #[must_use]
    pub(crate) fn share(self, part: u64, whole: u64) -> Self {
        let of_part = |value: u64| {
            let share = u128::from(value) * u128::from(part) / u128::from(whole.max(1));
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        Self {
            frequency_least_khz: self.frequency_least_khz,
            frequency_greatest_khz: self.frequency_greatest_khz,
            ..Self::each(|of| of(&self).map(of_part))
        }
    }

    /// Returns the values of two intervals together: sums, but of frequencies the least and the greatest. What only one
    /// of them has is the value of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let both = |of: fn(&Self) -> Option<u64>, join: fn(u64, u64) -> u64| match (of(&self), of(&other)) {
            (Some(a), Some(b)) => Some(join(a, b)),
            (a, b) => a.or(b),
        };
        Self {
            frequency_least_khz: both(|it| it.frequency_least_khz, u64::min),
            frequency_greatest_khz: both(|it| it.frequency_greatest_khz, u64::max),
            ..Self::each(|of| both(of, u64::saturating_add))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_together_have_sums_and_extremes() {
        let values = |value| Values {
            steal_ns: Some(value),
            frequency_least_khz: Some(value),
            frequency_greatest_khz: Some(value),
            ..Values::default()
        };
        let both = values(3).and(values(5)).and(Values::default());
        assert_eq!(both, Values { frequency_greatest_khz: Some(5), steal_ns: Some(8), ..values(3) });
    }
}

//! Quantities that are measured in each interval.

use serde::{Deserialize, Serialize};

/// A quantity of an interval. Times are in ns, frequencies in kHz.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Time that the hypervisor gave to others while a processor had work, summed over the processors.
    Steal,
    /// Time for which the processors were busy with other processes than this one and its children.
    Foreign,
    /// Processor time of this process and its children.
    Own,
    /// Switches of the issuing threads that they did not ask for.
    InvoluntarySwitches,
    /// Page faults of this process that needed no reading.
    MinorFaults,
    /// Page faults of this process that waited for a disk.
    MajorFaults,
    /// The slowest processor at the end of the interval.
    LeastFrequency,
    /// The fastest processor at the end of the interval.
    GreatestFrequency,
    /// Number of times that a processor or its package was throttled for heat.
    ThermalThrottles,
    /// Time for which threads waited because their cgroup had used up its quota.
    QuotaThrottled,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Steal,
        Self::Foreign,
        Self::Own,
        Self::InvoluntarySwitches,
        Self::MinorFaults,
        Self::MajorFaults,
        Self::LeastFrequency,
        Self::GreatestFrequency,
        Self::ThermalThrottles,
        Self::QuotaThrottled,
    ];

    /// Returns the quantity of two intervals together.
    fn of_both(self, a: u64, b: u64) -> u64 {
        match self {
            Self::LeastFrequency => a.min(b),
            Self::GreatestFrequency => a.max(b),
            _ => a.saturating_add(b),
        }
    }
}

/// Something for each quantity, by the keys of a result. docs/noise.md explains each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[expect(missing_docs, reason = "each is what it says")]
pub struct Quantities<T> {
    pub steal_ns: T,
    pub foreign_ns: T,
    pub own_ns: T,
    pub involuntary_switches: T,
    pub minor_faults: T,
    pub major_faults: T,
    pub frequency_least_khz: T,
    pub frequency_greatest_khz: T,
    pub thermal_throttle_events: T,
    pub quota_throttled_ns: T,
}

/// A value for each quantity; `None` if the machine does not show it.
pub type Values = Quantities<Option<u64>>;

impl<T: Default> Quantities<T> {
    /// Fills the place of each quantity.
    pub(crate) fn each(of: impl Fn(Quantity) -> T) -> Self {
        let mut all = Self::default();
        Quantity::ALL.into_iter().for_each(|quantity| *all.place(quantity) = of(quantity));
        all
    }

    fn place(&mut self, quantity: Quantity) -> &mut T {
        match quantity {
            Quantity::Steal => &mut self.steal_ns,
            Quantity::Foreign => &mut self.foreign_ns,
            Quantity::Own => &mut self.own_ns,
            Quantity::InvoluntarySwitches => &mut self.involuntary_switches,
            Quantity::MinorFaults => &mut self.minor_faults,
            Quantity::MajorFaults => &mut self.major_faults,
            Quantity::LeastFrequency => &mut self.frequency_least_khz,
            Quantity::GreatestFrequency => &mut self.frequency_greatest_khz,
            Quantity::ThermalThrottles => &mut self.thermal_throttle_events,
            Quantity::QuotaThrottled => &mut self.quota_throttled_ns,
        }
    }
}

impl Values {
    /// Returns the value of a quantity.
    #[must_use]
    pub fn get(mut self, quantity: Quantity) -> Option<u64> {
        *self.place(quantity)
    }

    /// Returns the same values with another one of this quantity.
    #[must_use]
    pub fn with(mut self, quantity: Quantity, value: Option<u64>) -> Self {
        *self.place(quantity) = value;
        self
    }

    /// Returns the values of two intervals together: sums, but of frequencies the least and the greatest. What only one
    /// of them has is the value of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::each(|quantity| match (self.get(quantity), other.get(quantity)) {
            (Some(a), Some(b)) => Some(quantity.of_both(a, b)),
            (a, b) => a.or(b),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_quantity_has_a_place_of_its_own() {
        for quantity in Quantity::ALL {
            let values = Values::default().with(quantity, Some(1));
            let set = Quantity::ALL.into_iter().filter(|it| values.get(*it).is_some());
            assert_eq!(set.collect::<Vec<_>>(), [quantity]);
        }
    }

    #[test]
    fn intervals_together_have_sums_and_extremes() {
        let values = |value| {
            let [steal, least, greatest] =
                [Quantity::Steal, Quantity::LeastFrequency, Quantity::GreatestFrequency];
            let values = Values::default().with(steal, Some(value));
            values.with(least, Some(value)).with(greatest, Some(value))
        };
        let both = values(3).and(values(5)).and(Values::default());
        assert_eq!(both.get(Quantity::Steal), Some(8));
        assert_eq!(
            (both.get(Quantity::LeastFrequency), both.get(Quantity::GreatestFrequency)),
            (Some(3), Some(5))
        );
        assert_eq!(both.get(Quantity::Own), None);
    }
}

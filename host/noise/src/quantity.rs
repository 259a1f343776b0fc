//! Quantities that are measured in each interval.

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

/// Number of quantities.
const COUNT: usize = 10;

impl Quantity {
    /// All of them.
    pub const ALL: [Self; COUNT] = [
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

/// A value for each quantity; `None` if the machine does not show it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Values([Option<u64>; COUNT]);

impl Values {
    /// Returns the value of a quantity.
    #[must_use]
    pub fn get(&self, quantity: Quantity) -> Option<u64> {
        self.0[quantity as usize]
    }

    /// Returns the same values with another one of this quantity.
    #[must_use]
    pub fn with(mut self, quantity: Quantity, value: Option<u64>) -> Self {
        self.0[quantity as usize] = value;
        self
    }

    /// Returns the values of two intervals together: sums, but of frequencies the least and the greatest. What only one
    /// of them has is the value of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Quantity::ALL.into_iter().fold(Self::default(), |values, quantity| {
            let value = match (self.get(quantity), other.get(quantity)) {
                (Some(a), Some(b)) => Some(quantity.of_both(a, b)),
                (a, b) => a.or(b),
            };
            values.with(quantity, value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_quantity_has_a_place_of_its_own() {
        for (position, quantity) in Quantity::ALL.into_iter().enumerate() {
            assert_eq!(quantity as usize, position);
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

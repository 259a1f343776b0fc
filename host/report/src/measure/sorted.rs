//! The distribution of latencies.

use crate::draw::scale::nines;

/// Maximum number of points of a curve.
const POINTS_MAX: usize = 400;

/// Sorted latencies in ns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sorted {
    sorted_ns: Vec<u64>,
}

impl Sorted {
    /// Sorts latencies.
    pub(crate) fn of(mut latencies_ns: Vec<u64>) -> Self {
        latencies_ns.sort_unstable();
        Self { sorted_ns: latencies_ns }
    }

    pub(crate) fn count(&self) -> u64 {
        self.sorted_ns.len() as u64
    }

    /// Returns the smallest and the largest; `None` if there are no values.
    pub(crate) fn ends_ns(&self) -> Option<(u64, u64)> {
        Some((*self.sorted_ns.first()?, *self.sorted_ns.last()?))
    }

    /// Returns the curve of the distribution: each point a latency in ns and, in powers of ten as [`nines`] has it, the
    /// share of latencies before it in order. Points are even along the second, so that the tail has as many as the
    /// rest.
    pub(crate) fn curve(&self) -> Vec<(f64, f64)> {
        let count = self.sorted_ns.len();
        let point = |place: usize| (self.sorted_ns[place] as f64, nines(place as f64 / count as f64));
        if count <= POINTS_MAX {
            return (0..count).map(point).collect();
        }
        let end = (count as f64).log10();
        let places = (0..=POINTS_MAX).map(|number| {
            let share = 1.0 - 10_f64.powf(-end * number as f64 / POINTS_MAX as f64);
            ((share * count as f64).round() as usize).min(count - 1)
        });
        let mut places: Vec<usize> = places.collect();
        places.dedup();
        places.into_iter().map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_percentile_lies_on_the_curve_at_its_nines() {
        let sorted = Sorted::of((1..=1000).rev().collect());
        let curve = sorted.curve();
        let at = |nines: f64| curve.iter().find(|(_, place)| *place >= nines - 1e-9).unwrap().0;
        assert_eq!(curve[0], (1.0, 0.0));
        assert!((at(1.0) - 901.0).abs() < 10.0 && (at(2.0) - 991.0).abs() < 2.0);
        let (most, end) = *curve.last().unwrap();
        assert!(most == 1000.0 && (end - 3.0).abs() < 1e-9);
        assert!(Sorted::of(vec![]).curve().is_empty());
        assert_eq!(Sorted::of(vec![5]).curve(), [(5.0, 0.0)]);
    }

    proptest! {
        #[test]
        fn a_curve_ascends_from_the_least_to_the_greatest(latencies in prop::collection::vec(0_u64..1000, 1..900)) {
            let sorted = Sorted::of(latencies);
            let curve = sorted.curve();
            let (least, most) = sorted.ends_ns().unwrap();
            prop_assert_eq!((curve[0].0 as u64, curve.last().unwrap().0 as u64), (least, most));
            prop_assert!(curve.len() <= POINTS_MAX + 1);
            prop_assert!(curve.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1));
            prop_assert!(curve.iter().all(|point| point.1.is_finite()));
        }
    }
}

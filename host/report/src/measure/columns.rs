//! Latencies over time, in columns of equal width.

use proctor_loadgen::percentile_rank;

/// Time from one end to the other, cut into columns of equal width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cut {
    /// The end in ns; the start is 0.
    pub(crate) end_ns: u64,
    /// Number of columns.
    pub(crate) count: usize,
}

impl Cut {
    /// Returns the number of an instant's column; instants after the end are in the last.
    pub(crate) fn column(self, instant_ns: u64) -> usize {
        let place = u128::from(instant_ns) * self.count as u128 / u128::from(self.end_ns.max(1));
        usize::try_from(place).unwrap_or(usize::MAX).min(self.count.saturating_sub(1))
    }

    pub(crate) fn start_ns(self, column: usize) -> f64 {
        self.end_ns as f64 * column as f64 / self.count as f64
    }

    /// Returns the middle of a column, in ns.
    pub(crate) fn middle_ns(self, column: usize) -> f64 {
        (self.start_ns(column) + self.start_ns(column + 1)) / 2.0
    }
}

/// Latencies of the samples of a column, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) least_ns: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) most_ns: u64,
}

/// Returns the latencies in each column, of samples given by instant and latency; `None` for a column without any.
pub(crate) fn columns(samples: impl Iterator<Item = (u64, u64)> + Clone, cut: Cut) -> Vec<Option<Column>> {
    // The latencies of a column lie side by side: first it is counted where each begins.
    let mut starts = vec![0_usize; cut.count + 1];
    for (instant_ns, _) in samples.clone() {
        starts[cut.column(instant_ns) + 1] += 1;
    }
    for column in 0..cut.count {
        starts[column + 1] += starts[column];
    }
    let mut latencies = vec![0; starts[cut.count]];
    let mut next = starts.clone();
    for (instant_ns, latency_ns) in samples {
        let place = &mut next[cut.column(instant_ns)];
        latencies[*place] = latency_ns;
        *place += 1;
    }
    starts.windows(2).map(|ends| column(&mut latencies[ends[0]..ends[1]])).collect()
}

fn column(latencies: &mut [u64]) -> Option<Column> {
    let place = |quantile| percentile_rank(latencies.len() as u64, quantile) as usize;
    let [middle, late] = [place(0.5), place(0.99)];
    let (least_ns, most_ns) = (*latencies.iter().min()?, *latencies.iter().max()?);
    let p99_ns = *latencies.select_nth_unstable(late).1;
    let p50_ns = *latencies.select_nth_unstable(middle).1;
    Some(Column { least_ns, p50_ns, p99_ns, most_ns })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn columns_have_their_own_percentiles_and_gaps_are_none() {
        let first = (1..=100).map(|latency| (latency / 2, latency));
        let samples = first.chain([(299, 7), (300, 9)]);
        let found = columns(samples, Cut { end_ns: 300, count: 3 });
        let of_first = Column { least_ns: 1, p50_ns: 51, p99_ns: 100, most_ns: 100 };
        let of_last = Column { least_ns: 7, p50_ns: 9, p99_ns: 9, most_ns: 9 };
        assert_eq!(found, [Some(of_first), None, Some(of_last)]);
        assert_eq!(columns([].into_iter(), Cut { end_ns: 0, count: 2 }), [None, None]);
        assert_eq!(Cut { end_ns: 0, count: 4 }.column(0), 0);
    }

    proptest! {
        #[test]
        fn every_sample_is_within_its_column(samples in prop::collection::vec((0_u64..1000, 0_u64..1000), 1..200)) {
            let cut = Cut { end_ns: 1000, count: 7 };
            let found = columns(samples.iter().copied(), cut);
            for (instant_ns, latency_ns) in samples {
                let column = found[cut.column(instant_ns)].unwrap();
                prop_assert!((column.least_ns..=column.most_ns).contains(&latency_ns));
                prop_assert!(column.least_ns <= column.p50_ns && column.p50_ns <= column.p99_ns);
                prop_assert!(column.p99_ns <= column.most_ns);
            }
        }
    }
}

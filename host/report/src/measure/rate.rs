//! Events over time as a rate.

use crate::measure::columns::Cut;

/// Returns the events per second in each column.
pub(crate) fn rates(instants_ns: impl Iterator<Item = u64>, cut: Cut) -> Vec<f64> {
    let mut counts = vec![0_u64; cut.count];
    for instant_ns in instants_ns {
        counts[cut.column(instant_ns)] += 1;
    }
    let width_s = cut.end_ns.max(1) as f64 / cut.count as f64 / 1e9;
    counts.into_iter().map(|count| count as f64 / width_s).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_per_second() {
        let cut = Cut { end_ns: 2_000_000_000, count: 4 };
        assert_eq!(rates([0, 1, 600_000_000, 2_000_000_000].into_iter(), cut), [4.0, 2.0, 0.0, 2.0]);
    }
}

//! Outstanding samples over time: those whose latency has begun and not ended.

use crate::measure::columns::Cut;

/// Outstanding samples in a column.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Depth {
    /// Mean over time.
    pub(crate) mean: f64,
    /// Maximum at an instant.
    pub(crate) most: u64,
}

/// Returns the outstanding samples in each column, from the instants at which samples begin and end, in any
/// order. One that never ends is outstanding up to the end.
pub(crate) fn outstanding(mut begins_ns: Vec<u64>, mut ends_ns: Vec<u64>, cut: Cut) -> Vec<Depth> {
    begins_ns.sort_unstable();
    ends_ns.sort_unstable();
    let mut depths = vec![Depth::default(); cut.count];
    let (mut begun, mut ended, mut since_ns) = (0, 0, 0);
    while begun < begins_ns.len() || ended < ends_ns.len() {
        // A sample that begins as another one ends takes its place; and none ends before it has begun.
        let is_end = match (begins_ns.get(begun), ends_ns.get(ended)) {
            (Some(begin), Some(end)) => end <= begin && ended < begun,
            (begin, _) => begin.is_none(),
        };
        let at_ns = if is_end { ends_ns[ended] } else { begins_ns[begun] };
        spread(&mut depths, cut, (since_ns, at_ns), (begun - ended) as u64);
        if is_end {
            ended += 1;
        } else {
            begun += 1;
        }
        since_ns = since_ns.max(at_ns);
        let depth = &mut depths[cut.column(at_ns)];
        depth.most = depth.most.max((begun - ended) as u64);
    }
    spread(&mut depths, cut, (since_ns, cut.end_ns), (begun - ended) as u64);
    depths
}

/// Adds a depth that lasted from one instant to another to the columns between them.
fn spread(depths: &mut [Depth], cut: Cut, (from_ns, to_ns): (u64, u64), count: u64) {
    let to_ns = to_ns.min(cut.end_ns);
    if from_ns >= to_ns || count == 0 {
        return;
    }
    let width_ns = cut.end_ns as f64 / cut.count as f64;
    let (first, last) = (cut.column(from_ns), cut.column(to_ns));
    for (column, depth) in depths.iter_mut().enumerate().take(last + 1).skip(first) {
        let (start_ns, end_ns) = (cut.start_ns(column), cut.start_ns(column + 1));
        let within_ns = end_ns.min(to_ns as f64) - start_ns.max(from_ns as f64);
        depth.mean += count as f64 * within_ns.max(0.0) / width_ns;
        if within_ns > 0.0 {
            depth.most = depth.most.max(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_overlaps_is_counted() {
        let cut = Cut { end_ns: 100, count: 4 };
        // From 0 to 25, from 10 to 60, and one from 50 on without an end.
        let depths = outstanding(vec![50, 0, 10], vec![60, 25], cut);
        assert_eq!(depths.iter().map(|depth| depth.most).collect::<Vec<_>>(), [2, 1, 2, 1]);
        let means: Vec<_> = depths.iter().map(|depth| depth.mean).collect();
        assert_eq!(means, [1.6, 1.0, 1.4, 1.0]);
        assert_eq!(outstanding(vec![], vec![], cut), [Depth::default(); 4]);
        // One after the other is never two, and one without a length is one.
        let stream = outstanding(vec![0, 10, 20], vec![10, 20, 20], cut);
        assert_eq!(stream[0].most, 1);
    }

    proptest! {
        #[test]
        fn the_mean_is_the_sum_of_latencies_over_time(
            samples in prop::collection::vec((0_u64..1000, 0_u64..500), 1..100),
        ) {
            let cut = Cut { end_ns: 1500, count: 13 };
            let begins = samples.iter().map(|(begin, _)| *begin).collect();
            let ends = samples.iter().map(|(begin, latency)| begin + latency).collect();
            let depths = outstanding(begins, ends, cut);
            let width_ns = 1500.0 / 13.0;
            let area: f64 = depths.iter().map(|depth| depth.mean * width_ns).sum();
            let expected = samples.iter().map(|(_, latency)| latency).sum::<u64>() as f64;
            prop_assert!((area - expected).abs() < 1e-6 * expected.max(1.0), "{} {}", area, expected);
            for depth in depths {
                prop_assert!(depth.mean <= depth.most as f64 + 1e-9, "{:?}", depth);
            }
        }
    }
}

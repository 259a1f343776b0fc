//! Intervals of seeded sequences whose true difference is known, and what holds for all sequences.

use proctor_loadgen::SampleRecord;
use proctor_mt19937::Mt19937;
use proctor_vocabulary::Scenario;
use proptest::prelude::*;

use super::{
    interval::{Difference, Method, difference},
    measured::Measured,
    random::sequence,
};
use crate::figure::Figure;

const MEDIAN: Figure = Figure::Percentile(500);

/// A normal number (Box and Muller).
fn normal(random: &mut Mt19937) -> f64 {
    let radius = (-2.0 * (1.0 - random.canonical()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.canonical()).cos()
}

/// Returns latencies whose logarithms are an autoregressive sequence of deviation 0.5 around the logarithm of 1 ms.
fn latencies(seed: u64, count: usize, correlation: f64) -> Vec<f64> {
    let mut random = sequence(seed, &[correlation.to_bits()]);
    let mut state = normal(&mut random);
    let innovation = (1.0 - correlation * correlation).sqrt();
    let mut next = || {
        state = correlation * state + innovation * normal(&mut random);
        1e6 * (0.5 * state).exp()
    };
    (0..count).map(|_| next()).collect()
}

/// Waiting plus service in a queue with one server, exponential times and a utilisation, once it has settled.
fn queue(seed: u64, count: usize, utilisation: f64) -> Vec<f64> {
    let mut random = sequence(seed, &[utilisation.to_bits()]);
    let mut exponential = move || -(1.0 - random.canonical()).ln();
    let mut waiting = 0.0;
    let mut next = || {
        let latency = waiting + exponential();
        waiting = f64::max(latency - exponential() / utilisation, 0.0);
        1e6 * latency
    };
    (0..count + 2000).map(|_| next()).skip(2000).collect()
}

/// Records of queries one after the other.
fn records(latencies_ns: impl IntoIterator<Item = u64>) -> Vec<SampleRecord> {
    let mut scheduled_ns = 0;
    let mut next = |latency_ns| {
        let record = SampleRecord { scheduled_ns, latency_ns };
        scheduled_ns += latency_ns;
        record
    };
    latencies_ns.into_iter().map(&mut next).collect()
}

fn measured(latencies_ns: &[f64], factor: f64) -> Measured {
    measured_for(latencies_ns, factor, &Figure::of(Scenario::SingleStream))
}

fn measured_for(latencies_ns: &[f64], factor: f64, wanted: &[Figure]) -> Measured {
    // Positive and far below 2^64.
    let whole = latencies_ns.iter().map(|latency_ns| (latency_ns * factor) as u64);
    Measured::of(&records(whole), 1, wanted)
}

fn holds(found: Difference, truth: f64) -> bool {
    found.interval.is_some_and(|(low, high)| low <= truth && truth <= high)
}

/// Number of pairs, of 100 of the same thing, whose interval holds 0.
fn of_100(figure: Figure, make: impl Fn(u64) -> Vec<f64>) -> usize {
    let pair = |number: &u64| {
        let [one, other] = [0, 1].map(|side| measured_for(&make(2 * number + side), 1.0, &[figure]));
        holds(difference(&[&one], &[&other], figure, Method::default()).unwrap(), 0.0)
    };
    (0..100).filter(pair).count()
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    // 95 of 100 are expected; 3.5 standard errors less are 87.
    for correlation in [0.5, 0.9] {
        let held = of_100(MEDIAN, |seed| latencies(seed, 1000, correlation));
        assert!(held >= 87, "{held} of 100 with correlation {correlation}");
    }
    let held = of_100(Figure::Mean, |seed| queue(seed, 1000, 0.5));
    assert!(held >= 87, "{held} of 100 of a queue");
}

#[test]
fn intervals_are_not_wider_than_they_need_be() {
    // The deviation of a median of independent log-normal latencies is 1.2533 times the deviation of their
    // logarithms over the root of their number; the difference of two has 1.414 times as much.
    let [a, b] = [1, 2].map(|seed| measured(&latencies(seed, 4000, 0.0), 1.0));
    let (low, high) = difference(&[&a], &[&b], MEDIAN, Method::default()).unwrap().interval.unwrap();
    let expected = 2.0 * 1.96 * 1.2533 * 0.5 * (2.0 / 4000.0_f64).sqrt();
    assert!(((high - low) / expected - 1.0).abs() < 0.2, "{} and {expected}", high - low);
    // Correlated ones say less: the sum of all correlations is 19, and the median's somewhat less.
    let [a, b] = [1, 2].map(|seed| measured(&latencies(seed, 4000, 0.9), 1.0));
    let (low, high) = difference(&[&a], &[&b], MEDIAN, Method::default()).unwrap().interval.unwrap();
    assert!((2.5..6.0).contains(&((high - low) / expected)), "{} and {expected}", high - low);
}

#[test]
fn a_planted_shift_is_found_and_measured() {
    for pair in 0..20 {
        let a = measured(&latencies(2 * pair, 8000, 0.5), 1.0);
        let b = measured(&latencies(2 * pair + 1, 8000, 0.5), 1.1);
        let found = difference(&[&a], &[&b], MEDIAN, Method::default()).unwrap();
        assert!(!holds(found, 0.0), "{pair}: {found:?}");
        assert!((found.log_ratio - 1.1_f64.ln()).abs() < 0.05, "{pair}: {found:?}");
    }
}

#[test]
fn repeats_count_how_runs_vary() {
    // Each run has a pace of its own, with a deviation of 10 %: far more than varies within one of 1000 samples.
    let side = |seed: u64| -> Vec<_> {
        let mut random = sequence(seed, &[1]);
        let run = |number| {
            measured_for(
                &latencies(100 * seed + number, 1000, 0.0),
                (0.1 * normal(&mut random)).exp(),
                &[MEDIAN],
            )
        };
        (0..4).map(run).collect()
    };
    let (mut repeats, mut alone) = (0, 0);
    for pair in 0..40 {
        let (a, b) = (side(2 * pair), side(2 * pair + 1));
        let (a, b): (Vec<_>, Vec<_>) = (a.iter().collect(), b.iter().collect());
        let said = |a, b| holds(difference(a, b, MEDIAN, Method::default()).unwrap(), 0.0);
        repeats += usize::from(said(&a, &b));
        alone += usize::from(said(&a[..1], &b[..1]));
    }
    assert!(repeats >= 34, "{repeats} of 40");
    // One run each does not know it.
    assert!(alone <= 30, "{alone} of 40");
    // A single run compared with repeats varies as they do.
    let (a, b) = (side(1), side(2));
    let found = difference(&a.iter().collect::<Vec<_>>(), &[&b[0]], MEDIAN, Method::default()).unwrap();
    let (low, high) = found.interval.unwrap();
    assert!(high - low > 0.1, "{found:?}");
}

/// Returns a run with the latencies of bursts, as arrivals make them, and a tenth as much variation of its own.
fn in_bursts(bursts: &[f64], seed: u64, factor: f64) -> Measured {
    let own = latencies(seed, bursts.len(), 0.0);
    let latencies_ns = bursts.iter().zip(&own).map(|(burst, own)| (factor * (burst + 0.1 * own)) as u64);
    let records: Vec<_> = latencies_ns
        .enumerate()
        .map(|(number, latency_ns)| SampleRecord { scheduled_ns: number as u64 * 1000, latency_ns })
        .collect();
    Measured::of(&records, 1, &[MEDIAN])
}

#[test]
fn what_arrivals_do_to_both_sides_is_no_difference() {
    // Both have the same bursts, as two runs with the same seeds do.
    let bursts = latencies(5, 4000, 0.9);
    let (a, b) = (in_bursts(&bursts, 6, 1.0), in_bursts(&bursts, 7, 1.03));
    let together = difference(&[&a], &[&b], MEDIAN, Method::default()).unwrap();
    assert!(!holds(together, 0.0) && holds(together, 1.03_f64.ln()), "{together:?}");
    let mut apart = b;
    apart.schedule = (0, 0);
    assert!(holds(difference(&[&a], &[&apart], MEDIAN, Method::default()).unwrap(), 0.0));
}

#[test]
fn what_arrivals_do_to_all_repeats_is_no_difference_either() {
    let bursts = latencies(5, 4000, 0.9);
    // Each run also has its own pace.
    let pace = |seed: u64| (0.004 * normal(&mut sequence(seed, &[2]))).exp();
    let side = |seed: u64, factor: f64| -> Vec<_> {
        (seed..seed + 4).map(|seed| in_bursts(&bursts, seed, factor * pace(seed))).collect()
    };
    let (mut held, mut found, mut widths) = (0, 0, [0.0; 3]);
    for pair in 0..20 {
        let (a, b) = (side(100 + 8 * pair, 1.0), side(104 + 8 * pair, 1.03));
        let (a, mut b): (Vec<_>, _) = (a.iter().collect(), b);
        let of = |b: &[Measured]| {
            difference(&a, &b.iter().collect::<Vec<_>>(), MEDIAN, Method::default()).unwrap()
        };
        let (together, single) = (of(&b), of(&b[..1]));
        held += usize::from(holds(together, 1.03_f64.ln()));
        found += usize::from(!holds(together, 0.0));
        b[3].schedule = (0, 0);
        for (sum, found) in widths.iter_mut().zip([together, single, of(&b)]) {
            *sum += found.interval.map_or(0.0, |(low, high)| high - low);
        }
    }
    assert!(held >= 16 && found >= 18, "{held} and {found} of 20");
    // A single run compared with repeats says less, and one with other arrivals far less.
    assert!(widths[1] > 1.2 * widths[0] && widths[2] > 3.0 * widths[0], "{widths:?}");
}

#[test]
fn repeats_of_constant_latencies_differ_by_how_they_vary() {
    let runs = |latencies_ns: [u64; 3]| {
        latencies_ns.map(|latency_ns| {
            let record = |number: u64| SampleRecord { scheduled_ns: number * 1000, latency_ns };
            Measured::of(&(0..100).map(record).collect::<Vec<_>>(), 1, &[MEDIAN])
        })
    };
    let (a, b, c) = (runs([1000, 1010, 1020]), runs([1015, 1005, 1025]), runs([1500, 1510, 1520]));
    let of = |other: &[Measured; 3]| {
        difference(&a.each_ref(), &other.each_ref(), MEDIAN, Method::default()).unwrap()
    };
    assert!(holds(of(&b), 0.0) && !holds(of(&c), 0.0));
}

#[test]
fn the_answer_depends_on_the_seed_alone_and_confidence_widens_it() {
    let [a, b] = [1, 2].map(|seed| measured(&latencies(seed, 2000, 0.5), 1.0));
    let with = |confidence, seed| difference(&[&a], &[&b], MEDIAN, Method { confidence, seed }).unwrap();
    assert_eq!(with(0.95, 1), with(0.95, 1));
    assert_ne!(with(0.95, 1).interval, with(0.95, 2).interval);
    let width = |found: Difference| found.interval.map_or(0.0, |(low, high)| high - low);
    assert!(width(with(0.5, 1)) < width(with(0.95, 1)) && width(with(0.95, 1)) < width(with(0.99, 1)));
}

#[test]
fn percentiles_are_those_of_loadgen_and_large_runs_are_resampled_as_small_ones() {
    let all = latencies(1, 300_000, 0.3);
    let run = measured(&all, 1.0);
    let mut sorted: Vec<u64> = all.iter().map(|latency_ns| *latency_ns as u64).collect();
    sorted.sort_unstable();
    for (tenths, rank) in [(500, 150_000), (990, 297_000), (999, 299_700)] {
        assert_eq!(run.table(Figure::Percentile(tenths)).unwrap().value, sorted[rank] as f64);
    }
    let table = run.table(MEDIAN).unwrap();
    // A resample that takes each atom once is the run itself.
    let whole = table.value_of(&[(1000, table.atom_count()), (0, 1000)]);
    assert!((whole / table.value - 1.0).abs() < 1e-9, "{whole} and {}", table.value);
    // One of its first half has the percentiles of that half, as far as the grid goes.
    let mut half: Vec<_> = all[..150_000].iter().map(|latency_ns| *latency_ns as u64).collect();
    half.sort_unstable();
    let found = table.value_of(&[(0, table.atom_count() / 2)]);
    assert!((found / half[75_000] as f64 - 1.0).abs() < 1e-3, "{found} and {}", half[75_000]);
}

#[test]
fn percentiles_without_samples_beyond_have_no_interval() {
    let run = measured(&latencies(1, 2000, 0.0), 1.0);
    let carries = |tenths| run.table(Figure::Percentile(tenths)).unwrap().carries;
    assert_eq!([500, 990, 999].map(carries), [true, true, false]);
    // Nor has one that the slowest latency alone is.
    for count in [2, 100, 500, 1000] {
        let run = measured(&latencies(1, count, 0.0), 1.0);
        let carries = |tenths| run.table(Figure::Percentile(tenths)).unwrap().carries;
        assert_eq!([500, 990, 999].map(carries), [count > 2, false, false], "{count}");
    }
    assert!(
        measured(&[7.0; 100], 1.0).table(Figure::Percentile(999)).unwrap().carries,
        "nothing is left to chance"
    );
    // In rows of equal ones there are fewer of them than it seems.
    let rows: Vec<f64> = latencies(1, 200, 0.0).into_iter().flat_map(|latency| [latency; 10]).collect();
    assert!(!measured(&rows, 1.0).table(Figure::Percentile(990)).unwrap().carries);
}

#[test]
fn the_slowest_sample_is_the_latency_of_a_query_and_failed_ones_leave_none() {
    let failed = SampleRecord { scheduled_ns: 0, latency_ns: SampleRecord::FAILED_BIT | 9 };
    let mut all = records([5, 1, 2, 3]);
    all.extend([failed, failed, SampleRecord::NOT_ISSUED]);
    let run = Measured::of(&all, 2, &[MEDIAN, Figure::Mean, Figure::Throughput]);
    assert_eq!(run.count, 2);
    // The second of three is 5, and the third has no end.
    assert_eq!(run.table(MEDIAN).unwrap().value, 5.0);
    assert!(run.table(Figure::Mean).is_none());
    assert_eq!(Measured::of(&all[..4], 2, &[Figure::Mean]).table(Figure::Mean).unwrap().value, 4.0);
    // Four samples; the last one completes 11 ns after the start.
    assert!((run.table(Figure::Throughput).unwrap().value - 4.0 / 11e-9).abs() < 1.0);
    assert!(Measured::of(&[], 1, &[MEDIAN, Figure::Mean, Figure::Throughput]).table(MEDIAN).is_none());
}

/// Returns the same records with the slowest twentieth failed or missing, by a mark on the latency.
fn without_the_slowest(all: &[SampleRecord], mark: u64) -> Vec<SampleRecord> {
    let mut sorted: Vec<_> = all.iter().map(|record| record.latency_ns).collect();
    sorted.sort_unstable();
    let slow_ns = sorted[sorted.len() - sorted.len() / 20];
    let marked = |record: &SampleRecord| match record.latency_ns >= slow_ns {
        true => SampleRecord { latency_ns: record.latency_ns | mark, ..*record },
        false => *record,
    };
    all.iter().map(marked).collect()
}

#[test]
fn queries_without_an_answer_are_slower_than_all_others() {
    let wanted = Figure::of(Scenario::SingleStream);
    let value = |run: &Measured, tenths| Some(run.table(Figure::Percentile(tenths))?.value);
    for mark in [SampleRecord::FAILED_BIT, SampleRecord::NOT_COMPLETED] {
        for (count, is_clear) in [(8000, true), (1500, false)] {
            let all = records(latencies(1, count, 0.0).into_iter().map(|latency_ns| latency_ns as u64));
            let cut = Measured::of(&without_the_slowest(&all, mark), 1, &wanted);
            let all = Measured::of(&all, 1, &wanted);
            assert!(cut.count <= count - count / 20, "{}", cut.count);
            assert_eq!(value(&cut, 500), value(&all, 500));
            assert_eq!(value(&cut, 900), value(&all, 900));
            assert_eq!([950, 970, 990, 999].map(|tenths| value(&cut, tenths)), [None; 4]);
            assert!(cut.table(Figure::Mean).is_none());
            // A few standard errors from them there is nothing to resample.
            let found = difference(&[&all], &[&cut], Figure::Percentile(900), Method::default()).unwrap();
            assert_eq!((found.log_ratio, found.interval.is_some()), (0.0, is_clear), "{count}");
        }
    }
}

#[test]
fn time_in_which_nothing_is_answered_any_more_is_part_of_the_throughput() {
    let all = records([10; 100]);
    let throughput = |records: &[SampleRecord]| {
        Measured::of(records, 1, &[Figure::Throughput]).table(Figure::Throughput).unwrap().value
    };
    assert!((throughput(&all) - 1e8).abs() < 1.0);
    for mark in [SampleRecord::FAILED_BIT, SampleRecord::NOT_COMPLETED] {
        let mut stopped = all.clone();
        stopped[50..].iter_mut().for_each(|record| record.latency_ns |= mark);
        // 50 in 1000 ns; of one that is missing the issue is known, 10 ns before.
        assert!((throughput(&stopped) / 5e7 - 1.0).abs() < 0.02, "{}", throughput(&stopped));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn any_two_runs_have_intervals_that_hold_the_estimate_and_mirror(
        a in proptest::collection::vec(0_u64..60, 1..80),
        b in proptest::collection::vec(prop_oneof![0_u64..60, Just(u64::MAX >> 2)], 1..80),
        samples_per_query in 1_usize..4,
    ) {
        let wanted = Figure::of(Scenario::Server);
        let [a, b] = [a, b].map(|all| {
            let records: Vec<_> = all
                .into_iter()
                .enumerate()
                .map(|(number, latency_ns)| SampleRecord { scheduled_ns: number as u64 * 7, latency_ns })
                .collect();
            Measured::of(&records, samples_per_query, &wanted)
        });
        for figure in wanted {
            let there = difference(&[&a], &[&b], figure, Method::default());
            let back = difference(&[&b], &[&a], figure, Method::default());
            let (Some(there), Some(back)) = (there, back) else { continue };
            prop_assert!((there.log_ratio + back.log_ratio).abs() < 1e-12);
            prop_assert_eq!(there.interval.is_some(), back.interval.is_some());
            let (Some((low, high)), Some((back_low, back_high))) = (there.interval, back.interval) else { continue };
            prop_assert!(low.is_finite() && high.is_finite());
            prop_assert!(low <= there.log_ratio && there.log_ratio <= high);
            prop_assert!((low + back_high).abs() < 1e-9 && (high + back_low).abs() < 1e-9);
        }
    }

    #[test]
    fn equal_values_have_no_difference_and_other_equal_ones_exactly_theirs(
        count in 2_usize..800, value in 1_u64..1_000_000_000,
    ) {
        let of = |value: u64| measured_for(&vec![value as f64; count], 1.0, &[MEDIAN, Figure::Mean]);
        let (a, b) = (of(value), of(2 * value));
        for figure in [MEDIAN, Figure::Mean] {
            let Some(found) = difference(&[&a], &[&b], figure, Method::default()) else { continue };
            let Some((low, high)) = found.interval else { continue };
            for bound in [low, high, found.log_ratio] {
                prop_assert!((bound - 2.0_f64.ln()).abs() < 1e-9);
            }
            let same = difference(&[&a], &[&a], figure, Method::default()).unwrap();
            prop_assert_eq!((same.log_ratio, same.interval), (0.0, Some((0.0, 0.0))));
        }
    }
}

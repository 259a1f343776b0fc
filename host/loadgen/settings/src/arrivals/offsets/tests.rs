//! The processes have the intended mean rate, coefficient of variation and course over time.
//!
//! Each bound is five standard errors of the estimate, and the seeds are fixed: with a right process one in a
//! million seeds would fail.

use proptest::prelude::*;

use super::*;

const RATE_QPS: f64 = 2000.0;
const COUNT: usize = 200_000;
const SEEDS: [u64; 3] = [1, 77, 16_159_082_839_903_944_936];
const ERRORS: f64 = 5.0;

fn gaps_s(process: &ArrivalProcess, seed: u64) -> Vec<f64> {
    let offsets: Vec<_> = process.offsets(RATE_QPS, seed).take(COUNT + 1).collect();
    offsets.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * 1e-9).collect()
}

/// Mean and coefficient of variation.
fn mean_and_cv(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64;
    (mean, variance.sqrt() / mean)
}

/// Checks mean rate and coefficient of variation within five standard errors, given as shares.
fn check(process: &ArrivalProcess, cv: f64, rate_error: f64, cv_error: f64) {
    for seed in SEEDS {
        let (mean_s, seen_cv) = mean_and_cv(&gaps_s(process, seed));
        let rate_off = mean_s * RATE_QPS - 1.0;
        assert!(rate_off.abs() <= ERRORS * rate_error, "{process} {seed}: mean off by {rate_off}");
        let cv_off = seen_cv / cv - 1.0;
        assert!(cv_off.abs() <= ERRORS * cv_error, "{process} {seed}: cv {seen_cv} instead of {cv}");
    }
}

#[test]
fn poisson_is_loadgens_process() {
    let root = (COUNT as f64).sqrt();
    // The excess kurtosis of an exponential distribution is 6.
    check(&ArrivalProcess::Poisson, 1.0, 1.0 / root, 0.5 * 8_f64.sqrt() / root);
    for seed in SEEDS {
        let mut rng = Mt19937::new(seed);
        let mut offset_ns = 0;
        for drawn_ns in ArrivalProcess::Poisson.offsets(RATE_QPS, seed).take(1000) {
            assert_eq!(drawn_ns, offset_ns);
            offset_ns += rng.exponential_ns(RATE_QPS);
        }
    }
}

#[test]
fn gamma_gaps_have_the_stated_variation_and_are_exponential_at_1() {
    let root = (COUNT as f64).sqrt();
    for cv in [0.1, 0.5, 0.9, 1.5, 3.0, 6.0_f64] {
        // The variance of a variance follows from the excess kurtosis, 6 cv².
        let cv_error = 0.5 * (6.0 * cv * cv + 2.0).sqrt() / root;
        check(&ArrivalProcess::Gamma { cv }, cv, cv / root, cv_error);
    }
    let exponential = ArrivalProcess::Gamma { cv: 1.0 }.offsets(RATE_QPS, 5);
    assert!(exponential.take(1000).eq(ArrivalProcess::Poisson.offsets(RATE_QPS, 5).take(1000)));
}

#[test]
fn constant_arrivals_keep_the_rate_to_the_nanosecond() {
    for rate_qps in [0.3, 7.0, 3e5, 6e8] {
        let last = ArrivalProcess::Constant.offsets(rate_qps, 1).nth(COUNT).unwrap();
        let exact_ns = COUNT as f64 * 1e9 / rate_qps;
        assert!((last as f64 - exact_ns).abs() <= 1.0 + 1e-12 * exact_ns, "{rate_qps}: {last}");
    }
    let gaps = gaps_s(&ArrivalProcess::Constant, 1);
    assert!(gaps.iter().all(|gap_s| (gap_s * RATE_QPS - 1.0).abs() < 1e-5));
}

/// Without queries in off periods the gaps are hyperexponential, each independent of the others.
///
/// Source: A. Kuczura, "The interrupted Poisson process as an overflow process", 1973.
#[test]
fn on_off_has_the_mean_rate_and_the_variation_of_an_interrupted_poisson_process() {
    for (on_ms, off_ms) in [(10.0, 10.0), (5.0, 45.0), (80.0, 20.0)] {
        let process = ArrivalProcess::OnOff { on_ms, off_ms, off_share: 0.0 };
        let (ends, begins) = (1e3 / on_ms, 1e3 / off_ms);
        let on_qps = RATE_QPS * (on_ms + off_ms) / on_ms;
        let squared = 1.0 + 2.0 * on_qps * ends / (ends + begins).powi(2);
        // The standard error of the variation comes from the number of off periods: one for each that follows
        // on_qps / ends queries.
        let periods = COUNT as f64 * ends / on_qps;
        check(&process, squared.sqrt(), (squared / COUNT as f64).sqrt(), 1.5 / periods.sqrt());
    }
}

#[test]
fn on_off_with_queries_in_off_periods_has_the_mean_rate() {
    for off_share in [0.1, 0.5, 1.0] {
        let process = ArrivalProcess::OnOff { on_ms: 10.0, off_ms: 40.0, off_share };
        let on_qps = RATE_QPS * 50.0 / (10.0 + off_share * 40.0);
        let difference_qps = on_qps * (1.0 - off_share);
        // Index of dispersion of the counts of a Poisson process that two states modulate.
        let dispersion = 1.0 + 2.0 * difference_qps.powi(2) * 100.0 * 25.0 / (125_f64.powi(3) * RATE_QPS);
        for seed in SEEDS {
            let (mean_s, _) = mean_and_cv(&gaps_s(&process, seed));
            let off = mean_s * RATE_QPS - 1.0;
            assert!(off.abs() <= ERRORS * (dispersion / COUNT as f64).sqrt(), "{process} {seed}: {off}");
        }
    }
}

#[test]
fn diurnal_arrivals_rise_and_fall_with_the_sine() {
    const PERIOD_NS: u64 = 500_000_000;
    let amplitude = 0.8;
    let process = ArrivalProcess::Diurnal { period_s: PERIOD_NS as f64 * 1e-9, amplitude };
    for seed in SEEDS {
        // A hundred whole periods in eight parts each.
        let mut counts = [0_f64; 8];
        let offsets = process.offsets(RATE_QPS, seed).take_while(|offset| *offset < 100 * PERIOD_NS);
        offsets.for_each(|offset| counts[(offset % PERIOD_NS * 8 / PERIOD_NS) as usize] += 1.0);
        for (part, count) in counts.iter().enumerate() {
            let at = |part: usize| (TAU * part as f64 / 8.0).cos();
            let share = 1.0 / 8.0 + amplitude / TAU * (at(part) - at(part + 1));
            let expected = 100.0 * PERIOD_NS as f64 * 1e-9 * RATE_QPS * share;
            assert!((count - expected).abs() <= ERRORS * expected.sqrt(), "{part}: {count}, not {expected}");
        }
    }
}

#[test]
fn a_trace_is_played_as_recorded_at_its_own_rate_and_stretched_at_others() {
    let trace = Arc::new(Trace::parse("t", b"ms\n10\n11\n14\n").unwrap());
    let process = ArrivalProcess::Trace(Arc::clone(&trace));
    let offsets_us = |rate_qps| -> Vec<u64> {
        process.offsets(rate_qps, 1).take(7).map(|offset_ns| offset_ns / 1000).collect()
    };
    assert_eq!(offsets_us(trace.rate_qps()), [0, 1000, 4000, 6000, 7000, 10_000, 12_000]);
    assert_eq!(offsets_us(2.0 * trace.rate_qps()), [0, 500, 2000, 3000, 3500, 5000, 6000]);
    let rounds = 10_000;
    let last_ns = process.offsets(123.0, 1).nth(3 * rounds).unwrap();
    assert!((last_ns as f64 * 123e-9 / (3 * rounds) as f64 - 1.0).abs() < 1e-9, "{last_ns}");
}

proptest! {
    #[test]
    fn even_spacing_finds_the_first_query_at_an_offset(rate_qps in 1e-6..1e9, offset_ns in 0..1_u64 << 60) {
        let spacing = ArrivalProcess::Constant.offsets(rate_qps, 0).even_spacing().unwrap();
        let first = spacing.first_at(offset_ns);
        prop_assert!(spacing.offset_ns(first) >= offset_ns);
        prop_assert!(first == 0 || spacing.offset_ns(first - 1) < offset_ns);
    }
}

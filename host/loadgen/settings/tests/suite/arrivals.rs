//! Arrival processes, draw by draw: a mean that is off by a thousandth hides in the statistics of the unit tests.

use proctor_loadgen_settings::ArrivalProcess;
use proctor_mt19937::Mt19937;

/// A rate that neither rises nor falls equals the Poisson process's, by the inverse of its distribution.
#[test]
fn gaps_are_exponential_to_the_nanosecond() {
    const RATE_QPS: f64 = 1000.0;
    let process = ArrivalProcess::Diurnal { period_s: 1.0, amplitude: 0.0 };
    for seed in [1, 77, 16_159_082_839_903_944_936] {
        let mut rng = Mt19937::new(seed);
        let mut exact_ns = 0.0;
        for offset_ns in process.offsets(RATE_QPS, seed).take(1000) {
            assert!((offset_ns as f64 - exact_ns).abs() <= 1.0, "{offset_ns} instead of {exact_ns}");
            let exceeded = 1.0 - rng.canonical();
            exact_ns -= exceeded.ln() * 1e9 / RATE_QPS;
            // Whether the instant is kept; here all are.
            rng.canonical();
        }
    }
}

//! The cost of keeping a trace: the time of a query with and without it, in turn, with a system that does nothing.
//!
//! `cargo run --release -p proctor-loadgen --example trace_cost [rounds]`

use std::sync::Arc;

use proctor_loadgen::{
    BareLibrary, LoadGen, LoadGenError, LoadGenOptions, RealClock, SystemUnderTest, TestSettings,
};
use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, SampleStatus, Scenario};

/// Queries of each run.
const QUERY_COUNT: u64 = 1_000_000;

/// Completes inside of the issue call.
struct Null(Arc<dyn CompletionSink>);

impl SystemUnderTest for Null {
    fn name(&self) -> &str {
        "null"
    }

    fn issue(&self, samples: &[QuerySample]) {
        for sample in samples {
            let response =
                QuerySampleResponse { id: sample.id, status: SampleStatus::OK, data: &[], token_count: 0 };
            self.0.complete(&[response]);
        }
    }

    fn flush(&self) {}
}

/// Nanoseconds a query, from the first issue to the last.
fn query_ns(scenario: Scenario, enable_trace: bool) -> Result<f64, LoadGenError> {
    let settings = TestSettings {
        scenario,
        min_query_count: QUERY_COUNT,
        min_duration_ms: 0,
        // Server gets more load than it can serve, so that its capacity is measured.
        server_target_qps: 1e8,
        ..TestSettings::default()
    };
    let options = LoadGenOptions { enable_trace, ..LoadGenOptions::default() };
    let loadgen = LoadGen::new(settings, Arc::new(RealClock::new()), options);
    let outcome = loadgen.run(&Null(loadgen.sink()), &BareLibrary::of(1024))?;
    Ok(outcome.phases[0].record.final_query_issued_ns as f64 / (QUERY_COUNT - 1) as f64)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}

fn main() -> Result<(), LoadGenError> {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(31);
    println!("{QUERY_COUNT} queries a run, {rounds} pairs of runs; medians");
    for scenario in [Scenario::SingleStream, Scenario::Server] {
        let (mut without, mut with, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds {
            // The order alternates, so that a drift of the machine favours neither.
            let first_with = round % 2 == 0;
            let first = query_ns(scenario, first_with)?;
            let second = query_ns(scenario, !first_with)?;
            let (on, off) = if first_with { (first, second) } else { (second, first) };
            with.push(on);
            without.push(off);
            ratios.push(on / off);
        }
        println!(
            "{scenario}: {:.1} ns a query without, {:.1} ns with a trace, ratio {:.3}",
            median(&mut without),
            median(&mut with),
            median(&mut ratios)
        );
    }
    Ok(())
}

//! Races threads over the scheduler and completions, for as many seconds as the argument says.
//!
//! It is a plain program, because ThreadSanitizer finds races in Rust's test harness, which is built without it. It
//! runs load generator tests one after another, in every scenario, against four systems: the scheduler with four
//! instances, once with batches and once with single samples; the scheduler while its knobs are turned; and a thread
//! pool that completes whole queries in pieces and in any order. Each test must have no error, and each of its samples
//! must complete.
//!
//! `cargo xtask tsan` builds and runs it.

#![forbid(unsafe_code)]

mod pool;
mod scheduled;

use std::{
    env,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use proctor_loadgen::{
    BareLibrary, LoadGen, LoadGenOptions, RealClock, SystemUnderTest, TestOutcome, TestSettings,
};
use proctor_vocabulary::{CompletionSink, Scenario, TestMode};

/// A system, made for a sink.
type MakeSystem = fn(Arc<dyn CompletionSink>, Arc<RealClock>) -> Box<dyn SystemUnderTest>;

const SYSTEMS: [MakeSystem; 4] = [
    |sink, clock| Box::new(scheduled::start(sink, clock)),
    |sink, clock| Box::new(scheduled::start_singles(sink, clock)),
    |sink, clock| Box::new(scheduled::Turned::start(sink, clock)),
    |sink, _| Box::new(pool::Pool::start(&sink)),
];

/// Samples; a performance run loads a part of them.
const LIBRARY: BareLibrary =
    BareLibrary { name: "nothing", total_sample_count: 1000, performance_sample_count: 300 };

fn main() -> ExitCode {
    let seconds = env::args().nth(1).map_or(Ok(10), |argument| argument.parse());
    let Ok(seconds) = seconds else {
        eprintln!("usage: proctor-stress [SECONDS]");
        return ExitCode::FAILURE;
    };
    let (start, duration) = (Instant::now(), Duration::from_secs(seconds));
    let (mut test_count, mut sample_count) = (0_u64, 0_u64);
    while test_count == 0 || start.elapsed() < duration {
        // With tokens a sample has a slot more.
        for use_token_latencies in [false, true] {
            for scenario in Scenario::ALL {
                for make in SYSTEMS {
                    let outcome = test(settings(*scenario, use_token_latencies), make);
                    check(*scenario, &outcome);
                    test_count += 1;
                    sample_count += outcome.samples().count() as u64;
                }
            }
        }
    }
    println!("{test_count} tests, {sample_count} samples");
    ExitCode::SUCCESS
}

fn settings(scenario: Scenario, use_token_latencies: bool) -> TestSettings {
    TestSettings {
        scenario,
        mode: TestMode::PerformanceOnly,
        use_token_latencies,
        single_stream_expected_latency_ns: 1e6,
        multi_stream_expected_latency_ns: 1e6,
        server_target_qps: 20_000.0,
        // Nothing here is about speed.
        server_target_latency_ns: 600_000_000_000,
        server_ttft_latency: 600_000_000_000,
        server_tpot_latency: 600_000_000_000,
        server_num_issue_query_threads: if scenario == Scenario::Server { 2 } else { 0 },
        min_duration_ms: 0,
        min_query_count: 2000,
        accuracy_log_probability: 0.5,
        ..TestSettings::default()
    }
}

fn test(settings: TestSettings, make: MakeSystem) -> TestOutcome {
    let clock = Arc::new(RealClock::new());
    let loadgen = LoadGen::new(settings, Arc::clone(&clock), LoadGenOptions::default());
    let system = make(loadgen.sink(), clock);
    loadgen.run(&*system, &LIBRARY).expect("the settings make a test")
}

fn check(scenario: Scenario, outcome: &TestOutcome) {
    assert!(outcome.errors().is_empty(), "{scenario}: {:?}", outcome.errors());
    let is_complete = outcome.samples().all(|sample| sample.completed_latency_ns().is_some());
    assert!(is_complete, "{scenario}: a sample was not completed");
    assert!(!outcome.accuracy.is_empty(), "{scenario}: half of the responses are logged");
    assert!(
        outcome.accuracy.iter().all(|record| record.data == record.index.0.to_le_bytes()),
        "{scenario}: data"
    );
}

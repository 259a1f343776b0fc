//! `host bench scheduler`: the scheduler in pairs with two bare threads over the same queue, its floor.
//!
//! Both complete each sample at once, under the same load generator with the same settings. In each pair the two runs
//! follow each other, in turns which is first, and the difference or the ratio is taken within the pair.
//!
//! On two processors another program that gets a time slice of some milliseconds takes it from one of the two
//! threads, and 1 % of the queries of a second of Server is 10 ms of them: about one such slice decides its
//! p99. So the runs are short and many. Most of them are not hit then, and the median shows the scheduler.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
};

use clap::Args;
use proctor_display::{Origin, Steps, print};
use proctor_loadgen::{
    BareLibrary, LoadGen, LoadGenOptions, RealClock, SystemUnderTest, TestOutcome, TestSettings,
};
use proctor_scheduler::{BatchError, Instance, SampleRing, SchedulerConfig, ThreadedScheduler};
use proctor_vocabulary::{
    CompletionSink, QuerySample, QuerySampleResponse, SampleStatus, Scenario, TestMode,
};
use proctor_words::{Conclusion, HostError, text};

use crate::commands::bench::{
    experiment::{
        Figure, Of, Target, at_rate, latency_p50_us, latency_p99_us, one_query, samples_per_second,
    },
    report::{Row, table},
};

/// Version of the form of the page's origin.
const SCHEMA_VERSION: u32 = 1;
/// Samples of the Offline query, and the room of both queues.
const SAMPLE_COUNT: u64 = 1 << 20;

#[derive(Debug, Clone, Args)]
pub(crate) struct SchedulerFlags {
    /// Server: queries per second
    #[arg(long, value_name = "QPS", default_value_t = 500_000)]
    rate: u32,
    /// Number of pairs of runs; the table has medians [default: 61; 1 with --quick]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pairs: Option<u32>,
    /// Measure only briefly, as a smoke test
    #[arg(long)]
    quick: bool,
    /// Print the table as Markdown, with the machine and the command
    #[arg(long)]
    markdown: bool,
}

/// Both systems in one scenario, and the rows of their figures.
struct Comparison {
    settings: TestSettings,
    rows: Vec<(Row, Take)>,
}

/// Takes a value from the run of the scheduler and the bare one.
type Take = fn(&TestOutcome, &TestOutcome) -> f64;

/// Measures and prints the table.
pub(super) fn bench(flags: &SchedulerFlags) -> Result<Conclusion, HostError> {
    let origin = Origin::here(SCHEMA_VERSION, "host", flags.quick);
    let mut comparisons = comparisons(flags);
    let pair_count = flags.pairs.unwrap_or(if flags.quick { 1 } else { 61 });
    let steps = Steps::start(pair_count as usize * comparisons.len());
    for pair in 1..=pair_count {
        for Comparison { settings, rows } in &mut comparisons {
            steps.next(&format!("pair {pair} of {pair_count}: {}", settings.scenario));
            let (scheduled, bare) = if pair % 2 == 0 {
                let scheduled = run(settings, scheduler)?;
                (scheduled, run(settings, bare)?)
            } else {
                let bare = run(settings, bare)?;
                (run(settings, scheduler)?, bare)
            };
            for (row, take) in rows {
                row.values.push(take(&scheduled, &bare));
            }
        }
    }
    steps.stop();
    let rows = comparisons.iter().flat_map(|it| &it.rows).map(|(row, _)| row.cells());
    let how = format!("medians of {}{}", text::counted(pair_count.into(), "pair"), origin.reservations());
    print(table("The scheduler beside two bare threads", &how, &origin, rows, flags.markdown));
    Ok(Conclusion::Good)
}

fn comparisons(flags: &SchedulerFlags) -> Vec<Comparison> {
    let duration_ms = if flags.quick { 20 } else { 100 };
    let samples = if flags.quick { SAMPLE_COUNT / 64 } else { SAMPLE_COUNT };
    let rate = flags.rate;
    let row = |scenario, name: &str, what: &str, unit, target: Option<f64>| {
        let target = target.map(Target::AtMost);
        let figure = Figure { target, ..Figure::new(name, what, unit) };
        Row { scenario: Some(scenario), figure, values: Vec::new() }
    };
    let server = |name: &str, what: &str, target| {
        row(Scenario::Server, name, &format!("{what}, {rate} queries/s"), "us", target)
    };
    let offline = |name: &str, what: &str, unit, target| row(Scenario::Offline, name, what, unit, target);
    vec![
        Comparison {
            settings: at_rate(rate.into(), duration_ms),
            rows: vec![
                (server("bare_p50_us", "two bare threads, p50", None), |_, bare| latency_p50_us(bare)),
                (server("bare_p99_us", "two bare threads, p99", None), |_, bare| latency_p99_us(bare)),
                (server("scheduler_p50_us", "scheduler, p50", None), |it, _| latency_p50_us(it)),
                (server("scheduler_p99_us", "scheduler, p99", None), |it, _| latency_p99_us(it)),
                (server("added_p50_us", "added by the scheduler, p50", Some(10.0)), |it, bare| {
                    latency_p50_us(it) - latency_p50_us(bare)
                }),
                (server("added_p99_us", "added by the scheduler, p99", Some(200.0)), |it, bare| {
                    latency_p99_us(it) - latency_p99_us(bare)
                }),
            ],
        },
        Comparison {
            settings: one_query(samples),
            rows: vec![
                (offline("bare_sample_us", "two bare threads, time of a sample", "us", None), |_, bare| {
                    sample_us(bare)
                }),
                (offline("scheduler_sample_us", "scheduler, time of a sample", "us", Some(0.4)), |it, _| {
                    sample_us(it)
                }),
                (offline("ratio", "scheduler to bare threads", "times", None), |it, bare| {
                    sample_us(it) / sample_us(bare)
                }),
            ],
        },
    ]
}

fn sample_us(outcome: &TestOutcome) -> f64 {
    let rate: Of = samples_per_second;
    1e6 / rate(outcome)
}

/// Creates a system for a sink.
type MakeSystem = fn(Arc<dyn CompletionSink>, Arc<RealClock>) -> Result<Box<dyn SystemUnderTest>, HostError>;

fn run(settings: &TestSettings, make: MakeSystem) -> Result<TestOutcome, HostError> {
    let settings = TestSettings { mode: TestMode::PerformanceOnly, ..settings.clone() };
    let clock = Arc::new(RealClock::new());
    let loadgen = LoadGen::new(settings, Arc::clone(&clock), LoadGenOptions::default());
    let system = make(loadgen.sink(), clock)?;
    Ok(loadgen.run(&*system, &BareLibrary::of(1024))?)
}

fn scheduler(
    sink: Arc<dyn CompletionSink>,
    clock: Arc<RealClock>,
) -> Result<Box<dyn SystemUnderTest>, HostError> {
    let config = SchedulerConfig { queue_capacity: SAMPLE_COUNT as usize, ..SchedulerConfig::default() };
    let instances: Vec<Box<dyn Instance>> = vec![Box::new(AtOnce)];
    Ok(Box::new(ThreadedScheduler::start("scheduler", &config, instances, sink, clock, None)?))
}

fn bare(sink: Arc<dyn CompletionSink>, _: Arc<RealClock>) -> Result<Box<dyn SystemUnderTest>, HostError> {
    let ring = Arc::new(SampleRing::new(SAMPLE_COUNT as usize));
    let is_over = Arc::new(AtomicBool::new(false));
    let (taken, told) = (Arc::clone(&ring), Arc::clone(&is_over));
    let completing = Some(thread::spawn(move || complete_all(&taken, &told, &*sink)));
    Ok(Box::new(Bare { ring, is_over, completing }))
}

/// A thread that does nothing but pop and complete, always awake.
struct Bare {
    ring: Arc<SampleRing>,
    is_over: Arc<AtomicBool>,
    completing: Option<JoinHandle<()>>,
}

fn complete_all(ring: &SampleRing, is_over: &AtomicBool, sink: &dyn CompletionSink) {
    const LOOKS_PER_YIELD: u32 = 64;
    let mut looks = 0;
    while !is_over.load(Relaxed) {
        if let Some(sample) = ring.pop() {
            AtOnce.complete(&[sample], sink);
            looks = 0;
        } else if looks < LOOKS_PER_YIELD {
            looks += 1;
            std::hint::spin_loop();
        } else {
            looks = 0;
            thread::yield_now();
        }
    }
}

impl SystemUnderTest for Bare {
    fn name(&self) -> &str {
        "two bare threads"
    }

    fn issue(&self, samples: &[QuerySample]) {
        for &sample in samples {
            while !self.ring.push(sample) {
                thread::yield_now();
            }
        }
    }

    fn flush(&self) {}
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        if let Some(completing) = self.completing.take() {
            // Its panic has been printed, and the samples it left open are in the outcome.
            let _ = completing.join();
        }
    }
}

/// An instance that completes each sample at once.
struct AtOnce;

impl Instance for AtOnce {
    fn execute(&mut self, _: &[QuerySample]) -> Result<(), BatchError> {
        Ok(())
    }

    fn execute_virtual(&mut self, _: &[QuerySample], _: u32) -> Result<u64, BatchError> {
        Ok(0)
    }

    fn complete(&mut self, batch: &[QuerySample], sink: &dyn CompletionSink) {
        for &QuerySample { id, .. } in batch {
            sink.complete(&[QuerySampleResponse {
                id,
                status: SampleStatus::OK,
                data: &[0; 4],
                token_count: 0,
            }]);
        }
    }
}

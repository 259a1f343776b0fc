//! The scheduler, with instances that complete at once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
};

use proctor_loadgen::{RealClock, SystemUnderTest};
use proctor_scheduler::{
    BatchDone, BatchError, BatchObserver, Instance, KnobHandle, ScalingBounds, SchedulerConfig,
    ThreadedScheduler,
};
use proctor_vocabulary::{CompletionSink, QueryPart, QuerySample, QuerySampleResponse, SampleStatus};

const INSTANCE_COUNT: usize = 4;

/// Returns a scheduler whose instances race for small batches.
pub(crate) fn start(sink: Arc<dyn CompletionSink>, clock: Arc<RealClock>) -> ThreadedScheduler {
    let config = SchedulerConfig {
        policy: "size-or-timeout".into(),
        batch_size: 3,
        instances: INSTANCE_COUNT,
        scaling: None,
        batch_timeout_us: 100,
        queue_capacity: 1 << 16,
    };
    let instances = (0..INSTANCE_COUNT).map(|_| Box::new(Echo) as Box<dyn Instance>).collect();
    ThreadedScheduler::start("scheduler", &config, instances, sink, clock, None)
        .expect("the settings make a scheduler")
}

/// Returns a scheduler whose instances race for single samples.
pub(crate) fn start_singles(sink: Arc<dyn CompletionSink>, clock: Arc<RealClock>) -> ThreadedScheduler {
    let config = SchedulerConfig { instances: INSTANCE_COUNT, ..SchedulerConfig::default() };
    let instances = (0..INSTANCE_COUNT).map(|_| Box::new(Echo) as Box<dyn Instance>).collect();
    ThreadedScheduler::start("singles", &config, instances, sink, clock, None)
        .expect("the settings make a scheduler")
}

/// A scheduler whose knobs a thread turns all the time.
pub(crate) struct Turned {
    scheduler: ThreadedScheduler,
    is_over: Arc<AtomicBool>,
    turning: Option<JoinHandle<()>>,
}

impl Turned {
    pub(crate) fn start(sink: Arc<dyn CompletionSink>, clock: Arc<RealClock>) -> Self {
        let config = SchedulerConfig {
            scaling: Some(ScalingBounds { batch_size_max: 8, instances_max: INSTANCE_COUNT }),
            ..SchedulerConfig::default()
        };
        let observer = Some(Arc::new(Heard::default()) as _);
        let scheduler =
            ThreadedScheduler::start("turned", &config, vec![Box::new(Echo)], sink, clock, observer)
                .expect("the settings make a scheduler");
        let (knobs, is_over) = (scheduler.knobs(), Arc::new(AtomicBool::new(false)));
        let told = Arc::clone(&is_over);
        let turning = Some(thread::spawn(move || turn(&knobs, &told)));
        Self { scheduler, is_over, turning }
    }
}

/// Turns the knobs until it is over. A knob at its end stays there.
fn turn(knobs: &KnobHandle, is_over: &AtomicBool) {
    for size in (1..=8).cycle() {
        if is_over.load(Relaxed) || knobs.set_batch_size(size).is_err() {
            return;
        }
        let _ = if size % 3 == 0 { knobs.retire_newest() } else { knobs.add_instance(Box::new(Echo)) };
        thread::yield_now();
    }
}

impl Drop for Turned {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        if let Some(turning) = self.turning.take() {
            turning.join().expect("turning knobs does not fail");
        }
    }
}

impl SystemUnderTest for Turned {
    fn name(&self) -> &str {
        self.scheduler.name()
    }

    fn issue(&self, samples: &[QuerySample]) {
        self.scheduler.issue(samples);
    }

    fn issue_part(&self, part: QueryPart<'_>) {
        self.scheduler.issue_part(part);
    }

    fn flush(&self) {
        self.scheduler.flush();
    }
}

/// Adds up its input.
#[derive(Default)]
struct Heard(AtomicU64);

impl BatchObserver for Heard {
    fn batch_done(&self, _: usize, _: &BatchDone, arrived_ns: &[u64]) {
        self.0.fetch_add(arrived_ns.len() as u64, Relaxed);
    }
}

/// Answers each sample with its index.
struct Echo;

impl Instance for Echo {
    fn execute(&mut self, _: &[QuerySample]) -> Result<(), BatchError> {
        Ok(())
    }

    fn execute_virtual(&mut self, _: &[QuerySample], _: u32) -> Result<u64, BatchError> {
        Ok(0)
    }

    fn complete(&mut self, batch: &[QuerySample], sink: &dyn CompletionSink) {
        complete(batch, sink);
    }
}

/// Completes samples with their indices as the data.
pub(crate) fn complete(samples: &[QuerySample], sink: &dyn CompletionSink) {
    let data: Vec<_> = samples.iter().map(|sample| sample.index.0.to_le_bytes()).collect();
    let responses: Vec<_> = samples
        .iter()
        .zip(&data)
        .map(|(sample, data)| QuerySampleResponse {
            id: sample.id,
            status: SampleStatus::OK,
            data,
            token_count: 2,
        })
        .collect();
    sink.first_token(&responses);
    sink.complete(&responses);
}

//! Tests knobs that are turned while requests go on, and the observers of batches.

mod random;
mod threads;
mod virtual_time;

use std::sync::{Arc, Mutex, OnceLock, Weak, mpsc};

use crate::support::{Recorder, instance, samples};
use proctor_loadgen::{Clock, RealClock, SystemUnderTest, VirtualClock, Wake};
use proctor_scheduler::{
    BatchDone, BatchError, BatchObserver, Instance, KnobHandle, ScalingBounds, SchedulerConfig,
    SimulatedScheduler, ThreadedScheduler,
};
use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse};

const BATCH_SIZE_MAX: usize = 8;
const INSTANCES_MAX: usize = 4;

fn config(policy: &str, batch_size: usize, instances: usize) -> SchedulerConfig {
    SchedulerConfig {
        policy: policy.into(),
        batch_size,
        instances,
        scaling: Some(ScalingBounds { batch_size_max: BATCH_SIZE_MAX, instances_max: INSTANCES_MAX }),
        batch_timeout_us: 1,
        queue_capacity: 1 << 12,
    }
}

/// A batch as an observer hears of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Heard {
    instance: usize,
    samples: usize,
    failed: bool,
    arrived_ns: Vec<u64>,
}

type React = dyn Fn(&KnobHandle, usize, &BatchDone) + Send + Sync;

/// Keeps its reports, and turns the knobs as a test wants.
struct Observer {
    heard: Mutex<Vec<Heard>>,
    knobs: OnceLock<KnobHandle>,
    react: Box<React>,
}

impl Observer {
    fn new(react: impl Fn(&KnobHandle, usize, &BatchDone) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { heard: Mutex::default(), knobs: OnceLock::new(), react: Box::new(react) })
    }

    /// One that turns nothing.
    fn idle() -> Arc<Self> {
        Self::new(|_, _, _| ())
    }

    fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }
}

impl BatchObserver for Observer {
    fn batch_done(&self, instance: usize, done: &BatchDone, arrived_ns: &[u64]) {
        let &BatchDone { samples, failed, .. } = done;
        self.heard.lock().unwrap().push(Heard { instance, samples, failed, arrived_ns: arrived_ns.to_vec() });
        if let Some(knobs) = self.knobs.get() {
            (self.react)(knobs, instance, done);
        }
    }
}

/// A sink that issues another sample from within each completion, as a closed loop of load does, until `last`.
struct Loop {
    recorder: Arc<Recorder>,
    system: OnceLock<Weak<dyn SystemUnderTest + Send + Sync>>,
    last: u64,
    next: Mutex<u64>,
}

impl Loop {
    fn new(first: u64, last: u64) -> Arc<Self> {
        let recorder = Arc::new(Recorder::default());
        Arc::new(Self { recorder, system: OnceLock::new(), last, next: Mutex::new(first) })
    }
}

impl CompletionSink for Loop {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        self.recorder.complete(responses);
        for _ in responses {
            let mut next = self.next.lock().unwrap();
            let id = *next;
            *next += 1;
            drop(next);
            if id <= self.last
                && let Some(system) = self.system.get().and_then(Weak::upgrade)
            {
                system.issue(&samples(id..id + 1));
            }
        }
    }

    fn first_token(&self, _: &[QuerySampleResponse<'_>]) {}
}

/// Reports when it is dropped.
struct Dropped(Box<dyn Instance>, mpsc::Sender<()>);

impl Instance for Dropped {
    fn execute(&mut self, batch: &[QuerySample]) -> Result<(), BatchError> {
        self.0.execute(batch)
    }

    fn execute_virtual(&mut self, batch: &[QuerySample], busy_instances: u32) -> Result<u64, BatchError> {
        self.0.execute_virtual(batch, busy_instances)
    }

    fn complete(&mut self, batch: &[QuerySample], sink: &dyn CompletionSink) {
        self.0.complete(batch, sink);
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.1.send(());
    }
}

fn takes_ns(service_ns: u64) -> Box<dyn Instance> {
    instance(move |_, _| Ok(service_ns))
}

struct Simulation {
    clock: Arc<VirtualClock>,
    recorder: Arc<Recorder>,
    observer: Arc<Observer>,
    scheduler: Arc<SimulatedScheduler>,
}

impl Simulation {
    fn new(config: &SchedulerConfig, instances: Vec<Box<dyn Instance>>, observer: Arc<Observer>) -> Self {
        let recorder = Arc::new(Recorder::default());
        Self::with_sink(config, instances, observer, Arc::clone(&recorder) as _, recorder)
    }

    fn with_sink(
        config: &SchedulerConfig,
        instances: Vec<Box<dyn Instance>>,
        observer: Arc<Observer>,
        sink: Arc<dyn CompletionSink>,
        recorder: Arc<Recorder>,
    ) -> Self {
        let clock = Arc::new(VirtualClock::new());
        let hears = Some(Arc::clone(&observer) as _);
        let scheduler =
            SimulatedScheduler::new("test", config, instances, sink, Arc::clone(&clock), hears).unwrap();
        observer.knobs.set(scheduler.knobs()).unwrap();
        Self { clock, recorder, observer, scheduler: Arc::new(scheduler) }
    }

    fn wait_until(&self, ns: u64) {
        self.clock.wait_until(ns, &Wake::new());
    }
}

struct Real {
    recorder: Arc<Recorder>,
    observer: Arc<Observer>,
    scheduler: Arc<ThreadedScheduler>,
}

impl Real {
    fn new(config: &SchedulerConfig, instances: Vec<Box<dyn Instance>>, observer: Arc<Observer>) -> Self {
        let recorder = Arc::new(Recorder::default());
        Self::with_sink(config, instances, observer, Arc::clone(&recorder) as _, recorder)
    }

    fn with_sink(
        config: &SchedulerConfig,
        instances: Vec<Box<dyn Instance>>,
        observer: Arc<Observer>,
        sink: Arc<dyn CompletionSink>,
        recorder: Arc<Recorder>,
    ) -> Self {
        let (clock, hears) = (Arc::new(RealClock::new()), Some(Arc::clone(&observer) as _));
        let scheduler = ThreadedScheduler::start("test", config, instances, sink, clock, hears).unwrap();
        observer.knobs.set(scheduler.knobs()).unwrap();
        Self { recorder, observer, scheduler: Arc::new(scheduler) }
    }
}

//! Turns queries into batches: a bounded queue, a batcher, and instances on their own threads.
//!
//! A [`SystemUnderTest`](proctor_loadgen::SystemUnderTest) for plugins that execute batches. It takes queries from the
//! load generator, forms batches by a [`Policy`] and runs each one on an [`Instance`] of the model:
//!
//! - [`Batcher`] is the queue and the decision, a pure state machine: events and the time in, batches out.
//! - [`ThreadedScheduler`] drives it with one thread per instance, in real time.
//! - [`SimulatedScheduler`] drives it by the events of a virtual clock, without threads and without sleeping.
//!
//! Both are made from a checked [`SchedulerConfig`] and count into the same [`Statistics`].
//!
//! # Where things are
//! - `batcher`: the pure state machine; `policy`: a file for each policy;
//! - `threaded` and `simulated` drive it; below `threaded`, `dispatch` is the batcher behind a lock, `worker` the
//!   thread of an instance, and `singles` the path of single samples over `ring`;
//! - `knobs` turns batch size and instances, `roster` numbers the instances, `observer` hears of batches.
//!
//! # Design
//!
//! - **One batcher, two drivers.** Virtual time measures the code that runs in real time.
//! - **Policies are plug-ins.** A policy is one file below `policy/`: a [`Policy`] that looks at a [`QueueState`] and
//!   answers with a [`Decision`], and a [`PolicyEntry`] that registers it by name.
//! - **Knobs are turned from outside.** Batch size and number of instances change while requests are in progress,
//!   through a [`KnobHandle`], within [`ScalingBounds`]; a [`BatchObserver`] learns how each batch went
//!   ([`BatchDone`]). The decision is made above this crate, and a policy sees the current batch size. An added
//!   instance takes batches once it is on its thread, and a retired one is dropped on its thread after its batch, so no
//!   sample waits for either.
//! - **First in, first out.** Batches take samples in order of arrival. A query larger than the batch size is split,
//!   and a batch may hold samples of several queries.
//! - **The queue is bounded, and full is a result.** Room for `queue_capacity` samples is allocated and touched at the
//!   start. Samples that do not fit ([`Busy`]) are completed as failed at once and counted, so the run becomes INVALID
//!   with a reason ([`Statistics::problems`]) instead of slow without one. A query is accepted in chunks of some
//!   thousand samples under one lock each, so instances start on the head of an Offline query while its tail is still
//!   being copied. For Offline, the capacity must hold the whole query.
//! - **Idle instances pull.** An instance thread that becomes free forms its own next batch, so no thread stands
//!   between the queue and an instance. One idle thread at a time spins for some microseconds before it sleeps: the
//!   next SingleStream query finds it awake, and the others do not take processor time from the model.
//! - **Single samples take a shorter path.** If each batch is one sample that the policy never holds back, and nothing
//!   observes or scales, samples go through a [`SampleRing`] from which idle instances pop, without a lock and without
//!   the batcher. A push wakes at most one thread, and the cost of a sample does not depend on the number of instances.
//!   Neither path waits for a spinner that has lost its processor. From issue to completion at batch 1, with an
//!   instance that does nothing: 0.6 us at the median and 0.9 us at p99 if issuer and instance have a core each, 4 us
//!   if they share one (virtual machine, release build).
//! - **Failure is expected.** An error or panic of an instance fails the samples of that batch, is recorded, and the
//!   run continues. An instance that hangs can be named at any time ([`ThreadedScheduler::in_flight`]); shutdown leaves
//!   it behind and never waits for it without limit.
//!
//! After the start nothing allocates between issue and completion, except to record a failure, and except in
//! virtual time, where nothing is timed.
//!
//! # Example
//!
//! Two queries that arrive 4 ns apart at a model that needs 10 ns, in virtual time:
//!
//! ```
//! use std::sync::{Arc, Mutex};
//! use proctor_loadgen::{Clock, SystemUnderTest, VirtualClock, Wake};
//! use proctor_scheduler::{BatchError, Instance, SchedulerConfig, SimulatedScheduler};
//! use proctor_vocabulary::{
//!     CompletionSink, QuerySample, QuerySampleResponse, ResponseId, SampleIndex, SampleStatus,
//! };
//!
//! struct TenNanoseconds;
//!
//! impl Instance for TenNanoseconds {
//!     fn execute(&mut self, _: &[QuerySample]) -> Result<(), BatchError> {
//!         Ok(())
//!     }
//!     fn execute_virtual(&mut self, _: &[QuerySample], _: u32) -> Result<u64, BatchError> {
//!         Ok(10)
//!     }
//!     fn complete(&mut self, batch: &[QuerySample], sink: &dyn CompletionSink) {
//!         for sample in batch {
//!             let status = SampleStatus::OK;
//!             sink.complete(&[QuerySampleResponse { id: sample.id, status, data: &[], token_count: 0 }]);
//!         }
//!     }
//! }
//!
//! struct Times(Arc<VirtualClock>, Mutex<Vec<u64>>);
//!
//! impl CompletionSink for Times {
//!     fn complete(&self, _: &[QuerySampleResponse<'_>]) {
//!         self.1.lock().unwrap().push(self.0.now_ns());
//!     }
//!     fn first_token(&self, _: &[QuerySampleResponse<'_>]) {}
//! }
//!
//! let clock = Arc::new(VirtualClock::new());
//! let times = Arc::new(Times(clock.clone(), Mutex::default()));
//! let instances: Vec<Box<dyn Instance>> = vec![Box::new(TenNanoseconds)];
//! let config = SchedulerConfig::default();
//! let sut = SimulatedScheduler::new("example", &config, instances, times.clone(), clock.clone(), None)?;
//!
//! let wake = Wake::new();
//! sut.issue(&[QuerySample { id: ResponseId(1), index: SampleIndex(0) }]);
//! clock.wait_until(4, &wake);
//! sut.issue(&[QuerySample { id: ResponseId(2), index: SampleIndex(0) }]);
//! clock.wait_until(100, &wake);
//! assert_eq!(*times.1.lock().unwrap(), [10, 20]);
//! # Ok::<(), proctor_scheduler::SchedulerError>(())
//! ```
//!
//! # Limits
//!
//! - The bounds of batch size and number of instances are fixed for the life of a scheduler.
//! - A batch timeout is accurate to the operating system's sleep plus a short spin, a few microseconds.
//! - A failed instance is used again until it is retired.

#![forbid(unsafe_code)]

mod batcher;
mod check;
mod config;
mod instance;
mod knobs;
mod observer;
mod policy;
mod ring;
mod roster;
mod simulated;
mod statistics;
mod sync;
mod threaded;

pub use batcher::{Batch, Batcher, Busy};
pub use config::{ScalingBounds, SchedulerConfig, SchedulerError};
pub use instance::{BatchError, Instance};
pub use knobs::{KnobError, KnobHandle};
pub use observer::{BatchDone, BatchObserver};
pub use policy::{Decision, Policy, PolicyEntry, QueueState, policies};
pub use ring::SampleRing;
pub use simulated::SimulatedScheduler;
pub use statistics::{Failure, FailureLog, Problem, Statistics};
pub use threaded::{InFlight, ShutdownReport, ThreadedScheduler};

//! The system under test: the scheduler over instances of the plugin, or the plugin alone if it takes whole queries.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use proctor_loadgen::{Progress, SystemUnderTest};
use proctor_plugin_api::abi::ProctorStamps;
use proctor_plugin_host::{self as plugin_host, PluginHostError};
use proctor_scheduler::{BatchError, Instance, SimulatedScheduler, Statistics, ThreadedScheduler};
use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, SampleStatus};

use crate::bed::{
    fault::{Fault, FirstError},
    flush::Flush,
    placement,
};

/// The system that the load generator drives in one test.
pub(crate) enum System {
    /// Batches on threads.
    Threaded(ThreadedScheduler),
    /// Batches in virtual time.
    Simulated(SimulatedScheduler),
    Whole(WholeQueries),
}

/// Report of a system on a test that is over.
#[derive(Debug, Default)]
pub(crate) struct SystemReport {
    /// Counts of the scheduler, if there was one.
    pub(crate) statistics: Option<Statistics>,
    /// Each reason why the test is INVALID.
    pub(crate) faults: Vec<Fault>,
    /// Whether a thread is still in the plugin, so that nothing can be taken down.
    pub(crate) hangs: bool,
}

impl System {
    pub(crate) fn sut(&self) -> &dyn SystemUnderTest {
        match self {
            Self::Threaded(scheduler) => scheduler,
            Self::Simulated(scheduler) => scheduler,
            Self::Whole(queries) => queries,
        }
    }

    /// Ends the system. Waits for instances that are still at work, up to `limit`. `first_error` is that of the
    /// instances.
    pub(crate) fn end(self, limit: Duration, first_error: &FirstError) -> SystemReport {
        let of_scheduler = |statistics: &Statistics| {
            let problems = statistics.problems().into_iter();
            problems.map(|problem| Fault::Scheduler(problem, first_error.get().cloned())).collect::<Vec<_>>()
        };
        match self {
            Self::Threaded(scheduler) => {
                let end = scheduler.shutdown(limit);
                let statistics = scheduler.statistics();
                let mut faults = of_scheduler(&statistics);
                faults.extend(end.hung.iter().map(|hung| Fault::Hung {
                    instance: hung.instance,
                    sample_count: hung.samples.len(),
                    first: hung.samples.first().map(|sample| sample.index),
                }));
                SystemReport { statistics: Some(statistics), faults, hangs: !end.hung.is_empty() }
            }
            Self::Simulated(scheduler) => {
                let statistics = scheduler.statistics();
                let faults = of_scheduler(&statistics);
                SystemReport { statistics: Some(statistics), faults, hangs: false }
            }
            Self::Whole(queries) => {
                SystemReport { faults: queries.fault().into_iter().collect(), ..SystemReport::default() }
            }
        }
    }
}

/// An instance of the plugin, as the scheduler knows instances.
pub(crate) struct PluginInstance {
    pub(crate) instance: plugin_host::Instance,
    /// Processors that its thread keeps to; empty for any.
    pub(crate) cpus: Vec<u32>,
    /// Log of what the plugin reports of each batch, to show where a latency comes from.
    pub(crate) stamps: Option<StampLog>,
    pub(crate) first_error: FirstError,
}

impl PluginInstance {
    /// Keeps the first error of the test for the advice about it.
    fn batch_error(&self, error: PluginHostError) -> BatchError {
        let message = error.to_string();
        self.first_error.get_or_init(|| Arc::new(error));
        BatchError { message }
    }
}

/// Instants that a plugin reports of each batch, in the order of execution; all 0 where it reports none. Clones share
/// it.
#[derive(Debug, Clone, Default)]
pub(crate) struct StampLog(Arc<Mutex<Vec<ProctorStamps>>>);

impl StampLog {
    /// The stamps since the last call. Room is kept for `room` further ones, so that nothing grows between two batches.
    pub(crate) fn take(&self, room: usize) -> Vec<ProctorStamps> {
        std::mem::replace(&mut *self.lock(), Vec::with_capacity(room))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ProctorStamps>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Instance for PluginInstance {
    fn enter_thread(&mut self) {
        placement::hold(&self.cpus);
    }

    fn execute(&mut self, batch: &[QuerySample]) -> Result<(), BatchError> {
        let done = self.instance.execute(batch);
        if let Some(log) = &self.stamps {
            log.lock().push(self.instance.stamps());
        }
        done.map_err(|error| self.batch_error(error))
    }

    fn execute_virtual(&mut self, batch: &[QuerySample], busy_instances: u32) -> Result<u64, BatchError> {
        let time_ns = self.instance.execute_virtual(batch, busy_instances);
        time_ns.map_err(|error| self.batch_error(error))
    }

    fn complete(&mut self, batch: &[QuerySample], sink: &dyn CompletionSink) {
        self.instance.complete(batch, sink);
    }
}

pub(crate) struct WholeQueries {
    name: String,
    model: plugin_host::Model,
    sink: Arc<dyn CompletionSink>,
    progress: Progress,
    flush: Flush,
    refused: Mutex<Refused>,
    /// Held during a call where several threads issue: the plugin is asked for one thing at a time.
    turn: Option<Mutex<()>>,
}

/// Queries that the plugin refused, or the flush.
#[derive(Debug, Default)]
struct Refused {
    call_count: u64,
    first: Option<Arc<PluginHostError>>,
}

impl WholeQueries {
    /// `sink` and `progress` are those of the test, whose queries `issuer_count` threads issue.
    pub(crate) fn new(
        name: String,
        model: plugin_host::Model,
        sink: Arc<dyn CompletionSink>,
        progress: Progress,
        flush: Flush,
        issuer_count: u64,
    ) -> Self {
        let turn = (issuer_count > 1).then(Mutex::default);
        Self { name, model, sink, progress, flush, refused: Mutex::default(), turn }
    }

    fn fault(&self) -> Option<Fault> {
        let Refused { call_count, first } = &*self.refused();
        Some(Fault::Refused { call_count: *call_count, first: first.clone()? })
    }

    fn refused(&self) -> MutexGuard<'_, Refused> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse(&self, error: PluginHostError) {
        let mut refused = self.refused();
        refused.first.get_or_insert_with(|| Arc::new(error));
        refused.call_count += 1;
    }

    /// Fails the samples of a query, except those that the plugin has completed all the same.
    fn fail_outstanding(&self, samples: &[QuerySample]) {
        for id in samples.iter().map(|sample| sample.id).filter(|id| self.progress.is_outstanding(*id)) {
            let status = SampleStatus::FAILED;
            self.sink.complete(&[QuerySampleResponse { id, status, data: &[], token_count: 0 }]);
        }
    }
}

impl SystemUnderTest for WholeQueries {
    fn name(&self) -> &str {
        &self.name
    }

    fn issue(&self, samples: &[QuerySample]) {
        let _turn = self.turn.as_ref().map(|turn| turn.lock().unwrap_or_else(PoisonError::into_inner));
        if let Err(error) = self.model.issue(samples) {
            self.refuse(error);
            self.fail_outstanding(samples);
        }
    }

    fn flush(&self) {
        if let Err(error) = self.flush.start() {
            self.refuse(error);
        }
    }
}

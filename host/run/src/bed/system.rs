//! The system under test: the scheduler over instances of the plugin, or the plugin alone if it takes whole queries.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use proctor_loadgen::{Progress, SystemUnderTest};
use proctor_plugin_api::abi::ProctorStamps;
use proctor_plugin_host as plugin_host;
use proctor_scheduler::{BatchError, Instance, SimulatedScheduler, Statistics, ThreadedScheduler};
use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, SampleStatus};

use crate::{
    bed::{flush::Flush, placement},
    text::counted,
};

/// The system that the load generator drives in one test.
pub(crate) enum System {
    /// Batches on threads.
    Threaded(ThreadedScheduler),
    /// Batches in virtual time.
    Simulated(SimulatedScheduler),
    /// Whole queries.
    Whole(WholeQueries),
}

/// Report of a system on a test that is over.
#[derive(Debug, Default)]
pub(crate) struct SystemReport {
    /// Counts of the scheduler, if there was one.
    pub(crate) statistics: Option<Statistics>,
    /// Each reason why the test is INVALID.
    pub(crate) problems: Vec<String>,
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

    /// Ends the system. Waits for instances that are still at work, up to `limit`.
    pub(crate) fn end(self, limit: Duration) -> SystemReport {
        match self {
            Self::Threaded(scheduler) => {
                let end = scheduler.shutdown(limit);
                let statistics = scheduler.statistics();
                let mut problems = statistics.problems();
                problems.extend(end.hung.iter().map(|hung| {
                    let sample_count = counted(hung.samples.len() as u64, "sample");
                    let first = hung
                        .samples
                        .first()
                        .map(|sample| format!(", the first of library index {}", sample.index));
                    format!(
                        "instance {} did not return from a batch of {sample_count}{}",
                        hung.instance,
                        first.unwrap_or_default()
                    )
                }));
                SystemReport { statistics: Some(statistics), problems, hangs: !end.hung.is_empty() }
            }
            Self::Simulated(scheduler) => {
                let statistics = scheduler.statistics();
                let problems = statistics.problems();
                SystemReport { statistics: Some(statistics), problems, hangs: false }
            }
            Self::Whole(queries) => SystemReport { problems: queries.problems(), ..SystemReport::default() },
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
        done.map_err(|error| BatchError { message: error.to_string() })
    }

    fn execute_virtual(&mut self, batch: &[QuerySample], busy_instances: u32) -> Result<u64, BatchError> {
        let time_ns = self.instance.execute_virtual(batch, busy_instances);
        time_ns.map_err(|error| BatchError { message: error.to_string() })
    }

    fn complete(&mut self, batch: &[QuerySample], sink: &dyn CompletionSink) {
        self.instance.complete(batch, sink);
    }
}

/// A model that takes whole queries.
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
    first_reason: String,
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

    fn problems(&self) -> Vec<String> {
        let refused = self.refused();
        match refused.call_count {
            0 => Vec::new(),
            1 => vec![refused.first_reason.clone()],
            count => vec![format!("the plugin refused {count} queries; the first: {}", refused.first_reason)],
        }
    }

    fn refused(&self) -> MutexGuard<'_, Refused> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse(&self, error: &plugin_host::PluginHostError) {
        let mut refused = self.refused();
        if refused.call_count == 0 {
            refused.first_reason = error.to_string();
        }
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
            self.refuse(&error);
            self.fail_outstanding(samples);
        }
    }

    fn flush(&self) {
        if let Err(error) = self.flush.start() {
            self.refuse(&error);
        }
    }
}

//! A plugin that takes whole queries, as the load generator drives it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proctor_loadgen::{BackgroundFlush, Progress, SystemUnderTest};
use proctor_plugin_host::{self as plugin_host, PluginHostError};
use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, SampleStatus};

use crate::bed::fault::Fault;

pub(crate) struct WholeQueries {
    name: String,
    model: plugin_host::Model,
    sink: Arc<dyn CompletionSink>,
    progress: Progress,
    flush: BackgroundFlush<PluginHostError>,
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
        flush: BackgroundFlush<PluginHostError>,
        issuer_count: u64,
    ) -> Self {
        let turn = (issuer_count > 1).then(Mutex::default);
        Self { name, model, sink, progress, flush, refused: Mutex::default(), turn }
    }

    pub(crate) fn fault(&self) -> Option<Fault> {
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

    fn end_flush(&self) {
        if let Err(error) = self.flush.wait() {
            self.refuse(error);
        }
    }
}

//! A plugin that takes whole queries, as the load generator drives it.

use std::{sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use proctor_loadgen::{BackgroundFlush, Progress, StopHandle, SystemUnderTest};
use proctor_plugin_host::{Issuer, Model, PluginHostError, expect_last_words, expect_no_last_words};
use proctor_vocabulary::{CompletionSink, QueryPart, QuerySample, QuerySampleResponse, SampleStatus};

use crate::{
    fault::Fault,
    system::busy::{BusyCounts, BusyWait, Pause},
};

/// The test that whole queries belong to.
pub(crate) struct QueryTest {
    pub(crate) sink: Arc<dyn CompletionSink>,
    pub(crate) progress: Progress,
    pub(crate) stop: StopHandle,
    /// Maximum time for which the plugin may be BUSY while no sample completes.
    pub(crate) busy_limit: Duration,
}

pub(crate) struct WholeQueries {
    name: String,
    model: Model,
    /// One for each issuing thread.
    issuers: Vec<Issuer>,
    test: QueryTest,
    flush: BackgroundFlush<PluginHostError>,
    refused: Mutex<Refused>,
}

/// Queries that the plugin refused, or the flush.
#[derive(Debug, Default)]
struct Refused {
    call_count: u64,
    first: Option<Arc<PluginHostError>>,
    busy: BusyCounts,
    /// The first query that the plugin was BUSY for against the rules.
    busy_fault: Option<Fault>,
}

impl WholeQueries {
    pub(crate) fn new(
        name: String,
        model: Model,
        issuers: Vec<Issuer>,
        test: QueryTest,
        flush: BackgroundFlush<PluginHostError>,
    ) -> Self {
        Self { name, model, issuers, test, flush, refused: Mutex::default() }
    }

    /// Returns the faults of the plugin in refusing.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        let Refused { call_count, first, busy_fault, .. } = &*self.refused();
        let refused = first.clone().map(|first| Fault::Refused { call_count: *call_count, first });
        busy_fault.iter().cloned().chain(refused).collect()
    }

    /// Returns the queries that were issued more than once.
    pub(crate) fn busy_counts(&self) -> BusyCounts {
        self.refused().busy
    }

    fn refused(&self) -> MutexGuard<'_, Refused> {
        self.refused.lock()
    }

    fn refuse(&self, error: PluginHostError) {
        let mut refused = self.refused();
        refused.first.get_or_insert_with(|| Arc::new(error));
        refused.call_count += 1;
    }

    /// Issues a query again for as long as the plugin is BUSY, and fails it if it is refused otherwise.
    #[cold]
    fn after_refusal(&self, error: PluginHostError, part: QueryPart<'_>) {
        let done = if error.is_busy() { self.while_busy(error, part) } else { Err(Some(error)) };
        if let Err(error) = done {
            if let Some(error) = error {
                self.refuse(error);
            }
            self.fail_outstanding(part.samples);
        }
    }

    /// # Errors
    /// If the query is not to be issued again; with the plugin's refusal if that was another one than BUSY.
    fn while_busy(
        &self,
        mut error: PluginHostError,
        part: QueryPart<'_>,
    ) -> Result<(), Option<PluginHostError>> {
        let QueryTest { progress, stop, busy_limit, .. } = &self.test;
        let mut wait = BusyWait::begin(progress, stop, *busy_limit);
        let mut refusal_count = 0;
        let done = loop {
            if !error.is_busy() {
                break Err(Some(error));
            }
            refusal_count += 1;
            if let Some(taken) = part.samples.iter().find(|sample| !progress.is_outstanding(sample.id)) {
                self.note_busy_fault(Fault::BusyAfterCompletion {
                    error: Arc::new(error),
                    index: taken.index,
                });
                break Err(None);
            }
            match wait.pause() {
                Pause::Over => {}
                Pause::Stopped => break Err(None),
                Pause::Stuck => {
                    self.note_busy_fault(Fault::AlwaysBusy { error: Arc::new(error), limit: *busy_limit });
                    stop.give_up();
                    break Err(None);
                }
            }
            match self.issuers[part.issuer].issue(part) {
                Ok(()) => break Ok(()),
                Err(again) => error = again,
            }
        };
        let busy = &mut self.refused().busy;
        busy.query_count += 1;
        busy.refusal_count += refusal_count;
        busy.waited += wait.elapsed();
        done
    }

    fn note_busy_fault(&self, fault: Fault) {
        self.refused().busy_fault.get_or_insert(fault);
    }

    /// Fails the samples of a query, except the ones that the plugin completed anyway.
    fn fail_outstanding(&self, samples: &[QuerySample]) {
        let QueryTest { sink, progress, .. } = &self.test;
        for id in samples.iter().map(|sample| sample.id).filter(|id| progress.is_outstanding(*id)) {
            let status = SampleStatus::FAILED;
            sink.complete(&[QuerySampleResponse { id, status, data: &[], token_count: 0 }]);
        }
    }
}

impl SystemUnderTest for WholeQueries {
    fn name(&self) -> &str {
        &self.name
    }

    fn issue(&self, samples: &[QuerySample]) {
        self.issue_part(QueryPart::whole(samples));
    }

    fn issue_part(&self, part: QueryPart<'_>) {
        if let Err(error) = self.issuers[part.issuer].issue(part) {
            self.after_refusal(error, part);
        }
    }

    fn flush(&self) {
        self.model.end_issue();
        // A crash in it must not destroy the measurements.
        expect_last_words();
        if let Err(error) = self.flush.start() {
            self.refuse(error);
        }
    }

    fn end_flush(&self) {
        expect_no_last_words();
        if let Err(error) = self.flush.wait() {
            self.refuse(error);
        }
    }
}

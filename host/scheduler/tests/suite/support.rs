//! A sink that remembers everything, and instances under a test's control.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use proctor_scheduler::{BatchError, Instance};
use proctor_vocabulary::{
    CompletionSink, QuerySample, QuerySampleResponse, ResponseId, SampleIndex, SampleStatus,
};

/// Far longer than any test takes: it turns a hang into a failure, and no result depends on it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Samples with these ids; the index is the id.
pub fn samples(ids: std::ops::Range<u64>) -> Vec<QuerySample> {
    ids.map(|id| QuerySample { id: ResponseId(id), index: SampleIndex(id) }).collect()
}

/// Remembers every completion, in order.
#[derive(Default)]
pub struct Recorder {
    completions: Mutex<Vec<(u64, SampleStatus)>>,
    changed: Condvar,
}

impl Recorder {
    /// Waits until there are `count` completions.
    pub fn wait_for(&self, count: usize) {
        let completions = self.completions.lock().unwrap();
        let (completions, waited) =
            self.changed.wait_timeout_while(completions, PATIENCE, |it| it.len() < count).unwrap();
        assert!(!waited.timed_out(), "only {} of {count} samples were completed", completions.len());
    }

    /// Ids in order of completion.
    pub fn ids(&self) -> Vec<u64> {
        self.completions.lock().unwrap().iter().map(|(id, _)| *id).collect()
    }

    /// Ids that were completed as failed, ascending.
    pub fn failed_ids(&self) -> Vec<u64> {
        let completions = self.completions.lock().unwrap();
        let mut ids: Vec<_> =
            completions.iter().filter(|(_, status)| !status.is_ok()).map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids
    }

    /// Asserts that each of these ids was completed exactly once, and no other.
    pub fn assert_once_each(&self, ids: std::ops::Range<u64>) {
        let mut counts: HashMap<u64, u32> = HashMap::new();
        for id in self.ids() {
            *counts.entry(id).or_default() += 1;
        }
        assert_eq!(counts.len() as u64, ids.end - ids.start);
        for id in ids {
            assert_eq!(counts.get(&id), Some(&1), "completions of sample {id}");
        }
    }
}

impl CompletionSink for Recorder {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        let mut completions = self.completions.lock().unwrap();
        completions.extend(responses.iter().map(|response| (response.id.0, response.status)));
        self.changed.notify_all();
    }

    fn first_token(&self, _: &[QuerySampleResponse<'_>]) {}
}

/// An instance that asks a function for the service time of each batch, also in real time, in which it does not sleep.
pub struct Scripted<F>(pub F);

impl<F: FnMut(&[QuerySample], u32) -> Result<u64, BatchError> + Send> Instance for Scripted<F> {
    fn execute(&mut self, batch: &[QuerySample]) -> Result<(), BatchError> {
        (self.0)(batch, 1).map(|_| ())
    }

    fn execute_virtual(&mut self, batch: &[QuerySample], busy_instances: u32) -> Result<u64, BatchError> {
        (self.0)(batch, busy_instances)
    }

    fn complete(&mut self, batch: &[QuerySample], sink: &dyn CompletionSink) {
        for sample in batch {
            let status = SampleStatus::OK;
            sink.complete(&[QuerySampleResponse { id: sample.id, status, data: &[], token_count: 0 }]);
        }
    }
}

/// An instance from a function.
pub fn instance<F>(script: F) -> Box<dyn Instance>
where
    F: FnMut(&[QuerySample], u32) -> Result<u64, BatchError> + Send + 'static,
{
    Box::new(Scripted(script))
}

/// A failure with this message.
pub fn failure(message: &str) -> BatchError {
    BatchError { message: message.to_owned() }
}

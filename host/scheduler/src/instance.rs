//! The trait of instances, which run batches, and their failure.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, ResponseId, SampleStatus};

/// One co-located copy of the model on a device.
///
/// An instance belongs to one thread of the scheduler, but not to the one that made it.
pub trait Instance: Send {
    /// Called once, before anything else, on the thread that the instance belongs to from then on. Not in virtual time.
    fn enter_thread(&mut self) {}

    /// Called once, after the last batch, on the same thread. Not in virtual time.
    fn leave_thread(&mut self) {}

    /// Runs one batch to its end on the calling (instance) thread.
    ///
    /// # Errors
    /// Fails every sample of the batch.
    fn execute(&mut self, batch: &[QuerySample]) -> Result<(), BatchError>;

    /// Does the same without sleeping, in virtual time: returns the service time in ns.
    ///
    /// `busy_instances` is the number of instances that run a batch at this instant, this one included.
    ///
    /// # Errors
    /// Fails every sample of the batch, at once.
    fn execute_virtual(&mut self, batch: &[QuerySample], busy_instances: u32) -> Result<u64, BatchError>;

    /// Hands the responses of the batch that was just executed to the sink, each sample exactly once.
    ///
    /// A call of its own, since in virtual time a batch completes later than it is executed.
    fn complete(&mut self, batch: &[QuerySample], sink: &dyn CompletionSink);
}

/// Reason why a batch failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BatchError {
    /// The reason in words, a lower-case fragment.
    pub message: String,
}

/// Calls into an instance and turns a panic into an error.
///
/// The instance may be left in a state that its author did not foresee. That harms only its own answers, and
/// the samples of this batch have failed already, so the run is INVALID anyway.
pub(crate) fn guard<T>(call: impl FnOnce() -> Result<T, BatchError>) -> Result<T, BatchError> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|payload| Err(BatchError { message: format!("panicked: {}", text_of(&*payload)) }))
}

fn text_of(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "(a payload that is no text)"
    }
}

/// Completes all samples as failed, at one instant and without allocation.
pub(crate) fn fail_samples(samples: &[QuerySample], sink: &dyn CompletionSink) {
    const AT_ONCE: usize = 64;
    let failed = |id| QuerySampleResponse { id, status: SampleStatus::FAILED, data: &[], token_count: 0 };
    let mut responses = [failed(ResponseId::default()); AT_ONCE];
    let now_ns = sink.now_ns();
    for samples in samples.chunks(AT_ONCE) {
        for (response, sample) in responses.iter_mut().zip(samples) {
            *response = failed(sample.id);
        }
        sink.fail_at(now_ns, &responses[..samples.len()]);
    }
}

/// Hands on completions, and counts the samples that failed.
pub(crate) struct FailureCount<'a> {
    sink: &'a dyn CompletionSink,
    failed: AtomicUsize,
}

impl<'a> FailureCount<'a> {
    pub(crate) fn new(sink: &'a dyn CompletionSink) -> Self {
        Self { sink, failed: AtomicUsize::new(0) }
    }

    /// Returns the number of samples that failed.
    pub(crate) fn failed(&self) -> usize {
        self.failed.load(Ordering::Relaxed)
    }

    fn count(&self, responses: &[QuerySampleResponse<'_>]) {
        let failed = responses.iter().filter(|response| !response.status.is_ok()).count();
        self.failed.fetch_add(failed, Ordering::Relaxed);
    }
}

impl CompletionSink for FailureCount<'_> {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        self.count(responses);
        self.sink.complete(responses);
    }

    fn first_token(&self, responses: &[QuerySampleResponse<'_>]) {
        self.sink.first_token(responses);
    }

    fn tokens(&self, now_ns: u64, id: ResponseId, token_count: u32) {
        self.sink.tokens(now_ns, id, token_count);
    }

    fn now_ns(&self) -> u64 {
        self.sink.now_ns()
    }

    fn latency_begins_ns(&self, id: ResponseId) -> Option<u64> {
        self.sink.latency_begins_ns(id)
    }

    fn complete_at(&self, now_ns: u64, responses: &[QuerySampleResponse<'_>]) {
        self.count(responses);
        self.sink.complete_at(now_ns, responses);
    }

    fn first_token_at(&self, now_ns: u64, responses: &[QuerySampleResponse<'_>]) {
        self.sink.first_token_at(now_ns, responses);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use proctor_vocabulary::SampleIndex;

    use super::*;

    /// Keeps ids and instants of completions; its clock goes on with every reading.
    #[derive(Default)]
    struct Instants {
        readings: AtomicU64,
        completions: Mutex<Vec<(u64, u64)>>,
    }

    impl CompletionSink for Instants {
        fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
            self.complete_at(self.now_ns(), responses);
        }

        fn first_token(&self, _: &[QuerySampleResponse<'_>]) {}

        fn now_ns(&self) -> u64 {
            self.readings.fetch_add(1, Relaxed)
        }

        fn complete_at(&self, now_ns: u64, responses: &[QuerySampleResponse<'_>]) {
            let completions = responses.iter().map(|response| (response.id.0, now_ns));
            self.completions.lock().expect("one thread").extend(completions);
        }
    }

    #[test]
    fn the_samples_of_a_batch_fail_at_one_instant() {
        let sample = |id| QuerySample { id: ResponseId(id), index: SampleIndex(id) };
        let samples: Vec<_> = (1..=200).map(sample).collect();
        let sink = Instants::default();
        fail_samples(&samples, &sink);
        assert_eq!(sink.completions.into_inner().unwrap(), (1..=200).map(|id| (id, 0)).collect::<Vec<_>>());
    }
}

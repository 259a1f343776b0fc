//! The answers of one batch, kept instead of being measured.

use parking_lot::Mutex;
use proctor_plugin_host::Instance;
use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse};

/// Has an instance complete the batch that it has executed. Returns response id and data of each sample that completed
/// well, by their ids.
pub(crate) fn answers(instance: &mut Instance, batch: &[QuerySample]) -> Vec<(u64, Vec<u8>)> {
    let kept = Kept::default();
    instance.complete(batch, &kept);
    let mut answers = kept.0.into_inner();
    answers.sort_by_key(|(id, _)| *id);
    answers
}

#[derive(Default)]
struct Kept(Mutex<Vec<(u64, Vec<u8>)>>);

impl CompletionSink for Kept {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        let good = responses.iter().filter(|response| response.status.is_ok());
        let data = good.map(|response| (response.id.0, response.data.to_vec()));
        self.0.lock().extend(data);
    }

    fn first_token(&self, _responses: &[QuerySampleResponse<'_>]) {}
}

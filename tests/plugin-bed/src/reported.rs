//! First tokens and completions that a plugin reports through the host while its batches run.

use std::mem;

use parking_lot::Mutex;
use proctor_plugin_api::vocabulary::{CompletionSink, QuerySampleResponse, ResponseId, SampleIndex};

use crate::run::Ran;

/// The ids of a run, from 1 on: one for each sample on each instance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ids {
    sample_count: u64,
}

impl Ids {
    pub(crate) fn new(indices: &[SampleIndex]) -> Self {
        Self { sample_count: indices.len() as u64 }
    }

    pub(crate) fn of(self, instance: u64, index: SampleIndex) -> ResponseId {
        ResponseId(1 + instance * self.sample_count + index.0)
    }

    /// Returns the instance and the sample behind an id, of however many instances there are.
    fn meaning(self, id: ResponseId) -> Option<(usize, SampleIndex)> {
        let from_0 = id.0.checked_sub(1)?;
        let instance = usize::try_from(from_0 / self.sample_count).ok()?;
        Some((instance, SampleIndex(from_0 % self.sample_count)))
    }
}

/// Receives the plugin's reports from any thread.
#[derive(Default)]
pub(crate) struct Reported {
    first_tokens: Mutex<Vec<ResponseId>>,
    completed: Mutex<Vec<ResponseId>>,
}

impl Reported {
    /// Gives the first tokens to the instances that they belong to.
    ///
    /// # Errors
    /// Returns a sentence about the first report that cannot be right.
    pub(crate) fn hand_out(&self, ids: Ids, ran: &mut [Ran]) -> Result<(), String> {
        if let Some(id) = taken(&self.completed).first() {
            return Err(format!("the plugin completed id {id}, which is the host's to complete"));
        }
        for id in taken(&self.first_tokens) {
            let known = ids.meaning(id).and_then(|(instance, index)| Some((ran.get_mut(instance)?, index)));
            let (ran, index) =
                known.ok_or_else(|| format!("the plugin reported a first token of id {id}"))?;
            ran.first_tokens.push(index);
        }
        Ok(())
    }
}

impl CompletionSink for Reported {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        note(&self.completed, responses);
    }

    fn first_token(&self, responses: &[QuerySampleResponse<'_>]) {
        note(&self.first_tokens, responses);
    }
}

fn note(list: &Mutex<Vec<ResponseId>>, responses: &[QuerySampleResponse<'_>]) {
    let ids = responses.iter().map(|response| response.id);
    list.lock().extend(ids);
}

fn taken(list: &Mutex<Vec<ResponseId>>) -> Vec<ResponseId> {
    mem::take(&mut *list.lock())
}

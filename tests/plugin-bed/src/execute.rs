//! The batches of one instance, one after another.

use parking_lot::Mutex;
use proctor_plugin_api::vocabulary::{
    CompletionSink, QuerySample, QuerySampleResponse, ResponseId, SampleIndex, TensorSpec,
};
use proctor_plugin_host::Instance;

use crate::run::{Answer, Ran};

/// The batches of an instance.
pub(crate) type Batches = Vec<Vec<QuerySample>>;

/// Divides samples into batches of these sizes, in repeated order; the last one has the remaining samples.
pub(crate) fn batches(
    indices: &[SampleIndex],
    sizes: &[usize],
    id_of: impl Fn(SampleIndex) -> ResponseId,
) -> Batches {
    assert!(!indices.is_empty(), "a run has samples");
    assert!(!sizes.is_empty() && !sizes.contains(&0), "batches have sizes: {sizes:?}");
    let mut rest = indices;
    let mut batches = Vec::new();
    for size in sizes.iter().cycle() {
        let (batch, after) = rest.split_at(rest.len().min(*size));
        batches.push(batch.iter().map(|&index| QuerySample { id: id_of(index), index }).collect());
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    batches
}

/// Runs the batches up to the first failure, on a thread of their own.
pub(crate) fn execute(
    instance: &mut Instance,
    batches: &[Vec<QuerySample>],
    outputs: &[TensorSpec],
) -> Result<Ran, String> {
    instance.begin_thread();
    let ran = execute_each(instance, batches, outputs);
    instance.end_thread();
    ran
}

fn execute_each(
    instance: &mut Instance,
    batches: &[Vec<QuerySample>],
    outputs: &[TensorSpec],
) -> Result<Ran, String> {
    let mut ran = Ran::default();
    for batch in batches {
        instance.execute(batch).map_err(|error| error.to_string())?;
        ran.stages.push(instance.stages().to_vec());
        let collected = Collected { batch, outputs, answers: Mutex::default() };
        instance.complete(batch, &collected);
        for answer in collected.answers.into_inner() {
            ran.answers.push(answer?);
        }
    }
    Ok(ran)
}

/// Takes the answers to a batch, in its order.
struct Collected<'a> {
    batch: &'a [QuerySample],
    outputs: &'a [TensorSpec],
    answers: Mutex<Vec<Result<Answer, String>>>,
}

impl CompletionSink for Collected<'_> {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        let answer = |(sample, response): (&QuerySample, &QuerySampleResponse<'_>)| {
            if response.status.is_ok() {
                Ok(Answer::split(response.data, self.outputs, response.token_count))
            } else {
                Err(format!("sample {} failed (status {})", sample.index, response.status.0))
            }
        };
        let answers = self.batch.iter().zip(responses).map(answer);
        self.answers.lock().extend(answers);
    }

    /// Refuses a first token: it comes through the host table, not from the host.
    fn first_token(&self, _responses: &[QuerySampleResponse<'_>]) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_turns_and_the_last_batch_is_what_is_left() {
        let indices: Vec<SampleIndex> = (0..8).map(SampleIndex).collect();
        let batches = batches(&indices, &[3, 1], |index| ResponseId(index.0 + 1));
        let sizes: Vec<usize> = batches.iter().map(Vec::len).collect();
        assert_eq!(sizes, [3, 1, 3, 1]);
        assert_eq!(batches[3][0], QuerySample { id: ResponseId(8), index: SampleIndex(7) });
    }
}

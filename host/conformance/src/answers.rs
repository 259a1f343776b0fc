//! Collects the answers of a plugin at a desk.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use proctor_vocabulary::{
    CompletionSink, QuerySample, QuerySampleResponse, ResponseId, SampleIndex, SampleStatus,
};

/// The answer to a sample: the bytes of its outputs, or how it failed.
pub(crate) type Answer = Result<Vec<u8>, SampleStatus>;

/// Samples that plugins have completed in this process.
static COMPLETION_COUNT: AtomicU64 = AtomicU64::new(0);

/// Returns the number of samples that plugins have completed in this process on their own.
pub(crate) fn completion_count() -> u64 {
    COMPLETION_COUNT.load(Ordering::Relaxed)
}

/// Collects answers: assigns ids, and records the answer for each.
#[derive(Default)]
pub(crate) struct Desk {
    state: Mutex<State>,
    came: Condvar,
}

#[derive(Default)]
struct State {
    /// Samples assigned since the last `forget`: id `n` lies at `n - 1 - forgotten_count`.
    samples: Vec<Sample>,
    forgotten_count: usize,
    /// Number of samples for the plugin to complete, including completed ones.
    awaited_count: usize,
    come_count: usize,
    /// Completions against the rules, in words.
    wrong: Vec<String>,
    token_count: u64,
    differing_token_count: u64,
    order: Vec<u64>,
}

/// A sample with an assigned id.
struct Sample {
    holder: Holder,
    /// Number of tokens that were reported as received; `None` if none were.
    tokens: Option<u32>,
}

/// Party that has to complete a sample, or its outcome.
enum Holder {
    /// The plugin holds the sample, and has to complete it.
    Plugin,
    /// The plugin holds the sample in a batch, which the host has to complete.
    Batch,
    /// The sample was part of a batch that is over.
    Over,
    /// The plugin has refused it.
    Nobody,
    /// The plugin has completed it.
    Answered(Answer),
}

/// Counts of how samples were completed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Completions {
    /// Numbers of the samples in the order of their completion, from 0.
    pub(crate) order: Vec<u64>,
    /// Number of tokens that were reported.
    pub(crate) token_count: u64,
    /// Number of samples that were completed with another number of tokens than reported.
    pub(crate) differing_token_count: u64,
}

impl Desk {
    /// Gives ids to samples for the plugin to complete.
    pub(crate) fn expect(&self, indices: &[SampleIndex]) -> Vec<QuerySample> {
        self.give_ids(indices, false)
    }

    /// Gives ids to samples of a batch, which the host completes.
    pub(crate) fn lend(&self, indices: &[SampleIndex]) -> Vec<QuerySample> {
        self.give_ids(indices, true)
    }

    fn give_ids(&self, indices: &[SampleIndex], is_batch: bool) -> Vec<QuerySample> {
        let mut state = self.state.lock();
        if !is_batch {
            state.awaited_count += indices.len();
        }
        let samples = indices.iter().map(|&index| {
            let holder = if is_batch { Holder::Batch } else { Holder::Plugin };
            state.samples.push(Sample { holder, tokens: None });
            QuerySample { id: ResponseId((state.forgotten_count + state.samples.len()) as u64), index }
        });
        samples.collect()
    }

    /// Takes back samples that the plugin has refused: it need not complete them.
    pub(crate) fn take_back(&self, samples: &[QuerySample]) {
        let mut state = self.state.lock();
        for sample in samples {
            let Some(place) = state.place(sample.id) else { continue };
            if let Holder::Plugin = state.samples[place].holder {
                state.samples[place].holder = Holder::Nobody;
                state.awaited_count -= 1;
            } else {
                state.wrong.push(format!("sample {} was refused and completed all the same", sample.id));
            }
        }
    }

    /// Notes the end of a batch: each of its samples with its final number of tokens.
    fn end_batch(&self, ended: &[(ResponseId, u32)]) {
        let mut state = self.state.lock();
        for &(id, token_count) in ended {
            let Some(place) = state.place(id) else { continue };
            state.samples[place].holder = Holder::Over;
            state.compare_tokens(place, token_count);
        }
    }

    /// Waits until all expected answers have come, or none has for `limit`. Returns how many are missing.
    pub(crate) fn wait(&self, limit: Duration) -> usize {
        let mut state = self.state.lock();
        let (mut since, mut come_count) = (Instant::now(), state.come_count);
        loop {
            let missing = state.missing();
            if missing == 0 || since.elapsed() > limit {
                return missing;
            }
            self.came.wait_for(&mut state, Duration::from_millis(20));
            if state.come_count > come_count {
                (since, come_count) = (Instant::now(), state.come_count);
            }
        }
    }

    /// Returns the completions that broke the rules since the last call.
    pub(crate) fn take_wrong(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().wrong)
    }

    /// Returns the answers to these samples; missing ones count as failed.
    pub(crate) fn answers(&self, samples: &[QuerySample]) -> Vec<Answer> {
        let state = self.state.lock();
        let answer =
            |sample: &QuerySample| match state.place(sample.id).map(|place| &state.samples[place].holder) {
                Some(Holder::Answered(answer)) => answer.clone(),
                _ => Err(SampleStatus::FAILED),
            };
        samples.iter().map(answer).collect()
    }

    /// Forgets all samples, none of which is outstanding. Their ids are not assigned again.
    pub(crate) fn forget(&self) {
        let mut state = self.state.lock();
        let forgotten_count = state.forgotten_count + state.samples.len();
        *state = State { wrong: std::mem::take(&mut state.wrong), forgotten_count, ..State::default() };
    }

    /// Returns how samples were completed so far.
    pub(crate) fn completions(&self) -> Completions {
        let state = self.state.lock();
        Completions {
            order: state.order.clone(),
            token_count: state.token_count,
            differing_token_count: state.differing_token_count,
        }
    }
}

impl State {
    fn missing(&self) -> usize {
        self.awaited_count - self.come_count
    }

    /// Returns the place of an assigned id.
    fn place(&self, id: ResponseId) -> Option<usize> {
        let place = usize::try_from(id.0).ok()?.checked_sub(1 + self.forgotten_count)?;
        (place < self.samples.len()).then_some(place)
    }

    /// Returns the place of a sample that the plugin has, for a report about it; otherwise records the error.
    fn place_of_report(&mut self, what: &str, id: ResponseId) -> Option<usize> {
        let Some(place) = self.place(id) else {
            self.wrong.push(format!("{what} of id {id} came, which has no sample"));
            return None;
        };
        if matches!(self.samples[place].holder, Holder::Plugin | Holder::Batch) {
            return Some(place);
        }
        self.wrong.push(format!("{what} of sample {id} came after its end"));
        None
    }

    fn compare_tokens(&mut self, place: usize, token_count: u32) {
        let differs = self.samples[place].tokens.is_some_and(|reported| reported != token_count);
        self.differing_token_count += u64::from(differs);
    }

    fn complete(&mut self, response: &QuerySampleResponse<'_>) {
        let id = response.id;
        let Some(place) = self.place(id) else {
            return self.wrong.push(format!("id {id} was completed, which was never given out"));
        };
        let problem = match self.samples[place].holder {
            Holder::Plugin => None,
            Holder::Batch | Holder::Over => Some("of a batch was completed, which is the host's to do"),
            Holder::Nobody => Some("was completed, although it had been refused"),
            Holder::Answered(_) => Some("was completed twice"),
        };
        if let Some(problem) = problem {
            return self.wrong.push(format!("sample {id} {problem}"));
        }
        let is_ok = response.status.is_ok();
        let answer = if is_ok { Ok(response.data.to_vec()) } else { Err(response.status) };
        self.samples[place].holder = Holder::Answered(answer);
        self.come_count += 1;
        self.compare_tokens(place, response.token_count);
        self.order.push(id.0 - 1);
    }
}

impl CompletionSink for Desk {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        COMPLETION_COUNT.fetch_add(responses.len() as u64, Ordering::Relaxed);
        let mut state = self.state.lock();
        responses.iter().for_each(|response| state.complete(response));
        if state.missing() == 0 {
            self.came.notify_all();
        }
    }

    fn first_token(&self, responses: &[QuerySampleResponse<'_>]) {
        let mut state = self.state.lock();
        for response in responses {
            state.place_of_report("a first token", response.id);
        }
    }

    fn tokens(&self, _now_ns: u64, id: ResponseId, token_count: u32) {
        let mut state = self.state.lock();
        if let Some(place) = state.place_of_report("tokens", id) {
            *state.samples[place].tokens.get_or_insert_default() += token_count;
            state.token_count += u64::from(token_count);
        }
    }
}

/// Takes the answers to a batch, in its order.
#[derive(Default)]
pub(crate) struct Tray(Mutex<TrayState>);

#[derive(Default)]
struct TrayState {
    answers: Vec<Answer>,
    ended: Vec<(ResponseId, u32)>,
}

impl Tray {
    /// Returns the answers, and notes that the batch is over.
    pub(crate) fn empty(self, desk: &Desk) -> Vec<Answer> {
        let state = self.0.into_inner();
        desk.end_batch(&state.ended);
        state.answers
    }
}

impl CompletionSink for Tray {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        let mut state = self.0.lock();
        for response in responses {
            let is_ok = response.status.is_ok();
            state.answers.push(if is_ok { Ok(response.data.to_vec()) } else { Err(response.status) });
            state.ended.push((response.id, response.token_count));
        }
    }

    fn first_token(&self, _responses: &[QuerySampleResponse<'_>]) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(desk: &Desk, sample: QuerySample, token_count: u32) {
        let status = SampleStatus::OK;
        desk.complete(&[QuerySampleResponse { id: sample.id, status, data: &[], token_count }]);
    }

    #[test]
    fn samples_that_are_refused_are_not_awaited() {
        let desk = Desk::default();
        let samples = desk.expect(&[SampleIndex(0), SampleIndex(1), SampleIndex(2)]);
        complete(&desk, samples[0], 0);
        desk.take_back(&samples[1..2]);
        assert_eq!(desk.wait(Duration::ZERO), 1);
        complete(&desk, samples[2], 0);
        assert_eq!(desk.wait(Duration::ZERO), 0);
        assert!(desk.take_wrong().is_empty());
        complete(&desk, samples[1], 0);
        desk.take_back(&samples[..1]);
        assert_eq!(desk.take_wrong().len(), 2);
    }

    #[test]
    fn tokens_of_batches_are_counted_as_those_of_queries() {
        let desk = Desk::default();
        let (query, batch) = (desk.expect(&[SampleIndex(0)]), desk.lend(&[SampleIndex(0), SampleIndex(1)]));
        for sample in [query[0], batch[0], batch[1], batch[1]] {
            desk.tokens(0, sample.id, 1);
        }
        complete(&desk, query[0], 2);
        let tray = Tray::default();
        for (sample, token_count) in [(batch[0], 0), (batch[1], 2)] {
            let status = SampleStatus::OK;
            tray.complete(&[QuerySampleResponse { id: sample.id, status, data: &[], token_count }]);
        }
        assert_eq!(tray.empty(&desk).len(), 2);
        let completions = desk.completions();
        assert_eq!((completions.token_count, completions.differing_token_count), (4, 2));
        desk.tokens(0, batch[1].id, 1);
        desk.first_token(&[QuerySampleResponse {
            id: batch[0].id,
            status: SampleStatus::OK,
            data: &[],
            token_count: 0,
        }]);
        assert_eq!(desk.take_wrong().len(), 2);
    }
}

//! Answers of a plugin: where they come in, and how they are compared.

use std::{
    collections::BTreeMap,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use proctor_plugin_host::ModelDemand;
use proctor_vocabulary::{
    CompletionSink, ElementType, QuerySample, QuerySampleResponse, ResponseId, SampleIndex, SampleStatus,
};

/// The answer to a sample: the bytes of its outputs, or how it failed.
pub(crate) type Answer = Result<Vec<u8>, SampleStatus>;

/// The desk at which answers come in: gives out ids, and notes what comes back for each.
#[derive(Default)]
pub(crate) struct Desk {
    state: Mutex<State>,
    came: Condvar,
}

#[derive(Default)]
struct State {
    /// The answers to all samples that were ever expected, by id less 1; `None` for those that have not come.
    answers: Vec<Option<Answer>>,
    /// Samples that a batch has, which are the host's to complete.
    are_batches: Vec<bool>,
    /// Samples that the plugin is to complete, and those that it has.
    awaited_count: usize,
    come_count: usize,
    /// Completions against the rules, in words.
    wrong: Vec<String>,
    /// Tokens that were reported, by the place of their sample.
    tokens: BTreeMap<usize, u32>,
    differing_token_count: u64,
    order: Vec<u64>,
}

/// How samples were completed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Completions {
    /// Numbers of the samples in the order of their completion, from 0.
    pub(crate) order: Vec<u64>,
    /// Tokens that were reported.
    pub(crate) token_count: u64,
    /// Samples that were completed with another number of tokens than were reported of them.
    pub(crate) differing_token_count: u64,
}

impl Desk {
    /// Gives ids to samples that the plugin is to complete.
    pub(crate) fn expect(&self, indices: &[SampleIndex]) -> Vec<QuerySample> {
        self.give_ids(indices, false)
    }

    /// Gives ids to samples of a batch, which the host completes.
    pub(crate) fn lend(&self, indices: &[SampleIndex]) -> Vec<QuerySample> {
        self.give_ids(indices, true)
    }

    fn give_ids(&self, indices: &[SampleIndex], is_batch: bool) -> Vec<QuerySample> {
        let mut state = self.state();
        if !is_batch {
            state.awaited_count += indices.len();
        }
        let samples = indices.iter().map(|&index| {
            state.answers.push(None);
            state.are_batches.push(is_batch);
            QuerySample { id: ResponseId(state.answers.len() as u64), index }
        });
        samples.collect()
    }

    /// Waits until all that was expected has come, or nothing has for `limit`. Returns how many are missing.
    pub(crate) fn wait(&self, limit: Duration) -> usize {
        let mut state = self.state();
        let (mut since, mut come_count) = (Instant::now(), state.come_count);
        loop {
            let missing = state.missing();
            if missing == 0 || since.elapsed() > limit {
                return missing;
            }
            state = self
                .came
                .wait_timeout(state, Duration::from_millis(20))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            if state.come_count > come_count {
                (since, come_count) = (Instant::now(), state.come_count);
            }
        }
    }

    /// Completions against the rules since the last time.
    pub(crate) fn take_wrong(&self) -> Vec<String> {
        std::mem::take(&mut self.state().wrong)
    }

    /// The answers to these samples; those that have not come count as failed.
    pub(crate) fn answers(&self, samples: &[QuerySample]) -> Vec<Answer> {
        let state = self.state();
        let answer = |sample: &QuerySample| {
            let position = usize::try_from(sample.id.0 - 1).unwrap_or(usize::MAX);
            state.answers.get(position).cloned().flatten().unwrap_or(Err(SampleStatus::FAILED))
        };
        samples.iter().map(answer).collect()
    }

    /// Forgets all samples, of which none is outstanding. Ids begin again.
    pub(crate) fn forget(&self) {
        let mut state = self.state();
        *state = State { wrong: std::mem::take(&mut state.wrong), ..State::default() };
    }

    /// How samples were completed so far.
    pub(crate) fn completions(&self) -> Completions {
        let state = self.state();
        Completions {
            order: state.order.clone(),
            token_count: state.tokens.values().map(|count| u64::from(*count)).sum(),
            differing_token_count: state.differing_token_count,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn missing(&self) -> usize {
        self.awaited_count - self.come_count
    }

    /// The place of an id that was given out.
    fn place(&self, id: ResponseId) -> Option<usize> {
        let place = usize::try_from(id.0.checked_sub(1)?).ok()?;
        (place < self.answers.len()).then_some(place)
    }

    fn complete(&mut self, response: &QuerySampleResponse<'_>) {
        let id = response.id;
        let Some(place) = self.place(id) else {
            return self.wrong.push(format!("id {id} was completed, which was never given out"));
        };
        if self.are_batches[place] {
            return self
                .wrong
                .push(format!("sample {id} of a batch was completed, which is the host's to do"));
        }
        if self.answers[place].is_some() {
            return self.wrong.push(format!("sample {id} was completed twice"));
        }
        let is_ok = response.status.is_ok();
        self.answers[place] = Some(if is_ok { Ok(response.data.to_vec()) } else { Err(response.status) });
        self.come_count += 1;
        self.differing_token_count +=
            u64::from(self.tokens.get(&place).is_some_and(|count| *count != response.token_count));
        self.order.push(id.0 - 1);
    }
}

impl CompletionSink for Desk {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        let mut state = self.state();
        responses.iter().for_each(|response| state.complete(response));
        if state.missing() == 0 {
            self.came.notify_all();
        }
    }

    fn first_token(&self, responses: &[QuerySampleResponse<'_>]) {
        let mut state = self.state();
        for response in responses {
            match state.place(response.id) {
                None => {
                    state.wrong.push(format!("a first token of id {} came, which has no sample", response.id))
                }
                Some(place) if state.answers[place].is_some() => {
                    state.wrong.push(format!("a first token of sample {} came after its end", response.id));
                }
                Some(_) => {}
            }
        }
    }

    fn tokens(&self, _now_ns: u64, id: ResponseId, token_count: u32) {
        let mut state = self.state();
        match state.place(id) {
            None => state.wrong.push(format!("tokens of id {id} came, which has no sample")),
            Some(place) if state.answers[place].is_some() => {
                state.wrong.push(format!("tokens of sample {id} came after its end"));
            }
            Some(place) => *state.tokens.entry(place).or_default() += token_count,
        }
    }
}

/// Takes the answers to a batch, in its order.
#[derive(Default)]
pub(crate) struct Tray(Mutex<Vec<Answer>>);

impl Tray {
    pub(crate) fn take(&self) -> Vec<Answer> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CompletionSink for Tray {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        let answer = |response: &QuerySampleResponse<'_>| match response.status.is_ok() {
            true => Ok(response.data.to_vec()),
            false => Err(response.status),
        };
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        answers.extend(responses.iter().map(answer));
    }

    fn first_token(&self, _responses: &[QuerySampleResponse<'_>]) {}
}

/// How far answers of a precision may be apart that should be the same, as a share of the largest value: the order of
/// sums differs with the size of a batch.
fn tolerance(precision: &str) -> f64 {
    if matches!(precision, "f32" | "f64") { 1e-3 } else { 5e-2 }
}

/// Compares two answers to the same sample.
///
/// # Errors
/// A sentence about the first difference that is more than rounding.
pub(crate) fn compare(
    demand: &ModelDemand,
    precision: &str,
    one: &Answer,
    other: &Answer,
) -> Result<(), String> {
    let (one, other) = match (one, other) {
        (Ok(one), Ok(other)) => (one, other),
        (Err(one), Err(other)) if one == other => return Ok(()),
        (Err(status), Ok(_)) | (Ok(_), Err(status)) | (Err(status), Err(_)) => {
            return Err(format!("one answer failed with status {}", status.0));
        }
    };
    if one == other {
        return Ok(());
    }
    if one.len() != other.len() {
        return Err(format!("one answer has {} bytes, another {}", one.len(), other.len()));
    }
    let (mut one, mut other) = (&one[..], &other[..]);
    for output in &demand.outputs {
        let size_bytes = output.size_bytes().min(one.len());
        let (left, rest) = one.split_at(size_bytes);
        let (right, other_rest) = other.split_at(size_bytes);
        (one, other) = (rest, other_rest);
        if left == right {
            continue;
        }
        let (Some(left), Some(right)) =
            (floats(output.element_type, left), floats(output.element_type, right))
        else {
            if tolerance(precision) > 1e-2 {
                continue;
            }
            return Err(format!("output \"{}\" has other values", output.name));
        };
        let largest = left.iter().chain(&right).fold(0.0_f64, |largest, value| largest.max(value.abs()));
        let bound = tolerance(precision) * largest.max(1e-6);
        let differ = |(left, right): (&f64, &f64)| {
            let is_same = left == right || left.is_nan() && right.is_nan();
            // Of a number and NaN neither holds.
            let is_close = (left - right).abs() <= bound;
            !is_same && !is_close
        };
        if let Some(position) = left.iter().zip(&right).position(differ) {
            let (left, right) = (left[position], right[position]);
            return Err(format!("output \"{}\" is {left} and {right} at element {position}", output.name));
        }
    }
    Ok(())
}

/// The values of a tensor of floats; `None` for any other type.
pub(crate) fn floats(element_type: ElementType, bytes: &[u8]) -> Option<Vec<f64>> {
    let halves = || bytes.as_chunks::<2>().0.iter().map(|half| u16::from_le_bytes(*half));
    match element_type {
        ElementType::F32 => {
            Some(bytes.as_chunks::<4>().0.iter().map(|word| f32::from_le_bytes(*word).into()).collect())
        }
        ElementType::F64 => {
            Some(bytes.as_chunks::<8>().0.iter().map(|word| f64::from_le_bytes(*word)).collect())
        }
        ElementType::F16 => Some(halves().map(|bits| half::f16::from_bits(bits).to_f64()).collect()),
        ElementType::Bf16 => Some(halves().map(|bits| half::bf16::from_bits(bits).to_f64()).collect()),
        _ => None,
    }
}

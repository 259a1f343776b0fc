//! The sink of a test that an engine drives: records each completion, and passes on to the engine what was accepted.
//!
//! The official LoadGen takes an id for an address, and crashes by one that is wrong or comes twice. So an id of ours
//! is turned into one of the engine only where the recorder has accepted the completion, which it does once for each
//! sample. In a token run it crashes by a sample without a first token, too, and by one with a single token: such a
//! sample is a violation here, and the engine gets what lets it go on. It also crashes by a first token that comes
//! after the completion, so where both come at once on two threads, `turn` keeps their order.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, ResponseId};

use crate::{
    engine::{Engine, EngineResponse},
    record::{
        phase::Phase,
        recorder::Recorder,
        response_id::split,
        turn::{Position, Turn},
    },
    time::clock::Clock,
};

/// Number of responses that are passed on together.
const PART: usize = 64;
/// Minimum number of tokens with a time between two of them.
const TOKENS_MIN: u64 = 2;

const NOTHING: EngineResponse<'static> = EngineResponse { id: 0, data: &[], token_count: 0 };

/// The sink of a test that an engine drives.
pub(crate) struct EngineSink<C> {
    recorder: Arc<Recorder<C>>,
    engine: Arc<dyn Engine>,
    /// Completions that are left to the thread that passes on the first token of the sample.
    left: Mutex<HashMap<ResponseId, LeftCompletion>>,
}

/// Completion that another thread passes on.
struct LeftCompletion {
    data: Vec<u8>,
    token_count: u64,
}

impl<C: Clock> EngineSink<C> {
    pub(crate) fn new(recorder: Arc<Recorder<C>>, engine: Arc<dyn Engine>) -> Self {
        Self { recorder, engine, left: Mutex::default() }
    }

    #[inline]
    fn complete_all<const BY_HOST: bool>(&self, now_ns: u64, responses: &[QuerySampleResponse<'_>]) {
        match responses {
            [_] => self.complete_part::<BY_HOST, 1>(now_ns, responses),
            _ => responses.chunks(PART).for_each(|part| self.complete_part::<BY_HOST, PART>(now_ns, part)),
        }
    }

    /// Completes at most `N` samples.
    #[inline]
    fn complete_part<const BY_HOST: bool, const N: usize>(
        &self,
        now_ns: u64,
        responses: &[QuerySampleResponse<'_>],
    ) {
        let mut accepted = [NOTHING; N];
        let mut count = 0;
        self.recorder.complete_noting::<BY_HOST>(now_ns, responses, |phase, response| {
            let (_, sequence) = split(response.id);
            let Some(samples) = &phase.engine_samples else { return };
            let Some(id) = samples.id(sequence) else { return };
            let data = if response.status.is_ok() { response.data } else { &[] };
            let mut passed_on = EngineResponse { id, data, token_count: response.token_count.into() };
            if let Some(turn) = samples.turn(sequence) {
                passed_on.token_count = passed_on.token_count.max(TOKENS_MIN);
                if self.is_left(turn, response.id, &passed_on) {
                    return;
                }
            }
            accepted[count] = passed_on;
            count += 1;
        });
        if count > 0 {
            self.engine.complete(&accepted[..count]);
        }
    }

    /// Makes sure that the engine has a first token before the completion of a sample of a token run. Returns true if
    /// the completion is left to the thread that is passing on the first token.
    fn is_left(&self, turn: Turn<'_>, id: ResponseId, response: &EngineResponse<'_>) -> bool {
        let left = || self.left.lock().unwrap_or_else(PoisonError::into_inner);
        match turn.complete() {
            Position::Alone => self.engine.first_tokens(&[*response]),
            Position::After => {}
            Position::During => {
                let EngineResponse { data, token_count, .. } = *response;
                left().insert(id, LeftCompletion { data: data.to_vec(), token_count });
                if turn.leave() {
                    return true;
                }
                left().remove(&id);
            }
        }
        false
    }

    /// Passes on a first token, if tokens are measured in a way that the engine has a place for it, and the completion
    /// if that comes meanwhile.
    fn pass_on_first_token(&self, phase: &Phase, response_id: ResponseId, data: &[u8]) {
        let (_, sequence) = split(response_id);
        let Some(samples) = &phase.engine_samples else { return };
        let (Some(id), Some(turn)) = (samples.id(sequence), samples.turn(sequence)) else { return };
        if !turn.begin_first_token() {
            return;
        }
        self.engine.first_tokens(&[EngineResponse { id, data, token_count: 1 }]);
        if turn.end_first_token() {
            return;
        }
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner).remove(&response_id);
        if let Some(LeftCompletion { data, token_count }) = left {
            self.engine.complete(&[EngineResponse { id, data: &data, token_count }]);
        }
    }
}

impl<C: Clock> CompletionSink for EngineSink<C> {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        self.complete_at(self.recorder.now_ns(), responses);
    }

    fn first_token(&self, responses: &[QuerySampleResponse<'_>]) {
        self.first_token_at(self.recorder.now_ns(), responses);
    }

    fn tokens(&self, now_ns: u64, id: ResponseId, token_count: u32) {
        if let Some(phase) = self.recorder.tokens_noting_first(now_ns, id, token_count) {
            self.pass_on_first_token(phase, id, &[]);
        }
    }

    fn watches_hand_over(&self) -> bool {
        self.recorder.watches_hand_over()
    }

    fn handed_over(&self, samples: &[QuerySample]) {
        self.recorder.handed_over(samples);
    }

    fn now_ns(&self) -> u64 {
        self.recorder.now_ns()
    }

    fn latency_begins_ns(&self, id: ResponseId) -> Option<u64> {
        self.recorder.latency_begins_ns(id)
    }

    fn complete_at(&self, now_ns: u64, responses: &[QuerySampleResponse<'_>]) {
        self.complete_all::<false>(now_ns, responses);
    }

    fn fail_at(&self, now_ns: u64, responses: &[QuerySampleResponse<'_>]) {
        self.complete_all::<true>(now_ns, responses);
    }

    fn first_token_at(&self, now_ns: u64, responses: &[QuerySampleResponse<'_>]) {
        for response in responses {
            if let Some(phase) = self.recorder.first_token_noting(now_ns, response) {
                self.pass_on_first_token(phase, response.id, response.data);
            }
        }
    }
}

impl<C> fmt::Debug for EngineSink<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineSink").field("engine", &self.engine).finish_non_exhaustive()
    }
}

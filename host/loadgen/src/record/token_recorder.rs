//! Tokens of each sample in a token run: when the first one came, and how many there were.
//!
//! # Protocol of a token slot
//! | `first_token` | `token_count` | state |
//! |---|---|---|
//! | 0 | 0 | no token yet |
//! | instant + 1 | 0 | the first token came |
//! | instant + 1 | number of tokens | complete |
//! | all ones | number of tokens | complete, and no first token came |
//!
//! `first_token` leaves 0 by one compare-exchange, so of a first token and a completion that meet, exactly one decides.
//! `token_count` is written by the one thread that completed the sample. Instants are nanoseconds from the start of the
//! phase.

use std::sync::atomic::Ordering;

use crate::{
    record::{
        responses::ResponseStore,
        segments::{Pair, Segments},
        slots::SampleRecord,
        tokens::SampleTokens,
        violations::ViolationKind,
    },
    time::sync::AtomicU64,
};

const NEVER: u64 = u64::MAX;

/// The token slot that a pair of words is: 16 bytes a sample, in token runs only.
#[derive(Debug, Clone, Copy)]
struct TokenSlot<'a> {
    first_token: &'a AtomicU64,
    token_count: &'a AtomicU64,
}

impl<'a> From<&'a Pair> for TokenSlot<'a> {
    fn from([first_token, token_count]: &'a Pair) -> Self {
        Self { first_token, token_count }
    }
}

impl TokenSlot<'_> {
    /// Records the first token. [any thread, wait-free]
    fn first_token(self, at_ns: u64) -> Result<(), ViolationKind> {
        match self.first_token.compare_exchange(0, at_ns + 1, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(()),
            Err(NEVER) => Err(ViolationKind::FirstTokenAfterCompletion),
            Err(_) => Err(ViolationKind::FirstTokenTwice),
        }
    }

    /// Records the number of tokens, and returns whether a first token had come. [the thread that completed the sample]
    fn complete(self, token_count: u64) -> bool {
        self.token_count.store(token_count, Ordering::Release);
        self.first_token.compare_exchange(0, NEVER, Ordering::AcqRel, Ordering::Acquire).is_err()
    }

    fn first_token_ns(self) -> Option<u64> {
        match self.first_token.load(Ordering::Acquire) {
            0 | NEVER => None,
            first_token => Some(first_token - 1),
        }
    }
}

/// Whether a sample has to report its first token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstTokens {
    /// Everywhere but in Offline.
    Required,
    /// Offline looks at the number of tokens only.
    Optional,
}

/// The tokens of one phase.
#[derive(Debug)]
pub(crate) struct TokenRecorder {
    first_tokens: FirstTokens,
    slots: Segments<Pair>,
    /// Data of the first tokens of the samples whose response is logged.
    pub(crate) data: ResponseStore,
}

impl TokenRecorder {
    pub(crate) fn new(first_tokens: FirstTokens, data: ResponseStore) -> Self {
        Self { first_tokens, slots: Segments::new(), data }
    }

    /// Makes sure that there is memory for this sample. [issuing thread, before the sample is issued]
    pub(crate) fn reserve(&self, sequence: u64) {
        self.slots.get_or_zero(sequence);
    }

    /// As [`reserve`](Self::reserve), ahead of time. [issuing thread]
    pub(crate) fn make_ready(&self, sequence: u64, stride: u64) {
        self.slots.make_ready(sequence, stride);
    }

    fn slot(&self, sequence: u64) -> Option<TokenSlot<'_>> {
        self.slots.get(sequence).map(TokenSlot::from)
    }

    /// Whether first tokens are measured.
    pub(crate) fn has_first_tokens(&self) -> bool {
        self.first_tokens == FirstTokens::Required
    }

    /// Records the first token of an issued sample, and its data if they are to be logged. [any thread, wait-free]
    pub(crate) fn first_token(
        &self,
        sequence: u64,
        at_ns: u64,
        data: Option<&[u8]>,
    ) -> Result<(), ViolationKind> {
        let slot = self.slot(sequence).ok_or(ViolationKind::NotIssued)?;
        slot.first_token(at_ns)?;
        // The log of Offline has no place for them.
        if let Some(data) = data.filter(|_| self.has_first_tokens()) {
            self.data.keep(sequence, data);
        }
        Ok(())
    }

    /// Records the number of tokens of a sample, and notes what is wrong with it.
    /// [the thread that completed the sample, wait-free]
    pub(crate) fn complete(&self, sequence: u64, token_count: u32, note: impl Fn(ViolationKind)) {
        let Some(slot) = self.slot(sequence) else { return };
        let had_first_token = slot.complete(token_count.into());
        if !had_first_token && self.has_first_tokens() {
            note(ViolationKind::NoFirstToken);
        }
        match token_count {
            0 => note(ViolationKind::NoTokenCount),
            1 => note(ViolationKind::SingleToken),
            _ => {}
        }
    }

    /// The number of tokens of a sample as it was reported, 0 as long as it is not complete.
    pub(crate) fn token_count(&self, sequence: u64) -> u64 {
        self.slot(sequence).map_or(0, |slot| slot.token_count.load(Ordering::Acquire))
    }

    /// The tokens of a sample, or `None` if it is not complete.
    pub(crate) fn sample(&self, sequence: u64, sample: SampleRecord) -> Option<SampleTokens> {
        let first_token_ns = self.slot(sequence).and_then(TokenSlot::first_token_ns);
        Some(SampleTokens {
            latency_ns: sample.completed_latency_ns()?,
            // Before the scheduled instant is only what a guessed id reports.
            first_token_latency_ns: first_token_ns
                .filter(|_| self.has_first_tokens())
                .map(|at_ns| at_ns.saturating_sub(sample.scheduled_ns)),
            // A single token counts as none.
            token_count: Some(self.token_count(sequence)).filter(|count| *count > 1).unwrap_or(0),
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::plan::phases::PhaseMode;

    fn recorder(first_tokens: FirstTokens) -> TokenRecorder {
        let recorder = TokenRecorder::new(first_tokens, ResponseStore::new(PhaseMode::Accuracy, 0));
        (0..2).for_each(|sequence| recorder.reserve(sequence));
        recorder
    }

    fn complete(recorder: &TokenRecorder, sequence: u64, token_count: u32) -> Vec<ViolationKind> {
        let kinds = RefCell::new(Vec::new());
        recorder.complete(sequence, token_count, |kind| kinds.borrow_mut().push(kind));
        kinds.into_inner()
    }

    fn done(scheduled_ns: u64, latency_ns: u64) -> SampleRecord {
        SampleRecord { scheduled_ns, latency_ns }
    }

    #[test]
    fn a_sample_has_one_first_token_before_its_end() {
        let recorder = recorder(FirstTokens::Required);
        assert_eq!(recorder.first_token(0, 15, Some(b"a")), Ok(()));
        assert_eq!(recorder.first_token(0, 16, Some(b"b")), Err(ViolationKind::FirstTokenTwice));
        assert_eq!(complete(&recorder, 0, 7), []);
        let expected = SampleTokens { latency_ns: 50, first_token_latency_ns: Some(5), token_count: 7 };
        assert_eq!(recorder.sample(0, done(10, 50)), Some(expected));
        assert_eq!(recorder.sample(1, done(10, SampleRecord::NOT_COMPLETED)), None);
        assert_eq!(recorder.data.take().len(), 1, "the second first token is not kept");

        assert_eq!(complete(&recorder, 1, 2), [ViolationKind::NoFirstToken]);
        assert_eq!(
            recorder.first_token(1, 70, None),
            Err(ViolationKind::FirstTokenAfterCompletion),
            "even if the sample's own slot looked outstanding a moment ago"
        );
        assert_eq!(recorder.sample(1, done(0, 9)).unwrap().first_token_latency_ns, None);
    }

    #[test]
    fn fewer_than_two_tokens_are_none_in_the_figures() {
        let recorder = recorder(FirstTokens::Required);
        for (sequence, count, kind) in
            [(0, 0, ViolationKind::NoTokenCount), (1, 1, ViolationKind::SingleToken)]
        {
            recorder.first_token(sequence, 1, None).unwrap();
            assert_eq!(complete(&recorder, sequence, count), [kind]);
            assert_eq!(
                recorder.token_count(sequence),
                u64::from(count),
                "the accuracy log has it as it was reported"
            );
            assert_eq!(recorder.sample(sequence, done(0, 9)).unwrap().token_count, 0);
        }
    }

    #[test]
    fn offline_looks_at_the_counts_only() {
        let recorder = recorder(FirstTokens::Optional);
        recorder.first_token(0, 1, Some(b"a")).unwrap();
        assert_eq!(complete(&recorder, 0, 3), []);
        assert_eq!(complete(&recorder, 1, 1), [ViolationKind::SingleToken]);
        let expected = SampleTokens { latency_ns: 4, first_token_latency_ns: None, token_count: 3 };
        assert_eq!(recorder.sample(0, done(0, 4)), Some(expected));
        assert!(recorder.data.take().is_empty());
    }
}

/// Run by `RUSTFLAGS="--cfg loom" cargo test -p proctor-loadgen --release --lib loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::{sync::Arc, thread};

    use super::*;

    /// A first token that meets a completion either counts or came too late: the two agree.
    #[test]
    fn loom_a_first_token_and_a_completion_agree_on_who_came_first() {
        loom::model(|| {
            let pair = Arc::new([0; 2].map(AtomicU64::new));
            let reporter = {
                let pair = Arc::clone(&pair);
                thread::spawn(move || TokenSlot::from(&*pair).first_token(5))
            };
            let slot = TokenSlot::from(&*pair);
            let had_first_token = slot.complete(3);
            let accepted = reporter.join().unwrap().is_ok();
            assert_eq!(accepted, had_first_token);
            assert_eq!(slot.first_token_ns().is_some(), accepted);
        });
    }
}

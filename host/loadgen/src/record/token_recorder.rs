//! Records the tokens of each sample in a token run: when the first one came, and how many there were; and
//! the times between tokens that are reported as they come.
//!
//! # Protocol of a token slot
//! | `first_token` | `token_count` | state |
//! |---|---|---|
//! | 0 | 0 | no token yet |
//! | instant + 1 (bit 63: in a report) | 0 | the first token came |
//! | the same | instant of the last report + 1, tokens so far | reports came |
//! | the same | bit 63, number of tokens | complete |
//! | all ones | bit 63, number of tokens | complete, and no first token came |
//!
//! Bit 62 of `token_count` is set later where the data of a complete sample cannot hold as many tokens.
//!
//! `first_token` leaves 0 by one compare-exchange, so of a first token and a completion that meet, exactly one decides.
//! A report is the first token, or comes after one, and only then changes `token_count`, which the one thread that
//! completed the sample sets last. Instants are nanoseconds from the start of the phase.

use std::sync::atomic::Ordering;

use crate::{
    record::{
        histogram::{Histogram, SharedHistogram},
        responses::ResponseStore,
        segments::{Pair, Segments},
        slots::SampleRecord,
        tokens::{SampleTokens, TokenCapacity},
        violations::ViolationKind,
    },
    time::sync::AtomicU64,
};

const NEVER: u64 = u64::MAX;
/// Bit 63: in `first_token`, that it came in a report; in `token_count`, that the sample is complete.
const FLAG: u64 = 1 << 63;
/// Bit 62 of `token_count` once the sample is complete: its data cannot hold as many tokens.
const TOO_MANY: u64 = 1 << 62;
/// Before the completion the lower bits of `token_count` have the tokens so far, at most all ones: more than a sample
/// has, and only compared.
const COUNT_BITS: u32 = 20;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
/// And the 43 bits above have the instant of the last report: enough for the time to the next one, up to 73 minutes.
const INSTANT_MASK: u64 = (1 << (63 - COUNT_BITS)) - 1;

/// Token slot made of a pair of words: 16 bytes a sample, in token runs only.
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

    /// Records tokens that came together, and returns the time in ns since the one before them if there was one, and
    /// whether the first token is among them. [any thread, wait-free unless several report the same sample]
    fn tokens(self, at_ns: u64, token_count: u32) -> Result<(Option<u64>, bool), ViolationKind> {
        let first = (at_ns + 1) | FLAG;
        let before = self.first_token.compare_exchange(0, first, Ordering::AcqRel, Ordering::Acquire);
        let first_token_ns = match before {
            Err(NEVER) => return Err(ViolationKind::TokensAfterCompletion),
            Err(first_token) if first_token & FLAG == 0 => Some(first_token - 1),
            _ => None,
        };
        let is_first = before.is_ok();
        let mut reported = self.token_count.load(Ordering::Acquire);
        loop {
            if reported & FLAG != 0 {
                return Err(ViolationKind::TokensAfterCompletion);
            }
            let count = ((reported & COUNT_MASK) + u64::from(token_count)).min(COUNT_MASK);
            let instant = (at_ns + 1) & INSTANT_MASK;
            let next = instant << COUNT_BITS | count;
            match self.token_count.compare_exchange(reported, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(0) => {
                    return Ok((first_token_ns.map(|first_ns| at_ns.saturating_sub(first_ns)), is_first));
                }
                // Reported together, in one call.
                Ok(reported) if reported >> COUNT_BITS == instant => return Ok((None, is_first)),
                Ok(reported) => return Ok((Some(time_since(reported >> COUNT_BITS, at_ns + 1)), is_first)),
                Err(other) => reported = other,
            }
        }
    }

    /// Records the number of tokens, and returns the earlier reports. [the thread that completed the sample]
    fn complete(self, token_count: u64) -> Reported {
        let complete = FLAG | token_count;
        let mut first_token = self.first_token.load(Ordering::Acquire);
        if first_token == 0 {
            match self.first_token.compare_exchange(0, NEVER, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    self.token_count.store(complete, Ordering::Release);
                    return Reported::Nothing;
                }
                Err(other) => first_token = other,
            }
        }
        match self.token_count.swap(complete, Ordering::AcqRel) {
            0 => Reported::FirstToken,
            reported => {
                let by_itself = u64::from(first_token & FLAG == 0);
                let count = ((reported & COUNT_MASK) + by_itself).min(COUNT_MASK);
                Reported::Tokens { are_as_many: count == token_count.min(COUNT_MASK) }
            }
        }
    }

    fn first_token_ns(self) -> Option<u64> {
        match self.first_token.load(Ordering::Acquire) {
            0 | NEVER => None,
            first_token => Some((first_token & !FLAG) - 1),
        }
    }

    /// Notes that the data cannot hold as many tokens. [the thread that completed the sample, after that]
    fn mark_too_many(self) {
        self.token_count.fetch_or(TOO_MANY, Ordering::AcqRel);
    }

    fn has_too_many(self) -> bool {
        let both = FLAG | TOO_MANY;
        self.token_count.load(Ordering::Acquire) & both == both
    }

    /// Returns the number of tokens of a sample that is complete, else 0.
    fn token_count(self) -> u64 {
        let token_count = self.token_count.load(Ordering::Acquire);
        if token_count & FLAG != 0 { token_count & !(FLAG | TOO_MANY) } else { 0 }
    }
}

/// Tokens of a sample before its completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reported {
    Nothing,
    FirstToken,
    /// Whether tokens come one by one or several at a time; they must be as many as it was completed with.
    Tokens {
        are_as_many: bool,
    },
}

/// Returns the time in ns between two instants; of the earlier one only the lower bits are known.
fn time_since(earlier: u64, later: u64) -> u64 {
    let time_ns = later.wrapping_sub(earlier) & INSTANT_MASK;
    // Two threads may report two instants in the wrong order by a hair.
    if time_ns > INSTANT_MASK / 2 { 0 } else { time_ns }
}

/// True if a sample has to report its first token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstTokens {
    /// Required everywhere except in Offline.
    Required,
    /// Offline uses the number of tokens only.
    Optional,
}

/// The tokens of one phase.
#[derive(Debug)]
pub(crate) struct TokenRecorder {
    first_tokens: FirstTokens,
    capacity: Option<TokenCapacity>,
    slots: Segments<Pair>,
    /// Times between tokens that are reported as they come.
    between: SharedHistogram,
    /// Data of the first tokens of the samples whose response is logged.
    pub(crate) data: ResponseStore,
}

impl TokenRecorder {
    pub(crate) fn new(
        first_tokens: FirstTokens,
        capacity: Option<TokenCapacity>,
        data: ResponseStore,
    ) -> Self {
        Self { first_tokens, capacity, slots: Segments::new(), between: SharedHistogram::default(), data }
    }

    /// Makes sure that there is memory for this sample. [issuing thread, before the sample is issued]
    pub(crate) fn reserve(&self, sequence: u64) {
        self.slots.get_or_zero(sequence);
    }

    /// Does the same as [`reserve`](Self::reserve), ahead of time. [issuing thread]
    pub(crate) fn make_ready(&self, sequence: u64, stride: u64) {
        self.slots.make_ready(sequence, stride);
    }

    fn slot(&self, sequence: u64) -> Option<TokenSlot<'_>> {
        self.slots.get(sequence).map(TokenSlot::from)
    }

    /// Returns whether first tokens are measured.
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

    /// Records tokens of an issued sample that came together, and returns whether the first one is among them. [any
    /// thread, wait-free]
    pub(crate) fn tokens(&self, sequence: u64, at_ns: u64, token_count: u32) -> Result<bool, ViolationKind> {
        let slot = self.slot(sequence).ok_or(ViolationKind::TokensOfNoSample)?;
        let (since_last_ns, is_first) = slot.tokens(at_ns, token_count)?;
        if let Some(time_ns) = since_last_ns {
            self.between.add(time_ns);
        }
        Ok(is_first)
    }

    /// Returns the violation if tokens of an issued sample came before the system got it. [any thread, wait-free]
    pub(crate) fn too_early(&self, sequence: u64) -> Option<ViolationKind> {
        match self.slot(sequence)?.first_token.load(Ordering::Acquire) {
            // What completes a sample before it is handed over is one completion too many afterwards.
            0 | NEVER => None,
            first_token if first_token & FLAG == 0 => Some(ViolationKind::FirstTokenOfNoSample),
            _ => Some(ViolationKind::TokensOfNoSample),
        }
    }

    /// Returns the times between tokens so far.
    pub(crate) fn between(&self) -> Histogram {
        self.between.read()
    }

    /// Records the number of tokens of a sample with this much data, and records any error in it.
    /// [the thread that completed the sample, wait-free]
    #[inline(never)] // The path of runs without tokens stays short.
    pub(crate) fn complete(
        &self,
        sequence: u64,
        token_count: u32,
        data_bytes: usize,
        note: impl Fn(ViolationKind),
    ) {
        let Some(slot) = self.slot(sequence) else { return };
        match slot.complete(token_count.into()) {
            Reported::Nothing if self.has_first_tokens() => note(ViolationKind::NoFirstToken),
            Reported::Tokens { are_as_many: false } => note(ViolationKind::TokenCountDiffers),
            _ => {}
        }
        match token_count {
            0 => note(ViolationKind::NoTokenCount),
            1 => note(ViolationKind::SingleToken),
            _ if self.capacity.is_some_and(|capacity| u64::from(token_count) > capacity.of(data_bytes)) => {
                slot.mark_too_many();
                note(ViolationKind::TooManyTokens);
            }
            _ => {}
        }
    }

    /// Returns whether a sample was completed with more tokens than its data can hold.
    pub(crate) fn has_too_many(&self, sequence: u64) -> bool {
        self.slot(sequence).is_some_and(TokenSlot::has_too_many)
    }

    /// Returns the number of tokens of a sample as it was reported, 0 as long as it is not complete.
    pub(crate) fn token_count(&self, sequence: u64) -> u64 {
        self.slot(sequence).map_or(0, TokenSlot::token_count)
    }

    /// Returns the tokens of a sample, or `None` if it is not complete.
    pub(crate) fn sample(&self, sequence: u64, sample: SampleRecord) -> Option<SampleTokens> {
        let first_token_ns = self.slot(sequence).and_then(TokenSlot::first_token_ns);
        Some(SampleTokens {
            latency_ns: sample.completed_latency_ns()?,
            // Before the scheduled instant only a guessed id reports.
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
        let recorder = TokenRecorder::new(
            first_tokens,
            Some(TokenCapacity { before_bytes: 0, element_bits: 32 }),
            ResponseStore::new(PhaseMode::Accuracy, 0).expect("it is empty"),
        );
        (0..2).for_each(|sequence| recorder.reserve(sequence));
        recorder
    }

    /// Completes a sample with data that have room for any number of tokens.
    fn complete(recorder: &TokenRecorder, sequence: u64, token_count: u32) -> Vec<ViolationKind> {
        complete_with(recorder, sequence, token_count, usize::MAX)
    }

    fn complete_with(
        recorder: &TokenRecorder,
        sequence: u64,
        token_count: u32,
        data_bytes: usize,
    ) -> Vec<ViolationKind> {
        let kinds = RefCell::new(Vec::new());
        recorder.complete(sequence, token_count, data_bytes, |kind| kinds.borrow_mut().push(kind));
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
    fn reported_tokens_are_counted_and_the_times_between_them_are_kept() {
        let recorder = recorder(FirstTokens::Required);
        // The first report is the first token.
        assert_eq!(recorder.tokens(0, 15, 1), Ok(true));
        assert_eq!(recorder.first_token(0, 16, None), Err(ViolationKind::FirstTokenTwice));
        assert_eq!((recorder.tokens(0, 25, 3), recorder.tokens(0, 45, 1)), (Ok(false), Ok(false)));
        assert_eq!(recorder.token_count(0), 0, "it is not complete");
        assert_eq!(complete(&recorder, 0, 5), []);
        assert_eq!(recorder.tokens(0, 60, 1), Err(ViolationKind::TokensAfterCompletion));
        let expected = SampleTokens { latency_ns: 50, first_token_latency_ns: Some(5), token_count: 5 };
        assert_eq!(recorder.sample(0, done(10, 50)), Some(expected));
        // Together with the ones before, in the same call: no time lies between them.
        assert_eq!(recorder.tokens(2, 10, 1), Ok(true));
        assert_eq!(recorder.tokens(2, 10, 1), Ok(false));
        assert_eq!(complete(&recorder, 2, 2), []);
        // After a first token by itself, which counts.
        recorder.first_token(1, 10, None).unwrap();
        assert_eq!(recorder.tokens(1, 40, 2), Ok(false));
        assert_eq!(complete(&recorder, 1, 3), []);
        let between = recorder.between();
        assert_eq!((between.count(), between.mean_ns(), between.max_ns()), (3, 20, 30));
        assert_eq!(recorder.tokens(1 << 40, 1, 1), Err(ViolationKind::TokensOfNoSample));
    }

    #[test]
    fn tokens_before_the_system_was_given_their_sample_are_too_early() {
        let recorder = recorder(FirstTokens::Required);
        (2..4).for_each(|sequence| recorder.reserve(sequence));
        recorder.first_token(0, 15, None).unwrap();
        recorder.tokens(1, 15, 2).unwrap();
        complete(&recorder, 2, 2);
        let expected =
            [Some(ViolationKind::FirstTokenOfNoSample), Some(ViolationKind::TokensOfNoSample), None, None];
        assert_eq!([0, 1, 2, 3].map(|sequence| recorder.too_early(sequence)), expected);
        assert_eq!(recorder.too_early(1 << 40), None, "it was not issued");
    }

    #[test]
    fn a_number_of_tokens_that_differs_from_the_reports_is_noted() {
        for (first_token, reported, completed, kinds) in [
            (false, 5, 5, &[][..]),
            (false, 5, 6, &[ViolationKind::TokenCountDiffers][..]),
            (false, 5, 4, &[ViolationKind::TokenCountDiffers]),
            (true, 5, 5, &[ViolationKind::TokenCountDiffers]),
            (true, 5, 6, &[]),
            (true, 0, 9, &[]),
            (false, u32::MAX, u32::MAX, &[]),
            (true, u32::MAX, u32::MAX, &[]),
            (false, 2, (1 << 20) + 2, &[ViolationKind::TokenCountDiffers]),
        ] {
            let recorder = recorder(FirstTokens::Optional);
            if first_token {
                recorder.first_token(0, 1, None).unwrap();
            }
            if reported > 0 {
                recorder.tokens(0, 2, reported).unwrap();
            }
            assert_eq!(complete(&recorder, 0, completed), kinds, "{first_token} {reported} {completed}");
            assert_eq!(recorder.token_count(0), u64::from(completed));
        }
    }

    #[test]
    fn a_time_between_tokens_may_pass_the_end_of_the_bits() {
        let end = INSTANT_MASK + 1;
        assert_eq!((time_since(end - 3, end + 4), time_since(5, 9 + 2 * end), time_since(9, 5)), (7, 4, 0));
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
    fn more_tokens_than_the_data_can_hold_are_noted_and_marked() {
        let recorder = recorder(FirstTokens::Required);
        for (sequence, token_count, expected) in
            [(0, 32, vec![]), (1, 33, vec![ViolationKind::TooManyTokens])]
        {
            recorder.first_token(sequence, 1, None).unwrap();
            assert_eq!(complete_with(&recorder, sequence, token_count, 128), expected);
            assert_eq!(recorder.has_too_many(sequence), !expected.is_empty());
            assert_eq!(
                recorder.token_count(sequence),
                u64::from(token_count),
                "LoadGen's logs have it as it came"
            );
        }
        // The instant of a report has the same bit before the completion.
        assert_eq!(recorder.tokens(2, INSTANT_MASK - 1, 2), Ok(true));
        assert!(!recorder.has_too_many(2));
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
            let reported = slot.complete(3);
            let accepted = reporter.join().unwrap().is_ok();
            assert_eq!(accepted, reported == Reported::FirstToken);
            assert_eq!(slot.first_token_ns().is_some(), accepted);
        });
    }

    /// Completes a sample in the given way while a thread reports a token of it, and another one after that. Each
    /// report either counts or came too late.
    fn reports_beside_a_completion(complete: fn(TokenSlot<'_>, u64) -> Reported) {
        loom::model(move || {
            let pair = Arc::new([0; 2].map(AtomicU64::new));
            let reporter = {
                let pair = Arc::clone(&pair);
                thread::spawn(move || {
                    let slot = TokenSlot::from(&*pair);
                    [5, 6].map(|at_ns| slot.tokens(at_ns, 1).is_ok())
                })
            };
            let slot = TokenSlot::from(&*pair);
            let reported = complete(slot, 2);
            let accepted = reporter.join().unwrap().into_iter().filter(|is_accepted| *is_accepted).count();
            let is_right = match reported {
                Reported::Nothing | Reported::FirstToken => accepted == 0,
                Reported::Tokens { are_as_many } => are_as_many == (accepted == 2),
            };
            assert!(is_right, "{reported:?} after {accepted} reports");
            assert_eq!(slot.token_count(), 2);
        });
    }

    #[test]
    fn loom_reports_and_a_completion_agree_on_how_many_came_before_it() {
        reports_beside_a_completion(|slot, token_count| slot.complete(token_count));
    }

    /// The twin that looks and then stores. It must fail, or the model above proves nothing.
    #[test]
    #[should_panic(expected = "reports")]
    fn loom_finds_a_report_lost_between_a_look_and_a_store() {
        reports_beside_a_completion(|slot, token_count| {
            let reported = slot.token_count.load(Ordering::Acquire);
            slot.token_count.store(FLAG | token_count, Ordering::Release);
            match reported {
                0 => Reported::Nothing,
                reported => Reported::Tokens { are_as_many: reported & COUNT_MASK == token_count },
            }
        });
    }
}

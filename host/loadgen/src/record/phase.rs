//! One phase while it runs: a slot for each issued sample, which any thread completes, and the kept responses.

use std::{
    collections::TryReserveError,
    fmt,
    ops::Range,
    sync::atomic::{
        AtomicU64,
        Ordering::{Relaxed, Release},
    },
};

use crate::{
    plan::phases::PhaseMode,
    record::{
        engine_samples::EngineSamples,
        responses::ResponseStore,
        segments::{Pair, Segments},
        share::{IssuedCounts, Share},
        slots::{Counted, SampleRecord, Slot},
        token_recorder::{FirstTokens, TokenRecorder},
        tokens::{PhaseTokens, TokenCapacity},
    },
    time::sync,
};

/// Placeholder for the start of a phase.
const NOT_STARTED: u64 = u64::MAX;

/// The properties of a phase that are known before it starts.
#[derive(Debug)]
pub(crate) struct PhaseStart {
    pub mode: PhaseMode,
    /// The number of its first sample in the logs.
    pub first_sample_id: u64,
    /// Number of threads that issue its queries.
    pub issuer_count: u64,
    /// Size of the memory for the responses that a performance phase keeps.
    pub arena_bytes: u64,
    /// The kind of token run; `None` in a run without tokens.
    pub first_tokens: Option<FirstTokens>,
    /// The tokens that the data of a response have room for, where that is known.
    pub token_capacity: Option<TokenCapacity>,
    /// True if an engine issues the samples.
    pub is_driven: bool,
}

/// Everything recorded of one phase.
pub(crate) struct Phase {
    /// Counted from 1 within the test.
    pub number: u64,
    /// Number in its response ids, counted from 1 over all tests of the same system.
    pub generation: u64,
    pub mode: PhaseMode,
    pub first_sample_id: u64,
    pub responses: ResponseStore,
    /// The record of the tokens of each sample; `None` in a run without tokens.
    pub tokens: Option<TokenRecorder>,
    /// The samples as the engine knows them, if one issues them.
    pub engine_samples: Option<EngineSamples>,
    /// Slots at the positions of [`Share::position`].
    slots: Segments<Pair>,
    issuer_count: u64,
    /// Written with each sample, while completions read the rest.
    issued: IssuedCounts,
    /// The count of the test's [`Wake`] when the phase began.
    first_signal: u64,
    /// Start on the test's clock.
    start_ns: AtomicU64,
    end_ns: AtomicU64,
}

impl Phase {
    /// Creates a phase that has issued nothing.
    ///
    /// # Errors
    /// If there is no memory for the responses that it keeps.
    pub(crate) fn new(
        start: &PhaseStart,
        number: u64,
        generation: u64,
        first_signal: u64,
    ) -> Result<Self, TryReserveError> {
        let tokens = start.first_tokens.map(|first_tokens| {
            let arena_bytes = match first_tokens {
                FirstTokens::Required => start.arena_bytes,
                FirstTokens::Optional => 0,
            };
            let data = ResponseStore::new(start.mode, arena_bytes);
            data.map(|data| TokenRecorder::new(first_tokens, start.token_capacity, data))
        });
        Ok(Self {
            number,
            generation,
            mode: start.mode,
            first_sample_id: start.first_sample_id,
            responses: ResponseStore::new(start.mode, start.arena_bytes)?,
            tokens: tokens.transpose()?,
            engine_samples: start
                .is_driven
                .then(|| EngineSamples::new(start.first_tokens == Some(FirstTokens::Required))),
            slots: Segments::new(),
            issuer_count: start.issuer_count,
            issued: IssuedCounts::new(start.issuer_count),
            first_signal,
            start_ns: AtomicU64::new(NOT_STARTED),
            end_ns: AtomicU64::new(u64::MAX),
        })
    }

    /// Sets the zero of the phase's times. [issuing thread, before the first issue]
    pub(crate) fn start(&self, now_ns: u64) {
        self.start_ns.store(now_ns, Relaxed);
    }

    /// Returns the zero of the phase's times, on the test's clock.
    pub(crate) fn start_ns(&self) -> u64 {
        self.start_ns.load(Relaxed)
    }

    /// Sets the instant at which elapsed time stops. [issuing thread]
    pub(crate) fn end(&self, now_ns: u64) {
        self.end_ns.store(now_ns, Relaxed);
    }

    /// Returns a handle to issue this share's samples, from the first that is not issued. [one thread for each share]
    pub(crate) fn issuer(&self, share: Share) -> Issuer<'_> {
        let written_count = self.issued.of(share);
        Issuer { phase: self, share, written_count, issued_count: written_count.load(Relaxed) }
    }

    /// Makes the next sample of a phase with one issuer outstanding, and returns its sequence number.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn issue(&self, scheduled_ns: u64, logged: bool) -> u64 {
        self.issuer(Share::WHOLE).issue(scheduled_ns, logged)
    }

    /// Returns the samples issued so far. [any thread]
    pub(crate) fn issued_count(&self) -> u64 {
        self.issued.total()
    }

    /// Returns the sequence number after the last sample issued so far. [any thread]
    pub(crate) fn issued_end(&self) -> u64 {
        self.issued.end()
    }

    /// Returns the count of the test's [`Wake`] at which the phase's first `sample_count` completions have come.
    pub(crate) fn signals_after(&self, sample_count: u64) -> u64 {
        self.first_signal + sample_count
    }

    /// Returns the time from the start until `now_ns`, or until the end if that was earlier; `None` before the start.
    #[inline]
    pub(crate) fn elapsed_ns(&self, now_ns: u64) -> Option<u64> {
        self.begun_ns().map(|start_ns| now_ns.min(self.end_ns.load(Relaxed)).saturating_sub(start_ns))
    }

    /// Returns the instant of the start on the test's clock; `None` before it.
    #[inline]
    pub(crate) fn begun_ns(&self) -> Option<u64> {
        let start_ns = self.start_ns.load(Relaxed);
        (start_ns != NOT_STARTED).then_some(start_ns)
    }

    /// Returns the sample's slot, if its segment exists. [any thread, wait-free]
    pub(crate) fn slot(&self, sequence: u64) -> Option<Slot<'_>> {
        self.slots.get(self.position(sequence)).map(Slot::from)
    }

    /// Returns the position of the sample's slot, which is its sequence number if one thread issues.
    #[inline]
    pub(crate) fn position(&self, sequence: u64) -> u64 {
        Share::position(self.issuer_count, sequence)
    }

    /// Returns the slots around this position, and their range, if they exist. [any thread, wait-free]
    #[inline]
    pub(crate) fn slots_around(&self, position: u64) -> Option<(Range<u64>, &[Pair])> {
        self.slots.segment(position)
    }

    /// Returns the sample with this sequence number, if it is issued. [any thread]
    pub(crate) fn sample(&self, sequence: u64) -> Option<SampleRecord> {
        self.slot(sequence)?.read()
    }

    /// Returns the samples issued so far with their sequence numbers, in that order. [any thread]
    pub(crate) fn numbered(&self, from: u64) -> impl DoubleEndedIterator<Item = (u64, SampleRecord)> {
        (from..self.issued_end()).filter_map(|sequence| Some((sequence, self.sample(sequence)?)))
    }

    /// Returns the samples issued so far, in the order of their sequence numbers. [any thread]
    pub(crate) fn samples(&self, from: u64) -> impl DoubleEndedIterator<Item = SampleRecord> {
        self.numbered(from).map(|(_, sample)| sample)
    }

    /// Returns one record for each sequence number up to the last sample issued so far, whether that one is issued or
    /// not. [any thread]
    pub(crate) fn records(&self, from: u64) -> impl DoubleEndedIterator<Item = SampleRecord> {
        (from..self.issued_end()).map(|sequence| self.sample(sequence).unwrap_or(SampleRecord::NOT_ISSUED))
    }

    /// Calls `take` with each sample issued so far, in issue order; faster than [`samples`](Self::samples) over many.
    /// [any thread]
    pub(crate) fn for_each_sample(&self, mut take: impl FnMut(SampleRecord)) {
        if self.issuer_count > 1 {
            return self.samples(0).for_each(take);
        }
        let (mut next, end) = (0, self.issued_end());
        while next < end {
            let Some((range, pairs)) = self.slots_around(next) else {
                next += 1;
                continue;
            };
            let count =
                usize::try_from(end.min(range.end) - next).expect("an existing segment fits into memory");
            pairs[..count].iter().filter_map(|pair| Slot::from(pair).read()).for_each(&mut take);
            next = range.end;
        }
    }

    /// Returns the totals of the samples that are complete.
    pub(crate) fn completions(&self) -> Completions {
        let mut completions = Completions::default();
        self.for_each_sample(|sample| {
            if let Some(latency_ns) = sample.completed_latency_ns() {
                completions.count += 1;
                completions.max_latency_ns = latency_ns.max(completions.max_latency_ns);
                completions.last_ns = (sample.scheduled_ns + latency_ns).max(completions.last_ns);
            }
        });
        completions
    }

    /// Returns measurements of tokens so far, in a token run. Leaves out answered samples that lack tokens,
    /// and samples that were completed with more tokens than their data can hold. The times between tokens
    /// are recorded without their samples, so they are left out if only some samples count.
    pub(crate) fn tokens(&self, counted: Counted) -> Option<PhaseTokens> {
        let tokens = self.tokens.as_ref()?;
        let counts = |(_, sample): &(u64, SampleRecord)| counted.latency_ns(*sample).is_some();
        let samples = self.numbered(0).filter(counts);
        let of_sample = |(sequence, sample): (u64, SampleRecord)| tokens.sample(sequence, sample);
        Some(match counted {
            Counted::Completed => {
                PhaseTokens { between: tokens.between(), ..samples.filter_map(of_sample).collect() }
            }
            Counted::Answered => {
                let mut too_many_tokens_count = 0;
                let samples = samples.filter(|(sequence, _)| {
                    let has_too_many = tokens.has_too_many(*sequence);
                    too_many_tokens_count += u64::from(has_too_many);
                    !has_too_many
                });
                let samples = samples.filter_map(of_sample);
                let mut gathered = PhaseTokens::without_tokenless(samples, tokens.has_first_tokens());
                gathered.left_out.too_many_tokens_count = too_many_tokens_count;
                gathered
            }
        })
    }

    /// Returns the responses, and data of first tokens, that were to be logged and did not fit.
    pub(crate) fn lost_response_count(&self) -> u64 {
        let tokens = self.tokens.as_ref().map_or(0, |tokens| tokens.data.overflow_count());
        self.responses.overflow_count() + tokens
    }

    /// Moves the start back in time, once it is known better: all samples were completed later after it. Instants of
    /// tokens stay, which are coarse beside the difference. [issuing thread, when the phase is over]
    pub(crate) fn begin_earlier(&self, by_ns: u64) {
        self.start_ns.fetch_sub(by_ns, Relaxed);
        (0..self.issued_end())
            .filter_map(|sequence| self.slot(sequence))
            .for_each(|slot| slot.complete_later(by_ns));
    }

    /// Closes all samples that are still outstanding, and returns their sequence numbers.
    pub(crate) fn give_up(&self) -> Vec<u64> {
        let is_missing = |sequence: &u64| self.slot(*sequence).is_some_and(Slot::give_up);
        self.numbered(0).map(|(sequence, _)| sequence).filter(is_missing).collect()
    }
}

impl fmt::Debug for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Phase")
            .field("number", &self.number)
            .field("mode", &self.mode)
            .field("issued_count", &self.issued_count())
            .finish_non_exhaustive()
    }
}

/// Totals of the completed samples of a phase.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Completions {
    pub count: u64,
    /// The largest latency.
    pub max_latency_ns: u64,
    /// Instant at which the last of them was complete, in ns from the start of the phase.
    pub last_ns: u64,
}

/// One issuer's hand on a phase.
#[derive(Debug)]
pub(crate) struct Issuer<'a> {
    phase: &'a Phase,
    share: Share,
    /// Count from which others read how many it has issued.
    written_count: &'a sync::AtomicU64,
    issued_count: u64,
}

impl Issuer<'_> {
    /// Allocates the memory for one of its samples, so that its issue does not have to. [its thread, before the issue]
    #[inline]
    pub(crate) fn make_ready(&self, sequence: u64) {
        self.phase.slots.make_ready(self.phase.position(sequence), 1);
        if let Some(tokens) = &self.phase.tokens {
            tokens.make_ready(sequence, self.share.issuer_count);
        }
    }

    /// Makes its next sample outstanding, and returns the sequence number. [its thread]
    #[inline]
    pub(crate) fn issue(&mut self, scheduled_ns: u64, logged: bool) -> u64 {
        let sequence = self.share.index + self.issued_count * self.share.issuer_count;
        if let Some(tokens) = &self.phase.tokens {
            tokens.reserve(sequence);
        }
        // The sample's slot comes last: a thread that finds the sample issued finds its place for tokens, too.
        let position = self.share.position_of(self.issued_count);
        Slot::from(self.phase.slots.get_or_zero(position)).issue(scheduled_ns, logged);
        self.issued_count += 1;
        self.written_count.store(self.issued_count, Release);
        sequence
    }
}

/// Returns the instant at which the last of these samples completed, in ns from the start of the phase.
pub(crate) fn done_ns(samples: impl Iterator<Item = SampleRecord>) -> u64 {
    let done = samples.filter_map(|sample| Some(sample.scheduled_ns + sample.completed_latency_ns()?));
    done.max().unwrap_or(0)
}

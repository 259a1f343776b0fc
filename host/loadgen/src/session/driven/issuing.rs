//! The issue of a phase by an engine: each sample gets its slot, and is held against the order that the settings give.

use std::sync::Arc;

use proctor_loadgen_settings::EffectiveSettings;
use proctor_vocabulary::{QueryPart, QuerySample, SampleIndex, Scenario};

use crate::{
    issue::{
        end::IssueEnd,
        issued_query::IssuedQuery,
        issuer_record::{IssuerRecord, thread_id},
        threads::PhaseIssue,
        wrong_samples::WrongSamples,
    },
    plan::{
        accuracy_sampling::AccuracySampler,
        phases::PhaseMode,
        query_generator::{GeneratedQuery, QueryGenerator},
    },
    record::{histogram::Histogram, phase::Phase, response_id::response_id, share::Share},
    session::run::Begun,
    system::SystemUnderTest,
};

/// Maximum number of samples that the system gets at a time: a megabyte.
const PART_SAMPLE_COUNT: usize = 1 << 16;
const NS_PER_MS: u64 = 1_000_000;

/// Samples of a phase that an engine has issued.
pub(super) struct Issuing {
    scenario: Scenario,
    has_schedule: bool,
    phase: Arc<Phase>,
    /// The order that the settings give.
    queries: QueryGenerator,
    sampler: AccuracySampler,
    /// The next query, drawn already.
    next: Option<GeneratedQuery>,
    /// Number of samples of the present query that are still to come.
    rest: u64,
    /// Instant from which the present query's latency counts, in ns from the start.
    scheduled_ns: u64,
    /// True if there are no more queries in that order.
    is_exhausted: bool,
    samples: Vec<QuerySample>,
    next_sequence: u64,
    drawn_sample_count: u64,
    query_count: u64,
    delay: Histogram,
    last: Option<IssuedQuery>,
    /// Time by which a query was issued before its instant at the most: the engine's start was so much earlier.
    early_ns: u64,
    thread_id: u64,
    wrong: WrongSamples,
}

impl Issuing {
    /// Prepares the issue of a phase. `is_other_set` says that the engine has loaded another set than the settings
    /// give.
    pub(super) fn new(
        settings: &EffectiveSettings,
        begun: &Begun,
        sampler: AccuracySampler,
        is_other_set: bool,
    ) -> Self {
        let mut issuing = Self {
            scenario: settings.request.scenario,
            has_schedule: settings.has_schedule(),
            phase: Arc::clone(&begun.phase),
            queries: begun.queries.clone(),
            sampler,
            next: None,
            rest: 0,
            scheduled_ns: 0,
            is_exhausted: false,
            samples: Vec::new(),
            next_sequence: 0,
            drawn_sample_count: 0,
            query_count: 0,
            delay: Histogram::default(),
            last: None,
            early_ns: 0,
            thread_id: 0,
            wrong: WrongSamples { is_other_set, ..WrongSamples::default() },
        };
        issuing.draw_ahead();
        issuing
    }

    /// Issues a query, or several overdue ones that are merged. [the engine's thread]
    #[inline]
    pub(super) fn issue(&mut self, now_ns: u64, ids: &[u64], indices: &[u64], sut: &dyn SystemUnderTest) {
        if self.next_sequence == 0 {
            // The first query of each scenario is due at the start.
            self.phase.start(now_ns);
            self.thread_id = thread_id();
        }
        let issued_ns = now_ns.saturating_sub(self.phase.start_ns());
        let total = ids.len() as u64;
        let mut offset = 0;
        for (ids, indices) in ids.chunks(PART_SAMPLE_COUNT).zip(indices.chunks(PART_SAMPLE_COUNT)) {
            self.samples.clear();
            for (id, index) in ids.iter().zip(indices) {
                self.take(issued_ns, *id, SampleIndex(*index));
            }
            sut.issue_part(QueryPart { samples: &self.samples, issuer: 0, offset, total });
            offset += self.samples.len() as u64;
        }
        self.draw_ahead();
    }

    /// Makes the next sample outstanding.
    #[inline]
    fn take(&mut self, issued_ns: u64, id: u64, index: SampleIndex) {
        if self.rest == 0 {
            self.begin_query(issued_ns);
        }
        self.rest = self.rest.saturating_sub(1);
        let sequence = self.next_sequence;
        let expected = if self.is_exhausted { None } else { self.queries.samples().next() };
        if expected != Some(index) {
            self.wrong.note(self.phase.first_sample_id + sequence, index, expected);
        }
        let logged = match expected {
            Some(_) => {
                self.drawn_sample_count += 1;
                self.sampler.select(self.phase.mode)
            }
            None => self.phase.mode == PhaseMode::Accuracy,
        };
        if let Some(samples) = &self.phase.engine_samples {
            samples.put(sequence, id, index);
        }
        self.phase.issuer(Share::WHOLE).issue(self.scheduled_ns, logged);
        self.samples.push(QuerySample { id: response_id(self.phase.generation, sequence), index });
        self.next_sequence += 1;
    }

    /// Goes on to the next query.
    #[inline]
    fn begin_query(&mut self, issued_ns: u64) {
        let query = self.next.take().or_else(|| self.queries.next_query());
        self.is_exhausted = query.is_none();
        let sample_count = query.map_or(1, |query| query.sample_count);
        self.scheduled_ns = match (self.scenario, query) {
            (Scenario::Server, Some(query)) => query.offset_ns,
            (Scenario::Offline, _) => 0,
            _ => issued_ns,
        };
        self.early_ns = self.early_ns.max(self.scheduled_ns.saturating_sub(issued_ns));
        if self.has_schedule {
            self.delay.add(issued_ns.saturating_sub(self.scheduled_ns));
        }
        self.rest = sample_count;
        self.query_count += 1;
        let (first_sequence, scheduled_ns) = (self.next_sequence, self.scheduled_ns);
        self.last = Some(IssuedQuery { first_sequence, sample_count, scheduled_ns, issued_ns });
    }

    /// Draws the next query and gets memory for it, so that this does not delay its issue.
    #[inline]
    fn draw_ahead(&mut self) {
        if self.rest > 0 || self.next.is_some() || self.scenario == Scenario::Offline && self.query_count > 0
        {
            return;
        }
        self.next = self.queries.next_query();
        let count = self.next.map_or(0, |query| query.sample_count);
        if self.scenario == Scenario::Offline {
            return;
        }
        let issuer = self.phase.issuer(Share::WHOLE);
        for sequence in self.next_sequence..self.next_sequence + count {
            issuer.make_ready(sequence);
            if let Some(samples) = &self.phase.engine_samples {
                samples.make_ready(sequence);
            }
        }
    }

    /// Notes that the engine issues no more. [the engine's thread]
    pub(super) fn end(&mut self) {
        self.is_exhausted = self.next.is_none() && self.rest == 0 && self.queries.next_query().is_none();
    }

    /// Returns the account of the phase, which is over. `end` is how issuing ended, if not by the engine.
    pub(super) fn into_issue(mut self, settings: &EffectiveSettings, end: Option<IssueEnd>) -> PhaseIssue {
        let end = end.unwrap_or_else(|| self.end_by_engine(settings));
        if self.early_ns > 0 && self.phase.tokens.is_none() {
            self.phase.begin_earlier(self.early_ns);
            if let Some(last) = &mut self.last {
                last.issued_ns += self.early_ns;
            }
        }
        let issuer = IssuerRecord {
            thread_id: self.thread_id,
            query_count: self.query_count,
            end,
            last_issued_ns: self.last.map_or(0, |last| last.issued_ns),
        };
        PhaseIssue {
            end,
            query_count: self.query_count,
            delay: (&self.delay).into(),
            last: self.last,
            spans: Vec::new(),
            drawn_sample_count: self.drawn_sample_count,
            sampler: self.sampler,
            queries: self.queries,
            issuers: vec![issuer],
            wrong_samples: Some(self.wrong).filter(WrongSamples::has_any),
        }
    }

    /// Returns why the engine stopped issuing, by the rules that it follows.
    fn end_by_engine(&self, settings: &EffectiveSettings) -> IssueEnd {
        let duration_ns = self.last.map_or(0, |last| last.issued_ns);
        let (request, issued_count) = (&settings.request, self.query_count);
        let is_server = self.scenario == Scenario::Server;
        let is_long_enough = duration_ns >= settings.target_duration_ms * NS_PER_MS;
        if self.phase.mode == PhaseMode::Accuracy || is_server && self.is_exhausted {
            IssueEnd::AllIssued
        } else if !is_server && is_long_enough && issued_count >= settings.min_query_count {
            IssueEnd::Naturally
        } else if request.max_query_count != 0 && issued_count >= request.max_query_count {
            IssueEnd::MaxQueryCount { issued_count }
        } else if request.max_duration_ms != 0 && duration_ns > request.max_duration_ms * NS_PER_MS {
            IssueEnd::MaxDuration { duration_ns }
        } else if is_server {
            IssueEnd::TooManyOutstanding { issued_count, outstanding_count: settings.max_async_queries }
        } else if self.is_exhausted {
            IssueEnd::RanOut
        } else {
            // The engine's own clock decided, by a hair.
            IssueEnd::Naturally
        }
    }
}

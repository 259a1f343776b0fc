//! The issue loop: when each query of a phase leaves, and when the loop ends.
//!
//! | scenario | before a query is issued | its latency counts from |
//! |---|---|---|
//! | SingleStream, MultiStream | all samples of the last query are complete | the issue |
//! | MultiStream, older rules | the next interval starts at which they are complete | the start of the interval |
//! | Server | its scheduled instant has come | the scheduled instant, however late the issue |
//! | Offline | nothing | the start |
//!
//! Source: LoadGen 6.0.17, `issue_query_controller.cc`.

use proctor_vocabulary::{QuerySample, Scenario};

use crate::{
    EffectiveSettings, SystemUnderTest,
    accuracy_sampling::AccuracySampler,
    clock::Clock,
    interval::IntervalGrid,
    issue_delay::{DelayHistogram, IssueDelay},
    issue_end::IssueEnd,
    issue_trace::{IssueSpan, IssueTrace},
    phase::Phase,
    plan::PhaseMode,
    query_generator::{GeneratedQuery, QueryGenerator},
    recorder::response_id,
    watchdog::{Waited, Watchdog},
};

/// So many queries without any time between them mean that no time will pass.
const TIMELESS_QUERY_COUNT: u64 = 1_000_000;

/// What the loop did.
#[derive(Debug, Clone)]
pub(crate) struct Issued {
    pub end: IssueEnd,
    pub query_count: u64,
    pub delay: IssueDelay,
    /// The query issued last, if any.
    pub last: Option<IssuedQuery>,
    /// Samples that took their variate, issued or not.
    pub drawn_sample_count: u64,
    /// The generator as it stands behind the last query that was drawn.
    pub queries: QueryGenerator,
}

/// One query. Instants are in ns from the start of the phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IssuedQuery {
    pub first_sequence: u64,
    pub sample_count: u64,
    /// The instant from which its latency counts.
    pub scheduled_ns: u64,
    pub issued_ns: u64,
}

/// The issuing of one phase.
pub(crate) struct IssueLoop<'a, C> {
    settings: &'a EffectiveSettings,
    sut: &'a dyn SystemUnderTest,
    watchdog: &'a Watchdog<'a, C>,
    phase: &'a Phase,
    queries: QueryGenerator,
    sampler: &'a mut AccuracySampler,
    /// MultiStream under the older rules: when queries leave.
    grid: Option<IntervalGrid>,
    /// Drawn, but not among `samples` yet: what follows the merged queries of a coalescing Server.
    pending: Option<GeneratedQuery>,
    /// The samples of the next issue call, and whether each one's response is to be logged.
    samples: Vec<QuerySample>,
    logged: Vec<bool>,
    next_sequence: u64,
    start_ns: u64,
    query_count: u64,
    delay: DelayHistogram,
    last: Option<IssuedQuery>,
    trace: &'a mut IssueTrace,
}

impl<'a, C: Clock> IssueLoop<'a, C> {
    pub(crate) fn new(
        settings: &'a EffectiveSettings,
        sut: &'a dyn SystemUnderTest,
        watchdog: &'a Watchdog<'a, C>,
        phase: &'a Phase,
        queries: QueryGenerator,
        sampler: &'a mut AccuracySampler,
        trace: &'a mut IssueTrace,
    ) -> Self {
        Self {
            settings,
            sut,
            watchdog,
            phase,
            queries,
            sampler,
            grid: settings.interval_ns.map(IntervalGrid::new),
            pending: None,
            samples: Vec::new(),
            logged: Vec::new(),
            next_sequence: 0,
            start_ns: 0,
            query_count: 0,
            delay: DelayHistogram::new(),
            last: None,
            trace,
        }
    }

    /// Issues the whole phase.
    pub(crate) fn run(mut self) -> Issued {
        let end = self.issue_all();
        Issued {
            end,
            query_count: self.query_count,
            delay: self.delay.summary(),
            last: self.last,
            drawn_sample_count: self.next_sequence,
            queries: self.queries,
        }
    }

    /// Each query is drawn before the wait for its turn, so that drawing delays no issue; the first even before the
    /// start.
    fn issue_all(&mut self) -> IssueEnd {
        let mut next = self.draw();
        self.start_ns = self.watchdog.clock.now_ns();
        self.phase.start(self.start_ns);
        while let Some(query) = next {
            let issued = match self.wait_for_turn(query) {
                Ok(issued) => issued,
                Err(end) => return end,
            };
            self.stamp(issued);
            if self.settings.server_coalesce_queries && self.settings.scenario == Scenario::Server {
                self.merge_overdue(issued.issued_ns);
            }
            self.sut.issue(&self.samples);
            if self.trace.wants(self.query_count, issued.issued_ns - issued.scheduled_ns) {
                self.trace_call(issued);
            }
            if let Some(end) = self.end_after(issued.issued_ns) {
                return end;
            }
            next = self.draw();
        }
        let ran_out = self.phase.mode == PhaseMode::Performance && self.settings.scenario != Scenario::Server;
        if ran_out { IssueEnd::RanOut } else { IssueEnd::AllIssued }
    }

    /// Puts the samples of the next query, and only those, into the buffer.
    fn draw(&mut self) -> Option<GeneratedQuery> {
        let query = self.pending.take().or_else(|| self.queries.next_query())?;
        self.samples.clear();
        self.logged.clear();
        if self.settings.scenario == Scenario::Offline {
            self.append_issued(query.sample_count);
        } else {
            self.append();
        }
        Some(query)
    }

    /// Puts the samples of the generator's current query into the buffer.
    fn append(&mut self) {
        for index in self.queries.samples() {
            let id = response_id(self.phase.generation, self.next_sequence);
            self.phase.make_ready(self.next_sequence);
            self.next_sequence += 1;
            self.samples.push(QuerySample { id, index });
            self.logged.push(self.sampler.select(self.phase.mode));
        }
    }

    /// Puts the samples of Offline's query into the buffer. They count from the start, so there is no need to stamp them
    /// in the timed part.
    fn append_issued(&mut self, sample_count: u64) {
        self.samples.reserve_exact(sample_count as usize);
        for index in self.queries.samples() {
            let sequence = self.phase.issue(0, self.sampler.select(self.phase.mode));
            self.samples.push(QuerySample { id: response_id(self.phase.generation, sequence), index });
        }
        self.next_sequence += sample_count;
    }

    /// Waits as the scenario demands, and returns the instants of the query.
    fn wait_for_turn(&mut self, query: GeneratedQuery) -> Result<IssuedQuery, IssueEnd> {
        let Watchdog { clock, wake, .. } = self.watchdog;
        let grid = self.grid.as_mut();
        let interval_ns = grid.map(|grid| grid.wait(self.watchdog, self.phase, self.last)).transpose()?;
        let now_ns = match self.settings.scenario {
            Scenario::SingleStream | Scenario::MultiStream => match self.watchdog.wait_all(self.phase, 1) {
                Waited::Complete => clock.now_ns(),
                Waited::Stopped => return Err(IssueEnd::Stopped),
                Waited::Stalled => return Err(IssueEnd::Stalled),
            },
            Scenario::Server => clock.wait_until(self.start_ns + query.offset_ns, wake),
            Scenario::Offline => clock.now_ns(),
        };
        // The samples of Offline are outstanding already, so its query has to leave.
        if wake.is_stopped() && self.settings.scenario != Scenario::Offline {
            return Err(IssueEnd::Stopped);
        }
        let issued_ns = now_ns - self.start_ns;
        let scheduled_ns = match self.settings.scenario {
            Scenario::SingleStream | Scenario::MultiStream => interval_ns.unwrap_or(issued_ns),
            Scenario::Server => query.offset_ns,
            Scenario::Offline => 0,
        };
        let first_sequence = self.next_sequence - query.sample_count;
        Ok(IssuedQuery { first_sequence, sample_count: query.sample_count, scheduled_ns, issued_ns })
    }

    /// Makes the samples of the query outstanding and counts it.
    fn stamp(&mut self, query: IssuedQuery) {
        if self.settings.has_schedule() {
            self.delay.add(query.issued_ns - query.scheduled_ns);
        }
        if self.settings.scenario != Scenario::Offline {
            let first = self.samples.len() - query.sample_count as usize;
            self.stamp_samples(first, query.scheduled_ns);
        }
        self.query_count += 1;
        self.last = Some(query);
    }

    fn stamp_samples(&self, first: usize, scheduled_ns: u64) {
        for (sample, logged) in self.samples.iter().zip(&self.logged).skip(first) {
            let sequence = self.phase.issue(scheduled_ns, *logged);
            debug_assert_eq!(sample.id, response_id(self.phase.generation, sequence), "ids follow the slots");
        }
    }

    /// Adds the following queries that are due by `issued_ns` to the buffer; each keeps its own scheduled instant.
    fn merge_overdue(&mut self, issued_ns: u64) {
        while let Some(query) = self.queries.next_query() {
            if query.offset_ns > issued_ns {
                self.pending = Some(query);
                return;
            }
            let first_sequence = self.next_sequence;
            self.append();
            self.stamp(IssuedQuery {
                first_sequence,
                sample_count: query.sample_count,
                scheduled_ns: query.offset_ns,
                issued_ns,
            });
        }
    }

    /// Keeps the call that has just returned for the trace.
    fn trace_call(&mut self, issued: IssuedQuery) {
        let IssuedQuery { first_sequence, scheduled_ns, issued_ns, .. } = issued;
        let (sample_count, returned_ns) =
            (self.samples.len() as u64, self.watchdog.clock.now_ns() - self.start_ns);
        let span = IssueSpan { first_sequence, sample_count, issued_ns, returned_ns };
        self.trace.keep(self.query_count, issued_ns - scheduled_ns, span);
    }

    /// Whether the query just issued was the last; an accuracy phase issues all of them.
    fn end_after(&self, duration_ns: u64) -> Option<IssueEnd> {
        const NS_PER_MS: u64 = 1_000_000;
        if self.phase.mode == PhaseMode::Accuracy {
            return None;
        }
        let EffectiveSettings { max_async_queries, max_query_count, max_duration_ms, .. } = *self.settings;
        let issued_count = self.query_count;
        if self.settings.scenario == Scenario::Server {
            // Completions are counted only if it matters: other processors write that count all the time.
            if max_async_queries != 0 {
                // A Server query is one sample.
                let completed_count = self.watchdog.wake.count() - self.phase.signals_after(0);
                let outstanding_count = issued_count - completed_count;
                if outstanding_count > max_async_queries {
                    return Some(IssueEnd::TooManyOutstanding { issued_count, outstanding_count });
                }
            }
        } else if issued_count >= self.settings.min_query_count
            && duration_ns >= self.settings.target_duration_ms * NS_PER_MS
        {
            return Some(IssueEnd::Naturally);
        }
        if self.watchdog.clock.is_virtual() && duration_ns == 0 && issued_count >= TIMELESS_QUERY_COUNT {
            return Some(IssueEnd::TimeStandsStill { issued_count });
        }
        if max_query_count != 0 && issued_count >= max_query_count {
            return Some(IssueEnd::MaxQueryCount { issued_count });
        }
        if max_duration_ms != 0 && duration_ns > max_duration_ms * NS_PER_MS {
            return Some(IssueEnd::MaxDuration { duration_ns });
        }
        None
    }
}

//! The issue loop: when each query of a phase leaves, and when the loop ends. Several issuers have one each, for their
//! [`Share`] of the queries.
//!
//! | scenario | before a query is issued | its latency counts from |
//! |---|---|---|
//! | SingleStream, MultiStream | all samples of the last query are complete | the issue |
//! | MultiStream at fixed intervals | the next interval starts at which they are complete | the start of the interval |
//! | Server | its scheduled instant has come | the scheduled instant, however late the issue |
//! | Offline | nothing | the start |
//!
//! Source: LoadGen 6.0.17, `issue_query_controller.cc`.

use std::ops::ControlFlow;

use proctor_loadgen_settings::EffectiveSettings;
use proctor_vocabulary::{QueryPart, QuerySample, Scenario};

use crate::{
    issue::{
        call_trace::{IssueSpan, IssueTrace},
        end::IssueEnd,
        interval_grid::IntervalGrid,
        issued_query::IssuedQuery,
        issuer_record::{IssuerRecord, thread_id},
        stall::{StallGuard, Waited},
    },
    plan::{
        accuracy_sampling::AccuracySampler,
        phases::PhaseMode,
        query_generator::{GeneratedQuery, QueryGenerator},
    },
    record::{
        histogram::Histogram,
        phase::{Issuer, Phase},
        response_id::response_id,
        share::Share,
    },
    system::SystemUnderTest,
    time::clock::Clock,
};

/// Number of queries in a row without any time between them after which time is assumed to stand still.
const TIMELESS_QUERY_COUNT: u64 = 1_000_000;

/// Maximum number of samples in a part of Offline's query: a megabyte. Other queries come whole.
const PART_SAMPLE_COUNT: usize = 1 << 16;

/// Samples of Offline's query that are made before the start, as long as that takes little memory (64 MiB). Those
/// beyond are made part by part, which takes some ns for each in the timed part.
const PREPARED_SAMPLE_COUNT: u64 = 1 << 22;

/// The account of one loop.
#[derive(Debug)]
pub(crate) struct Issued {
    pub record: IssuerRecord,
    pub delay: Histogram,
    /// The query issued last, if any.
    pub last: Option<IssuedQuery>,
    pub trace: IssueTrace,
    /// Number of samples that took their variate, issued or not.
    pub drawn_sample_count: u64,
    /// The sampler after those samples.
    pub sampler: AccuracySampler,
    /// The generator after the last drawn query.
    pub queries: QueryGenerator,
}

/// The parts that all issuers of a phase share.
pub(crate) struct IssueContext<'a, C> {
    pub settings: &'a EffectiveSettings,
    pub sut: &'a dyn SystemUnderTest,
    pub stall_guard: &'a StallGuard<'a, C>,
    pub phase: &'a Phase,
    /// Generator in its state before the first query.
    pub queries: &'a QueryGenerator,
    pub sampler: &'a AccuracySampler,
    pub is_traced: bool,
}

/// The issuing of one share of a phase.
pub(crate) struct IssueLoop<'a, C> {
    settings: &'a EffectiveSettings,
    sut: &'a dyn SystemUnderTest,
    stall_guard: &'a StallGuard<'a, C>,
    phase: &'a Phase,
    share: Share,
    issuer: Issuer<'a>,
    queries: QueryGenerator,
    sampler: AccuracySampler,
    /// MultiStream at fixed intervals: when queries leave.
    grid: Option<IntervalGrid>,
    /// Number of other issuers' queries that come before the next of this one.
    pass_over_count: u64,
    /// Drawn, but not among `samples` yet: the query after the merged ones of a coalescing Server.
    pending: Option<GeneratedQuery>,
    /// Samples of the next issue call, and whether to log each one's response.
    samples: Vec<QuerySample>,
    logged: Vec<bool>,
    next_sequence: u64,
    /// Number of samples of other issuers that were drawn.
    passed_over_count: u64,
    start_ns: u64,
    query_count: u64,
    delay: Histogram,
    last: Option<IssuedQuery>,
    /// In virtual time: the instant of the last query, in ns.
    last_instant_ns: u64,
    /// Number of queries issued before that instant.
    issued_before: u64,
    trace: IssueTrace,
}

/// A loop whose next query is drawn already, so that this is not done after the start.
pub(crate) struct PreparedLoop<'a, C> {
    issue_loop: IssueLoop<'a, C>,
    next: Option<GeneratedQuery>,
}

impl<'a, C: Clock> PreparedLoop<'a, C> {
    /// Returns the loop of one share.
    pub(crate) fn new(context: &IssueContext<'a, C>, share: Share) -> Self {
        let mut issue_loop = IssueLoop::new(context, share);
        let next = issue_loop.draw();
        Self { issue_loop, next }
    }

    /// Issues the whole share, from this start of the phase on.
    pub(crate) fn run(self, start_ns: u64) -> Issued {
        let Self { mut issue_loop, mut next } = self;
        issue_loop.start_ns = start_ns;
        let end = loop {
            match issue_loop.step(next) {
                ControlFlow::Continue(query) => next = query,
                ControlFlow::Break(end) => break end,
            }
        };
        issue_loop.finish(end)
    }

    /// Issues the shares of several loops in turn on this thread, always the query that comes first.
    pub(crate) fn run_in_turn(mut loops: Vec<Self>, start_ns: u64) -> Vec<Issued> {
        loops.iter_mut().for_each(|it| it.issue_loop.start_ns = start_ns);
        let mut ended = Vec::new();
        while let Some(turn) = (0..loops.len()).min_by_key(|turn| loops[*turn].issue_loop.next_sequence) {
            let PreparedLoop { issue_loop, next } = &mut loops[turn];
            match issue_loop.step(*next) {
                ControlFlow::Continue(query) => *next = query,
                ControlFlow::Break(end) => {
                    let PreparedLoop { issue_loop, .. } = loops.remove(turn);
                    ended.push((issue_loop.share.index, issue_loop.finish(end)));
                }
            }
        }
        ended.sort_by_key(|(index, _)| *index);
        ended.into_iter().map(|(_, issued)| issued).collect()
    }
}

impl<'a, C: Clock> IssueLoop<'a, C> {
    fn new(context: &IssueContext<'a, C>, share: Share) -> Self {
        let IssueContext { settings, sut, stall_guard, phase, queries, sampler, is_traced } = *context;
        debug_assert!(
            share == Share::WHOLE || settings.samples_per_query == 1,
            "samples are dealt out as queries are"
        );
        Self {
            settings,
            sut,
            stall_guard,
            phase,
            share,
            issuer: phase.issuer(share),
            queries: queries.clone(),
            sampler: sampler.clone(),
            grid: settings.interval_ns.map(IntervalGrid::new),
            pass_over_count: share.index,
            pending: None,
            samples: Vec::new(),
            logged: Vec::new(),
            next_sequence: share.index,
            passed_over_count: 0,
            start_ns: 0,
            query_count: 0,
            delay: Histogram::default(),
            last: None,
            last_instant_ns: 0,
            issued_before: 0,
            trace: if is_traced { IssueTrace::new() } else { IssueTrace::off() },
        }
    }

    fn finish(self, end: IssueEnd) -> Issued {
        let own_count = (self.next_sequence - self.share.index) / self.share.issuer_count;
        Issued {
            record: IssuerRecord {
                thread_id: if self.stall_guard.clock.is_virtual() { 0 } else { thread_id() },
                query_count: self.query_count,
                end,
                last_issued_ns: self.last.map_or(0, |last| last.issued_ns),
            },
            delay: self.delay,
            last: self.last,
            trace: self.trace,
            drawn_sample_count: self.passed_over_count + own_count,
            sampler: self.sampler,
            queries: self.queries,
        }
    }

    /// Issues a query when its turn comes, and draws the next: before the wait for that one's turn, so that drawing
    /// delays no issue.
    #[inline(always)] // Handing a query in and out of a call takes one part in a hundred of its time.
    fn step(&mut self, query: Option<GeneratedQuery>) -> ControlFlow<IssueEnd, Option<GeneratedQuery>> {
        let Some(query) = query else { return ControlFlow::Break(self.end_of_queries()) };
        let issued = self.wait_for_turn(query)?;
        self.stamp(issued);
        if self.settings.request.server_coalesce_queries && self.settings.request.scenario == Scenario::Server
        {
            self.merge_overdue(issued.issued_ns);
        }
        if self.settings.request.scenario == Scenario::Offline {
            self.hand_over_parts(query.sample_count)?;
        } else {
            self.hand_over();
        }
        if self.trace.wants(self.query_count, issued.issued_ns - issued.scheduled_ns) {
            self.trace_call(issued);
        }
        match self.end_after(issued.issued_ns) {
            Some(end) => ControlFlow::Break(end),
            None => ControlFlow::Continue(self.draw()),
        }
    }

    #[inline]
    fn hand_over(&self) {
        let Self { samples, share, .. } = self;
        let issuer = share.index as usize;
        self.sut.issue_part(QueryPart { samples, issuer, offset: 0, total: samples.len() as u64 });
    }

    /// Issues Offline's query in parts, creating each as needed. Creates none after a stop.
    #[inline(never)] // Only once in a phase.
    fn hand_over_parts(&mut self, total: u64) -> ControlFlow<IssueEnd> {
        let mut offset = 0;
        loop {
            for samples in self.samples.chunks(PART_SAMPLE_COUNT) {
                self.sut.issue_part(QueryPart { samples, issuer: 0, offset, total });
                offset += samples.len() as u64;
            }
            if offset == total {
                return ControlFlow::Continue(());
            }
            if self.stall_guard.wake.is_stopped() {
                return ControlFlow::Break(IssueEnd::Stopped);
            }
            self.samples.clear();
            self.append_issued((total - offset).min(PART_SAMPLE_COUNT as u64));
        }
    }

    fn end_of_queries(&self) -> IssueEnd {
        let ran_out =
            self.phase.mode == PhaseMode::Performance && self.settings.request.scenario != Scenario::Server;
        if ran_out { IssueEnd::RanOut } else { IssueEnd::AllIssued }
    }

    /// Goes on to the next query of the share.
    #[inline]
    fn next_query(&mut self) -> Option<GeneratedQuery> {
        if self.share.issuer_count > 1 {
            self.pass_over()?;
        }
        self.queries.next_query()
    }

    /// Draws the queries of other issuers that come before the next of this one.
    fn pass_over(&mut self) -> Option<()> {
        for _ in 0..self.pass_over_count {
            let query = self.queries.next_query()?;
            self.sampler.skip(query.sample_count);
            self.passed_over_count += query.sample_count;
        }
        self.pass_over_count = self.share.issuer_count - 1;
        Some(())
    }

    /// Puts the samples of the next query, and only those, into the buffer.
    fn draw(&mut self) -> Option<GeneratedQuery> {
        let query = self.pending.take().or_else(|| self.next_query())?;
        self.samples.clear();
        self.logged.clear();
        if self.settings.request.scenario == Scenario::Offline {
            self.append_issued(query.sample_count.min(PREPARED_SAMPLE_COUNT));
        } else {
            self.append();
        }
        Some(query)
    }

    /// Puts the samples of the generator's current query into the buffer.
    fn append(&mut self) {
        for index in self.queries.samples() {
            let id = response_id(self.phase.generation, self.next_sequence);
            self.issuer.make_ready(self.next_sequence);
            self.next_sequence += self.share.issuer_count;
            self.samples.push(QuerySample { id, index });
            self.logged.push(self.sampler.select(self.phase.mode));
        }
    }

    /// Puts the next samples of Offline's query into the buffer. They count from the start, so there is no need to
    /// stamp them when they leave.
    fn append_issued(&mut self, sample_count: u64) {
        self.samples.reserve_exact(sample_count as usize);
        for index in self.queries.samples().take(sample_count as usize) {
            let sequence = self.issuer.issue(0, self.sampler.select(self.phase.mode));
            self.samples.push(QuerySample { id: response_id(self.phase.generation, sequence), index });
        }
        self.next_sequence += sample_count;
    }

    /// Waits as the scenario demands, and returns the instants of the query.
    #[inline(always)] // As above.
    fn wait_for_turn(&mut self, query: GeneratedQuery) -> ControlFlow<IssueEnd, IssuedQuery> {
        let StallGuard { clock, wake, .. } = self.stall_guard;
        let interval_ns = match &mut self.grid {
            Some(grid) => Some(grid.wait(self.stall_guard, self.phase, self.last)?),
            None => None,
        };
        let now_ns = match self.settings.request.scenario {
            Scenario::SingleStream | Scenario::MultiStream => {
                match self.stall_guard.wait_all(self.phase, 1) {
                    Waited::Complete => clock.now_ns(),
                    Waited::Stopped => return ControlFlow::Break(IssueEnd::Stopped),
                    Waited::Stalled => return ControlFlow::Break(IssueEnd::Stalled),
                }
            }
            Scenario::Server => clock.wait_until(self.start_ns + query.offset_ns, wake),
            Scenario::Offline => clock.now_ns(),
        };
        // Samples of Offline are outstanding already, so its query has to leave.
        if wake.is_stopped() && self.settings.request.scenario != Scenario::Offline {
            return ControlFlow::Break(IssueEnd::Stopped);
        }
        let issued_ns = now_ns - self.start_ns;
        let scheduled_ns = match self.settings.request.scenario {
            Scenario::SingleStream | Scenario::MultiStream => interval_ns.unwrap_or(issued_ns),
            Scenario::Server => query.offset_ns,
            Scenario::Offline => 0,
        };
        // The samples of the query that are made are the buffer.
        let first_sequence = self.next_sequence - self.samples.len() as u64 * self.share.issuer_count;
        let sample_count = query.sample_count;
        ControlFlow::Continue(IssuedQuery { first_sequence, sample_count, scheduled_ns, issued_ns })
    }

    /// Makes the samples of the query outstanding and counts it.
    fn stamp(&mut self, query: IssuedQuery) {
        if self.settings.has_schedule() {
            self.delay.add(query.issued_ns - query.scheduled_ns);
        }
        if self.settings.request.scenario != Scenario::Offline {
            let first = self.samples.len() - query.sample_count as usize;
            self.stamp_samples(first, query.scheduled_ns);
        }
        self.query_count += 1;
        self.last = Some(query);
    }

    fn stamp_samples(&mut self, first: usize, scheduled_ns: u64) {
        for (sample, logged) in self.samples.iter().zip(&self.logged).skip(first) {
            let sequence = self.issuer.issue(scheduled_ns, *logged);
            debug_assert_eq!(sample.id, response_id(self.phase.generation, sequence), "ids follow the slots");
        }
    }

    /// Adds the following queries that are due by `issued_ns` to the buffer; each keeps its own scheduled instant.
    fn merge_overdue(&mut self, issued_ns: u64) {
        while let Some(query) = self.next_query() {
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
        // Merged queries are in the buffer, too; of a query in parts only the last part is.
        let sample_count = issued.sample_count.max(self.samples.len() as u64);
        let returned_ns = self.stall_guard.clock.now_ns() - self.start_ns;
        let span = IssueSpan { first_sequence, sample_count, issued_ns, returned_ns };
        self.trace.keep(self.query_count, issued_ns - scheduled_ns, span);
    }

    /// Ends the share if the query just issued was its last one; an accuracy phase issues all of them.
    fn end_after(&mut self, duration_ns: u64) -> Option<IssueEnd> {
        const NS_PER_MS: u64 = 1_000_000;
        if self.phase.mode == PhaseMode::Accuracy {
            return None;
        }
        let max_async_queries = self.settings.max_async_queries;
        let (max_query_count, max_duration_ms) =
            (self.settings.request.max_query_count, self.settings.request.max_duration_ms);
        let issued_count = self.query_count;
        if self.settings.request.scenario == Scenario::Server {
            // Queries are counted only if it matters: other processors write these counts all the time.
            if max_async_queries != 0 {
                // A Server query is one sample. All issuers count; read completions first, which may include
                // samples issued after a look at the other count.
                let completed_count = self.stall_guard.wake.count() - self.phase.signals_after(0);
                let issued_count = self.phase.issued_count();
                let outstanding_count = issued_count.saturating_sub(completed_count);
                if outstanding_count > max_async_queries {
                    return Some(IssueEnd::TooManyOutstanding { issued_count, outstanding_count });
                }
            }
        } else {
            let is_long_enough = duration_ns >= self.settings.target_duration_ms * NS_PER_MS;
            if is_long_enough && issued_count >= self.settings.min_query_count {
                return Some(IssueEnd::Naturally);
            }
            // Real time passes regardless of the system, and Server has a schedule. Here a system that takes
            // no time, such as one that fails all samples, would be given queries for ever.
            if self.stall_guard.clock.is_virtual() && !is_long_enough {
                let issued_count = self.issued_at(duration_ns);
                if issued_count >= TIMELESS_QUERY_COUNT {
                    return Some(IssueEnd::TimeStandsStill { issued_count });
                }
            }
        }
        if max_query_count != 0 && issued_count >= self.share.of(max_query_count) {
            return Some(IssueEnd::MaxQueryCount { issued_count });
        }
        if max_duration_ms != 0 && duration_ns > max_duration_ms * NS_PER_MS {
            return Some(IssueEnd::MaxDuration { duration_ns });
        }
        None
    }

    /// Returns the number of queries issued at the instant of the query just issued.
    fn issued_at(&mut self, at_ns: u64) -> u64 {
        if self.last_instant_ns != at_ns {
            self.last_instant_ns = at_ns;
            self.issued_before = self.query_count - 1;
        }
        self.query_count - self.issued_before
    }
}

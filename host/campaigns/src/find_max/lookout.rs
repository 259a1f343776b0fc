//! Looks on while a probe or a full run issues, and ends it when it has shown enough.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::{Mutex, MutexGuard};
use proctor_bed::Watch;
use proctor_config::QslCounts;
use proctor_loadgen::{Progress, SampleRecord, SampleTokens, StopHandle};
use proctor_search::{Backlog, Judgement, ProbeEnd, ProbeLimits, ProbeMonitor};
use proctor_words::HostError;

use super::plan::{Bound, Bounded, SearchPlan};

/// Number of checks per second, unless queries come too seldom or too fast for that.
const LOOKS_PER_S: f64 = 50.0;
/// Maximum number of queries between two looks, so that a look is short: some microseconds for their slots.
const QUERIES_PER_LOOK: f64 = 64.0;

/// Error probability of full runs, which the sequential test does not end.
const UNUSED: f64 = 0.5;

/// Reason of a probe that ends early.
const SEEN_ENOUGH: &str = "the probe has seen enough";

/// Watches one probe or full run.
pub(crate) struct Lookout {
    /// Issues until the next look.
    countdown: AtomicU64,
    interval: u64,
    state: Mutex<State>,
}

struct State {
    monitor: ProbeMonitor,
    goal: Goal,
    judge: Judge,
    progress: Option<Progress>,
    /// Sequence number of the first sample that is not judged.
    next_sample: u64,
    samples: Vec<(SampleRecord, Option<SampleTokens>)>,
    misses: Vec<bool>,
    backlog: Backlog,
}

enum Goal {
    /// Determines on which side of the constraints the load is.
    Probe,
    /// Goal: VALID, or the constraints met if some samples may fail; with the number of queries that may miss each
    /// constraint, if known.
    FullRun { allowed_counts: Option<Vec<u64>>, may_fail: bool },
}

impl Goal {
    fn full_run(plan: &SearchPlan, allowed_counts: Option<Vec<u64>>) -> Self {
        Self::FullRun { allowed_counts, may_fail: plan.may_fail() }
    }
}

/// Findings of a watched test.
pub(crate) struct Shown {
    pub(crate) judgement: Judgement,
    pub(crate) end: ProbeEnd,
    pub(crate) throughput_qps: f64,
}

impl Lookout {
    /// Creates a lookout for a probe. It ends the probe as soon as it shows on which side the load is; a whole one,
    /// once it has missed more than a full run may.
    ///
    /// # Errors
    /// If no test can be made of the settings.
    pub(crate) fn of_probe(
        plan: &SearchPlan,
        load: f64,
        counts: QslCounts,
        error_probability: f64,
    ) -> Result<Self, HostError> {
        let goal = match plan.probes_are_whole() {
            true => Goal::full_run(plan, plan.allowed_counts(load, counts)?),
            false => Goal::Probe,
        };
        Ok(Self::new(plan, load, error_probability, goal))
    }

    /// Watches a full run, which is ended once it can no longer be VALID.
    pub(crate) fn of_full_run(plan: &SearchPlan, load: f64, allowed_counts: Option<Vec<u64>>) -> Self {
        Self::new(plan, load, UNUSED, Goal::full_run(plan, allowed_counts))
    }

    fn new(plan: &SearchPlan, load: f64, error_probability: f64, goal: Goal) -> Self {
        // The rate of MultiStream's queries is not known.
        let rate = if plan.is_server() { load } else { QUERIES_PER_LOOK };
        let interval = (rate / LOOKS_PER_S).clamp(1.0, QUERIES_PER_LOOK) as u64;
        let constraints = plan.constraints(load);
        let (longest_bound_ns, max_query_count) = (plan.longest_bound_ns(), plan.probe_query_count(load));
        let limits = ProbeLimits { longest_bound_ns, max_query_count, error_probability };
        let state = State {
            misses: Vec::with_capacity(constraints.len()),
            monitor: ProbeMonitor::new(constraints, limits),
            goal,
            judge: Judge {
                bounds: plan.bounds.clone(),
                uses_tokens: plan.uses_tokens(),
                samples_per_query: if plan.is_server() { 1 } else { load as u64 },
            },
            progress: None,
            next_sample: 0,
            samples: Vec::new(),
            backlog: Backlog { issued_count: 0, completed_count: 0, elapsed_ns: 0 },
        };
        Self { countdown: AtomicU64::new(interval), interval, state: Mutex::new(state) }
    }

    /// Judges samples that were still outstanding when the test had issued its last, and returns the result.
    /// Later events do not change a decision.
    pub(crate) fn conclude(self) -> Shown {
        let mut state = self.state.into_inner();
        let decided = state.monitor.end();
        if decided != Some(ProbeEnd::Decided)
            && let Some(progress) = state.progress.take()
        {
            state.catch_up(&progress);
        }
        let Backlog { completed_count, elapsed_ns, .. } = state.backlog;
        Shown {
            judgement: state.monitor.judge(),
            end: decided.unwrap_or(ProbeEnd::Budget),
            throughput_qps: completed_count as f64 * 1e9 / elapsed_ns.max(1) as f64,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Watch for Lookout {
    fn issued(&self, progress: &Progress, stop: &StopHandle) {
        // If several threads issue, one may overwrite the count of another: the next look is a little later then.
        let left = self.countdown.load(Relaxed) - 1;
        if left > 0 {
            return self.countdown.store(left, Relaxed);
        }
        self.countdown.store(self.interval, Relaxed);
        let mut state = self.state();
        if state.progress.is_none() {
            state.progress = Some(progress.clone());
        }
        state.catch_up(progress);
        if let Some(reason) = state.reason_to_stop().filter(|_| stop.reason().is_none()) {
            stop.stop(reason);
        }
    }
}

impl State {
    /// Judges all queries in the order of issue, up to the first one that cannot be judged yet.
    fn catch_up(&mut self, progress: &Progress) {
        let Some(phase) = progress.current() else { return };
        let per_query = self.judge.samples_per_query;
        self.backlog = Backlog {
            issued_count: phase.issued_count / per_query,
            completed_count: phase.completed_count / per_query,
            elapsed_ns: phase.elapsed_ns,
        };
        self.samples.clear();
        progress.read_token_samples(self.next_sample, &mut self.samples);
        for query in self.samples.chunks_exact(usize::try_from(per_query).unwrap_or(usize::MAX)) {
            self.misses.clear();
            if !self.judge.misses(query, phase.elapsed_ns, &mut self.misses) {
                return;
            }
            self.monitor.push(&self.misses);
            self.next_sample += per_query;
        }
    }

    fn reason_to_stop(&mut self) -> Option<String> {
        match &self.goal {
            Goal::Probe => self.monitor.look(self.backlog).map(|_| SEEN_ENOUGH.to_owned()),
            Goal::FullRun { allowed_counts, may_fail } => {
                let seen = self.monitor.judge().constraints;
                let allowed = allowed_counts.as_ref()?;
                let broken = seen.iter().zip(allowed).find(|(seen, allowed)| seen.missed_count > **allowed);
                let goal = if *may_fail { "meet its constraints" } else { "be VALID" };
                broken.map(|(seen, allowed)| {
                    format!(
                        "the run cannot {goal} any more: {} of its queries have missed the bound ({}), and {allowed} \
                         may",
                        seen.missed_count, seen.name
                    )
                })
            }
        }
    }
}

/// Determines the constraints that a query misses.
struct Judge {
    bounds: Vec<Bound>,
    uses_tokens: bool,
    samples_per_query: u64,
}

impl Judge {
    /// Appends whether the query misses each bound, then whether a sample of it failed, and in a token run whether one
    /// lacks its tokens; or returns false, if that cannot be said `now_ns` after the start. A query that is outstanding
    /// for longer than its bound is known to miss it. A sample misses no bound on tokens that it lacks, unless it
    /// failed.
    fn misses(
        &self,
        query: &[(SampleRecord, Option<SampleTokens>)],
        now_ns: u64,
        misses: &mut Vec<bool>,
    ) -> bool {
        let is_complete = query.iter().all(|(sample, _)| sample.completed_latency_ns().is_some());
        if !is_complete {
            let age_ns = query.first().map_or(0, |(sample, _)| now_ns.saturating_sub(sample.scheduled_ns));
            let is_overdue = self.bounds.iter().all(|bound| age_ns > bound.bound_ns) && !self.uses_tokens;
            misses.extend(is_overdue.then_some([true, false]).into_iter().flatten());
            return is_overdue;
        }
        let is_over = |bound: &Bound| {
            query.iter().any(|(sample, tokens)| {
                let measured_ns = match bound.what {
                    Bounded::Latency => sample.completed_latency_ns(),
                    Bounded::FirstToken => tokens.and_then(|tokens| tokens.first_token_latency_ns),
                    Bounded::PerToken => tokens.and_then(SampleTokens::time_per_output_token_ns),
                };
                measured_ns.map_or(sample.is_failed(), |measured_ns| measured_ns > bound.bound_ns)
            })
        };
        misses.extend(self.bounds.iter().map(is_over));
        misses.push(query.iter().any(|(sample, _)| sample.is_failed()));
        misses.extend(self.uses_tokens.then(|| query.iter().any(lacks_tokens)));
        true
    }
}

/// Returns whether a sample of a token run was answered without the tokens that its bounds are on.
fn lacks_tokens((sample, tokens): &(SampleRecord, Option<SampleTokens>)) -> bool {
    !sample.is_failed() && tokens.and_then(SampleTokens::time_per_output_token_ns).is_none()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proctor_bed::WatchedSystem;
    use proctor_config::Loader;
    use proctor_loadgen::{BareLibrary, Clock, LoadGen, LoadGenOptions, SystemUnderTest, VirtualClock};
    use proctor_search::Side;
    use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, SampleStatus};

    use super::super::options::FindMaxOptions;
    use super::*;

    fn judge(bounds: &[(Bounded, u64)], uses_tokens: bool) -> Judge {
        let bounds = bounds.iter().map(|(what, bound_ns)| Bound { what: *what, bound_ns: *bound_ns });
        Judge { bounds: bounds.collect(), uses_tokens, samples_per_query: 1 }
    }

    fn misses(
        judge: &Judge,
        query: &[(SampleRecord, Option<SampleTokens>)],
        now_ns: u64,
    ) -> Option<Vec<bool>> {
        let mut misses = Vec::new();
        judge.misses(query, now_ns, &mut misses).then_some(misses)
    }

    fn sample(latency_ns: u64) -> (SampleRecord, Option<SampleTokens>) {
        (SampleRecord { scheduled_ns: 100, latency_ns }, None)
    }

    /// Sends the first token of each sample after 10 ms, and completes it with 11 tokens 60 ms later.
    struct Tokens {
        clock: Arc<VirtualClock>,
        sink: Arc<dyn CompletionSink>,
    }

    impl SystemUnderTest for Tokens {
        fn name(&self) -> &str {
            "tokens"
        }

        fn issue(&self, samples: &[QuerySample]) {
            for QuerySample { id, .. } in samples.iter().copied() {
                let response = move |token_count| QuerySampleResponse {
                    id,
                    status: SampleStatus::OK,
                    data: &[],
                    token_count,
                };
                let (first, last) = (Arc::clone(&self.sink), Arc::clone(&self.sink));
                let now_ns = self.clock.now_ns();
                self.clock.schedule(now_ns + 10_000_000, move || first.first_token(&[response(1)]));
                self.clock.schedule(now_ns + 70_000_000, move || last.complete(&[response(11)]));
            }
        }

        fn flush(&self) {}
    }

    /// A probe of a token run with these bounds in ms.
    fn token_probe(ttft_ms: u64, tpot_ms: u64) -> Shown {
        let given = [
            "scenario=Server".to_owned(),
            "use_token_latencies=true".to_owned(),
            format!("server_ttft_latency={}", ttft_ms * 1_000_000),
            format!("server_tpot_latency={}", tpot_ms * 1_000_000),
            "min_query_count=100000".to_owned(),
        ];
        let settings = Loader::new().set_all(given).load().unwrap();
        let plan = SearchPlan::new(&settings, &FindMaxOptions::default()).unwrap();
        let lookout = Lookout::of_probe(&plan, 100.0, settings.benchmark.qsl, 0.05).unwrap();
        let clock = Arc::new(VirtualClock::new());
        let loadgen = LoadGen::new(plan.probe_at(100.0), Arc::clone(&clock), LoadGenOptions::default());
        let system = Tokens { clock, sink: loadgen.sink() };
        let (progress, stop) = (loadgen.progress(), loadgen.stop_handle());
        let watched = WatchedSystem { system: &system, watch: &lookout, progress, stop };
        loadgen.run(&watched, &BareLibrary::of(10)).unwrap();
        lookout.conclude()
    }

    #[test]
    fn the_tokens_of_a_running_test_are_watched() {
        let good = token_probe(20, 7);
        assert_eq!((good.end, good.judgement.side), (ProbeEnd::Decided, Side::Under));
        for (ttft_ms, tpot_ms, missed) in [(20, 5, [false, true]), (9, 7, [true, false])] {
            let shown = token_probe(ttft_ms, tpot_ms);
            assert_eq!((shown.end, shown.judgement.side), (ProbeEnd::Decided, Side::Over));
            let constraints = &shown.judgement.constraints;
            assert_eq!([0, 1].map(|number| constraints[number].missed_count > 0), missed);
            // It is over long before its 20,000 queries.
            assert!(constraints[0].judged_count < 1000, "{}", constraints[0].judged_count);
        }
    }

    #[test]
    fn a_query_is_as_late_as_its_last_sample_and_fails_with_any() {
        let judge = judge(&[(Bounded::Latency, 10)], false);
        assert_eq!(misses(&judge, &[sample(3), sample(10)], 200), Some(vec![false, false]));
        assert_eq!(misses(&judge, &[sample(3), sample(11)], 200), Some(vec![true, false]));
        let failed = sample(SampleRecord::FAILED_BIT | 3);
        assert_eq!(misses(&judge, &[sample(3), failed], 200), Some(vec![false, true]));
    }

    #[test]
    fn what_is_outstanding_for_longer_than_the_bound_misses_it() {
        let judge = judge(&[(Bounded::Latency, 10)], false);
        let outstanding = sample(SampleRecord::NOT_COMPLETED);
        assert_eq!(misses(&judge, &[sample(3), outstanding], 110), None);
        assert_eq!(misses(&judge, &[sample(3), outstanding], 111), Some(vec![true, false]));
    }

    #[test]
    fn tokens_are_judged_by_their_own_bounds() {
        let judge = judge(&[(Bounded::FirstToken, 20), (Bounded::PerToken, 5)], true);
        let tokens = |first_token_latency_ns, latency_ns, token_count| {
            let tokens = SampleTokens { latency_ns, first_token_latency_ns, token_count };
            [(SampleRecord { scheduled_ns: 0, latency_ns }, Some(tokens))]
        };
        assert_eq!(misses(&judge, &tokens(Some(20), 70, 11), 999), Some(vec![false; 4]));
        assert_eq!(misses(&judge, &tokens(Some(21), 71, 11), 999), Some(vec![true, false, false, false]));
        assert_eq!(misses(&judge, &tokens(Some(20), 80, 11), 999), Some(vec![false, true, false, false]));
        // Tokens that do not come say nothing of the load.
        assert_eq!(misses(&judge, &tokens(None, 80, 11), 999), Some(vec![false, false, false, true]));
        assert_eq!(misses(&judge, &tokens(Some(21), 80, 0), 999), Some(vec![true, false, false, true]));
        assert_eq!(misses(&judge, &tokens(Some(20), 80, 1), 999), Some(vec![false, false, false, true]));
        let failed = SampleRecord { scheduled_ns: 0, latency_ns: SampleRecord::FAILED_BIT | 3 };
        assert_eq!(misses(&judge, &[(failed, None)], 999), Some(vec![true, true, true, false]));
        // The number of tokens still to come is not known.
        assert_eq!(misses(&judge, &[sample(SampleRecord::NOT_COMPLETED)], 9999), None);
    }
}

//! `host find-max`: the highest rate of Server, or the most samples of a query of MultiStream, that is VALID.
//!
//! [`proctor_search`] decides what to probe and when a probe has seen enough; here the probes and full runs are made,
//! their records kept in the folder of the search, and the progress shown.
//!
//! ```text
//! runs/2026-01-31T12-00-00-digits-lstm-Server-find-max/
//!     probes.json      the state of the search and the curve, written after each probe, see `find_max/state.rs`
//!     full-run-1/      a run folder of each full run, see `host/words`
//!     find_max.json    what was found, see `FindMaxFile` of `host/results`
//! ```

mod answer;
mod lookout;
pub(crate) mod options;
mod plan;
mod result;
#[cfg(test)]
mod settings_tests;
mod state;

use proctor_bed::{Fault, Interrupt, Test, TestBed, TestRequest, figures::query_latencies};
use proctor_config::Settings;
use proctor_loadgen::{Finding, IssueEnd, Rule, SampleRecord, TestOutcome, ViolationKind};
use proctor_results::{
    CurvePoint, FullRun, PointKind,
    file_names::{FIND_MAX, RESULT},
};
use proctor_run::{
    Frame, OpenBed, PerformanceRuns, RunResult, Tests, arrivals, deviations, objections, plugin_part,
};
use proctor_scheduler::Problem;
use proctor_search::{
    Confirmation, ConstraintSeen, Dependence, ProbeEnd, ProbeRecord, SearchEnd, Side, Step,
};
use proctor_vocabulary::Scenario;
use proctor_words::{Conclusion, FolderError, HostError, PluginError, RunFolder, text};

use self::{
    lookout::{Lookout, Shown},
    options::FindMaxOptions,
    plan::{Bounded, FAILED, OUTSTANDING, SearchPlan},
    result::find_max_file,
    state::State,
};

/// Searches for the highest load that is VALID, and shows the user each probe and the result.
///
/// # Errors
/// Returns every reason why the search ends before it has found anything. It can be resumed from its records.
pub fn find_max(
    mut settings: Settings,
    options: &FindMaxOptions,
    interrupt: &Interrupt,
) -> Result<Conclusion, HostError> {
    options.confirm(&mut settings);
    let plan = SearchPlan::new(&settings, options)?;
    let frame = Frame::set_up(settings, interrupt, |settings| match &options.resume {
        Some(path) => RunFolder::reopen(path),
        None => RunFolder::create(settings, "-find-max"),
    })?;
    let state = match &options.resume {
        Some(_) => State::resume(&frame.folder, &plan, &frame.settings)?,
        None => State::new(&plan, &frame.settings),
    };
    let hint = "what was seen is kept; go on by giving the same flags and --resume";
    frame.run(hint, None, |frame, bed| search_in(frame, bed, &plan, state))
}

fn search_in(
    frame: &Frame,
    bed: OpenBed<'_>,
    plan: &SearchPlan,
    state: State,
) -> Result<Conclusion, HostError> {
    let Frame { settings, folder, interrupt, .. } = frame;
    let mut seeker = Seeker { folder, plan, bed: &bed, interrupt, state };
    let show = |text: String| interrupt.observer().answer(&text);
    for objection in objections(&plugin_part(&bed)) {
        interrupt.observer().message(&format!("warning: no load will count: {objection}"));
        crate::objections::add(&mut seeker.state.objections, &objection);
    }
    show(answer::head(plan));
    for point in &seeker.state.curve {
        show(answer::line(plan, point));
    }
    let end = loop {
        match seeker.state.search.next_step() {
            Step::Probe { load, error_probability } => seeker.probe(load, error_probability)?,
            // None that follows would count.
            Step::Confirm { load, .. } if seeker.has_shown_objections() => {
                break SearchEnd::NotConfirmed { load };
            }
            Step::Confirm { load, .. } => seeker.full_run(load)?,
            Step::Done(end) => break end,
        }
    };
    let (plugin, counts) = (plugin_part(&bed), bed.library.counts());
    let state = seeker.state;
    let end = state.judged(end);
    let mut result = find_max_file(plan, settings, counts, &state, end, plugin, bed.machine.clone());
    // The plugin may hang or crash when it is closed: so far it has not come back.
    let not_ended = Fault::NotEnded { plugin: result.plugin.name.clone() }.to_string();
    result.faults = state.ends.iter().cloned().chain([not_ended]).collect();
    folder.write_result(FIND_MAX, &result)?;
    show(format!("\n{}", answer::curve(plan, &state)));
    show(format!("\n{}\n", result.summary));
    if let Some(why) = settings.not_official() {
        show(format!("note: {}\n", deviations::length_remark(&why)));
    }
    if let Some(arrivals) = &result.arrivals {
        show(format!("note: {}\n", arrivals::remark(arrivals)));
    }
    if let Some(remark) = deviations::remark(&result.rules, &result.deviations) {
        show(format!("note: {remark}\n"));
    }
    let host_side = bed.plugin.backend.host_side();
    bed.close();
    let last: Vec<_> = Fault::noticed(host_side).map(|fault| fault.to_string()).collect();
    result.faults = state.ends.iter().chain(&last).cloned().collect();
    folder.write_result(FIND_MAX, &result)?;
    folder.forget_note();
    folder.finish()?;
    for fault in &last {
        interrupt.observer().message(&format!("after the search: {fault}"));
    }
    let queries = state.search.query_count();
    let probes = text::counted(state.search.probes.len() as u64, "probe");
    let full_runs = text::counted(state.full_runs.len() as u64, "full run");
    show(format!("{queries} queries in {probes} and {full_runs}; all in {}\n", folder.name().display()));
    let is_good = matches!(end, SearchEnd::Found { .. }) && result.faults.is_empty();
    Ok(if is_good { Conclusion::Good } else { Conclusion::Bad })
}

/// Makes probes and full runs, and keeps their results.
struct Seeker<'a> {
    folder: &'a RunFolder,
    plan: &'a SearchPlan,
    bed: &'a TestBed<'a>,
    interrupt: &'a Interrupt,
    state: State,
}

impl Seeker<'_> {
    fn probe(&mut self, load: f64, error_probability: f64) -> Result<(), HostError> {
        let mut is_again = false;
        let (test, lookout) = loop {
            let lookout = Lookout::of_probe(self.plan, load, self.bed.library.counts(), error_probability)?;
            let request = TestRequest { watch: Some(&lookout), ..TestRequest::new(self.plan.probe_at(load)) };
            let test = self.bed.test(request)?;
            self.check(&test)?;
            // The end of a process says nothing of the load, unless the load brings it about.
            self.note_change(&test);
            if !self.note_end(&test) || is_again {
                break (test, lookout);
            }
            is_again = true;
        };
        let record = self.record(load, &test, lookout.conclude());
        self.note_causes(&record, &test);
        self.state.curve.push(self.point(PointKind::Probe, &record, &test.outcome));
        self.state.search.probes.push(record);
        self.keep()
    }

    /// Runs as `host run` would, in its own folder, but ends the run once it can no longer be VALID.
    fn full_run(&mut self, load: f64) -> Result<(), HostError> {
        let settings = self.plan.at(load);
        let allowed_counts = self.plan.allowed_counts(load, self.bed.library.counts())?;
        let lookout = Lookout::of_full_run(self.plan, load, allowed_counts);
        let name = format!("full-run-{}", self.state.full_runs.len() + 1);
        let folder = self.folder.within(&name)?;
        let test = self.bed.test(TestRequest {
            watch: Some(&lookout),
            is_guarded: settings.run.noise,
            ..TestRequest::in_folder(settings.test.clone(), folder.partial())
        })?;
        if let Err(error) = self.check(&test) {
            if test.write_error.is_some() {
                // Space for the result is reserved, even if the disk is full. The first error is reported.
                let _ = self.write_result(&folder, &settings, &PerformanceRuns::of(test));
            }
            return Err(error);
        }
        self.note_change(&test);
        self.note_end(&test);
        let mut seen = self.record(load, &test, lookout.conclude());
        let broken = test.outcome.broken();
        let over_bound =
            self.estimate_over_bound_ns(&test.outcome).map(|estimate_ns| self.over_bound(estimate_ns));
        let not_met = self.broken(&test.outcome).into_iter().map(Finding::reason);
        let mut why_not_met: Vec<_> = not_met.chain(over_bound).collect();
        let too_short = self.plan.too_short(load).filter(|_| !why_not_met.is_empty());
        let is_objected = !self.state.objections.is_empty();
        let is_at_any_load = too_short.is_some() || is_objected || broken.iter().copied().any(is_miscounted);
        let further = crate::objections::besides(&self.state.objections, &broken);
        why_not_met.extend(too_short.into_iter().chain(further.iter().cloned()));
        let is_met = why_not_met.is_empty();
        seen.side = if is_met { Side::Under } else { Side::Over };
        self.state.curve.push(self.point(PointKind::FullRun, &seen, &test.outcome));
        let full_run = FullRun {
            folder: name,
            load,
            valid: broken.is_empty() && !is_objected,
            metric: test.metric().map(|metric| metric.value).filter(|value| value.is_finite()),
            reasons: broken.into_iter().map(Finding::reason).chain(further).collect(),
            met: None,
        };
        self.state.full_runs.push(full_run);
        self.state.search.confirmations.push(Confirmation {
            is_valid: is_met,
            reasons: why_not_met,
            is_at_any_load,
            seen,
        });
        self.write_run(&folder, &settings, test)?;
        self.keep()
    }

    /// Writes the files that `host run` writes for a run.
    fn write_run(&self, folder: &RunFolder, settings: &Settings, test: Test) -> Result<(), HostError> {
        let runs = PerformanceRuns::of(test);
        self.write_result(folder, settings, &runs)?;
        runs.tests.iter().try_for_each(Test::write_trace)?;
        folder.finish()
    }

    /// Writes the result of a full run into its reserved room. Objections of earlier tests count, too.
    fn write_result(
        &self,
        folder: &RunFolder,
        settings: &Settings,
        runs: &PerformanceRuns,
    ) -> Result<(), HostError> {
        let plugin = plugin_part(self.bed);
        let of_plugin: Vec<_> = objections(&plugin).collect();
        let of_tests = runs.tests.iter().flat_map(|test| test.outcome.broken());
        let known: Vec<_> = of_plugin.iter().chain(of_tests).collect();
        let further =
            crate::objections::besides(&self.state.objections, &known).into_iter().map(Finding::of_run);
        let tests = Tests::of_performance(runs).with_findings(further.collect());
        let result =
            RunResult::new(settings, self.bed.library.counts(), plugin, self.bed.machine.clone(), tests)
                .with_samples(self.bed.library.content());
        folder.write_result(RESULT, &result)
    }

    /// Returns whether a full run has shown that no load counts.
    fn has_shown_objections(&self) -> bool {
        !self.state.objections.is_empty() && !self.state.full_runs.is_empty()
    }

    /// Records that the plugin's process changed the host's in this test, and warns the user once.
    fn note_change(&mut self, test: &Test) {
        let is_change = |it: &&Finding| it.caller_fault::<Fault>().is_some_and(Fault::is_change_of_host);
        for change in test.outcome.findings.iter().filter(is_change) {
            if crate::objections::add(&mut self.state.objections, change) {
                self.interrupt.observer().message(&change.what());
            }
        }
    }

    /// Records that the plugin's process ended in this test, and warns the user.
    fn note_end(&mut self, test: &Test) -> bool {
        let faults = test.outcome.findings.iter().filter_map(Finding::caller_fault::<Fault>);
        let ends: Vec<_> = faults.filter(|fault| fault.is_end()).map(ToString::to_string).collect();
        ends.iter().for_each(|end| self.interrupt.observer().message(&format!("in a test: {end}")));
        let has_ended = !ends.is_empty();
        self.state.ends.extend(ends);
        has_ended
    }

    /// Takes note of why samples of this test failed or lacked their tokens, if it is the first with such samples.
    fn note_causes(&mut self, record: &ProbeRecord, test: &Test) {
        let is_share = |seen: &ConstraintSeen| seen.name == FAILED || seen.dependence == Dependence::Never;
        if self.state.causes.is_empty() && record.constraints.iter().any(|it| is_share(it) && it.is_broken())
        {
            let is_cause = |finding: &&Finding| {
                matches!(finding.rule, Rule::Completion(_)) || finding.caller_fault::<Fault>().is_some()
            };
            let causes = test.outcome.broken().into_iter().filter(is_cause);
            self.state.causes = causes.map(Finding::reason).collect();
        }
    }

    /// Checks that the search can continue after this test.
    fn check(&mut self, test: &Test) -> Result<(), HostError> {
        if self.interrupt.has_come() {
            return Err(HostError::Interrupted("searching for the peak"));
        }
        if test.is_abandoned {
            return Err(PluginError::NoEnd(test.outcome.reasons()).into());
        }
        match &test.write_error {
            Some(error) => Err(FolderError::Other(error.report().into()).into()),
            None => Ok(()),
        }
    }

    fn keep(&self) -> Result<(), HostError> {
        self.state.save(self.folder)?;
        if let Some(point) = self.state.curve.last() {
            self.interrupt.observer().answer(&answer::line(self.plan, point));
        }
        Ok(())
    }

    /// Returns the findings that disqualify a full run. A share of failed samples may be allowed, which the
    /// rules do not do.
    fn broken<'o>(&self, outcome: &'o TestOutcome) -> Vec<&'o Finding> {
        let is_lenient = self.plan.may_fail() && failed_share(outcome) <= self.plan.error_share;
        let counts = |finding: &&Finding| !(is_lenient && says_only_that_samples_failed(finding));
        outcome.broken().into_iter().filter(counts).collect()
    }

    /// Returns the estimate of MultiStream, if it is over the bound; such a full run does not count either.
    fn estimate_over_bound_ns(&self, outcome: &TestOutcome) -> Option<u64> {
        let estimate_ns = outcome.figures()?.early_stopping.estimate_ns?;
        let is_bounded = outcome.effective.request.scenario == Scenario::MultiStream;
        (is_bounded && estimate_ns > self.plan.longest_bound_ns()).then_some(estimate_ns)
    }

    fn over_bound(&self, estimate_ns: u64) -> String {
        let (percentile, bound_ns) = (self.plan.percentile(), self.plan.longest_bound_ns());
        format!(
            "the estimate of the {percentile}th percentile is {estimate_ns} ns, over the bound of {bound_ns} ns"
        )
    }

    fn record(&self, load: f64, test: &Test, shown: Shown) -> ProbeRecord {
        let (outcome, takes_time) = (&test.outcome, self.takes_time(test));
        let Shown { judgement, end, throughput_qps } = shown;
        let mut constraints = judgement.constraints;
        for seen in &mut constraints {
            let ratio = self.tail_ratio(seen, outcome);
            // The rest is the wait for full batches, which no load makes longer: there is no limit.
            seen.tail_ratio = ratio.map(|ratio| if takes_time { ratio } else { 0.0 });
            if seen.name == FAILED {
                seen.dependence = failures_depend(load, test);
            }
        }
        // What waits for a batch to fill is outstanding, too.
        let end = match end {
            ProbeEnd::Hopeless if !has_growing_latency(outcome) => ProbeEnd::Decided,
            end => end,
        };
        let query_count = outcome.reported_phases().map(|phase| phase.record.issued_query_count).sum();
        // A full run at this load would end at the limit, too, however early its queries are.
        let is_cut = ended_by_outstanding(outcome);
        if is_cut {
            constraints.insert(0, too_many_outstanding(query_count));
        }
        let (side, confidence, end) = match is_cut {
            true => (Side::Over, 1.0, ProbeEnd::Limit),
            false => (judgement.side, judgement.confidence, end),
        };
        ProbeRecord {
            load,
            side,
            confidence,
            end,
            query_count,
            full_query_count: self.plan.full_query_count(load),
            throughput_qps,
            constraints,
        }
    }

    /// Returns whether batches took time, as they always do in real time.
    fn takes_time(&self, test: &Test) -> bool {
        match &test.system.statistics {
            Some(counts) if self.bed.settings().run.virtual_time => {
                counts.batches == 0 || counts.busy_ns.iter().any(|busy_ns| *busy_ns > 0)
            }
            _ => true,
        }
    }

    /// Returns the ratio of the bounded figure, at the percentile, to its bound.
    fn tail_ratio(&self, seen: &ConstraintSeen, outcome: &TestOutcome) -> Option<f64> {
        let bound = self.plan.bounds.iter().find(|bound| bound.what.name() == seen.name)?;
        let figures = outcome.figures()?;
        let latencies = match bound.what {
            Bounded::Latency => query_latencies(figures),
            Bounded::FirstToken => &figures.token_latencies()?.first_token,
            Bounded::PerToken => &figures.token_latencies()?.per_output_token,
        };
        (latencies.count > 0).then(|| latencies.target_ns as f64 / bound.bound_ns.max(1) as f64)
    }

    fn point(&self, kind: PointKind, record: &ProbeRecord, outcome: &TestOutcome) -> CurvePoint {
        let latencies = outcome.figures().map(query_latencies).filter(|latencies| latencies.count > 0);
        let [p50_ns, p90_ns, _, _, p99_ns, p99_9_ns] =
            latencies.map_or([None; 6], |latencies| latencies.percentiles_ns.map(Some));
        let limiting = record.limiting();
        CurvePoint {
            kind,
            load: record.load,
            p50_ns,
            p90_ns,
            p99_ns,
            p99_9_ns,
            constraint: limiting.map(|seen| seen.name.clone()).unwrap_or_default(),
            over_share: limiting
                .map_or(0.0, |seen| seen.missed_count as f64 / seen.judged_count.max(1) as f64),
            side: record.side,
            confidence: record.confidence,
            query_count: record.query_count,
            duration_ns: outcome.reported_phases().map(|phase| phase.duration_ns).sum(),
        }
    }
}

/// Returns whether failures depend on the load, as far as one test can show: if less than one query was in
/// the system on average (Little's law), and its queue was never full, it was not overloaded. A system that
/// refuses work it has no room for fails it at once, so each query counts for as long as an answer takes.
fn failures_depend(load: f64, test: &Test) -> Dependence {
    let is_full = |fault: &Fault| matches!(fault, Fault::Scheduler(Problem::QueueFull { .. }, _));
    let had_room =
        test.outcome.findings.iter().filter_map(Finding::caller_fault).all(|it: &Fault| !is_full(it));
    let mean_ns = test.outcome.figures().map_or(0, |figures| query_latencies(figures).mean_ns) as f64;
    let answered_ns = mean(test.outcome.samples().filter_map(SampleRecord::answered_latency_ns));
    // A query of MultiStream may have more samples than the system can take.
    let is_of_server = test.outcome.effective.request.scenario == Scenario::Server;
    match is_of_server && had_room && load * mean_ns.max(answered_ns) / 1e9 <= 1.0 {
        true => Dependence::Doubtful,
        false => Dependence::OnLoad,
    }
}

/// Returns whether the limit on outstanding queries ended the test.
fn ended_by_outstanding(outcome: &TestOutcome) -> bool {
    outcome.reported_phases().any(|phase| matches!(phase.end, IssueEnd::TooManyOutstanding { .. }))
}

/// Returns the constraint that a test has missed with its last query, which was one too many.
fn too_many_outstanding(query_count: u64) -> ConstraintSeen {
    ConstraintSeen {
        name: OUTSTANDING.to_owned(),
        limit_share: 0.0,
        dependence: Dependence::OnLoad,
        judged_count: query_count,
        missed_count: 1,
        dispersion: 1.0,
        log_ratio: f64::INFINITY,
        tail_ratio: None,
    }
}

/// Returns the mean of these times, in ns; 0 of none.
fn mean(times_ns: impl Iterator<Item = u64>) -> f64 {
    let (mut sum_ns, mut count) = (0.0, 0_u64);
    for time_ns in times_ns {
        sum_ns += time_ns as f64;
        count += 1;
    }
    sum_ns / count.max(1) as f64
}

/// Returns whether later samples took clearly longer than earlier ones, as in a growing queue. Without any that were
/// completed nothing speaks against it.
fn has_growing_latency(outcome: &TestOutcome) -> bool {
    const GROWTH: f64 = 1.25;
    let latencies: Vec<_> = outcome.samples().filter_map(SampleRecord::completed_latency_ns).collect();
    let (earlier, later) = latencies.split_at(latencies.len() / 2);
    let mean = |latencies: &[u64]| mean(latencies.iter().copied());
    earlier.is_empty() || mean(later) > GROWTH * mean(earlier)
}

fn failed_share(outcome: &TestOutcome) -> f64 {
    let (mut failed_count, mut count) = (0_u64, 0_u64);
    for sample in outcome.samples() {
        count += 1;
        failed_count += u64::from(sample.is_failed());
    }
    failed_count as f64 / count.max(1) as f64
}

/// Returns whether the plugin answered unasked, or more than once: it miscounts at any load.
fn is_miscounted(finding: &Finding) -> bool {
    let Rule::Completion(kind) = finding.rule else { return false };
    match kind {
        ViolationKind::UnknownId
        | ViolationKind::NotIssued
        | ViolationKind::Duplicate
        | ViolationKind::FirstTokenOfNoSample
        | ViolationKind::FirstTokenAfterCompletion
        | ViolationKind::FirstTokenTwice
        | ViolationKind::TokensOfNoSample
        | ViolationKind::TokensAfterCompletion
        | ViolationKind::TokenCountDiffers => true,
        // An overloaded system may fail samples, answer late, or cut its answers short.
        ViolationKind::Late
        | ViolationKind::Failed
        | ViolationKind::NoFirstToken
        | ViolationKind::NoTokenCount
        | ViolationKind::SingleToken
        | ViolationKind::TooManyTokens => false,
    }
}

fn says_only_that_samples_failed(finding: &Finding) -> bool {
    finding.rule == Rule::Completion(ViolationKind::Failed)
        || matches!(finding.caller_fault(), Some(Fault::Scheduler(..)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_none_is_nothing() {
        assert_eq!(mean(std::iter::empty()), 0.0);
        assert_eq!(mean([1, 2, 6].into_iter()), 3.0);
    }
}

//! Figures of the harness: their tests, and their targets.

use proctor_loadgen::{PhaseOutcome, TestOutcome, TestSettings, Wait, WaitPolicy};
use proctor_vocabulary::Scenario;

use super::flags::HarnessFlags;
use proctor_bed::{Dispatch, Interrupt, NullRun, direct_run, figures::query_latencies};
use proctor_results::LatencyPart;
use proctor_words::HostError;

/// A rate beyond every harness, so that every query is overdue.
const SATURATING_QPS: f64 = 2e7;
/// Target for the rate of one issuing thread.
const SATURATED_INLINE_QPS: f64 = 4e6;
/// Samples of a MultiStream query, as in the rules.
pub(super) const SAMPLES_PER_QUERY: u64 = 8;

/// One test and its figures.
pub(super) struct Experiment {
    /// Title for the display of progress.
    pub(super) title: String,
    pub(super) run: NullRun,
    pub(super) figures: Vec<(Figure, Of)>,
}

/// Takes a figure from a test.
pub(super) type Of = fn(&TestOutcome) -> f64;

/// A figure without its values.
#[derive(Debug, Clone)]
pub(super) struct Figure {
    /// Key in the JSON file: unique, with the unit last.
    pub(super) name: String,
    pub(super) what: String,
    pub(super) unit: &'static str,
    pub(super) target: Option<Target>,
}

/// Target of a figure, in its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Target {
    AtMost(f64),
    AtLeast(f64),
}

impl Target {
    pub(super) fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
        }
    }
}

/// Lengths of tests.
pub(super) struct Lengths {
    /// Tests that end by their duration, in ms.
    pub(super) duration_ms: u64,
    /// Queries of a saturated Server, samples of Offline.
    pub(super) count: u64,
}

impl Lengths {
    pub(super) fn of(flags: &HarnessFlags) -> Self {
        if flags.quick {
            Self { duration_ms: 30, count: 100_000 }
        } else {
            Self { duration_ms: 400, count: 2_000_000 }
        }
    }
}

/// Returns everything that is measured in this process.
pub(super) fn experiments(flags: &HarnessFlags) -> Vec<Experiment> {
    let lengths = Lengths::of(flags);
    let (duration_ms, count) = (lengths.duration_ms, lengths.count);
    let experiment = |title: &str, run: NullRun, figures: Vec<(Figure, Of)>| Experiment {
        title: title.to_owned(),
        run,
        figures,
    };
    let single_stream = || NullRun::inline(closed_loop(Scenario::SingleStream, duration_ms));
    // A test at a million queries per second, ended after the first few: what would be made beforehand for all of them.
    let start_up_s = if flags.quick { 1 } else { 600 };
    let start_up_what = format!("start-up of a test of {start_up_s} M queries");
    let start_up = TestSettings { max_query_count: 100, ..at_rate(1e6, start_up_s * 1000) };
    let mut all = vec![
        experiment(
            "SingleStream",
            single_stream(),
            vec![(
                Figure::new("single_stream_query_us", "time of a query", "us").with(Target::AtMost(0.20)),
                query_us,
            )],
        ),
        experiment(
            "MultiStream",
            NullRun::inline(closed_loop(Scenario::MultiStream, duration_ms)),
            vec![(Figure::new("multi_stream_query_us", "time of a query of 8 samples", "us"), query_us)],
        ),
        saturated_server(count, false),
        saturated_server(count, true),
        experiment(
            "Server, saturated, two issuing threads in the plugin at the same time",
            NullRun::inline(TestSettings { server_num_issue_query_threads: 2, ..saturated(count) }),
            vec![(
                Figure::new(
                    "server_two_issuers_queries_per_second",
                    "saturated, two issuing threads",
                    "queries/s",
                )
                // Half as much again as the target of one thread.
                .with(Target::AtLeast(1.5 * SATURATED_INLINE_QPS)),
                samples_per_second,
            )],
        ),
        experiment(
            "Offline",
            NullRun::inline(one_query(count)),
            vec![(
                Figure::new("offline_samples_per_second", "samples issued and completed", "samples/s")
                    .with(Target::AtLeast(60e6)),
                samples_per_second,
            )],
        ),
        experiment(
            "SingleStream through the scheduler",
            NullRun { dispatch: Dispatch::Batches, ..single_stream() },
            vec![
                (
                    Figure::new("scheduler_latency_p50_us", "latency through the scheduler, p50", "us"),
                    latency_p50_us,
                ),
                (
                    Figure::new("scheduler_latency_p99_us", "latency through the scheduler, p99", "us"),
                    latency_p99_us,
                ),
            ],
        ),
        experiment(
            &format!("Server, {start_up_what}"),
            NullRun::inline(start_up),
            vec![(Figure::new("start_up_ms", &start_up_what, "ms"), start_up_ms)],
        ),
    ];
    for qps in flags.rates() {
        all.extend(Wait::ALL.iter().map(|wait| dispatch_error(duration_ms, qps, *wait)));
    }
    all.retain(|experiment| flags.scenario.is_none_or(|wanted| wanted == experiment.scenario()));
    all
}

impl Experiment {
    pub(super) fn scenario(&self) -> Scenario {
        self.run.settings.scenario
    }
}

/// Returns settings of SingleStream or MultiStream for a time; more queries are generated than can be issued.
pub(super) fn closed_loop(scenario: Scenario, duration_ms: u64) -> TestSettings {
    TestSettings {
        scenario,
        min_duration_ms: duration_ms,
        min_query_count: 1,
        single_stream_expected_latency_ns: 20.0,
        multi_stream_expected_latency_ns: 20.0,
        multi_stream_samples_per_query: SAMPLES_PER_QUERY,
        ..TestSettings::default()
    }
}

/// Returns settings of Server with every query overdue.
pub(super) fn saturated(query_count: u64) -> TestSettings {
    TestSettings {
        scenario: Scenario::Server,
        server_target_qps: SATURATING_QPS,
        min_query_count: query_count,
        min_duration_ms: 1,
        ..TestSettings::default()
    }
}

pub(super) fn at_rate(qps: f64, duration_ms: u64) -> TestSettings {
    TestSettings {
        scenario: Scenario::Server,
        server_target_qps: qps,
        min_query_count: 1,
        min_duration_ms: duration_ms,
        ..TestSettings::default()
    }
}

pub(super) fn one_query(sample_count: u64) -> TestSettings {
    TestSettings {
        scenario: Scenario::Offline,
        min_query_count: sample_count,
        min_duration_ms: 0,
        ..TestSettings::default()
    }
}

fn saturated_server(query_count: u64, on_thread: bool) -> Experiment {
    let (name, what, least) = if on_thread {
        ("server_thread_queries_per_second", "saturated, completed by a thread of the plugin", 2.5e6)
    } else {
        (
            "server_inline_queries_per_second",
            "saturated, completed inside the issue call",
            SATURATED_INLINE_QPS,
        )
    };
    let rate = Figure::new(name, what, "queries/s").with(Target::AtLeast(least));
    Experiment {
        title: format!("Server, {what}"),
        run: NullRun { on_thread, ..NullRun::inline(saturated(query_count)) },
        figures: vec![(rate, samples_per_second)],
    }
}

fn dispatch_error(duration_ms: u64, qps: f64, wait: Wait) -> Experiment {
    let (p50_target, p99_target) = match wait {
        Wait::Spin => (Some(1.0), Some(10.0)),
        Wait::Hybrid => (Some(5.0), None),
        Wait::Sleep => (None, None),
    };
    let wait_name = wait.name();
    let of = |quantile: &str, target: Option<f64>, of: Of| {
        let name = format!("dispatch_error_{wait_name}_{qps}_{quantile}_us");
        let what = format!("dispatch error at {qps} queries/s, wait = {wait_name}, {quantile}");
        (Figure { target: target.map(Target::AtMost), ..Figure::new(&name, &what, "us") }, of)
    };
    Experiment {
        title: format!("Server, {qps} queries/s, wait = {wait_name}"),
        run: NullRun {
            wait: WaitPolicy { wait, ..WaitPolicy::default() },
            ..NullRun::inline(at_rate(qps, duration_ms))
        },
        figures: vec![
            of("p50", p50_target, |outcome| phase(outcome).issue_delay.p50_ns as f64 / 1e3),
            of("p99", p99_target, |outcome| phase(outcome).issue_delay.p99_ns as f64 / 1e3),
        ],
    }
}

/// Returns the time that the plugin boundary adds to a query of SingleStream, in ns: the plugin's table and the host's,
/// the checks of state and responses, and the note of the call under way. The median over pairs of tests without and
/// with it, which are short, so that what disturbs one is likely to disturb the other. May be below 0 on a busy
/// machine.
///
/// # Errors
/// If one of the tests could not be made.
pub(super) fn added_by_boundary_ns(lengths: &Lengths, interrupt: &Interrupt) -> Result<f64, HostError> {
    const PAIR_COUNT: usize = 31;
    let settings = closed_loop(Scenario::SingleStream, (lengths.duration_ms / 10).max(10));
    let direct = || direct_run(&settings).map(|outcome| query_us(&outcome));
    let behind = || NullRun::inline(settings.clone()).run(interrupt).map(|outcome| query_us(&outcome));
    let mut differences = Vec::with_capacity(PAIR_COUNT);
    for pair in 0..PAIR_COUNT {
        // In turns, neither has the better place.
        let (direct, behind) = match pair % 2 {
            0 => (direct()?, behind()?),
            _ => {
                let behind = behind()?;
                (direct()?, behind)
            }
        };
        differences.push((behind - direct) * 1e3);
    }
    differences.sort_by(f64::total_cmp);
    Ok(differences[PAIR_COUNT / 2])
}

impl Figure {
    /// Creates a figure without a target.
    pub(super) fn new(name: &str, what: &str, unit: &'static str) -> Self {
        Self { name: name.to_owned(), what: what.to_owned(), unit, target: None }
    }

    pub(super) fn with(self, target: Target) -> Self {
        Self { target: Some(target), ..self }
    }
}

/// Returns the one phase of a performance test.
fn phase(outcome: &TestOutcome) -> &PhaseOutcome {
    outcome.phases.last().expect("a test that has an outcome has a phase")
}

/// Returns the time from the start of issuing to the last completion, divided by the queries.
pub(super) fn query_us(outcome: &TestOutcome) -> f64 {
    let phase = phase(outcome);
    phase.duration_ns as f64 / 1e3 / phase.record.issued_query_count as f64
}

/// Returns the samples from the start of issuing to the last completion.
pub(super) fn samples_per_second(outcome: &TestOutcome) -> f64 {
    let phase = phase(outcome);
    phase.record.issued_sample_count as f64 * 1e9 / phase.duration_ns as f64
}

pub(super) fn latency_p50_us(outcome: &TestOutcome) -> f64 {
    latency_us(outcome, |latencies| latencies.p50_ns)
}

pub(super) fn latency_p99_us(outcome: &TestOutcome) -> f64 {
    latency_us(outcome, |latencies| latencies.p99_ns)
}

fn latency_us(outcome: &TestOutcome, of: fn(&LatencyPart) -> u64) -> f64 {
    let result = outcome.performance.as_ref().expect("it is a performance test");
    of(&query_latencies(result).into()) as f64 / 1e3
}

/// Returns the time from the start of the test to the start of issuing.
fn start_up_ms(outcome: &TestOutcome) -> f64 {
    phase(outcome).start_ns as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        harness: HarnessFlags,
    }

    fn flags(text: &str) -> HarnessFlags {
        Flags::parse_from(text.split_whitespace()).harness
    }

    #[test]
    fn figures_have_names_of_their_own_that_end_in_their_unit() {
        let all = experiments(&flags("bench"));
        let figures = all.iter().flat_map(|experiment| &experiment.figures);
        let figures: Vec<_> = figures.map(|(figure, _)| figure).collect();
        let names: BTreeSet<_> = figures.iter().map(|figure| &figure.name).collect();
        assert_eq!(names.len(), figures.len());
        for figure in figures {
            let ending = figure.unit.replace('/', "_per_").replace("_per_s", "_per_second");
            assert!(figure.name.ends_with(&ending), "{} in {}", figure.name, figure.unit);
        }
    }

    #[test]
    fn a_scenario_and_rates_can_be_chosen() {
        let all = experiments(&flags("bench --scenario Server --rate 5000 --rate 7"));
        assert!(all.iter().all(|experiment| experiment.scenario() == Scenario::Server));
        let rates = all.iter().filter(|experiment| experiment.title.contains("wait ="));
        assert_eq!(rates.count(), 2 * Wait::ALL.len());
    }

    #[test]
    fn a_target_is_met_at_its_bound() {
        assert!(Target::AtMost(0.2).is_met(0.2) && !Target::AtMost(0.2).is_met(0.21));
        assert!(Target::AtLeast(4.0).is_met(4.0) && !Target::AtLeast(4.0).is_met(3.9));
    }
}

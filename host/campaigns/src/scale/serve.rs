//! The turns of the policies: each serves with the plugin for a while.

use std::{sync::Arc, thread, time::Duration};

use proctor_bed::{
    Fault, FirstError, HostClock, TestBed,
    scaling::{
        scaler::Scaler,
        settings::policy,
        system::{ScaledParts, ScaledSystem, wait_until},
    },
};
use proctor_config::RunSettings;
use proctor_loadgen::{Histogram, IssueDelay, QuerySampleLibrary};
use proctor_results::{LatencyFrom, PolicyResult, ScaleInput, TargetBase};
use proctor_scaling::{Goal, OneSample, ScalingPolicy};
use proctor_vocabulary::SampleIndex;
use proctor_words::{HostError, PluginError, ScalingError};

use super::{ScaleOptions, answer::Shown, base::base, traffic::Traffic};

/// Step by which virtual time advances at the end until nothing is outstanding, in ns.
const DRAIN_STEP_NS: u64 = 1_000_000_000;
/// Maximum time for which the issuing thread waits without checking whether to end, in ns.
const STEP_NS: u64 = 100_000_000;
/// Arrivals that an issuer may be late by and that are still counted.
const OVERDUE_MAX: u64 = 1 << 20;
/// Maximum number of outstanding samples.
pub(super) const CLIENTS_MAX: usize = 1 << 20;

/// Returns the policies in the order in which they run, each with its round, from 1.
pub(super) fn in_turns(options: &ScaleOptions) -> impl Iterator<Item = (u32, &String)> {
    (1..=options.rounds).flat_map(|round| {
        let mut policies: Vec<_> = options.policies.iter().map(|name| (round, name)).collect();
        if round % 2 == 0 {
            policies.reverse();
        }
        policies
    })
}

/// Returns the samples that keep all instances at work: a full batch each, and another one that waits for it.
pub(super) fn saturating_samples(run: &RunSettings) -> usize {
    2 * run.batch_size * run.instances
}

/// Scales the plugin with one policy for the requested time. Returns the plugin's faults meanwhile.
pub(super) fn run_policy(
    bed: &TestBed<'_>,
    options: &ScaleOptions,
    goal: Goal,
    (round, name): (u32, &str),
) -> Result<(PolicyResult, Vec<Fault>), HostError> {
    let policy = policy(&bed.settings().run, name)?;
    take_turn(bed, options, goal, Turn { round, name, policy, is_base: false })
}

/// Measures the latency that a target is a multiple of: serves one sample at a time on one instance, with saturated
/// input, until there are enough, at most for as long as a policy runs. Returns the plugin's faults meanwhile.
///
/// # Errors
/// If a policy's time is too short for it, or the plugin fails.
pub(super) fn measure_base(
    bed: &TestBed<'_>,
    options: &ScaleOptions,
    goal: Goal,
    slo_x: f64,
) -> Result<(TargetBase, Vec<Fault>), HostError> {
    let observer = bed.interrupt().observer();
    observer
        .message("measuring the latency of one sample on one instance, which the target is a multiple of");
    let alone = ScaleOptions { input: ScaleInput::Saturated, target_changes: Vec::new(), ..options.clone() };
    let turn = Turn { round: 0, name: "1x1", policy: Box::new(OneSample), is_base: true };
    let (result, faults) = take_turn(bed, &alone, goal, turn)?;
    if bed.interrupt().has_come() {
        return Err(HostError::Interrupted("measuring the latency that the target is a multiple of"));
    }
    let of_window = result.course.decisions.iter().find_map(|decision| decision.seen);
    let is_sound = result.hung == 0 && result.counts.failed == 0;
    let seen = of_window.filter(|_| is_sound).ok_or_else(|| no_base(&result, options))?;
    Ok((base(slo_x, &seen), faults))
}

/// Returns the error if samples failed, the instance did not come back, or too few batches did.
fn no_base(result: &PolicyResult, options: &ScaleOptions) -> HostError {
    let PolicyResult { counts, hung, first_error, .. } = result;
    match first_error {
        Some(first) if counts.failed > 0 => PluginError::BaseFails { first: first.clone() }.into(),
        _ if *hung > 0 => HostError::PluginCannot(PluginError::Stated(
            "the latency that --slo-x is a multiple of cannot be measured: the first instance did not come back from a \
             batch within watchdog_ms",
        )),
        _ => {
            let (duration_ns, completed) = (options.duration_ns, counts.completed);
            ScalingError::NoBase { duration_ns, completed }.into()
        }
    }
}

struct Turn<'a> {
    round: u32,
    name: &'a str,
    policy: Box<dyn ScalingPolicy>,
    /// True if it measures the base of a target: then it ends as soon as it has settled.
    is_base: bool,
}

/// Returns the samples that the load repeats: the performance set, as in a run.
fn sample_count(bed: &TestBed<'_>) -> u64 {
    match bed.settings().test.performance_sample_count_override {
        0 => bed.library.performance_sample_count(),
        count => count.min(bed.library.total_sample_count()),
    }
}

/// Runs one turn of a policy.
fn take_turn(
    bed: &TestBed<'_>,
    options: &ScaleOptions,
    goal: Goal,
    turn: Turn<'_>,
) -> Result<(PolicyResult, Vec<Fault>), HostError> {
    let run = &bed.settings().run;
    let Turn { round, name, policy, is_base } = turn;
    let count = sample_count(bed);
    let samples: Vec<_> = (0..count).map(SampleIndex).collect();
    let first_error = FirstError::default();
    bed.with_supply(&samples, &first_error, |supply| {
        let saturates = options.input == ScaleInput::Saturated;
        let clients = match saturates {
            true if is_base => 2,
            true => saturating_samples(run).clamp(2, CLIENTS_MAX),
            false => CLIENTS_MAX,
        };
        let virtual_now = run.virtual_time.then(|| bed.clock.reader());
        let traffic = Traffic::new(clients, count, saturates, virtual_now);
        let system = ScaledSystem::start(
            &bed.clock,
            ScaledParts {
                name: name.to_owned(),
                run: run.clone(),
                policy_name: name.to_owned(),
                policy,
                goal,
                duration_ns: options.duration_ns,
                span_ns: Some(options.duration_ns / 240),
                latency_from: if saturates { LatencyFrom::BatchStart } else { LatencyFrom::Arrival },
                queue_capacity: clients,
                supply,
                sink: Arc::clone(&traffic) as _,
            },
        )?;
        bed.plugin.backend.set_sink(Some(Arc::clone(&traffic) as _));
        let intake = system.intake();
        traffic.connect(&intake);
        bed.interrupt().measuring();
        let begun_ns = bed.clock.reader()();
        let Served { lasted_ns, unanswered, delays, given_up } =
            serve(bed, &system, &traffic, options, is_base);
        drop(intake);
        // Waiting samples are no longer started; a running batch may take as long as in a run.
        let hung = system.end(Duration::from_millis(run.watchdog_ms)).hung.len();
        bed.plugin.backend.set_sink(None);
        let refused = traffic.counts().refused;
        system.scaler.set_unanswered(unanswered.unwrap_or(0), refused);
        let course = system.course((begun_ns, lasted_ns));
        let first_error = first_error.get().map(ToString::to_string);
        if traffic.stands_still() {
            return Err(takes_no_time(&run.plugin, first_error));
        }
        let issue_delay_p99_ns = delays.map(|delays| IssueDelay::from(&delays).p99_ns);
        let counts = traffic.counts();
        let mut result = PolicyResult {
            round,
            course,
            counts,
            unanswered,
            issue_delay_p99_ns,
            hung,
            given_up,
            first_error,
        };
        if given_up || result.answered_nothing() {
            result.course.setting = None;
        }
        Ok(result)
    })
}

/// A finished load.
struct Served {
    /// Length in ns.
    lasted_ns: u64,
    /// Number of arrivals that were refused, or waited for longer than the target at the end.
    unanswered: Option<u64>,
    /// Lateness of the issuing thread, if there was one.
    delays: Option<Histogram>,
    /// True if it ended early because batches were no longer answered.
    given_up: bool,
}

/// Serves for the requested time, or until the user stops it; if a base is measured, until it is known.
fn serve(
    bed: &TestBed<'_>,
    system: &ScaledSystem,
    traffic: &Arc<Traffic>,
    options: &ScaleOptions,
    is_base: bool,
) -> Served {
    let (clock, test, interrupt) = (&bed.clock, &bed.settings().test, bed.interrupt());
    let now = clock.reader();
    let begun_ns = now();
    let end_ns = begun_ns + options.duration_ns;
    let mut shown = Shown::new(begun_ns);
    let mut target_changes = options.target_changes.iter().peekable();
    let due = || match options.input {
        ScaleInput::Saturated => None,
        ScaleInput::Arrivals { rate_qps } => {
            let offsets = test.arrivals.offsets(rate_qps, test.schedule_rng_seed);
            Some(offsets.map(move |offset_ns| begun_ns + offset_ns))
        }
    };
    let mut arrivals = due().map(Iterator::peekable);
    if arrivals.is_none() {
        traffic.saturate();
    }
    // In real time samples are issued on a thread of their own: the one that turns the knobs may wait for an instance.
    let mut issuer = None;
    let is_real = matches!(clock, HostClock::Real(_));
    if let Some(arrivals) = arrivals.take_if(|_| is_real) {
        let (clock, traffic, now) = (clock.clone(), Arc::clone(traffic), Arc::clone(&now));
        let issue = move || {
            let mut delays = Histogram::default();
            for at_ns in arrivals.take_while(|at_ns| *at_ns < end_ns) {
                // In steps, so that a gap of minutes ends with the run.
                let mut now_ns = now();
                while now_ns < at_ns && !traffic.is_stopped() {
                    wait_until(&clock, at_ns.min(now_ns + STEP_NS));
                    now_ns = now();
                }
                if traffic.is_stopped() {
                    break;
                }
                delays.add(now_ns.saturating_sub(at_ns));
                traffic.arrive(at_ns);
            }
            delays
        };
        issuer = Some(thread::spawn(issue));
    }
    let mut look_ns = begun_ns;
    let mut pulse = Pulse { answers: 0, at_ns: begun_ns };
    let silence_ns = bed.settings().run.watchdog_ms.saturating_mul(1_000_000);
    let mut given_up = false;
    loop {
        let now_ns = now();
        if now_ns >= end_ns || interrupt.has_come() || traffic.stands_still() {
            break;
        }
        given_up =
            system.scaler.is_out_of_service() || (is_real && pulse.is_silent(traffic, now_ns, silence_ns));
        if given_up {
            break;
        }
        while let Some(change) = target_changes.next_if(|change| begun_ns + change.at_ns <= now_ns) {
            system.set_target(now_ns, change.target_ns);
        }
        if now_ns >= look_ns {
            system.scaler.act(now_ns);
            let is_known = system.scaler.with_control(|control, timeline| {
                if !is_base {
                    shown.show(control, timeline, now_ns, interrupt.observer().as_ref());
                }
                is_base && control.is_settled()
            });
            if is_known {
                break;
            }
            look_ns = now_ns + Scaler::PAUSE_NS;
        }
        let change_ns = target_changes.peek().map_or(u64::MAX, |change| begun_ns + change.at_ns);
        let until_ns = look_ns.min(end_ns).min(change_ns);
        match &mut arrivals {
            None => wait_until(clock, until_ns),
            Some(arrivals) => {
                while let Some(at_ns) = arrivals.next_if(|at_ns| *at_ns < until_ns) {
                    wait_until(clock, at_ns);
                    traffic.arrive(at_ns);
                }
                wait_until(clock, until_ns);
            }
        }
    }
    let ended_ns = now();
    system.scaler.stop();
    traffic.stop();
    let unanswered = due().map(|due| {
        let target_ns = system.scaler.with_control(|control, timeline| timeline.target_ns(control));
        let is_overdue = |at_ns: &u64| *at_ns < end_ns && at_ns.saturating_add(target_ns) < ended_ns;
        let most = (traffic.arrived() + OVERDUE_MAX) as usize;
        traffic.unanswered(due.take_while(is_overdue).take(most).count() as u64)
    });
    // It runs code of the host alone, and ends at its next arrival.
    let delays = issuer.and_then(|issuer| issuer.join().ok());
    // In virtual time batches end on the clock that the next policy goes on with.
    while !is_real && traffic.outstanding() > 0 && !traffic.stands_still() {
        wait_until(clock, now() + DRAIN_STEP_NS);
    }
    Served { lasted_ns: ended_ns - begun_ns, unanswered, delays, given_up }
}

/// The last change of the number of answers.
struct Pulse {
    answers: u64,
    at_ns: u64,
}

impl Pulse {
    /// Returns whether samples are outstanding and no answer has come for this long, in ns.
    fn is_silent(&mut self, traffic: &Traffic, now_ns: u64, silence_ns: u64) -> bool {
        let counts = traffic.counts();
        let answers = counts.completed + counts.failed;
        if answers != self.answers || traffic.outstanding() == 0 {
            *self = Self { answers, at_ns: now_ns };
        }
        now_ns - self.at_ns >= silence_ns
    }
}

/// Returns the error where virtual time stands still with saturated input.
fn takes_no_time(plugin: &str, first_error: Option<String>) -> HostError {
    match first_error {
        Some(first) => PluginError::FailsInNoTime { plugin: plugin.to_owned(), first }.into(),
        None => ScalingError::NoVirtualTime(plugin.to_owned()).into(),
    }
}

//! `host scale`: turns batch size and instances of a plugin under a latency target while it serves, and says where to
//! leave them.
//!
//! ```text
//! runs/2026-01-31T12-00-00-digits-lstm-Server-scale/
//!     scale.json              the setting to use, and every decision with what was seen and why, for each policy
//!     scale-POLICY.svg        the course: tail latency, knobs and throughput; scale-POLICY-ROUND.svg with rounds
//! ```

mod answer;
mod kept_curve;
mod picture;
mod result;
mod traffic;

use std::{io::Write, mem::ManuallyDrop, sync::Arc, thread, time::Duration};

use proctor_config::{RunSettings, Settings};
use proctor_loadgen::QuerySampleLibrary;
use proctor_scaling::Goal;
use proctor_vocabulary::SampleIndex;

use self::{
    answer::Shown,
    kept_curve::KeptCurve,
    result::{PolicyResult, ScaleResult},
    traffic::Traffic,
};
use crate::{
    bed::{
        clock::HostClock,
        fault::{Fault, FirstError},
        scaling::{
            course::LatencyFrom,
            settings::{goal, policy},
            system::{ScaledParts, ScaledSystem, wait_until},
        },
        test_bed::TestBed,
    },
    error::HostError,
    files::run_folder::{RunFolder, write_json, write_whole},
    frame::Frame,
    interrupt::Interrupt,
    result::{Conclusion, PluginPart},
};

/// Options of scaling beside the settings of a run, whose `batch_size` and `instances` are the bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaleOptions {
    /// The policies, one after the other: names, or settings such as 64x3.
    pub policies: Vec<String>,
    /// How many times the policies are gone through, at least 1. Every other time in reverse.
    pub rounds: u32,
    /// How long each one runs, in ns.
    pub duration_ns: u64,
    /// How samples arrive.
    pub input: Input,
    /// Other targets during the run: from when on, and what, in ns.
    pub targets: Vec<(u64, u64)>,
}

/// How samples arrive at a system that is scaled.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Input {
    /// There is always another one, so latency is service time, from the start of a batch to its end.
    Saturated,
    /// By the arrival process of the settings. Latency counts from the arrival.
    Arrivals {
        /// Mean rate, in samples in a second.
        rate_qps: f64,
    },
}

/// Longest wait for the answers that are outstanding at the end, in ns.
const DRAIN_NS: u64 = 10_000_000_000;
/// Between two looks at what was done, in ns.
const LOOK_NS: u64 = 5_000_000;
/// Longest wait of the issuing thread without a look at whether it is to end, in ns.
const STEP_NS: u64 = 100_000_000;
/// Most samples that are outstanding.
const CLIENTS_MAX: usize = 1 << 20;

/// Scales the plugin of the settings, and shows the user every decision and the setting to use.
///
/// # Errors
/// Every reason why there is no answer.
pub fn scale(
    settings: Settings,
    options: &ScaleOptions,
    interrupt: &Interrupt,
) -> Result<Conclusion, HostError> {
    // What can be refused before the plugin is loaded is.
    let goal = goal(&settings.run)?;
    for name in &options.policies {
        policy(&settings.run, name)?;
    }
    let frame = Frame::set_up(settings, interrupt, |settings| RunFolder::create(settings, "-scale"))?;
    frame.run("what was seen is in", None, |frame, bed| scale_in(frame, bed, options, goal))
}

fn scale_in(
    frame: &Frame,
    bed: ManuallyDrop<TestBed<'_>>,
    options: &ScaleOptions,
    goal: Goal,
) -> Result<Conclusion, HostError> {
    let Frame { settings, folder, interrupt, .. } = frame;
    let show = |text: &str| interrupt.observer().answer(text);
    show(&answer::head(&goal, options, &settings.test.arrivals));
    if options.input == Input::Saturated && in_batches(&settings.run) > CLIENTS_MAX {
        show(&answer::clipped(CLIENTS_MAX, in_batches(&settings.run)));
    }
    let (mut courses, mut faults) = (Vec::new(), Vec::<String>::new());
    for (round, name) in in_turns(options) {
        if interrupt.has_come() {
            break;
        }
        let (course, of_plugin) = run_policy(settings, &bed, options, goal, (round, name), interrupt)?;
        faults.extend(of_plugin.iter().map(ToString::to_string));
        show(&answer::summary(&course));
        let picture = picture::draw(&course.course);
        let file = if options.rounds > 1 {
            format!("scale-{name}-{round}.svg")
        } else {
            format!("scale-{name}.svg")
        };
        write_whole(&folder.path(&file), |file| file.write_all(picture.as_bytes()))?;
        courses.push(course);
    }
    if courses.len() > 1 {
        show(&answer::comparison(&options.policies, &courses));
    }
    let mut result =
        ScaleResult::new(settings, options, goal, courses, PluginPart::of(&bed), bed.machine.clone());
    let host_side = bed.plugin.backend.host_side();
    let system = format!("{} {} by {}", settings.benchmark.id, bed.model().precision(), result.plugin.name);
    let not_ended = Fault::NotEnded { plugin: result.plugin.name.clone() }.to_string();
    result.faults = faults.iter().cloned().chain([not_ended]).collect();
    write_json(&folder.path("scale.json"), &result)?;
    drop(ManuallyDrop::into_inner(bed));
    faults.extend(Fault::noticed(host_side).map(|fault| fault.to_string()));
    result.faults = faults;
    let is_kept = result.is_good() && options.input == Input::Saturated;
    let kept = match is_kept {
        true => {
            let decisions = result.courses.iter().flat_map(|it| it.course.decisions.clone());
            KeptCurve::keep(settings, &system, &goal, &decisions.collect::<Vec<_>>())
        }
        false => Ok(None),
    };
    result.kept_curve = kept.as_ref().ok().cloned().flatten();
    write_json(&folder.path("scale.json"), &result)?;
    folder.finish()?;
    for fault in &result.faults {
        interrupt.observer().message(&format!("after the run: {fault}"));
    }
    if let Some(kept) = &result.kept_curve {
        show(&kept.text());
    }
    show(&format!("all in {}\n", folder.name().display()));
    kept?;
    Ok(if result.is_good() { Conclusion::Good } else { Conclusion::Bad })
}

/// Policies in the order in which they run, each with its round, from 1.
fn in_turns(options: &ScaleOptions) -> impl Iterator<Item = (u32, &String)> {
    (1..=options.rounds).flat_map(|round| {
        let mut policies: Vec<_> = options.policies.iter().map(|name| (round, name)).collect();
        if round % 2 == 0 {
            policies.reverse();
        }
        policies
    })
}

/// Samples that are outstanding where each instance has a full batch, and another one waits for it.
fn in_batches(run: &RunSettings) -> usize {
    2 * run.batch_size * run.instances
}

/// Lets one policy scale the plugin for the time that is asked for. Returns what went wrong in the plugin beside it.
fn run_policy(
    settings: &Settings,
    bed: &TestBed<'_>,
    options: &ScaleOptions,
    goal: Goal,
    (round, name): (u32, &str),
    interrupt: &Interrupt,
) -> Result<(PolicyResult, Vec<Fault>), HostError> {
    let run = &settings.run;
    let count = bed.library.performance_sample_count();
    let samples: Vec<_> = (0..count).map(SampleIndex).collect();
    let first_error = FirstError::default();
    bed.with_supply(&samples, &first_error, |supply| {
        let saturates = options.input == Input::Saturated;
        let in_batches = in_batches(run);
        let clients = if saturates { in_batches.clamp(2, CLIENTS_MAX) } else { CLIENTS_MAX };
        let virtual_now = run.virtual_time.then(|| bed.clock.reader());
        let traffic = Traffic::new(clients, count, saturates, virtual_now);
        let system = ScaledSystem::start(
            &bed.clock,
            ScaledParts {
                name: name.to_owned(),
                run: run.clone(),
                policy: name.to_owned(),
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
        let sut = system.sut();
        traffic.connect(&sut);
        interrupt.measuring();
        let begun_ns = bed.clock.reader()();
        let lasted_ns = serve(&bed.clock, &system, &traffic, options, settings, interrupt);
        drop(sut);
        let report = system.end(Duration::from_secs(1));
        bed.plugin.backend.set_sink(None);
        let course = system.course((begun_ns, lasted_ns));
        if !report.hung.is_empty() {
            return Err(HostError::PluginCannot(format!(
                "{} of plugin {} did not come back from a batch",
                crate::text::counted(report.hung.len() as u64, "instance"),
                settings.run.plugin
            )));
        }
        let first_error = first_error.get().map(ToString::to_string);
        if traffic.stands_still() {
            return Err(takes_no_time(&run.plugin, first_error));
        }
        Ok(PolicyResult { round, course, counts: traffic.counts(), first_error })
    })
}

/// The error where virtual time stands still with saturated input.
fn takes_no_time(plugin: &str, first_error: Option<String>) -> HostError {
    match first_error {
        Some(error) => HostError::PluginCannot(format!(
            "batches of plugin {plugin} fail and take no virtual time, so there is nothing to scale; the first: {error}"
        )),
        None => HostError::Usage(format!(
            "batches of plugin {plugin} take no virtual time, so there is nothing to scale: give it an option by which \
             they take some, as mock.service=fixed does (host describe {plugin} lists them), or leave out --virtual-time"
        )),
    }
}

/// Serves for as long as is asked for, or until the user wants no more. Returns how long that was, in ns.
fn serve(
    clock: &HostClock,
    system: &ScaledSystem,
    traffic: &Arc<Traffic>,
    options: &ScaleOptions,
    settings: &Settings,
    interrupt: &Interrupt,
) -> u64 {
    let now = clock.reader();
    let begun_ns = now();
    let end_ns = begun_ns + options.duration_ns;
    let mut shown = Shown::new(begun_ns);
    let mut targets = options.targets.iter().peekable();
    let mut arrivals = match options.input {
        Input::Saturated => None,
        Input::Arrivals { rate_qps } => {
            let offsets = settings.test.arrivals.offsets(rate_qps, settings.test.schedule_rng_seed);
            Some(offsets.map(move |offset_ns| begun_ns + offset_ns).peekable())
        }
    };
    if arrivals.is_none() {
        traffic.saturate();
    }
    // In real time samples are issued on a thread of their own: the one that turns the knobs may wait for an instance.
    let mut issuer = None;
    let is_real = matches!(clock, HostClock::Real(_));
    if let Some(arrivals) = arrivals.take_if(|_| is_real) {
        let (clock, traffic, now) = (clock.clone(), Arc::clone(traffic), Arc::clone(&now));
        let issue = move || {
            for at_ns in arrivals.take_while(|at_ns| *at_ns < end_ns) {
                // In steps, so that a gap of minutes ends with the run.
                let mut now_ns = now();
                while now_ns < at_ns && !traffic.is_stopped() {
                    wait_until(&clock, at_ns.min(now_ns + STEP_NS));
                    now_ns = now();
                }
                if traffic.is_stopped() {
                    return;
                }
                traffic.arrive();
            }
        };
        issuer = Some(thread::spawn(issue));
    }
    let mut look_ns = begun_ns;
    loop {
        let now_ns = now();
        if now_ns >= end_ns || interrupt.has_come() || traffic.stands_still() {
            break;
        }
        while let Some((_, target_ns)) = targets.next_if(|(at_ns, _)| begun_ns + at_ns <= now_ns) {
            system.set_target(now_ns, *target_ns);
        }
        if now_ns >= look_ns {
            system.scaler.act(now_ns);
            system
                .scaler
                .look(|control, trace| shown.show(control, trace, now_ns, interrupt.observer().as_ref()));
            look_ns = now_ns + LOOK_NS;
        }
        let target_ns = targets.peek().map_or(u64::MAX, |(at_ns, _)| begun_ns + at_ns);
        let until_ns = look_ns.min(end_ns).min(target_ns);
        match &mut arrivals {
            None => wait_until(clock, until_ns),
            Some(arrivals) => {
                while let Some(at_ns) = arrivals.next_if(|at_ns| *at_ns < until_ns) {
                    wait_until(clock, at_ns);
                    traffic.arrive();
                }
                wait_until(clock, until_ns);
            }
        }
    }
    let lasted_ns = now() - begun_ns;
    traffic.stop();
    if let Some(issuer) = issuer {
        // It runs code of the host alone, and ends at its next arrival.
        let _ = issuer.join();
    }
    let drained_ns = now() + DRAIN_NS;
    while traffic.outstanding() > 0 && now() < drained_ns {
        wait_until(clock, now() + LOOK_NS);
    }
    lasted_ns
}

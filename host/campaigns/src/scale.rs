//! `host scale`: turns batch size and instances of a plugin under a latency target while it serves, and says where to
//! leave them.
//!
//! ```text
//! runs/2026-01-31T12-00-00-digits-lstm-Server-scale/
//!     scale.json              the setting to use, and every decision with what was seen and why, for each policy
//!     scale-POLICY.svg        the course: tail latency, knobs and throughput; scale-POLICY-ROUND.svg with rounds
//! ```

mod answer;
mod base;
pub(crate) mod input;
mod kept_curve;
mod picture;
mod result;
mod serve;
mod traffic;
mod warnings;

use std::{collections::BTreeSet, io::Write};

use proctor_bed::{
    Fault, Interrupt,
    scaling::settings::{Target, goal_within, keep_stronger_target, policy, target},
};
use proctor_config::{QslCounts, Settings};
use proctor_results::{ScaleFile, ScaleInput, TargetChange, file_names::SCALE};
use proctor_run::{Frame, OpenBed, deviations, finished_at_utc, plugin_part};
use proctor_scaling::{Goal, Knobs};
use proctor_words::{Conclusion, HostError, Observer, RunFolder, ScalingError, UsageError, write_whole};

use self::result::{object, scale_file};
use crate::engines::refuse_engine;

/// Options of scaling in addition to the settings of a run, whose `batch_size` and `instances` are the bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaleOptions {
    /// The policies, one after another: names, or settings such as 64x3.
    pub policies: Vec<String>,
    /// Number of times that each policy runs, at least 1. Every other round in reverse.
    pub rounds: u32,
    /// Running time of each policy, in ns.
    pub duration_ns: u64,
    /// Arrival of samples.
    pub input: ScaleInput,
    /// Other targets during the run, in the order of time.
    pub target_changes: Vec<TargetChange>,
}

/// Scales the plugin of the settings, and shows the user every decision and the setting to use.
///
/// # Errors
/// Returns every reason why there is no answer.
pub fn scale(
    mut settings: Settings,
    options: &ScaleOptions,
    interrupt: &Interrupt,
) -> Result<Conclusion, HostError> {
    // Refuse before the plugin is loaded, where possible.
    refuse_engine(&settings, "host scale issues samples in a way of its own")?;
    if options.duration_ns == 0 {
        let text = "nothing can be seen in no time: give --duration a time above 0";
        return Err(UsageError::Stated(text).into());
    }
    if let Some(change) = options.target_changes.iter().find(|change| change.at_ns >= options.duration_ns) {
        let (at_ns, duration_ns) = (change.at_ns, options.duration_ns);
        return Err(ScalingError::TargetChange { at_ns, duration_ns }.into());
    }
    keep_stronger_target(&mut settings);
    let target = target(&settings.run)?;
    let goal = goal_within(
        &settings.run,
        match target {
            Target::Latency(target_ns) => target_ns,
            Target::Multiple(_) => UNTIL_MEASURED_NS,
        },
    )?;
    let mut seen = BTreeSet::new();
    if let Some(twice) = options.policies.iter().find(|name| !seen.insert(*name)) {
        return Err(ScalingError::NamedTwice(twice.clone()).into());
    }
    for name in &options.policies {
        policy(&settings.run, name)?;
    }
    if Knobs::parse(&settings.run.policy).is_some() {
        // The test bed is made for the bounds, which is the same with every policy that scales.
        STAND_IN.clone_into(&mut settings.run.policy);
    }
    let duration_ms = options.duration_ns / 1_000_000;
    let warn = |settings: &mut Settings, counts: QslCounts| {
        warnings::check(settings, counts, options.input, duration_ms)
    };
    let make_folder = |settings: &Settings| RunFolder::create(settings, "-scale");
    let frame = Frame::set_up_with(settings, interrupt, warn, make_folder)?;
    frame.run("what was seen is in", None, |frame, bed| scale_in(frame, bed, options, target, goal))
}

/// Policy that the settings have in place of a setting that stays, such as 64x3.
const STAND_IN: &str = "joint";

/// Placeholder for a target that has to be measured first, in ns: no batch is above it.
const UNTIL_MEASURED_NS: u64 = u64::MAX / 4;

fn scale_in(
    frame: &Frame,
    bed: OpenBed<'_>,
    options: &ScaleOptions,
    target: Target,
    mut goal: Goal,
) -> Result<Conclusion, HostError> {
    let Frame { settings, folder, interrupt, .. } = frame;
    let show = |text: &str| interrupt.observer().answer(text);
    let (mut base, mut of_base) = (None, Vec::new());
    if let Target::Multiple(slo_x) = target {
        let (measured, of_plugin) = serve::measure_base(&bed, options, goal, slo_x)?;
        of_base = of_plugin;
        goal.target_ns = base::target_ns(&measured);
        show(&base::text(&measured));
        base = Some(measured);
    }
    show(&answer::head(&goal, options, &settings.test.arrivals));
    let wanted = serve::saturating_samples(&settings.run);
    if options.input == ScaleInput::Saturated && wanted > serve::CLIENTS_MAX {
        show(&answer::clipped(serve::CLIENTS_MAX, wanted));
    }
    let (counts, plugin, machine) = (bed.library.counts(), plugin_part(&bed), bed.machine.clone());
    let mut result = scale_file(settings, counts, options, (goal, base), plugin, machine);
    let mut faults = object(&mut result, of_base);
    let host_side = bed.plugin.backend.host_side();
    let system = format!("{} {} by {}", settings.benchmark.id, bed.model().precision(), result.plugin.name);
    // Stays in the file if this process ends too early.
    result.faults = vec![Fault::NotEnded { plugin: result.plugin.name.clone() }.to_string()];
    for (round, name) in serve::in_turns(options) {
        let (mut of_policy, of_plugin) = serve::run_policy(&bed, options, goal, (round, name))?;
        let noticed = Fault::noticed(bed.plugin.backend.host_side());
        let of_plugin = object(&mut result, of_plugin.into_iter().chain(noticed).collect());
        // The reason why single samples of a batch failed is reported as a fault.
        of_policy.first_error = of_policy.first_error.or_else(|| of_plugin.first().cloned());
        faults.extend(of_plugin);
        result.interrupted = interrupt.has_come();
        show(&answer::summary(&of_policy, result.objections.is_empty()));
        let picture = picture::draw(&of_policy.course);
        let file = if options.rounds > 1 {
            format!("scale-{name}-{round}.svg")
        } else {
            format!("scale-{name}.svg")
        };
        write_whole(&folder.path(&file), |file| file.write_all(picture.as_bytes()))?;
        let is_usable = of_policy.hung == 0 && !of_policy.given_up;
        result.courses.push(of_policy);
        folder.write_result(SCALE, &result)?;
        if result.interrupted || !is_usable {
            break;
        }
    }
    if result.courses.len() > 1 {
        show(&answer::comparison(&options.policies, &result.courses));
    }
    bed.close();
    faults.extend(Fault::noticed(host_side).map(|fault| fault.to_string()));
    result.faults = faults;
    result.finished_at_utc = finished_at_utc(settings);
    let kept = match result.is_good() && options.input == ScaleInput::Saturated {
        true => {
            let decisions = result.courses.iter().flat_map(|it| it.course.decisions.clone());
            kept_curve::keep(settings, &system, &goal, &decisions.collect::<Vec<_>>())
        }
        false => Ok(None),
    };
    result.kept_curve = kept.as_ref().ok().cloned().flatten();
    folder.write_result(SCALE, &result)?;
    folder.finish()?;
    show_end(&result, folder, interrupt.observer().as_ref());
    kept?;
    Ok(if result.is_good() { Conclusion::Good } else { Conclusion::Bad })
}

/// Shows the remarks on the whole result, and its location.
fn show_end(result: &ScaleFile, folder: &RunFolder, observer: &dyn Observer) {
    for fault in &result.faults {
        observer.message(&format!("after the run: {fault}"));
    }
    if !result.objections.is_empty() {
        observer.answer(&format!("no setting counts: {}\n", result.objections.join("; ")));
    }
    if let Some(kept) = &result.kept_curve {
        observer.answer(&kept_curve::text(kept));
    }
    if let Some(remark) = deviations::remark(&result.rules, &result.deviations) {
        observer.answer(&format!("note: {remark}\n"));
    }
    observer.answer(&format!("all in {}\n", folder.name().display()));
}

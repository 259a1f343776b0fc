//! Reads the settings of a scaled system, and checks that scaling makes sense in the run.

use std::cmp::Ordering;

use proctor_config::{IssueMode, Origin, RunSettings, Settings};
use proctor_scaling::{
    Approach, CurveLibrary, DnnScalerSettings, Fixed, Goal, Knobs, POLICIES, ScalingPolicy,
};
use proctor_vocabulary::{Scenario, TestMode};
use proctor_words::{HostError, ScalingError, UsageError};

/// Returns whether a policy of this name scales, and does not only form batches.
#[must_use]
pub fn scales(policy: &str) -> bool {
    POLICIES.iter().any(|entry| entry.name == policy)
}

/// Returns the policy of this name, with the curves of the settings; a setting, such as 64x3, means a policy that stays
/// there.
///
/// # Errors
/// No policy has this name, the approach leaves it nothing to turn, the curves cannot be read, or the setting is beyond
/// the bounds.
pub fn policy(run: &RunSettings, name: &str) -> Result<Box<dyn ScalingPolicy>, HostError> {
    if let Some(knobs) = Knobs::parse(name) {
        let most = Knobs { batch_size: run.batch_size, instances: run.instances };
        return match knobs == knobs.within(most) {
            true => Ok(Box::new(Fixed(knobs))),
            false => Err(ScalingError::BeyondBounds { policy: name.to_owned(), most }.into()),
        };
    }
    let Some(entry) = POLICIES.iter().find(|entry| entry.name == name) else {
        let known = POLICIES.iter().map(|entry| entry.name).collect();
        return Err(ScalingError::NotScaling { policy: name.to_owned(), known }.into());
    };
    if entry.turns == Approach::Batching && approach(run) == Approach::MultiTenancy {
        return Err(ScalingError::BatchSizeAlone(name.to_owned()).into());
    }
    Ok((entry.make)(DnnScalerSettings { curves: curves(run)?, ..DnnScalerSettings::default() }))
}

/// Returns the curves that the settings name; the paper's if they name none, or a file yet to be made.
///
/// # Errors
/// If they cannot be read.
pub fn curves(run: &RunSettings) -> Result<CurveLibrary, HostError> {
    match run.curves.as_ref().filter(|path| path.exists()) {
        Some(path) => CurveLibrary::read(path).map_err(HostError::usage),
        None => Ok(CurveLibrary::of_the_paper()),
    }
}

/// A latency target, as the settings state it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// A latency, in ns, above 0.
    Latency(u64),
    /// A multiple of the latency of one sample on one instance.
    Multiple(f64),
}

/// Keeps the target from the stronger source, with a warning that the other one has no effect. Two from sources of one
/// kind both stay, and [`target`] refuses them.
pub fn keep_stronger_target(settings: &mut Settings) {
    let (Some(slo_ms), Some(slo_x)) = (settings.run.slo_ms, settings.run.slo_x) else { return };
    let strength_of = |key: &str| settings.origin(key).map_or(0, strength);
    let warning = match strength_of("slo_ms").cmp(&strength_of("slo_x")) {
        Ordering::Equal => return,
        Ordering::Less => {
            settings.run.slo_ms = None;
            format!("slo_ms = {slo_ms} has no effect, as slo_x = {slo_x} comes from a stronger source")
        }
        Ordering::Greater => {
            settings.run.slo_x = None;
            format!("slo_x = {slo_x} has no effect, as slo_ms = {slo_ms} comes from a stronger source")
        }
    };
    settings.warnings.push(warning);
}

/// Ranks kinds of sources: a stronger one replaces a weaker one.
fn strength(origin: &Origin) -> u8 {
    match origin {
        Origin::Flag { .. } => 3,
        Origin::Environment { .. } => 2,
        origin => u8::from(origin.is_user()),
    }
}

/// Returns the target that the settings state.
///
/// # Errors
/// If the settings state no target, or two.
pub fn target(run: &RunSettings) -> Result<Target, HostError> {
    let target_ns = run.slo_ms.map(|ms| (ms * 1e6).round() as u64);
    match (target_ns.filter(|target_ns| *target_ns > 0), run.slo_x) {
        (Some(target_ns), None) => Ok(Target::Latency(target_ns)),
        (None, Some(factor)) => Ok(Target::Multiple(factor)),
        (Some(target_ns), Some(slo_x)) => {
            Err(ScalingError::TwoTargets { slo_ms: target_ns as f64 / 1e6, slo_x }.into())
        }
        (None, None) => Err(HostError::Usage(UsageError::Stated(
            "a policy that scales needs a latency target: give --slo-ms, or --slo-x to host scale",
        ))),
    }
}

/// Returns the goal that the settings of a run state.
///
/// # Errors
/// If there is no target, one that has to be measured first, or nothing to turn.
pub(crate) fn goal(run: &RunSettings) -> Result<Goal, HostError> {
    match target(run)? {
        Target::Latency(target_ns) => goal_within(run, target_ns),
        Target::Multiple(_) => Err(HostError::Usage(UsageError::Stated(
            "slo_x is a multiple of a latency that host scale measures first: give a run --slo-ms, such as the target \
             that host scale prints for it",
        ))),
    }
}

/// Returns the goal within this target, in ns.
///
/// `batch_size` and `instances` are the bounds of the knobs. A knob that the approach does not turn stays at its bound.
///
/// # Errors
/// If there is nothing to turn.
pub fn goal_within(run: &RunSettings, target_ns: u64) -> Result<Goal, HostError> {
    let most = Knobs { batch_size: run.batch_size, instances: run.instances };
    let goal = Goal { approach: approach(run), base: most, ..Goal::new(target_ns, run.tail / 100.0, most) };
    if goal.least() == goal.greatest() {
        return Err(ScalingError::NothingToTurn(most).into());
    }
    Ok(goal)
}

fn approach(run: &RunSettings) -> Approach {
    match run.approach.as_str() {
        "auto" => Approach::Auto,
        "batching" => Approach::Batching,
        "multi-tenancy" => Approach::MultiTenancy,
        other => unreachable!("approach = {other} is none of the choices of the setting"),
    }
}

/// Returns the knobs of a test without scaling: with a policy that scales, the minimum that it may set, which
/// every plugin supports.
///
/// # Errors
/// If there is no target, or nothing to turn.
pub(crate) fn fixed_knobs(run: &RunSettings) -> Result<Knobs, HostError> {
    match scales(&run.policy) {
        // They do not depend on the target.
        true => target(run).and_then(|_| Ok(goal_within(run, 1)?.least())),
        false => Ok(Knobs { batch_size: run.batch_size, instances: run.instances }),
    }
}

/// Refuses a policy that scales where many tests are compared.
///
/// # Errors
/// If the settings name one.
pub fn refuse_in_search(run: &RunSettings) -> Result<(), HostError> {
    match scales(&run.policy) {
        true => Err(ScalingError::InSearch(run.policy.clone()).into()),
        false => Ok(()),
    }
}

/// Refuses a policy that scales in a run where scaling makes no sense.
///
/// # Errors
/// If the settings name one, with the reason and the remedy.
pub fn check_run(settings: &Settings) -> Result<(), HostError> {
    let run = &settings.run;
    if !scales(&run.policy) {
        return Ok(());
    }
    let name = &run.policy;
    let policy_name = || name.clone();
    let refused = |why| Err(HostError::from(ScalingError::InRun { policy: policy_name(), why }));
    match run.mode {
        Some(TestMode::AccuracyOnly) => return fixed_knobs(run).map(|_| ()),
        Some(TestMode::SubmissionRun) => {
            return refused(
                "scales performance runs alone, and SubmissionRun makes one test of both; leave the mode out, for an \
                 accuracy run and then a performance run",
            );
        }
        Some(TestMode::FindPeakPerformance) => {
            return refused(
                "would be on its way while FindPeakPerformance compares rates; have host scale find a setting, and \
                 give it by --batch-size and --instances",
            );
        }
        _ => {}
    }
    if matches!(run.scenario.loadgen(), Scenario::SingleStream | Scenario::MultiStream) {
        let scenario = run.scenario.name();
        return Err(ScalingError::OneQueryAtATime { policy: policy_name(), scenario }.into());
    }
    if run.issue == IssueMode::Always {
        return refused(
            "turns what the host does, and issue = true hands the plugin whole queries; leave out one of them",
        );
    }
    if run.record.is_some() {
        return refused(
            "makes instances come and go, which no replay repeats; leave out --record, or give --batch-size and \
             --instances in its place",
        );
    }
    if let Some(path) = run.curves.as_ref().filter(|path| !path.exists()) {
        return Err(ScalingError::NoCurves { policy: policy_name(), path: path.clone() }.into());
    }
    goal(run)?;
    policy(run, name).map(|_| ())
}

#[cfg(test)]
mod tests {
    use proctor_config::Loader;

    use super::*;

    #[test]
    fn an_approach_that_leaves_a_policy_nothing_to_turn_is_refused() {
        for approach in ["auto", "batching", "multi-tenancy"] {
            let loader = Loader::new().set("batch_size=8").set("instances=4");
            let run = loader.set(&format!("approach={approach}")).load().unwrap().run;
            for name in ["clipper", "dnnscaler", "dnnscaler-algorithm", "joint", "oracle", "8x2"] {
                let refused = policy(&run, name).err().map(|error| error.to_string());
                let is_refused = name == "clipper" && approach == "multi-tenancy";
                assert_eq!(refused.is_some(), is_refused, "{name} with {approach}: {refused:?}");
                let text = refused.unwrap_or_default();
                assert_eq!(
                    text.contains("--approach multi-tenancy") && text.contains("--policy"),
                    is_refused
                );
            }
        }
    }
}

//! Makes `scale.json`: the outcome of a scaled system, for programs.

use proctor_bed::Fault;
use proctor_config::{Deviation, QslCounts, Settings};
use proctor_loadgen::Finding;
use proctor_results::{
    DeviationPart, MachinePart, PluginPart, Program, SCHEMA_VERSION, ScaleFile, TargetBase,
};
use proctor_run::deviations;
use proctor_scaling::Goal;
use proctor_vocabulary::Scenario;

use super::ScaleOptions;
use crate::objections;

/// Returns the round's rules that a run of this kind breaks. A scenario unknown to scaling breaks none.
fn deviations(settings: &Settings, counts: QslCounts, plugin: &PluginPart) -> Vec<DeviationPart> {
    let mut deviations = deviations::all(settings, counts, plugin);
    if settings.run.scenario.loadgen() != Scenario::Server {
        deviations.retain(|deviation| !matches!(deviation, Deviation::Scenario { .. }));
    }
    deviations.iter().map(DeviationPart::from).collect()
}

/// Returns the file before the first policy.
pub(super) fn scale_file(
    settings: &Settings,
    counts: QslCounts,
    options: &ScaleOptions,
    (goal, base): (Goal, Option<TargetBase>),
    plugin: PluginPart,
    machine: MachinePart,
) -> ScaleFile {
    let mut file = ScaleFile {
        schema_version: SCHEMA_VERSION,
        program: Program::this(),
        finished_at_utc: None,
        goal: Some(goal),
        base,
        input: Some(options.input),
        duration_ns: options.duration_ns,
        interrupted: false,
        target_changes: options.target_changes.clone(),
        courses: Vec::new(),
        kept_curve: None,
        faults: Vec::new(),
        objections: Vec::new(),
        benchmark: settings.benchmark.id.clone(),
        rules: settings.run.rules.name.to_owned(),
        deviations: deviations(settings, counts, &plugin),
        virtual_time: settings.run.virtual_time,
        plugin,
        machine: machine.in_result(settings.run.virtual_time),
        settings: settings.of_result().map(|(key, effective)| (key.clone(), effective.into())).collect(),
    };
    for why in file.plugin.isolation.iter().filter_map(|it| it.objection.clone()) {
        objections::add(&mut file.objections, &Finding::of_run(Fault::Exposed(why)));
    }
    file
}

/// Records the faults that disqualify every setting, each once, and returns the others, in words.
pub(super) fn object(file: &mut ScaleFile, faults: Vec<Fault>) -> Vec<String> {
    let (changes, others): (Vec<_>, Vec<_>) = faults.into_iter().partition(Fault::is_change_of_host);
    for objection in changes.into_iter().map(Finding::of_run) {
        objections::add(&mut file.objections, &objection);
    }
    others.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use proctor_bed::HostPart;
    use proctor_config::Loader;
    use proctor_results::ScaleInput;
    use proctor_scaling::Knobs;
    use proctor_words::read_machine;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_of_the_host_speaks_against_every_setting_and_is_told_once() {
        let settings = Loader::new().load().unwrap();
        let options = ScaleOptions {
            policies: Vec::new(),
            rounds: 1,
            duration_ns: 1,
            input: ScaleInput::Saturated,
            target_changes: Vec::new(),
        };
        let goal = Goal::new(1_000_000, 0.95, Knobs::LEAST);
        let plugin = json!({"name": "p", "version": "1", "precision": "f32", "sha256": null});
        let (plugin, machine) = (serde_json::from_value(plugin).unwrap(), read_machine());
        let mut result =
            scale_file(&settings, settings.benchmark.qsl, &options, (goal, None), plugin, machine);
        assert!(serde_json::to_value(&result).unwrap()["objections"].is_null());
        for _ in 0..2 {
            let faults = vec![
                Fault::HostChanged { plugin: "p".to_owned(), part: HostPart::Limits },
                Fault::NotEnded { plugin: "p".to_owned() },
            ];
            assert_eq!(object(&mut result, faults), [Fault::NotEnded { plugin: "p".to_owned() }.to_string()]);
        }
        let objections = serde_json::to_value(&result).unwrap()["objections"].clone();
        assert_eq!(objections.as_array().map(Vec::len), Some(1), "{objections}");
    }
}

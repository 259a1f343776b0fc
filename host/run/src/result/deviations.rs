//! The part of a result about rules of the round that the run does not keep.

use proctor_config::{Deviation, NotOfficial, QslCounts, Settings, Suite, round_rules};
use proctor_plugin_api::MemoryKind;
use proctor_results::{DeviationPart, PluginPart};

/// Returns all of a run of a plugin with these settings over a library of these sizes.
pub fn all(settings: &Settings, counts: QslCounts, plugin: &PluginPart) -> Vec<Deviation> {
    let is_on_device = plugin.sample_memory.iter().any(|kind| kind == MemoryKind::Device.name());
    let of_memory = is_on_device.then_some(Deviation::DeviceMemory);
    let of_network = plugin.network.then(|| of_network(settings)).flatten();
    let of_settings = settings.deviations_over(counts, &plugin.precision);
    of_settings.into_iter().chain(of_memory).chain(of_network).collect()
}

/// Returns the deviation of a system that is reached by a network, if there is no network division: before
/// v5.0, and on the edge (rules v5.0, section 6.2).
fn of_network(settings: &Settings) -> Option<Deviation> {
    let suite = settings.run.suite;
    let has_division = round_rules(settings.run.rules).divisions.iter().any(|name| name == "network");
    let suite_name = suite.map(Suite::name);
    (!has_division || suite == Some(Suite::Edge)).then_some(Deviation::Network { suite: suite_name })
}

/// Returns the remark for the user on the length of a run or a search.
pub fn length_remark(why: &NotOfficial) -> String {
    format!("not of official length ({why}): for comparing runs of your own only")
}

/// Returns the remark for the user, if there are any.
pub fn remark(rules: &str, deviations: &[DeviationPart]) -> Option<String> {
    let texts: Vec<_> = deviations.iter().map(|deviation| deviation.text.as_str()).collect();
    (!texts.is_empty()).then(|| {
        let texts = texts.join("; ");
        format!("deviates from {rules}, for comparing runs of your own only: {texts}")
    })
}

#[cfg(test)]
mod tests {
    use proctor_config::Loader;

    use super::*;
    use crate::result::tests;

    fn parts(settings: &Settings, plugin: &PluginPart) -> Vec<DeviationPart> {
        all(settings, settings.benchmark.qsl, plugin).iter().map(DeviationPart::from).collect()
    }

    #[test]
    fn only_what_deviates_has_a_part() {
        let of = |assignments: &[&str], precision: &str| {
            let loader = Loader::new().set_all(assignments);
            let plugin = PluginPart { precision: precision.to_owned(), ..tests::plugin() };
            parts(&loader.load().unwrap(), &plugin)
        };
        assert!(of(&["rules=v0.7", "benchmark=rnnt"], "f32").is_empty());
        assert_eq!(remark("v0.7", &[]), None);
        let few = "performance_sample_count_override=8";
        let kinds = |deviations: &[DeviationPart]| -> Vec<_> {
            deviations.iter().map(|part| part.kind.clone()).collect()
        };
        assert_eq!(kinds(&of(&[], "f64")), ["benchmark"]);
        let virtual_time = of(&["rules=v0.7", "benchmark=rnnt", "virtual_time=true"], "f32");
        assert_eq!(kinds(&virtual_time), ["virtual-time"]);
        let deviations = of(&["rules=v0.7", "benchmark=rnnt", few], "f64");
        assert_eq!(kinds(&deviations), ["precision", "performance-set"]);
        let deviations = of(&["rules=v0.5", "benchmark=gnmt", few], "f32");
        assert_eq!(kinds(&deviations), ["untimed-step", "performance-set"]);
        assert_eq!(
            remark("v0.5", &deviations[..1]).unwrap(),
            "deviates from v0.5, for comparing runs of your own only: tokenize is done untimed"
        );
    }

    #[test]
    fn what_the_plugin_is_may_deviate() {
        let texts = |assignments: &[&str], plugin: &PluginPart| -> Vec<_> {
            let loader = Loader::new().set_all(assignments);
            let loader = loader.set("benchmark=resnet50").set("scenario=Offline");
            parts(&loader.load().unwrap(), plugin).into_iter().map(|part| part.text).collect()
        };
        for (kind, expected) in [
            ("host", &[][..]),
            ("device", &["samples lie in the memory of a device before the clock starts"][..]),
        ] {
            let plugin = PluginPart { sample_memory: vec![kind.to_owned()], ..tests::plugin() };
            assert_eq!(texts(&[], &plugin), expected);
        }
        let remote = PluginPart { network: true, ..tests::plugin() };
        let text =
            |owner: &str| format!("the system is reached by a network, and {owner} has no division for that");
        for (assignments, expected) in [
            (&["rules=v0.7"][..], vec![text("the round")]),
            (&["rules=v0.7", "suite=datacenter"], vec![text("the round's suite datacenter")]),
            (&["rules=v5.0"], vec![]),
            (&["rules=v5.0", "suite=edge"], vec![text("the round's suite edge")]),
        ] {
            assert_eq!(texts(assignments, &remote), expected, "{assignments:?}");
        }
    }
}

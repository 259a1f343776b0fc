//! The part of a result about rules of the round that the run does not keep.

use proctor_config::{Deviation, Settings};
use proctor_plugin_api::MemoryKind;
use serde::Serialize;

use super::PluginPart;

/// A way in which a run is none by the rules of its round, with the sentence for people.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DeviationPart {
    #[serde(flatten)]
    deviation: Deviation,
    text: String,
}

impl DeviationPart {
    /// All of a run of a plugin with these settings.
    pub(crate) fn all(settings: &Settings, plugin: &PluginPart) -> Vec<Self> {
        let is_on_device = plugin.sample_memory.contains(&MemoryKind::Device.name());
        let of_plugin = is_on_device.then_some(Deviation::DeviceMemory);
        let deviations = settings.deviations(&plugin.precision).into_iter().chain(of_plugin);
        deviations.map(|deviation| Self { text: deviation.to_string(), deviation }).collect()
    }
}

/// Remark for the user, if there are any.
pub(crate) fn remark(rules: &str, deviations: &[DeviationPart]) -> Option<String> {
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

    #[test]
    fn only_what_deviates_has_a_part() {
        let of = |assignments: &[&str], precision: &str| {
            let loader = assignments.iter().fold(Loader::new(), |loader, assignment| loader.set(assignment));
            let plugin = PluginPart { precision: precision.to_owned(), ..tests::plugin() };
            DeviationPart::all(&loader.load().unwrap(), &plugin)
        };
        assert!(of(&["rules=v0.7"], "f32").is_empty() && of(&[], "f64").is_empty());
        assert_eq!(remark("v0.7", &[]), None);
        let memory = ["host", "device"].map(|kind| {
            let plugin = PluginPart { sample_memory: vec![kind], ..tests::plugin() };
            DeviationPart::all(&Loader::new().load().unwrap(), &plugin).len()
        });
        assert_eq!(memory, [0, 1]);
        let few = "performance_sample_count_override=8";
        let kinds = |deviations: &[DeviationPart]| -> Vec<_> {
            deviations.iter().map(|part| serde_json::to_value(part).unwrap()["kind"].clone()).collect()
        };
        let deviations = of(&["rules=v0.7", "benchmark=rnnt", few], "f64");
        assert_eq!(kinds(&deviations), ["precision", "performance-set"]);
        let deviations = of(&["rules=v0.5", "benchmark=gnmt", few], "f32");
        assert_eq!(kinds(&deviations), ["untimed-step", "performance-set"]);
        assert_eq!(
            remark("v0.5", &deviations[..1]).unwrap(),
            "deviates from v0.5, for comparing runs of your own only: tokenize is done untimed"
        );
    }
}

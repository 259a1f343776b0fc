//! The plugin, its option, and the loading of a model.

use proctor_plugin_api::{
    Host, Manifest, ModelRequest, ModelSupport, OptionSpec, Options, Plugin, PluginError, register_plugin,
};

use crate::model::{Completer, NullModel};

register_plugin!(Null);

/// The opened plugin.
#[derive(Debug)]
pub struct Null {
    host: Host,
    complete: Completer,
}

impl Plugin for Null {
    type Model = NullModel;

    fn manifest() -> Manifest {
        let description = "Completes every sample at once, so that what is measured is the harness itself.";
        Manifest::new("null", env!("CARGO_PKG_VERSION"), description)
            .vendor("Proctor", env!("CARGO_PKG_LICENSE"))
            .model(ModelSupport { dynamic_shapes: true, ..ModelSupport::new("*", "none") })
            .with_concurrent_issue()
            .option(OptionSpec::choice(
                "complete",
                &["inline", "thread"],
                "Who completes an issued sample: the issuing thread, or a thread of the plugin's own.",
            ))
    }

    fn open(host: Host, options: &Options) -> Result<Self, PluginError> {
        let complete = match options.text("complete") {
            Some("thread") => Completer::Thread,
            _ => Completer::Inline,
        };
        Ok(Self { host, complete })
    }

    fn load_model(&self, request: &ModelRequest) -> Result<NullModel, PluginError> {
        let response_size = request.outputs.iter().map(|output| output.size_bytes()).sum();
        Ok(NullModel::new(self.host, self.complete, response_size))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proctor_plugin_api::{Model, Placement, linked_plugins};

    use super::*;

    fn open(complete: &str) -> Result<Null, String> {
        let given = BTreeMap::from([("complete".to_owned(), complete.to_owned())]);
        let options =
            Options::resolve(&Null::manifest().options, &given).map_err(|error| error.to_string())?;
        Null::open(Host::detached(), &options).map_err(|error| error.to_string())
    }

    #[test]
    fn it_is_linked_in_and_takes_any_model_without_files() {
        let names: Vec<_> = linked_plugins().map(|plugin| (plugin.name)()).collect();
        assert_eq!(names, ["null"]);
        let manifest = Null::manifest();
        assert!(manifest.issue && !manifest.virtual_time);
        assert_eq!((manifest.models[0].model.as_str(), manifest.models[0].format.as_str()), ("*", "none"));
    }

    #[test]
    fn the_option_says_who_completes() {
        assert_eq!(open("inline").unwrap().complete, Completer::Inline);
        assert_eq!(open("thread").unwrap().complete, Completer::Thread);
        assert!(open("never").unwrap_err().contains("inline, thread"));
    }

    #[test]
    fn a_model_starts_and_stops_in_either_way_and_makes_instances() {
        for complete in ["inline", "thread"] {
            let request = ModelRequest {
                model: "any".into(),
                precision: "f32".into(),
                device: "cpu".into(),
                files: Vec::new(),
                inputs: Vec::new(),
                outputs: Vec::new(),
                scenario: proctor_plugin_api::vocabulary::Scenario::Server,
                batch_size_max: 1,
                instance_count: 1,
                last_output_varies: false,
                inputs_vary: false,
                intent: proctor_plugin_api::vocabulary::Intent::default(),
                placements: Vec::new(),
            };
            let model = open(complete).unwrap().load_model(&request).unwrap();
            assert!(model.create_instance(&Placement::default()).is_ok());
            for _ in 0..2 {
                model.start().unwrap();
                model.stop().unwrap();
            }
        }
    }
}

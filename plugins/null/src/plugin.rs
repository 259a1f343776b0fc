//! What the plugin is, its option, and how a model is loaded.

use proctor_plugin_api::{
    Host, Manifest, ModelRequest, ModelSupport, OptionSpec, Options, Plugin, PluginError, register_plugin,
};

use crate::NullModel;

register_plugin!(Null);

/// The opened plugin.
#[derive(Debug)]
pub struct Null {
    host: Host,
    complete: Complete,
}

/// Who completes an issued sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Complete {
    /// The issuing thread.
    Inline,
    /// A thread of the plugin's own.
    Thread,
}

impl Plugin for Null {
    type Model = NullModel;

    fn manifest() -> Manifest {
        let description = "Completes every sample at once, so that what is measured is the harness itself.";
        Manifest::new("null", env!("CARGO_PKG_VERSION"), description)
            .vendor("Proctor", env!("CARGO_PKG_LICENSE"))
            .model(ModelSupport { dynamic_shapes: true, ..ModelSupport::new("*", "none") })
            .with_issue()
            .option(OptionSpec::choice(
                "complete",
                &["inline", "thread"],
                "Who completes an issued sample: the issuing thread, or a thread of the plugin's own.",
            ))
    }

    fn open(host: Host, options: &Options) -> Result<Self, PluginError> {
        let complete = match options.text("complete") {
            Some("thread") => Complete::Thread,
            _ => Complete::Inline,
        };
        Ok(Self { host, complete })
    }

    fn load_model(&self, request: &ModelRequest) -> Result<NullModel, PluginError> {
        let response_size = request.outputs.iter().map(|output| output.size_bytes()).sum();
        Ok(NullModel::new(self.host, self.complete, response_size))
    }
}

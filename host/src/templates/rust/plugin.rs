//! The plugin @NAME@: classifies handwritten digits.
//!
//! Start here: put your own model into `network.rs`. The front page of proctor-plugin-api says what each function is
//! for, on which thread it is called, and what else there is.

mod network;

use std::sync::Arc;

use network::Network;
use proctor_plugin_api::{
    Batch, Host, Instance, Manifest, Model, ModelRequest, ModelSupport, Options, Placement, Plugin, PluginError,
    export_plugin,
};

struct Digits;

struct DigitsModel(Arc<Network>);

/// One copy of the model; here all share the weights, which nothing changes.
struct DigitsInstance(Arc<Network>);

impl Plugin for Digits {
    type Model = DigitsModel;

    fn manifest() -> Manifest {
        Manifest::new("@NAME@", env!("CARGO_PKG_VERSION"), "Classifies digits.")
            .model(ModelSupport::new("digits-mlp", "safetensors"))
    }

    /// Opens the device; this plugin has none.
    fn open(_host: Host, _options: &Options) -> Result<Self, PluginError> {
        Ok(Self)
    }

    fn load_model(&self, request: &ModelRequest) -> Result<DigitsModel, PluginError> {
        let file = request.file("safetensors");
        let file = file.ok_or_else(|| PluginError::unsupported("there is no safetensors file for this model"))?;
        Ok(DigitsModel(Arc::new(Network::read(file).map_err(PluginError::failed)?)))
    }
}

impl Model for DigitsModel {
    type Instance = DigitsInstance;

    fn create_instance(&self, _placement: &Placement) -> Result<DigitsInstance, PluginError> {
        Ok(DigitsInstance(Arc::clone(&self.0)))
    }
}

impl Instance for DigitsInstance {
    fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        for mut sample in batch.samples() {
            let scores = self.0.classify(sample.input_f32(0));
            sample.output_f32_mut(0).copy_from_slice(&scores);
        }
        Ok(())
    }
}

export_plugin!(Digits);

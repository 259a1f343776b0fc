//! The plugin behind the traits of `proctor-plugin-api`.

use std::sync::Arc;

use proctor_plugin_api::{
    Batch, Host, Instance, Manifest, Model, ModelRequest, ModelSupport, Options, Placement, Plugin,
    PluginError, export_plugin,
};
use proctor_rnn_kernels::Isa;
use proctor_rnn_layer::{Precision, allowed_cores, pin_to};
use proctor_rnn_models::{LoadError, LoadRequest, RunError, Scheduler, SingleThread, load, nets};

use crate::{
    batch::HostBatch,
    options::{Settings, declare},
    planning::{Planning, PlanningOptions, cores_of, engine_identity, make_team},
};

export_plugin!(CpuRnn);

/// The precisions of weights, and their names.
const PRECISIONS: [(&str, Precision); 3] =
    [("f32", Precision::F32), ("bf16", Precision::Bf16), ("int8", Precision::Int8)];

/// The models that are in files alone, with the formats that they come in.
const IN_FILES: [(&str, &str); 5] = [
    ("digits-lstm", "safetensors"),
    ("digits-lstm", "onnx"),
    ("digits-mlp", "onnx"),
    ("rnn-*", "safetensors"),
    ("rnn-*", "onnx"),
];

/// The opened plugin: its options.
#[derive(Debug)]
pub struct CpuRnn {
    host: Host,
    settings: Settings,
}

/// A loaded model and how its instances will be made.
#[derive(Debug)]
pub struct LoadedModel {
    host: Host,
    model: Arc<dyn proctor_rnn_models::Model>,
    settings: Settings,
    planning: Planning,
}

/// One co-located copy of a model.
#[derive(Debug)]
pub struct LoadedInstance {
    host: Host,
    instance: Box<dyn proctor_rnn_models::Instance>,
}

impl Plugin for CpuRnn {
    type Model = LoadedModel;

    fn manifest() -> Manifest {
        let description = "Recurrent networks on the CPU after DeepCPU: LSTM, GRU and RNN in f32, bf16 and int8, from safetensors and ONNX files.";
        let mut manifest = Manifest::new("cpu-rnn", env!("CARGO_PKG_VERSION"), description)
            .vendor("Proctor", env!("CARGO_PKG_LICENSE"))
            .with_live_instances();
        let networks = nets::networks();
        let networks =
            networks.iter().flat_map(|network| network.formats.iter().map(|format| (network.id, *format)));
        for (model, format) in IN_FILES.into_iter().chain(networks) {
            for (precision, _) in PRECISIONS {
                let precision = precision.to_owned();
                manifest = manifest.model(ModelSupport { precision, ..ModelSupport::new(model, format) });
            }
        }
        declare(manifest)
    }

    fn open(host: Host, options: &Options) -> Result<Self, PluginError> {
        // Kernels fall back to the fastest set; a user who asked for another wants to know that it is not used.
        Isa::forced().map_err(|error| PluginError::invalid_argument(error.to_string()))?;
        Ok(Self { host, settings: Settings::read(options)? })
    }

    fn load_model(&self, request: &ModelRequest) -> Result<LoadedModel, PluginError> {
        let known = PRECISIONS.into_iter().find(|(name, _)| *name == request.precision);
        let (_, precision) = known.ok_or_else(|| {
            PluginError::unsupported(format!("precision \"{}\" is not supported", request.precision))
        })?;
        let threads = self.settings.threads.of_each(request.instance_count);
        let planning = Planning::new(PlanningOptions {
            model: format!("{} {}", request.model, request.precision),
            engine: engine_identity(),
            threads,
            cores: cores_of(&allowed_cores(), 0, threads),
            pin: self.settings.pin,
            budget: self.settings.calibration,
            cache: self.host.cache_folder(),
        });
        let scheduler: &dyn Scheduler = if self.settings.optimise { &planning } else { &SingleThread };
        let model = load(&LoadRequest {
            model: &request.model,
            safetensors: request.file("safetensors"),
            onnx: request.file("onnx"),
            vocabulary: request.file("vocabulary"),
            inputs: &request.inputs,
            outputs: &request.outputs,
            batch_size_max: usize::try_from(request.batch_size_max).expect("a usize has 32 bits or more"),
            precision,
            reset: self.settings.reset,
            scheduler,
        })
        .map_err(refused)?;
        let threads = planning.threads();
        tracing::info!(model = request.model, precision = request.precision, threads, "model loaded");
        Ok(LoadedModel { host: self.host, model, settings: self.settings, planning })
    }
}

impl Model for LoadedModel {
    type Instance = LoadedInstance;

    fn create_instance(&self, placement: &Placement) -> Result<LoadedInstance, PluginError> {
        let threads = self.planning.threads();
        let cores = if placement.cpus.is_empty() {
            let instance = usize::try_from(placement.instance_index).unwrap_or(0);
            // One free thread goes where the operating system puts it.
            if threads == 1 { Vec::new() } else { cores_of(&allowed_cores(), instance, threads) }
        } else {
            placement.cpus.iter().filter_map(|cpu| usize::try_from(*cpu).ok()).collect()
        };
        let team = make_team(threads, cores, self.settings.pin).map_err(PluginError::failed)?;
        let instance = Arc::clone(&self.model).instance(team).map_err(failed)?;
        Ok(LoadedInstance { host: self.host, instance })
    }

    fn explain(&self) -> Option<String> {
        self.planning.explanation().or_else(|| Some(self.model.summary()))
    }
}

impl Drop for LoadedModel {
    /// Checks the plan: all batches are done, and nothing is being timed.
    fn drop(&mut self) {
        self.planning.recheck();
    }
}

impl Instance for LoadedInstance {
    fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        let mut batch = HostBatch::new(self.host, batch);
        self.instance.execute(&mut batch).map_err(failed)?;
        batch.end_stages();
        Ok(())
    }

    fn warm_up(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        // The team puts its caller on its first core and leaves it there. That is meant for the instance's thread; the
        // thread that warms up goes on to issue queries and to start other threads, which would inherit its core.
        let before = allowed_cores();
        let warmed_up = self.execute(batch);
        if !before.is_empty()
            && let Err(error) = pin_to(&before)
        {
            tracing::warn!(%error, "cannot give a thread its processors back");
        }
        warmed_up
    }
}

fn refused(error: LoadError) -> PluginError {
    match error {
        LoadError::NoFile { .. } | LoadError::Tensors { .. } => PluginError::unsupported(error.to_string()),
        _ => PluginError::failed(error.to_string()),
    }
}

fn failed(error: RunError) -> PluginError {
    match error {
        RunError::TooLarge { .. } | RunError::Memory { .. } | RunError::Plan { .. } => {
            PluginError::failed(error.to_string())
        }
        _ => PluginError::invalid_argument(error.to_string()),
    }
}

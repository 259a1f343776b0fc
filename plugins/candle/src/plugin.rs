//! The plugin behind the traits of `proctor-plugin-api`.

use proctor_plugin_api::{
    Host, Manifest, ModelRequest, ModelSupport, Options, Plugin, PluginError, export_plugin,
};

use crate::{
    device,
    error::LoadError,
    model::LoadedModel,
    models::{self, MODELS},
    network::{Known, LoadRequest},
    options::{Settings, declare},
    precision::Precision,
    threads,
    weights::Weights,
};

export_plugin!(Candle);

/// The opened plugin: its options.
#[derive(Debug)]
pub struct Candle {
    host: Host,
    settings: Settings,
}

impl Plugin for Candle {
    type Model = LoadedModel;

    fn manifest() -> Manifest {
        let description = "Models by name from safetensors and GGUF files, on candle, in f32, bf16 and f16.";
        let mut manifest = Manifest::new("candle", env!("CARGO_PKG_VERSION"), description)
            .vendor("Proctor", env!("CARGO_PKG_LICENSE"))
            .with_live_instances();
        for known in MODELS {
            for (model, format) in
                known.ids.iter().flat_map(|id| known.formats.iter().map(move |it| (id, it)))
            {
                for precision in Precision::ALL {
                    for device in device::KINDS {
                        manifest = manifest.model(ModelSupport {
                            precision: precision.name().to_owned(),
                            device: (*device).to_owned(),
                            ..ModelSupport::new(model, format.name())
                        });
                    }
                }
            }
        }
        declare(manifest)
    }

    fn open(host: Host, options: &Options) -> Result<Self, PluginError> {
        Ok(Self { host, settings: Settings::read(options)? })
    }

    fn load_model(&self, request: &ModelRequest) -> Result<LoadedModel, PluginError> {
        let (known, precision) = find(request)?;
        let mut files = known.formats.iter().map(|format| (*format, request.file(format.name())));
        let Some((format, Some(path))) = files.find(|(_, path)| path.is_some()) else {
            let formats: Vec<_> = known.formats.iter().map(|format| format.name()).collect();
            let (model, formats) = (&request.model, formats.join(" or "));
            return Err(
                LoadError::Unsupported(format!("model \"{model}\" comes without a {formats} file")).into()
            );
        };
        let device = device::open(&request.device)?;
        let weights = Weights::open(path, format, precision, &device)?;
        let instance_count = usize::try_from(request.instance_count).unwrap_or(1);
        let network = (known.load)(&LoadRequest {
            model: &request.model,
            weights: &weights,
            inputs: &request.inputs,
            outputs: &request.outputs,
            batch_size_max: usize::try_from(request.batch_size_max).expect("a usize has 32 bits or more"),
            instance_count,
            beam: self.settings.beam,
        })?;
        let unread = weights.unread();
        if let Some(first) = unread.first() {
            tracing::info!(
                model = request.model,
                count = unread.len(),
                first,
                "tensors that the model has no use for"
            );
        }
        let threads = self.settings.threads.of_each(request.instance_count);
        threads::compare_with_environment(threads);
        tracing::info!(model = request.model, precision = precision.name(), threads, "model loaded");
        Ok(LoadedModel::new(self.host, network, &weights, request, threads))
    }
}

/// Returns the requested model and the precision, if they go together.
fn find(request: &ModelRequest) -> Result<(&'static Known, Precision), LoadError> {
    let known = models::find(&request.model).ok_or_else(|| {
        let known: Vec<_> = MODELS.iter().flat_map(|known| known.ids).copied().collect();
        LoadError::unknown_model(&request.model, &known)
    })?;
    let precision = Precision::from_name(&request.precision).ok_or_else(|| {
        let known = Precision::ALL.iter().map(|known| known.name()).collect::<Vec<_>>().join(", ");
        let (model, precision) = (&request.model, &request.precision);
        LoadError::Unsupported(format!("model \"{model}\" runs in {known}, not in \"{precision}\""))
    })?;
    Ok((known, precision))
}

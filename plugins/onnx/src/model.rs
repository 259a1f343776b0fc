//! A loaded model, and how it came to be.

use std::{
    fmt::Write,
    path::Path,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
};

use ort::session::SharedSessionInner;
use proctor_onnx_file::{Batching, Fit, OnnxFile, RequestError, Signature};
use proctor_plugin_api::{Host, Model, ModelRequest, Placement, PluginError, vocabulary::TensorSpec};

use crate::{
    answer::Made,
    error::LoadError,
    instance::{Counters, MadeOf, ModelTensors, OnnxInstance},
    options::Settings,
    provider::Provider,
    runtime_library::runtime::Runtime,
    session::SessionMaker,
};

/// Name of the figure that says what was copied.
const INPUT_BYTES_COPIED: &str = "input_bytes_copied";

/// A loaded model.
pub struct OnnxModel {
    host: Host,
    maker: SessionMaker,
    tensors: ModelTensors,
    counters: Arc<Counters>,
    /// The session that all instances share, or that waits for the first instance.
    session: Mutex<Option<Arc<SharedSessionInner>>>,
    explanation: String,
}

impl OnnxModel {
    /// Reads the file, holds it against the request, and makes the first session.
    pub(crate) fn load(
        host: Host,
        runtime: &Arc<Runtime>,
        settings: &Settings,
        request: &ModelRequest,
    ) -> Result<Self, LoadError> {
        runtime.check_alone()?;
        let no_file = || RequestError::NoFile { model: request.model.clone() };
        let path = request.file("onnx").ok_or_else(no_file)?;
        let file = OnnxFile::open(path)?;
        file.check_precision(&request.precision)?;
        let batch_size_max = usize::try_from(request.batch_size_max).unwrap_or(usize::MAX).max(1);
        let (fit, made) = fit(&file, request, batch_size_max)?;
        let maker = SessionMaker {
            runtime: Arc::clone(runtime),
            path: Arc::from(path),
            provider: Provider::choose(settings.provider, &request.device, runtime)?,
            threads: settings.threads(request.instance_count),
            settings: settings.clone(),
        };
        let session = maker.make(&[])?;
        let (inputs, outputs) = (request.inputs.clone(), request.outputs.clone());
        let tensors = ModelTensors { fit, made, inputs, outputs, batch_size_max };
        let explanation = explain(&maker, &file, &tensors);
        tracing::info!(path = %path.display(), provider = %maker.provider, threads = maker.threads, "model loaded");
        Ok(Self {
            host,
            maker,
            tensors,
            counters: Arc::default(),
            session: Mutex::new(Some(session)),
            explanation,
        })
    }

    /// The session for one more instance, which keeps to `cpus` if there are any.
    fn session(&self, cpus: &[u32]) -> Result<Arc<SharedSessionInner>, LoadError> {
        let mut first = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        if self.maker.settings.shared {
            match &*first {
                Some(session) => return Ok(Arc::clone(session)),
                None => return self.maker.make(&[]),
            }
        }
        match first.take() {
            // Threads of their own have to be started where they belong.
            Some(session) if cpus.is_empty() || self.maker.threads == 1 => Ok(session),
            _ => self.maker.make(cpus),
        }
    }
}

impl Model for OnnxModel {
    type Instance = OnnxInstance;

    fn create_instance(&self, placement: &Placement) -> Result<OnnxInstance, PluginError> {
        let session = self.session(&placement.cpus)?;
        OnnxInstance::new(self.host, session, &self.tensors, Arc::clone(&self.counters))
    }

    fn start(&self) -> Result<(), PluginError> {
        // What the warm-up copied does not count.
        self.counters.input_bytes_copied.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn stop(&self) -> Result<(), PluginError> {
        #[expect(clippy::cast_precision_loss, reason = "a figure for people; exact up to 2^53 bytes")]
        let copied = self.counters.input_bytes_copied.load(Ordering::Relaxed) as f64;
        self.host.metric(INPUT_BYTES_COPIED, "B", copied);
        Ok(())
    }

    fn explain(&self) -> Option<String> {
        Some(self.explanation.clone())
    }
}

/// Correspondence of the model's tensors and a sample's. Outputs that fit are taken as they are, unless the last one
/// varies; of others those of a sample are made, if it is known how.
fn fit(
    file: &OnnxFile,
    request: &ModelRequest,
    batch_size_max: usize,
) -> Result<(Fit, Option<MadeOf>), RequestError> {
    let plain = file.fit(&request.inputs, &request.outputs, batch_size_max);
    if plain.is_ok() && !request.last_output_varies {
        return Ok((plain?, None));
    }
    let Some(made) = Made::recognise(&file.signature, request) else { return Ok((plain?, None)) };
    let names = made.values().into_iter().map(|value| file.signature.outputs[value].name.clone()).collect();
    Ok((file.fit_inputs(&request.inputs, batch_size_max)?, Some(MadeOf { made, names })))
}

fn explain(maker: &SessionMaker, file: &OnnxFile, model: &ModelTensors) -> String {
    let SessionMaker { runtime, provider, threads, settings, .. } = maker;
    let mut text = String::new();
    let mut line = |line: String| {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{line}");
    };
    line(format!("ONNX Runtime {} ({})", runtime.version(), runtime.path().display()));
    // By the names of the options, so that one sees what to set.
    let session = if settings.shared { "shared" } else { "each" };
    line(format!(
        "provider {provider}, graph_optimisation {}, session {session}, threads {threads}, inter_threads {}, spin {}, arena {}",
        settings.level, settings.inter_threads, settings.spin, settings.arena
    ));
    let opsets = file.opsets.iter().map(|opset| {
        let domain = if opset.domain.is_empty() { "ai.onnx" } else { &opset.domain };
        format!("{domain} {}", opset.version)
    });
    let name = file.path.file_name().map(|name| Path::new(name).display().to_string()).unwrap_or_default();
    let batches = match model.fit.batching {
        Batching::Free => "batches of any size".to_owned(),
        Batching::Fixed(fixed) => format!("batches of {fixed}"),
        Batching::None => "one sample at a time".to_owned(),
    };
    line(format!(
        "{name}: {}, {}, {} kinds of operators, {batches}",
        file.precision,
        opsets.collect::<Vec<_>>().join(", "),
        file.op_types.len()
    ));
    for tensor in tensor_lines(&model.fit, &file.signature, [&model.inputs, &model.outputs]) {
        line(tensor);
    }
    if let Some(MadeOf { made, .. }) = &model.made {
        let outputs: Vec<_> = model.outputs.iter().map(ToString::to_string).collect();
        line(format!("  {made} -> {}", outputs.join(", ")));
    }
    text
}

/// A line for each tensor: where it comes from, where it goes, and what happens to it on the way.
fn tensor_lines(fit: &Fit, signature: &Signature, [inputs, outputs]: [&[TensorSpec]; 2]) -> Vec<String> {
    let converted = |port: &proctor_onnx_file::Port| match port.conversion {
        None => String::new(),
        Some(conversion) => {
            format!(" (each value converted from {} to {})", conversion.from(), conversion.to())
        }
    };
    let input = |port: &proctor_onnx_file::Port| {
        format!("  {} -> {}{}", inputs[port.tensor], signature.inputs[port.value], converted(port))
    };
    let output = |port: &proctor_onnx_file::Port| {
        format!("  {} -> {}{}", signature.outputs[port.value], outputs[port.tensor], converted(port))
    };
    fit.inputs.iter().map(input).chain(fit.outputs.iter().map(output)).collect()
}

//! A loaded model, and how it came to be.

use std::{
    fmt::Write,
    path::Path,
    slice,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use ort::session::SharedSessionInner;
use parking_lot::Mutex;
use proctor_onnx_file::{Batching, Fit, OnnxFile, RequestError, Signature};
use proctor_plugin_api::{Host, Model, ModelRequest, Placement, PluginError, vocabulary::TensorSpec};

use crate::{
    answer::MadeOf,
    error::LoadError,
    instance::OnnxInstance,
    options::Settings,
    provider::Provider,
    runtime_library::runtime::Runtime,
    session::SessionMaker,
    way::{ModelTensors, Way},
};

/// Name of the figure for the copied bytes.
const INPUT_BYTES_COPIED: &str = "input_bytes_copied";

/// A loaded model.
pub struct OnnxModel {
    host: Host,
    maker: SessionMaker,
    way: Way,
    /// Number of bytes of inputs that all instances copied before the runtime saw them.
    input_bytes_copied: Arc<AtomicU64>,
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
        let way = Way::find(&file, request, settings.windows)?;
        let maker = SessionMaker {
            runtime: Arc::clone(runtime),
            path: Arc::from(path),
            provider: Provider::choose(settings.provider, &request.device, runtime)?,
            threads: settings.threads(request.instance_count),
            settings: settings.clone(),
        };
        let session = maker.make(&[])?;
        let explanation = explain(&maker, &file, &way);
        tracing::info!(path = %path.display(), provider = %maker.provider, threads = maker.threads, "model loaded");
        Ok(Self {
            host,
            maker,
            way,
            input_bytes_copied: Arc::default(),
            session: Mutex::new(Some(session)),
            explanation,
        })
    }

    /// Returns the session for one more instance, which keeps to `cpus` if there are any.
    fn session(&self, cpus: &[u32]) -> Result<Arc<SharedSessionInner>, LoadError> {
        let mut first = self.session.lock();
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
        OnnxInstance::new(self.host, session, &self.way, Arc::clone(&self.input_bytes_copied))
    }

    fn start(&self) -> Result<(), PluginError> {
        // Copies made during warm-up do not count.
        self.input_bytes_copied.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn stop(&self) -> Result<(), PluginError> {
        #[expect(clippy::cast_precision_loss, reason = "a figure for people; exact up to 2^53 bytes")]
        let copied = self.input_bytes_copied.load(Ordering::Relaxed) as f64;
        self.host.metric(INPUT_BYTES_COPIED, "B", copied);
        Ok(())
    }

    fn explain(&self) -> Option<String> {
        Some(self.explanation.clone())
    }
}

fn explain(maker: &SessionMaker, file: &OnnxFile, way: &Way) -> String {
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
    let batches = match way {
        Way::Volumes(fit) => {
            let extent = fit.extent();
            format!("windows of {extent}x{extent}x{extent}, {} at a time", fit.windows_max)
        }
        Way::Batches(tensors) => match (tensors.fit.batching, tensors.rows_max) {
            (_, Some(rows_max)) => {
                format!("batches of samples of up to {rows_max} rows, which lie side by side")
            }
            (Batching::Free, None) => "batches of any size".to_owned(),
            (Batching::Fixed(fixed), None) => format!("batches of {fixed}"),
            (Batching::None, None) => "one sample at a time".to_owned(),
        },
    };
    line(format!(
        "{name}: {}, {}, {} kinds of operators, {batches}",
        file.precision,
        opsets.collect::<Vec<_>>().join(", "),
        file.op_types.len()
    ));
    let tensors = match way {
        Way::Volumes(fit) => {
            let specs = [&fit.input, &fit.output].map(slice::from_ref);
            tensor_lines(&fit.fit, &file.signature, specs)
        }
        Way::Batches(tensors) => {
            tensor_lines(&tensors.fit, &file.signature, [&tensors.inputs, &tensors.outputs])
        }
    };
    tensors.into_iter().for_each(&mut line);
    if let Way::Batches(ModelTensors { made: Some(MadeOf { made, .. }), outputs, .. }) = way {
        let outputs: Vec<_> = outputs.iter().map(ToString::to_string).collect();
        line(format!("  {made} -> {}", outputs.join(", ")));
    }
    text
}

/// Returns a line for each tensor: its source, its destination, and its conversion on the way.
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

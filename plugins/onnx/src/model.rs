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

use proctor_onnx_file::{Batching, Fit, OnnxFile, RequestError, Signature};
use proctor_plugin_api::{
    Host, Model, ModelRequest, Placement, PluginError,
    vocabulary::{Generation, TensorSpec},
};

use crate::{
    answer::MadeOf,
    error::LoadError,
    generation::{Part, Plan, declaration, file_of},
    instance::OnnxInstance,
    options::Settings,
    provider::{
        Provider,
        library::{LibraryProvider, ProviderLibrary, ProviderLibraryError},
    },
    runtime_library::runtime::Runtime,
    session::{SessionMaker, Sessions},
    way::{ModelTensors, Way},
};

/// Name of the figure for the copied bytes.
const INPUT_BYTES_COPIED: &str = "input_bytes_copied";

/// A loaded model.
pub struct OnnxModel {
    host: Host,
    work: Work,
    /// Number of bytes of inputs that all instances copied before the runtime saw them.
    input_bytes_copied: Arc<AtomicU64>,
    explanation: String,
}

/// Sessions, and how samples go through them.
enum Work {
    /// Tensors in, tensors out.
    Tensors { sessions: Sessions, way: Way },
    /// A sample in, tokens out, one after the other.
    Tokens { encoder: Sessions, decoder: Sessions, plan: Arc<Plan> },
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
        if let Some(generation) = declaration(request)? {
            return Self::load_generation(host, runtime, settings, request, generation);
        }
        let no_file = || RequestError::NoFile { model: request.model.clone() };
        let path = request.file("onnx").ok_or_else(no_file)?;
        let file = OnnxFile::open(path)?;
        file.check_precision(&request.precision)?;
        let way = Way::find(&file, request, settings.windows)?;
        let maker = maker(runtime, settings, request, path)?;
        let session = maker.make(&[])?;
        let explanation = explain(&maker, &file, &way);
        tracing::info!(path = %path.display(), provider = %maker.provider, threads = maker.threads, "model loaded");
        let work = Work::Tensors { sessions: Sessions::new(maker, session), way };
        Ok(Self { host, work, input_bytes_copied: Arc::default(), explanation })
    }

    /// Makes the first sessions of both files, and holds their tensors against the declaration.
    fn load_generation(
        host: Host,
        runtime: &Arc<Runtime>,
        settings: &Settings,
        request: &ModelRequest,
        generation: Generation,
    ) -> Result<Self, LoadError> {
        let [encoder_path, decoder_path] =
            [&generation.encoder.file, &generation.decoder.file].map(|format| file_of(request, format));
        let (encoder_path, decoder_path) = (encoder_path?, decoder_path?);
        let encoder_maker = maker(runtime, settings, request, encoder_path)?;
        let decoder_maker = maker(runtime, settings, request, decoder_path)?;
        let (encoder, decoder) = (encoder_maker.make_whole(&[])?, decoder_maker.make_whole(&[])?);
        let (encoder_part, decoder_part) =
            (Part::of(encoder_path, &encoder), Part::of(decoder_path, &decoder));
        let plan = Plan::new(generation, request, &encoder_part, &decoder_part)?;
        let explanation = explain_runtime(&encoder_maker) + &plan.explain(encoder_path, decoder_path);
        tracing::info!(encoder = %encoder_path.display(), decoder = %decoder_path.display(), "model loaded");
        let work = Work::Tokens {
            encoder: Sessions::new(encoder_maker, encoder.inner()),
            decoder: Sessions::new(decoder_maker, decoder.inner()),
            plan: Arc::new(plan),
        };
        Ok(Self { host, work, input_bytes_copied: Arc::default(), explanation })
    }
}

impl Model for OnnxModel {
    type Instance = OnnxInstance;

    fn create_instance(&self, placement: &Placement) -> Result<OnnxInstance, PluginError> {
        let cpus = &placement.cpus;
        match &self.work {
            Work::Tensors { sessions, way } => {
                let copied = Arc::clone(&self.input_bytes_copied);
                OnnxInstance::new(self.host, sessions.next(cpus)?, way, copied)
            }
            Work::Tokens { encoder, decoder, plan } => {
                let sessions = [encoder.next(cpus)?, decoder.next(cpus)?];
                OnnxInstance::of_tokens(self.host, sessions, plan)
            }
        }
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

/// Returns everything that the sessions of a file have in common.
fn maker(
    runtime: &Arc<Runtime>,
    settings: &Settings,
    request: &ModelRequest,
    path: &Path,
) -> Result<SessionMaker, LoadError> {
    let library_provider = library_provider(runtime, settings)?;
    let provider = match &library_provider {
        None => Provider::choose(settings.provider, &request.device, runtime)?,
        // It computes what the other one does not take.
        Some(_) => Provider::Cpu,
    };
    Ok(SessionMaker {
        runtime: Arc::clone(runtime),
        path: Arc::from(path),
        provider,
        library_provider,
        threads: settings.threads(request.instance_count),
        settings: settings.clone(),
    })
}

/// Returns the provider of the library that the options name, registered.
fn library_provider(runtime: &Runtime, settings: &Settings) -> Result<Option<LibraryProvider>, LoadError> {
    let Some((path, wanted)) = &settings.ep_library else { return Ok(None) };
    if let Some(other) = settings.provider {
        return Err(ProviderLibraryError::Two { provider: other.name() }.into());
    }
    Ok(Some(ProviderLibrary::register(runtime, path)?.choose(wanted)?))
}

/// Returns lines about the runtime and the settings of sessions.
fn explain_runtime(maker: &SessionMaker) -> String {
    let SessionMaker { runtime, provider, threads, settings, .. } = maker;
    // By the names of the options, so that one sees what to set.
    let session = if settings.shared { "shared" } else { "each" };
    let library = maker.library_provider.as_ref().map_or_else(String::new, |library| {
        format!("execution provider {library}; what it does not take runs on {provider}\n")
    });
    format!(
        "ONNX Runtime {} ({})\n{library}provider {provider}, graph_optimisation {}, session {session}, threads {threads}, \
         inter_threads {}, spin {}, arena {}\n",
        runtime.version(),
        runtime.path().display(),
        settings.level,
        settings.inter_threads,
        settings.spin,
        settings.arena
    )
}

fn explain(maker: &SessionMaker, file: &OnnxFile, way: &Way) -> String {
    let mut text = explain_runtime(maker);
    let mut line = |line: String| {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{line}");
    };
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

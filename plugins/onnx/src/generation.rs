//! Models in two files that answer with tokens, one after the other, as a definition declares it: an encoder, and a
//! decoder that is called for each token.
//!
//! The tensors that go from call to call stay in the memory of the runtime, and are handed over without a copy.

pub(crate) mod instance;
mod pieces;

use std::{
    fmt::Write,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use ort::{
    session::Session,
    value::{Outlet, TensorElementType, ValueType},
};
use proctor_plugin_api::{
    ModelRequest,
    vocabulary::{
        Cache,
        ElementType::{self, F32, I32, I64, U8},
        Generation, TensorSpec,
    },
};

use self::pieces::Pieces;

/// Formats of the files, as manifests name them.
pub(crate) const FORMATS: [&str; 4] = ["onnx-encoder", "onnx-decoder", "token-pieces", Generation::FORMAT];

/// Maximum size of the files that are read whole: a declaration, and the texts of tokens.
const FILE_BYTES_MAX: u64 = 1 << 24;

/// Maximum number of tokens of an answer, whatever the declaration says.
const TOKENS_MAX: usize = 1 << 16;

/// Reason why a model cannot answer with tokens.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GenerationError {
    /// A file that is not there or larger than any such file.
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A declaration in another form than the host's.
    #[error("{} is no declaration of how tokens are made: {source}", path.display())]
    Declaration { path: PathBuf, source: serde_json::Error },
    #[error("the model has no file of format {format}, which its declaration names")]
    NoFile { format: String },
    #[error("{} ends within a token; restore the file", path.display())]
    Pieces { path: PathBuf },
    #[error(
        "the benchmark takes {inputs}, and gives {outputs}; a model that answers with tokens takes values f32[n] and \
         their number, i32[1] or i64[1], and gives one output that varies: tokens of i32 or i64, or text of u8, for \
         which the declaration names `pieces`"
    )]
    Tensors { inputs: String, outputs: String },
    #[error("{} has no {kind} \"{name}\", which the declaration names; it has {}", path.display(), known.join(", "))]
    Missing { path: PathBuf, kind: &'static str, name: String, known: Vec<String> },
    #[error("{} has the input \"{name}\", which the declaration does not name", path.display())]
    Undeclared { path: PathBuf, name: String },
    #[error("\"{name}\" of {} is {got}, and not a tensor of {expected}", path.display())]
    Type { path: PathBuf, name: String, got: String, expected: &'static str },
}

/// A part of a model: a file with its tensors.
pub(crate) struct Part<'a> {
    pub(crate) path: &'a Path,
    pub(crate) inputs: &'a [Outlet],
    pub(crate) outputs: &'a [Outlet],
}

impl<'a> Part<'a> {
    pub(crate) fn of(path: &'a Path, session: &'a Session) -> Self {
        Self { path, inputs: session.inputs(), outputs: session.outputs() }
    }

    fn find(&self, kind: &'static str, name: &str, expected: Expected) -> Result<usize, GenerationError> {
        let values = if kind == "input" { self.inputs } else { self.outputs };
        let path = || self.path.to_owned();
        let Some(place) = values.iter().position(|value| value.name() == name) else {
            let known = values.iter().map(|value| value.name().to_owned()).collect();
            return Err(GenerationError::Missing { path: path(), kind, name: name.to_owned(), known });
        };
        match values[place].dtype() {
            ValueType::Tensor { ty, .. } if *ty == expected.ty() => Ok(place),
            other => {
                let (name, got) = (name.to_owned(), other.to_string());
                Err(GenerationError::Type { path: path(), name, got, expected: expected.name() })
            }
        }
    }
}

/// The type of a tensor.
#[derive(Debug, Clone, Copy)]
enum Expected {
    Real,
    Integer,
    Truth,
}

impl Expected {
    fn ty(self) -> TensorElementType {
        match self {
            Self::Real => TensorElementType::Float32,
            Self::Integer => TensorElementType::Int64,
            Self::Truth => TensorElementType::Bool,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Real => "f32",
            Self::Integer => "i64",
            Self::Truth => "bool",
        }
    }
}

/// A model that answers with tokens, held against its files and the benchmark.
#[derive(Debug)]
pub(crate) struct Plan {
    generation: Generation,
    answer: Answer,
    /// Maximum number of values of a sample.
    value_count_max: usize,
    /// Type of the number of values.
    length_type: ElementType,
    /// Maximum number of elements of an answer.
    answer_max: usize,
    encoder_inputs: Vec<String>,
    decoder: DecoderPlan,
}

/// Inputs and outputs of the decoder, by their positions.
#[derive(Debug)]
struct DecoderPlan {
    inputs: Vec<String>,
    /// The logits, and the outputs that are inputs of the next call.
    outputs: Vec<String>,
    tokens: usize,
    states: usize,
    mask: Option<usize>,
    use_cache: Option<usize>,
    caches: Vec<CachePlan>,
}

/// An output of the decoder that is an input of the next call.
#[derive(Debug)]
struct CachePlan {
    input: usize,
    output: usize,
    /// Shape in the first call, in which nothing is there yet.
    first_dims: Vec<i64>,
    /// Whether it comes of the first call alone.
    once: bool,
}

/// The form of an answer.
#[derive(Debug)]
enum Answer {
    /// Tokens of a type.
    Tokens(ElementType),
    /// Text in UTF-8.
    Text(Pieces),
}

/// Reads the declaration of a request; `None` if it has none.
pub(crate) fn declaration(request: &ModelRequest) -> Result<Option<Generation>, GenerationError> {
    let Some(path) = request.file(Generation::FORMAT) else { return Ok(None) };
    let declared = serde_json::from_slice(&read(path)?);
    declared.map(Some).map_err(|source| GenerationError::Declaration { path: path.to_owned(), source })
}

/// Returns the file of a format that a declaration names.
pub(crate) fn file_of<'a>(request: &'a ModelRequest, format: &str) -> Result<&'a Path, GenerationError> {
    request.file(format).ok_or_else(|| GenerationError::NoFile { format: format.to_owned() })
}

/// Reads a small file whole.
fn read(path: &Path) -> Result<Vec<u8>, GenerationError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) if bytes.len() as u64 <= FILE_BYTES_MAX => Ok(bytes),
        Ok(_) => {
            let source = io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than any such file");
            Err(GenerationError::Read { path: path.to_owned(), source })
        }
        Err(source) => Err(GenerationError::Read { path: path.to_owned(), source }),
    }
}

impl Plan {
    /// Holds a declaration against the two files and the benchmark.
    pub(crate) fn new(
        generation: Generation,
        request: &ModelRequest,
        encoder: &Part<'_>,
        decoder: &Part<'_>,
    ) -> Result<Self, GenerationError> {
        let unfit = || GenerationError::Tensors {
            inputs: listed(&request.inputs),
            outputs: listed(&request.outputs),
        };
        let [values, length] = &request.inputs[..] else { return Err(unfit()) };
        let is_sample = values.element_type == F32
            && values.shape.len() == 1
            && matches!(length.element_type, I32 | I64)
            && length.shape == [1];
        let [output] = &request.outputs[..] else { return Err(unfit()) };
        if !is_sample || request.inputs_vary || !request.last_output_varies {
            return Err(unfit());
        }
        let answer = match (output.element_type, &generation.pieces) {
            (I32 | I64, _) => Answer::Tokens(output.element_type),
            (U8, Some(format)) => {
                let path = file_of(request, format)?;
                let pieces = Pieces::parse(read(path)?);
                Answer::Text(pieces.ok_or_else(|| GenerationError::Pieces { path: path.to_owned() })?)
            }
            _ => return Err(unfit()),
        };
        let own = &generation.encoder;
        encoder.find("input", &own.input, Expected::Real)?;
        encoder.find("output", &own.states, Expected::Real)?;
        let mask = own.mask.as_deref();
        mask.map(|mask| encoder.find("input", mask, Expected::Integer)).transpose()?;
        let encoder_inputs: Vec<String> =
            [own.input.as_str()].into_iter().chain(mask).map(str::to_owned).collect();
        declares_all(encoder, |name| encoder_inputs.iter().any(|known| known == name))?;
        Ok(Self {
            decoder: DecoderPlan::new(&generation, decoder)?,
            generation,
            answer,
            value_count_max: values.element_count(),
            length_type: length.element_type,
            answer_max: output.element_count(),
            encoder_inputs,
        })
    }

    /// Returns the maximum number of tokens for a sample of this many values.
    fn tokens_max(&self, value_count: usize) -> usize {
        let room = match self.answer {
            Answer::Tokens(_) => self.answer_max,
            Answer::Text(_) => TOKENS_MAX,
        };
        self.generation.tokens_max(value_count).min(room).clamp(1, TOKENS_MAX)
    }

    /// Returns lines about the files and the way of a sample.
    pub(crate) fn explain(&self, encoder: &Path, decoder: &Path) -> String {
        let Self { generation, decoder: plan, .. } = self;
        let name = |path: &Path| {
            path.file_name().map(|name| Path::new(name).display().to_string()).unwrap_or_default()
        };
        let mut text = String::new();
        let mut line = |line: String| {
            // Writing to a String does not fail.
            let _ = writeln!(text, "{line}");
        };
        line(format!("{}: once for a sample, up to {} values", name(encoder), self.value_count_max));
        let caches = plan.caches.len();
        line(format!("{}: once for a token, {caches} tensors go from call to call", name(decoder)));
        let Generation { start_token, end_token, tokens_per_second, tokens_more, .. } = generation;
        line(format!(
            "  the most likely token after {start_token} up to {end_token}, at most {tokens_per_second} a second and \
             {tokens_more}"
        ));
        line(match &self.answer {
            Answer::Tokens(element) => format!("  -> tokens of {element}"),
            Answer::Text(pieces) => format!("  -> text, by {} pieces", pieces.count()),
        });
        text
    }
}

impl DecoderPlan {
    fn new(generation: &Generation, part: &Part<'_>) -> Result<Self, GenerationError> {
        let own = &generation.decoder;
        let (mut inputs, mut outputs) = (Vec::new(), vec![own.logits.clone()]);
        part.find("output", &own.logits, Expected::Real)?;
        let mut input = |name: &str, expected| -> Result<usize, GenerationError> {
            part.find("input", name, expected)?;
            inputs.push(name.to_owned());
            Ok(inputs.len() - 1)
        };
        let tokens = input(&own.tokens, Expected::Integer)?;
        let states = input(&own.states, Expected::Real)?;
        let mask = own.mask.as_deref().map(|name| input(name, Expected::Integer)).transpose()?;
        let use_cache = own.use_cache.as_deref().map(|name| input(name, Expected::Truth)).transpose()?;
        let mut caches = Vec::new();
        for value in part.inputs {
            let of_cache = |cache: &Cache| Some((cache.present_of(value.name())?, cache.once));
            let Some((present, once)) = own.caches.iter().find_map(of_cache) else { continue };
            let input = input(value.name(), Expected::Real)?;
            part.find("output", &present, Expected::Real)?;
            outputs.push(present);
            caches.push(CachePlan { input, output: outputs.len() - 1, first_dims: first_dims(value), once });
        }
        declares_all(part, |name| inputs.iter().any(|known| known == name))?;
        Ok(Self { inputs, outputs, tokens, states, mask, use_cache, caches })
    }
}

/// Returns the shape of a cache that holds nothing: one sample, and other free extents 0.
fn first_dims(value: &Outlet) -> Vec<i64> {
    let ValueType::Tensor { shape, .. } = value.dtype() else { return Vec::new() };
    let extent = |(place, extent): (usize, &i64)| if *extent < 0 { i64::from(place == 0) } else { *extent };
    shape.iter().enumerate().map(extent).collect()
}

/// Checks that the declaration names every input of a file.
fn declares_all(part: &Part<'_>, is_declared: impl Fn(&str) -> bool) -> Result<(), GenerationError> {
    match part.inputs.iter().find(|value| !is_declared(value.name())) {
        None => Ok(()),
        Some(value) => {
            let (path, name) = (part.path.to_owned(), value.name().to_owned());
            Err(GenerationError::Undeclared { path, name })
        }
    }
}

fn listed(specs: &[TensorSpec]) -> String {
    specs.iter().map(TensorSpec::to_string).collect::<Vec<_>>().join(", ")
}

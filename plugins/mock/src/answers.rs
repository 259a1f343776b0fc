//! The answers of the device that is missing.

use std::{fmt, path::PathBuf};

use proctor_plugin_api::{
    OptionSpec, Options, PluginError,
    vocabulary::{ElementType, SampleIndex, TensorSpec},
};
use rand::{Rng, RngCore, seq::SliceRandom};
use rand_distr::{Distribution, StandardNormal};

use crate::{
    lines::Lines,
    option_value::required,
    random::{Keyed, Use},
};

/// The options about answers, read.
#[derive(Debug, Clone)]
pub(crate) struct AnswerSettings {
    seed: u64,
    kind: Kind,
    /// Number of classes where an output is a class id; logits say it themselves.
    classes: u64,
}

#[derive(Debug, Clone)]
enum Kind {
    Constant,
    Random,
    Classes { path: PathBuf, accuracy: f64 },
    Responses { path: PathBuf },
}

/// The answers for a loaded model. Depend on seed, sample and output alone, so an accuracy run can be repeated.
#[derive(Debug)]
pub(crate) struct Answers {
    seed: u64,
    outputs: Vec<Output>,
    source: Source,
}

/// Source of the answers to samples.
#[derive(Debug)]
enum Source {
    /// Class 0 for all.
    Constant,
    /// No class: the outputs are random.
    Random,
    /// The class of each sample, mistakes included.
    Classes(Vec<u64>),
    /// The bytes of each sample's response: its outputs, one after another.
    Responses(Vec<Vec<u8>>),
}

#[derive(Debug)]
struct Output {
    element_type: ElementType,
    size_bytes: usize,
    /// Number of classes: the last dimension of logits, or the option.
    classes: u64,
}

impl AnswerSettings {
    pub(crate) fn options() -> Vec<OptionSpec> {
        vec![
            OptionSpec::choice(
                "answers",
                &["constant", "random", "file", "responses"],
                "What to answer: class 0, random numbers, or what answer_file has: classes with file, whole responses \
                 with responses.",
            ),
            OptionSpec::path(
                "answer_file",
                "Text file with a line for each sample in their order: its class, or the bytes of its response as \
                 hexadecimal digits, - for none.",
            ),
            OptionSpec::float(
                "accuracy",
                1.0,
                0.0..=1.0,
                "Share of the lines of answer_file that are answered right, to the nearest sample.",
            ),
            OptionSpec::integer(
                "classes",
                1000,
                2..=i64::from(i32::MAX),
                "Number of classes where an output is a class id; logits say it themselves.",
            ),
        ]
    }

    pub(crate) fn open(seed: u64, options: &Options) -> Result<Self, PluginError> {
        let kind = match required("answers", options.text("answers"))? {
            "random" => Kind::Random,
            kind @ ("file" | "responses") => {
                let path = options.path("answer_file").ok_or_else(|| {
                    PluginError::invalid_argument(format!(
                        "answers is {kind}, but there is no file: set answer_file to a path"
                    ))
                })?;
                let (path, accuracy) = (path.to_owned(), required("accuracy", options.float("accuracy"))?);
                if kind == "file" { Kind::Classes { path, accuracy } } else { Kind::Responses { path } }
            }
            _ => Kind::Constant,
        };
        let classes = required("classes", options.integer("classes"))?.unsigned_abs();
        Ok(Self { seed, kind, classes })
    }
}

impl Answers {
    /// Prepares the answers for these outputs of a sample.
    pub(crate) fn load(settings: &AnswerSettings, specs: &[TensorSpec]) -> Result<Self, PluginError> {
        let output = |spec: &TensorSpec| Output {
            element_type: spec.element_type,
            size_bytes: spec.size_bytes(),
            classes: match spec.element_type {
                ElementType::F32 => spec.shape.last().map_or(1, |extent| *extent as u64),
                _ => settings.classes,
            },
        };
        let outputs: Vec<Output> = specs.iter().map(output).collect();
        let source = match &settings.kind {
            Kind::Constant => Source::Constant,
            Kind::Random => Source::Random,
            Kind::Responses { path } => Source::Responses(read_responses(&Lines::read(path)?, &outputs)?),
            Kind::Classes { path, accuracy } => {
                // All outputs must be able to say the class.
                let classes =
                    outputs.iter().filter(|output| output.has_classes()).map(|output| output.classes);
                let listed = read_classes(&Lines::read(path)?, classes.min().unwrap_or(settings.classes))?;
                Source::Classes(with_mistakes(settings.seed, listed, *accuracy)?)
            }
        };
        Ok(Self { seed: settings.seed, outputs, source })
    }

    pub(crate) fn output_count(&self) -> usize {
        self.outputs.len()
    }

    pub(crate) fn output_size_bytes(&self, output: usize) -> usize {
        self.outputs[output].size_bytes
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.outputs.iter().map(|output| output.size_bytes).sum()
    }

    /// Refuses a sample without an answer.
    pub(crate) fn check(&self, index: SampleIndex) -> Result<(), PluginError> {
        let is_known = match &self.source {
            Source::Classes(classes) => index.0 < classes.len() as u64,
            Source::Responses(responses) => index.0 < responses.len() as u64,
            Source::Constant | Source::Random => true,
        };
        if is_known {
            return Ok(());
        }
        Err(PluginError::failed(format!(
            "the file of option answer_file has no line for sample {index}: it needs one for each sample of the library"
        )))
    }

    /// Writes one output of a sample, which [`check`](Self::check) has approved, and returns its size in bytes: the
    /// length of `bytes`, or less if a listed response ends earlier. Does not allocate.
    ///
    /// Logits (f32) are 1 for the class and 0 for all others along the last dimension, or normally distributed;
    /// integers (i32, i64) are the class; other types are zero bytes, or random ones.
    pub(crate) fn write(&self, index: SampleIndex, output: usize, bytes: &mut [u8]) -> usize {
        let kind = &self.outputs[output];
        // Below the length of a list, by the caller's promise.
        let place = || usize::try_from(index.0).expect("check was asked first");
        match &self.source {
            Source::Constant => kind.write_class(0, bytes),
            Source::Classes(classes) => kind.write_class(classes[place()], bytes),
            Source::Random => {
                kind.write_random(Keyed::new(self.seed, Use::Answer, index.0, output as u64), bytes);
            }
            Source::Responses(responses) => {
                let before = self.outputs[..output].iter().map(|output| output.size_bytes).sum();
                let rest = responses[place()].get(before..).unwrap_or_default();
                let size = rest.len().min(bytes.len());
                bytes[..size].copy_from_slice(&rest[..size]);
                return size;
            }
        }
        bytes.len()
    }
}

impl Output {
    fn has_classes(&self) -> bool {
        matches!(self.element_type, ElementType::F32 | ElementType::I32 | ElementType::I64)
    }

    fn write_class(&self, class: u64, bytes: &mut [u8]) {
        match self.element_type {
            ElementType::F32 => {
                for (position, element) in bytes.chunks_exact_mut(4).enumerate() {
                    let logit = if position as u64 % self.classes == class { 1.0_f32 } else { 0.0 };
                    element.copy_from_slice(&logit.to_ne_bytes());
                }
            }
            ElementType::I32 | ElementType::I64 => self.write_ids(bytes, || class),
            _ => bytes.fill(0),
        }
    }

    fn write_random(&self, mut random: Keyed, bytes: &mut [u8]) {
        match self.element_type {
            ElementType::F32 => {
                for element in bytes.chunks_exact_mut(4) {
                    let logit: f32 = StandardNormal.sample(&mut random);
                    element.copy_from_slice(&logit.to_ne_bytes());
                }
            }
            ElementType::I32 | ElementType::I64 => {
                self.write_ids(bytes, || random.random_range(0..self.classes));
            }
            ElementType::Bool => {
                random.fill_bytes(bytes);
                bytes.iter_mut().for_each(|byte| *byte &= 1);
            }
            _ => random.fill_bytes(bytes),
        }
    }

    fn write_ids(&self, bytes: &mut [u8], mut class: impl FnMut() -> u64) {
        let width = self.element_type.unit_bytes();
        for element in bytes.chunks_exact_mut(width) {
            if width == 4 {
                let id = i32::try_from(class()).expect("the option keeps classes within an i32");
                element.copy_from_slice(&id.to_ne_bytes());
            } else {
                element.copy_from_slice(&class().to_ne_bytes());
            }
        }
    }
}

/// Reads the responses of an answer file. Each is as long as these outputs together; the last output may be shorter.
fn read_responses(lines: &Lines, outputs: &[Output]) -> Result<Vec<Vec<u8>>, PluginError> {
    let most: usize = outputs.iter().map(|output| output.size_bytes).sum();
    let least = most - outputs.last().map_or(0, |output| output.size_bytes);
    let read = |(number, line): (usize, &str)| {
        let (pairs, odd) = if line == "-" { (&[][..], &[][..]) } else { line.as_bytes().as_chunks::<2>() };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let byte = |pair: &[u8; 2]| u8::try_from(16 * digit(pair[0])? + digit(pair[1])?).ok();
        let response: Option<Vec<u8>> = pairs.iter().map(byte).collect();
        let response = response.filter(|_| odd.is_empty());
        let response =
            response.ok_or_else(|| lines.error(number, "it is not pairs of hexadecimal digits, or -"))?;
        if (least..=most).contains(&response.len()) {
            return Ok(response);
        }
        let got = response.len();
        Err(lines.error(number, format!("it has {got} bytes, but the outputs take {least} to {most}")))
    };
    let responses = lines.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    if responses.is_empty() { Err(lines.empty("response")) } else { Ok(responses) }
}

/// Returns the classes of an answer file with the number of classes they are out of: one that all outputs can express.
fn read_classes(lines: &Lines, classes: u64) -> Result<(Vec<u64>, u64), PluginError> {
    let read = |(number, line): (usize, &str)| {
        let class = line.parse::<u64>();
        let class =
            class.map_err(|error| lines.error(number, format!("\"{line}\" is not a class: {error}")))?;
        if class < classes {
            return Ok(class);
        }
        Err(lines.error(
            number,
            format!(
                "class {class} is none of the {classes}, which count from 0: outputs of f32 have one in their last \
                 dimension; where outputs are no classes, set answers to responses, and give whole responses"
            ),
        ))
    };
    let listed = lines.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    if listed.is_empty() { Err(lines.empty("class")) } else { Ok((listed, classes)) }
}

/// Exchanges some of the classes for wrong ones, so that exactly the share `accuracy` stays right, rounded to a whole
/// number of samples.
///
/// The samples go wrong in a random order of their own: with a higher accuracy of the same seed, those that were right
/// stay right.
fn with_mistakes(
    seed: u64,
    (mut listed, classes): (Vec<u64>, u64),
    accuracy: f64,
) -> Result<Vec<u64>, PluginError> {
    let mut order: Vec<usize> = (0..listed.len()).collect();
    order.shuffle(&mut Keyed::new(seed, Use::Mistake, 0, 0));
    // The product lies between 0 and the length, so the conversions lose nothing but the fraction that was rounded.
    let right = (accuracy * listed.len() as f64).round() as usize;
    let wrong = &order[right..];
    if classes < 2 && !wrong.is_empty() {
        return Err(PluginError::invalid_argument(
            "accuracy is below 1, but with one class no answer can be wrong: set accuracy to 1",
        ));
    }
    for &sample in wrong {
        let mut random = Keyed::new(seed, Use::Mistake, 1, sample as u64);
        listed[sample] = (listed[sample] + random.random_range(1..classes)) % classes;
    }
    Ok(listed)
}

impl fmt::Display for AnswerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Constant => f.write_str("constant"),
            Kind::Random => f.write_str("random"),
            Kind::Classes { path, accuracy } => write!(f, "of {}, {accuracy} of them right", path.display()),
            Kind::Responses { path } => write!(f, "the responses of {}", path.display()),
        }
    }
}

#[cfg(test)]
#[path = "answers_tests.rs"]
mod tests;

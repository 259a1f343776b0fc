//! The answers of the device that is not there.

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
    File { path: PathBuf, accuracy: f64 },
}

/// The answers for a loaded model. Depend on seed, sample and output alone, so an accuracy run can be repeated.
#[derive(Debug)]
pub(crate) struct Answers {
    seed: u64,
    outputs: Vec<Output>,
    classes: Classes,
}

/// How the class of a sample is found.
#[derive(Debug)]
enum Classes {
    /// Class 0 for all.
    Constant,
    /// No class: the outputs are random.
    Random,
    /// The class of each sample, mistakes included.
    Listed(Vec<u64>),
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
                &["constant", "random", "file"],
                "What to answer: class 0, random numbers, or the classes of answer_file.",
            ),
            OptionSpec::path("answer_file", "Text file with one class a line, in the order of the samples."),
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
            "file" => {
                let path = options.path("answer_file").ok_or_else(|| {
                    PluginError::invalid_argument(
                        "answers is file, but there is none: set answer_file to a path",
                    )
                })?;
                let accuracy = required("accuracy", options.float("accuracy"))?;
                Kind::File { path: path.to_owned(), accuracy }
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
        let classes = match &settings.kind {
            Kind::Constant => Classes::Constant,
            Kind::Random => Classes::Random,
            Kind::File { path, accuracy } => {
                // All outputs must be able to say the class.
                let classes =
                    outputs.iter().filter(|output| output.has_classes()).map(|output| output.classes);
                let listed = read_classes(&Lines::read(path)?, classes.min().unwrap_or(settings.classes))?;
                Classes::Listed(with_mistakes(settings.seed, listed, *accuracy)?)
            }
        };
        Ok(Self { seed: settings.seed, outputs, classes })
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

    pub(crate) fn knows(&self, index: SampleIndex) -> bool {
        match &self.classes {
            Classes::Listed(classes) => index.0 < classes.len() as u64,
            Classes::Constant | Classes::Random => true,
        }
    }

    /// As [`knows`](Self::knows), with the reason.
    pub(crate) fn check(&self, index: SampleIndex) -> Result<(), PluginError> {
        if self.knows(index) {
            return Ok(());
        }
        Err(PluginError::failed(format!(
            "the file of option answer_file has no line for sample {index}: it needs one for each sample of the library"
        )))
    }

    /// Writes one output of a sample, which [`knows`](Self::knows) knows. Does not allocate.
    ///
    /// Logits (f32) are 1 for the class and 0 for all others along the last dimension, or normally distributed;
    /// integers (i32, i64) are the class; other types are zero bytes, or random ones.
    pub(crate) fn write(&self, index: SampleIndex, output: usize, bytes: &mut [u8]) {
        let kind = &self.outputs[output];
        let class = match &self.classes {
            Classes::Constant => 0,
            // Below the length of a vector, by the caller's promise.
            Classes::Listed(classes) => classes[usize::try_from(index.0).expect("knows was asked first")],
            Classes::Random => {
                let random = Keyed::new(self.seed, Use::Answer, index.0, output as u64);
                return kind.write_random(random, bytes);
            }
        };
        kind.write_class(class, bytes);
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

/// The classes of an answer file with the number of classes they are out of: one that all outputs can say.
fn read_classes(lines: &Lines, classes: u64) -> Result<(Vec<u64>, u64), PluginError> {
    let read = |(number, line): (usize, &str)| {
        let class = line.parse::<u64>();
        let class =
            class.map_err(|error| lines.error(number, format!("\"{line}\" is not a class: {error}")))?;
        if class < classes {
            return Ok(class);
        }
        Err(lines.error(number, format!("class {class} is none of the {classes}, which count from 0")))
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
            Kind::File { path, accuracy } => write!(f, "of {}, {accuracy} of them right", path.display()),
        }
    }
}

#[cfg(test)]
#[path = "answers_tests.rs"]
mod tests;

//! Recipes of a model's samples.

use proctor_vocabulary::ElementType;

use crate::stream::{Stream, fnv1a64};

/// Recipe for the samples of a model. It has no end: a data set takes as many samples as it wants.
#[derive(Debug, Clone, PartialEq)]
pub struct InputRecipe {
    /// Name of the model.
    pub name: String,
    /// Seed of every tensor's [`Stream`].
    pub seed: u64,
    /// The inputs of a sample, in the order in which the model takes them.
    pub tensors: Vec<InputTensor>,
}

/// Recipe for one input.
#[derive(Debug, Clone, PartialEq)]
pub struct InputTensor {
    /// Name of the input.
    pub name: &'static str,
    /// `F32` or `I32`, as `values` makes.
    pub element_type: ElementType,
    /// Extents, slowest first.
    pub shape: Vec<usize>,
    /// Rule for the elements.
    pub values: InputValues,
}

/// The elements of an input.
///
/// An input of sequences has the shape `[sequence, step, ...]`, or `[step, ...]` for a single one. Its lengths are in
/// the input named by `lengths`, one for each sequence; elements beyond are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputValues {
    /// f32 in `[-scale, scale)`.
    Uniform {
        /// Bound of the values, a whole number.
        scale: u16,
        /// The input with the lengths, or `None` if all is used.
        lengths: Option<&'static str>,
    },
    /// An image f32`[channel, row, column]`: `tiles` x `tiles` tiles, each of one value in `[-2, 2)` in each channel,
    /// and noise in `[-1/2, 1/2)` over them. Noise alone would look alike to a network, which takes means over all
    /// places.
    Mosaic {
        /// Number of tiles in a row and in a column; the extents are multiples of it.
        tiles: u16,
    },
    /// Words: `first + floor((vocabulary - first) u^3)` with `u` in `[0, 1)`, so that small ids are common.
    Words {
        /// Number of words.
        vocabulary: u32,
        /// The smallest word that occurs; lower ones have a special meaning.
        first: u32,
        /// The input with the lengths, or the mask of them.
        lengths: &'static str,
    },
    /// Ones up to the length of a single sequence, between two bounds, both included; zeros beyond.
    Mask {
        /// The smallest length.
        low: u32,
        /// Maximum length.
        high: u32,
    },
    /// Integers from 0 on, all alike.
    Integers {
        /// Number of different ones.
        count: u32,
    },
    /// Segment of a masked sequence that an element is in: 0 in the first, 1 in the second, 0 beyond the length.
    Segments {
        /// The input with the mask.
        mask: &'static str,
        /// The smallest length of the first part.
        low: u32,
        /// Maximum length.
        high: u32,
    },
    /// Lengths between two bounds, both included.
    Lengths {
        /// Minimum length.
        low: u32,
        /// Maximum length.
        high: u32,
    },
    /// Words that occur in the sequences of another input: candidate `k` is in sequence `k mod sequences`.
    Candidates {
        /// The input of words.
        of: &'static str,
        /// The input with its lengths, all above 0.
        lengths: &'static str,
    },
}

impl InputRecipe {
    pub(crate) fn new(name: &str, tensors: Vec<InputTensor>) -> Self {
        Self { name: name.to_owned(), seed: fnv1a64(name), tensors }
    }

    /// Returns the inputs of a sample, native byte order, each as long as its shape says.
    #[must_use]
    pub fn sample(&self, index: u64) -> Vec<Vec<u8>> {
        self.tensors.iter().map(|tensor| self.tensor(tensor, index)).collect()
    }

    fn tensor(&self, tensor: &InputTensor, sample: u64) -> Vec<u8> {
        match tensor.values {
            InputValues::Uniform { scale, .. } => {
                let stream = self.stream(tensor.name, sample);
                let scale = f32::from(scale);
                let element = |position: usize| {
                    if self.is_used(tensor, position, sample) {
                        stream.uniform(position as u64, scale)
                    } else {
                        0.0
                    }
                };
                (0..tensor.element_count()).flat_map(|position| element(position).to_ne_bytes()).collect()
            }
            InputValues::Mosaic { tiles } => self.mosaic(tensor, sample, usize::from(tiles)),
            _ => self.integers(tensor, sample).into_iter().flat_map(i32::to_ne_bytes).collect(),
        }
    }

    fn mosaic(&self, tensor: &InputTensor, sample: u64, tiles: usize) -> Vec<u8> {
        let stream = self.stream(tensor.name, sample);
        let [_, rows, columns] = tensor.shape[..] else { panic!("an image has three dimensions") };
        let count = tensor.element_count();
        let element = |position: usize| {
            let (channel, row, column) =
                (position / (rows * columns), position / columns % rows, position % columns);
            let tile = (channel * tiles + row / (rows / tiles)) * tiles + column / (columns / tiles);
            stream.uniform((count + tile) as u64, 2.0) + stream.uniform(position as u64, 0.5)
        };
        (0..count).flat_map(|position| element(position).to_ne_bytes()).collect()
    }

    /// Returns the elements of an input of integers.
    fn integers(&self, tensor: &InputTensor, sample: u64) -> Vec<i32> {
        let stream = self.stream(tensor.name, sample);
        let element = |position: usize| match tensor.values {
            InputValues::Uniform { .. } | InputValues::Mosaic { .. } => 0,
            InputValues::Words { vocabulary, first, .. } => {
                if self.is_used(tensor, position, sample) {
                    word(stream.unit(position as u64), vocabulary, first)
                } else {
                    0
                }
            }
            InputValues::Mask { .. } => i32::from(position < self.length(tensor.name, 0, sample)),
            InputValues::Segments { mask, low, high } => {
                let first = (low + stream.below(0, high - low + 1)) as usize;
                i32::from((first..self.length(mask, 0, sample)).contains(&position))
            }
            InputValues::Integers { count } => stream.below(position as u64, count).cast_signed(),
            InputValues::Lengths { low, high } => {
                (low + stream.below(position as u64, high - low + 1)).cast_signed()
            }
            InputValues::Candidates { of, lengths } => {
                let source = self.named(of);
                let (sequences, steps, _) = source.extents();
                let sequence = position % sequences;
                let length = self.length(lengths, sequence, sample);
                let step = stream.below(position as u64, u32::try_from(length).unwrap_or(u32::MAX)) as usize;
                self.integers(source, sample)[sequence * steps + step]
            }
        };
        (0..tensor.element_count()).map(element).collect()
    }

    /// Returns whether an element lies within the length of its sequence.
    fn is_used(&self, tensor: &InputTensor, position: usize, sample: u64) -> bool {
        let Some(lengths) = tensor.lengths() else { return true };
        let (_, steps, width) = tensor.extents();
        let (sequence, step) = (position / (steps * width), position / width % steps);
        step < self.length(lengths, sequence, sample)
    }

    fn length(&self, lengths: &str, sequence: usize, sample: u64) -> usize {
        let tensor = self.named(lengths);
        let (InputValues::Lengths { low, high } | InputValues::Mask { low, high }) = tensor.values else {
            return 0;
        };
        (low + self.stream(tensor.name, sample).below(sequence as u64, high - low + 1)) as usize
    }

    fn stream(&self, tensor: &str, sample: u64) -> Stream {
        Stream::new(self.seed, tensor).of_sample(sample)
    }

    fn named(&self, name: &str) -> &InputTensor {
        let found = self.tensors.iter().find(|tensor| tensor.name == name);
        found.expect("a recipe names inputs of its own")
    }
}

impl InputTensor {
    /// Returns the number of elements.
    #[must_use]
    pub fn element_count(&self) -> usize {
        self.shape.iter().product()
    }

    fn lengths(&self) -> Option<&'static str> {
        match self.values {
            InputValues::Uniform { lengths, .. } => lengths,
            InputValues::Words { lengths, .. } => Some(lengths),
            _ => None,
        }
    }

    /// Returns the sequences, steps, and values of a step.
    fn extents(&self) -> (usize, usize, usize) {
        match (self.element_type, self.shape.as_slice()) {
            (ElementType::F32, [steps, width]) => (1, *steps, *width),
            (_, [sequences, steps]) => (*sequences, *steps, 1),
            _ => (1, self.element_count(), 1),
        }
    }
}

/// Returns the word at a place in `[0, 1)`.
#[expect(clippy::cast_possible_truncation, reason = "the product is below the vocabulary")]
fn word(place: f64, vocabulary: u32, first: u32) -> i32 {
    let span = f64::from(vocabulary - first);
    (f64::from(first) + (place * place * place * span).floor()) as i32
}

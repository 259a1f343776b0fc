//! Numbers of tokens as tensors of any type of integer, and pipelines of one row with its length.

use proctor_datasets::RawSample;
use proctor_vocabulary::{
    ElementType::{self, I8, I16, I32, I64, U8, U16, U32, U64},
    TensorSpec,
};

use crate::{
    error::PreprocessError,
    pipeline::{Pipeline, describe},
};

/// Types that tensors of integers can have.
const TYPES: [ElementType; 8] = [I8, I16, I32, I64, U8, U16, U32, U64];

/// Tells if a tensor has one dimension, and elements of a type of integers.
pub(crate) fn is_row(input: &TensorSpec) -> bool {
    input.shape.len() == 1 && TYPES.contains(&input.element_type)
}

/// Writes numbers from the front of a tensor, and fills the rest with a single value.
///
/// # Errors
/// Returns the first number that does not fit the type.
///
/// # Panics
/// If the tensor has another size, or less room than there are numbers: the caller has checked.
pub(crate) fn fill(
    spec: &TensorSpec,
    tensor: &mut [u8],
    numbers: impl ExactSizeIterator<Item = i32>,
    rest: i32,
) -> Result<(), i32> {
    assert_eq!(tensor.len(), spec.size_bytes(), "size of the tensor in bytes");
    let numbers = numbers.chain(std::iter::repeat(rest));
    match spec.element_type {
        I8 => convert(tensor, numbers, |number| i8::try_from(number).map(i8::to_ne_bytes)),
        I16 => convert(tensor, numbers, |number| i16::try_from(number).map(i16::to_ne_bytes)),
        I32 => convert(tensor, numbers, |number| Ok::<_, ()>(number.to_ne_bytes())),
        I64 => convert(tensor, numbers, |number| Ok::<_, ()>(i64::from(number).to_ne_bytes())),
        U8 => convert(tensor, numbers, |number| u8::try_from(number).map(u8::to_ne_bytes)),
        U16 => convert(tensor, numbers, |number| u16::try_from(number).map(u16::to_ne_bytes)),
        U32 => convert(tensor, numbers, |number| u32::try_from(number).map(u32::to_ne_bytes)),
        U64 => convert(tensor, numbers, |number| u64::try_from(number).map(u64::to_ne_bytes)),
        other => panic!("{other} is not a type of integers"),
    }
}

fn convert<const SIZE: usize, E>(
    tensor: &mut [u8],
    numbers: impl Iterator<Item = i32>,
    bytes: impl Fn(i32) -> Result<[u8; SIZE], E>,
) -> Result<(), i32> {
    for (element, number) in tensor.as_chunks_mut().0.iter_mut().zip(numbers) {
        *element = bytes(number).map_err(|_| number)?;
    }
    Ok(())
}

/// Returns the numbers of a sample of `row_count` rows of i32, one row after the other, which are at most `length_max`
/// long.
///
/// # Errors
/// [`PreprocessError::Sample`] for a sample of another kind, or a longer one.
pub(crate) fn rows(
    pipeline: &str,
    sample: &RawSample<'_>,
    row_count: usize,
    length_max: usize,
) -> Result<Vec<i32>, PreprocessError> {
    let (numbers, odd) = sample.bytes.as_chunks::<4>();
    let length = sample.shape.last().copied().unwrap_or(0);
    let rank_fits = match &*sample.shape {
        [_] => row_count == 1,
        [rows, _] => *rows == row_count && row_count > 1,
        _ => false,
    };
    let fits =
        sample.element_type == I32 && rank_fits && odd.is_empty() && numbers.len() == row_count * length;
    if !fits || length > length_max {
        let rows = if row_count == 1 { String::new() } else { format!("{row_count}, ") };
        return Err(PreprocessError::Sample {
            pipeline: pipeline.to_owned(),
            reads: format!("i32[{rows}n] with n up to {length_max}, the length of the model's input"),
            got: format!("{}{:?} of {} bytes", sample.element_type, sample.shape, sample.bytes.len()),
        });
    }
    Ok(numbers.iter().map(|number| i32::from_ne_bytes(*number)).collect())
}

/// Returns the error for a number that the type of an input does not have.
pub(crate) fn too_great(pipeline: &str, input: &TensorSpec) -> impl FnOnce(i32) -> PreprocessError {
    move |number| PreprocessError::Sample {
        pipeline: pipeline.to_owned(),
        reads: format!("numbers that {} has, for {input}", input.element_type),
        got: format!("one with {number}"),
    }
}

/// Tokens as one row, which is filled to the length of the model, and their number. A sample is i32 `[n]`.
pub(crate) struct RowWithLength {
    name: &'static str,
    /// The number that fills the row.
    filler: i32,
    outputs: [TensorSpec; 2],
}

impl RowWithLength {
    /// Builds the pipeline of this name.
    ///
    /// # Errors
    /// [`PreprocessError::Outputs`] if the model takes other inputs than a row and a length.
    pub(crate) fn build(
        name: &'static str,
        filler: i32,
        inputs: &[TensorSpec],
    ) -> Result<Box<dyn Pipeline>, PreprocessError> {
        match inputs {
            [tokens, length] if is_row(tokens) && is_row(length) && length.shape == [1] => {
                Ok(Box::new(Self { name, filler, outputs: [tokens.clone(), length.clone()] }))
            }
            _ => Err(PreprocessError::Outputs {
                pipeline: name.to_owned(),
                makes: "integers of shape [n] for the tokens and of shape [1] for their number".to_owned(),
                wanted: describe(inputs),
            }),
        }
    }
}

impl Pipeline for RowWithLength {
    fn outputs(&self) -> &[TensorSpec] {
        &self.outputs
    }

    fn run(&self, sample: &RawSample<'_>, tensors: &mut [&mut [u8]]) -> Result<(), PreprocessError> {
        let [tokens, length] = &self.outputs;
        let [first, second] = tensors else { panic!("two tensors expected, got {}", tensors.len()) };
        let numbers = rows(self.name, sample, 1, tokens.element_count())?;
        // A row in memory is far shorter than 2^31.
        let count = i32::try_from(numbers.len()).unwrap_or(i32::MAX);
        fill(tokens, first, numbers.iter().copied(), self.filler).map_err(too_great(self.name, tokens))?;
        fill(length, second, std::iter::once(count), 0).map_err(too_great(self.name, length))
    }
}

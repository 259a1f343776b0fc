//! `criteo-dlrm` and `criteo-dlrm-v2`: rows of clicks, as many as a sample has.
//!
//! A sample of DLRM is i32 `[rows, 39]`: 13 counts, of which the logarithms are taken, then 26 categories, each the 32
//! bits of a hash, which become rows of tables. A sample of DLRM-v2 is the bytes of its arrays one after another, which
//! are prepared already: f32 `[rows, 13]`, then i32 `[rows, k]` of each feature.
//!
//! Source: MLPerf Inference, the benchmarks dlrm of v0.7 and dlrm_v2 of v3.1.

use proctor_datasets::RawSample;
use proctor_vocabulary::{
    ElementType::{F32, I32, U8},
    TensorSpec,
};

use crate::{
    error::PreprocessError,
    pipeline::{Pipeline, PipelineEntry, describe},
};

/// Number of counts of a row, which are dense features.
const COUNTS: usize = 13;
/// Number of categories of a row of DLRM, and of features with categories of DLRM-v2.
const CATEGORIES: usize = 26;
/// Number of rows of the largest table of DLRM, which all hashes are taken modulo.
const HASH_RANGE: u32 = 40_000_000;
/// Number of bytes of every element.
const ELEMENT_BYTES: usize = 4;

const DLRM: &str = "criteo-dlrm";
const DLRM_ABOUT: &str =
    "rows of clicks, as f32 [rows, 13] of logarithms and i32 [rows, 26] of rows of tables";
const DLRM_V2: &str = "criteo-dlrm-v2";
const DLRM_V2_ABOUT: &str = "rows of clicks, as f32 [rows, 13] and i32 [rows, k] of each feature";

inventory::submit! { PipelineEntry { name: DLRM, about: DLRM_ABOUT, version: 1, build: build_dlrm } }
inventory::submit! {
    PipelineEntry { name: DLRM_V2, about: DLRM_V2_ABOUT, version: 2, build: build_dlrm_v2 }
}

/// Rows of hashes.
struct Dlrm([TensorSpec; 2]);

/// Rows of several arrays.
struct DlrmV2 {
    outputs: Vec<TensorSpec>,
    row_bytes: Vec<usize>,
}

fn build_dlrm(inputs: &[TensorSpec]) -> Result<Box<dyn Pipeline>, PreprocessError> {
    match inputs {
        [dense, categories]
            if are_rows(inputs) && [dense.shape[1], categories.shape[1]] == [COUNTS, CATEGORIES] =>
        {
            Ok(Box::new(Dlrm([dense.clone(), categories.clone()])))
        }
        _ => Err(PreprocessError::Outputs {
            pipeline: DLRM.to_owned(),
            makes: format!("f32[rows, {COUNTS}] and i32[rows, {CATEGORIES}] that vary"),
            wanted: describe(inputs),
        }),
    }
}

fn build_dlrm_v2(inputs: &[TensorSpec]) -> Result<Box<dyn Pipeline>, PreprocessError> {
    if are_rows(inputs) && inputs.len() == 1 + CATEGORIES && inputs[0].shape[1] == COUNTS {
        let row_bytes = inputs.iter().map(|input| input.shape[1] * ELEMENT_BYTES).collect();
        return Ok(Box::new(DlrmV2 { outputs: inputs.to_vec(), row_bytes }));
    }
    Err(PreprocessError::Outputs {
        pipeline: DLRM_V2.to_owned(),
        makes: format!("f32[rows, {COUNTS}] and {CATEGORIES} of i32[rows, k] that vary"),
        wanted: describe(inputs),
    })
}

/// Returns whether the first input has rows of f32, and the others at most as many rows of i32.
fn are_rows(inputs: &[TensorSpec]) -> bool {
    let types = std::iter::once(F32).chain(std::iter::repeat(I32));
    inputs.iter().zip(types).all(|(input, element_type)| {
        input.element_type == element_type && input.shape.len() == 2 && input.shape[0] == inputs[0].shape[0]
    })
}

/// Returns the number of rows of a sample, by the bytes of one.
///
/// # Errors
/// [`PreprocessError::Sample`] if there are no whole rows, or more than the model takes.
fn rows(
    pipeline: &str,
    sample: &RawSample<'_>,
    is_kind: bool,
    row_bytes: usize,
    most: usize,
) -> Result<usize, PreprocessError> {
    let (size, count) = (sample.bytes.len(), sample.bytes.len() / row_bytes);
    if is_kind && size.is_multiple_of(row_bytes) && count <= most {
        return Ok(count);
    }
    Err(PreprocessError::Sample {
        pipeline: pipeline.to_owned(),
        reads: format!("up to {most} rows of {row_bytes} bytes, as many as the model's input has"),
        got: format!("{}{:?} of {size} bytes", sample.element_type, sample.shape),
    })
}

impl Dlrm {
    fn rows(&self, sample: &RawSample<'_>) -> Result<usize, PreprocessError> {
        let row_bytes = (COUNTS + CATEGORIES) * ELEMENT_BYTES;
        rows(DLRM, sample, sample.element_type == I32, row_bytes, self.0[0].shape[0])
    }
}

impl Pipeline for Dlrm {
    fn outputs(&self) -> &[TensorSpec] {
        &self.0
    }

    fn shapes(&self, sample: &RawSample<'_>) -> Result<Vec<Vec<usize>>, PreprocessError> {
        let rows = self.rows(sample)?;
        Ok(vec![vec![rows, COUNTS], vec![rows, CATEGORIES]])
    }

    fn run(&self, sample: &RawSample<'_>, tensors: &mut [&mut [u8]]) -> Result<(), PreprocessError> {
        let rows = self.rows(sample)?;
        let [dense, categories] = tensors else { panic!("two tensors expected, got {}", tensors.len()) };
        let (numbers, _) = sample.bytes.as_chunks::<ELEMENT_BYTES>();
        let (dense, _) = dense.as_chunks_mut::<ELEMENT_BYTES>();
        let (categories, _) = categories.as_chunks_mut::<ELEMENT_BYTES>();
        assert_eq!(
            [dense.len(), categories.len()],
            [rows * COUNTS, rows * CATEGORIES],
            "elements of the tensors"
        );
        let to = dense.chunks_exact_mut(COUNTS).zip(categories.chunks_exact_mut(CATEGORIES));
        for (row, (dense, categories)) in numbers.chunks_exact(COUNTS + CATEGORIES).zip(to) {
            let (counts, hashes) = row.split_at(COUNTS);
            for (to, count) in dense.iter_mut().zip(counts) {
                *to = feature(i32::from_ne_bytes(*count)).to_ne_bytes();
            }
            for (to, hash) in categories.iter_mut().zip(hashes) {
                *to = (u32::from_ne_bytes(*hash) % HASH_RANGE).to_ne_bytes();
            }
        }
        Ok(())
    }
}

/// Returns the dense feature of a count: `ln(count + 1)`; negative counts are treated as 0.
fn feature(count: i32) -> f32 {
    (count.max(0) as f32 + 1.0).ln()
}

impl DlrmV2 {
    fn rows(&self, sample: &RawSample<'_>) -> Result<usize, PreprocessError> {
        let row_bytes = self.row_bytes.iter().sum();
        rows(DLRM_V2, sample, sample.element_type == U8, row_bytes, self.outputs[0].shape[0])
    }
}

impl Pipeline for DlrmV2 {
    fn outputs(&self) -> &[TensorSpec] {
        &self.outputs
    }

    fn shapes(&self, sample: &RawSample<'_>) -> Result<Vec<Vec<usize>>, PreprocessError> {
        let rows = self.rows(sample)?;
        Ok(self.outputs.iter().map(|output| vec![rows, output.shape[1]]).collect())
    }

    fn run(&self, sample: &RawSample<'_>, tensors: &mut [&mut [u8]]) -> Result<(), PreprocessError> {
        let rows = self.rows(sample)?;
        assert_eq!(tensors.len(), self.outputs.len(), "number of tensors");
        let mut rest = &*sample.bytes;
        for (tensor, row_bytes) in tensors.iter_mut().zip(&self.row_bytes) {
            let (array, behind) = rest.split_at(rows * row_bytes);
            tensor.copy_from_slice(array);
            rest = behind;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proctor_vocabulary::ElementType;

    use super::*;
    use crate::pipeline::build_pipeline;

    fn input(name: &str, element_type: ElementType, shape: [usize; 2]) -> TensorSpec {
        TensorSpec { name: name.into(), element_type, shape: shape.to_vec() }
    }

    fn dlrm() -> Box<dyn Pipeline> {
        let inputs = [input("dense", F32, [3, 13]), input("categories", I32, [3, 26])];
        build_pipeline(DLRM, &inputs).unwrap()
    }

    fn numbers_of(bytes: &[u8]) -> Vec<[u8; 4]> {
        bytes.as_chunks().0.to_vec()
    }

    #[test]
    fn counts_become_logarithms_and_hashes_rows_of_tables() {
        let row = |count: i32, hash: u32| {
            let counts = [count; 13].into_iter().flat_map(i32::to_ne_bytes);
            counts.chain([hash; 26].into_iter().flat_map(u32::to_ne_bytes)).collect::<Vec<u8>>()
        };
        let bytes = [row(-2, 40_000_001), row(99, u32::MAX)].concat();
        let sample =
            RawSample { element_type: I32, shape: Cow::Owned(vec![2, 39]), bytes: Cow::Owned(bytes) };
        let pipeline = dlrm();
        assert_eq!(pipeline.shapes(&sample).unwrap(), [[2, 13], [2, 26]]);
        let (mut dense, mut categories) = (vec![0xAB; 2 * 13 * 4], vec![0xAB; 2 * 26 * 4]);
        pipeline.run(&sample, &mut [&mut dense, &mut categories]).unwrap();
        let dense: Vec<_> = numbers_of(&dense).into_iter().map(f32::from_ne_bytes).collect();
        assert_eq!((dense[0], dense[13], dense[25]), (0.0, 100_f32.ln(), 100_f32.ln()));
        let categories: Vec<_> = numbers_of(&categories).into_iter().map(u32::from_ne_bytes).collect();
        assert_eq!((categories[25], categories[26]), (1, u32::MAX % 40_000_000));
    }

    #[test]
    fn arrays_of_v2_are_taken_apart() {
        let mut inputs = vec![input("dense", F32, [5, 13])];
        inputs.extend(
            (0..26).map(|feature| input(&format!("categories_{feature}"), I32, [5, 1 + feature % 3])),
        );
        let pipeline = build_pipeline(DLRM_V2, &inputs).unwrap();
        let bytes: Vec<u8> = inputs
            .iter()
            .zip(0_u8..)
            .flat_map(|(input, number)| vec![number; 2 * input.shape[1] * 4])
            .collect();
        let sample = RawSample {
            element_type: U8,
            shape: Cow::Owned(vec![bytes.len()]),
            bytes: Cow::Borrowed(&bytes),
        };
        let shapes = pipeline.shapes(&sample).unwrap();
        assert_eq!((shapes.len(), &shapes[0], &shapes[3]), (27, &vec![2, 13], &vec![2, 3]));
        let mut tensors: Vec<Vec<u8>> =
            shapes.iter().map(|shape| vec![0xAB; shape.iter().product::<usize>() * 4]).collect();
        let mut slices: Vec<&mut [u8]> = tensors.iter_mut().map(Vec::as_mut_slice).collect();
        pipeline.run(&sample, &mut slices).unwrap();
        for (tensor, number) in tensors.iter().zip(0_u8..) {
            assert!(tensor.iter().all(|byte| *byte == number));
        }
        let cut = RawSample { bytes: Cow::Borrowed(&bytes[1..]), ..sample.clone() };
        assert!(pipeline.shapes(&cut).unwrap_err().to_string().contains("up to 5 rows of"));
        let other = RawSample { element_type: I32, ..sample };
        assert!(pipeline.shapes(&other).is_err());
    }

    #[test]
    fn other_inputs_and_more_rows_are_refused() {
        let sample = |rows: usize| RawSample {
            element_type: I32,
            shape: Cow::Owned(vec![rows, 39]),
            bytes: Cow::Owned(vec![0; rows * 39 * 4]),
        };
        assert!(dlrm().shapes(&sample(3)).is_ok());
        let error = dlrm().shapes(&sample(4)).unwrap_err().to_string();
        assert!(error.contains("up to 3 rows of 156 bytes"), "{error}");
        for inputs in [
            vec![input("dense", F32, [3, 13])],
            vec![input("dense", F32, [3, 12]), input("categories", I32, [3, 26])],
            vec![input("dense", F32, [3, 13]), input("categories", I32, [2, 26])],
            vec![input("dense", I32, [3, 13]), input("categories", I32, [3, 26])],
        ] {
            assert!(build_pipeline(DLRM, &inputs).is_err());
            assert!(build_pipeline(DLRM_V2, &inputs).is_err());
        }
    }
}

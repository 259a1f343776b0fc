//! `squad-bert`: rows of SQuAD, padded to the length of the model.
//!
//! A sample is i32 `[2, n]`: the numbers of its tokens, and the segment of each.

use proctor_datasets::RawSample;
use proctor_vocabulary::TensorSpec;

use crate::{
    error::PreprocessError,
    integers::{fill, is_row, rows, too_great},
    pipeline::{Pipeline, PipelineEntry, describe},
};

const NAME: &str = "squad-bert";
const ABOUT: &str = "question and context, as integers [n]: tokens, mask and segments, padded";

inventory::submit! { PipelineEntry { name: NAME, about: ABOUT, version: 1, build } }

/// The part of a row that an input of the model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The tokens.
    Ids,
    /// 1 for each token, 0 for padding.
    Mask,
    /// 0 for the question, 1 for the context.
    Segments,
}

impl Part {
    /// Returns the part of the features that the input with this name takes. The float models use the first name of
    /// each pair, the quantized model the second.
    fn of(name: &str) -> Option<Self> {
        match name {
            "input_ids" => Some(Self::Ids),
            "input_mask" | "attention_mask" => Some(Self::Mask),
            "segment_ids" | "token_type_ids" => Some(Self::Segments),
            _ => None,
        }
    }
}

struct SquadBert {
    outputs: Vec<TensorSpec>,
    parts: Vec<Part>,
    length: usize,
}

fn build(inputs: &[TensorSpec]) -> Result<Box<dyn Pipeline>, PreprocessError> {
    let parts: Option<Vec<Part>> = inputs.iter().map(|input| Part::of(&input.name)).collect();
    let all = [Part::Ids, Part::Mask, Part::Segments];
    match (inputs, parts) {
        ([first, ..], Some(parts))
            if parts.len() == all.len()
                && all.iter().all(|part| parts.contains(part))
                && inputs.iter().all(|input| is_row(input) && input.shape == first.shape) =>
        {
            Ok(Box::new(SquadBert { outputs: inputs.to_vec(), parts, length: first.shape[0] }))
        }
        _ => Err(PreprocessError::Outputs {
            pipeline: NAME.to_owned(),
            makes: "input_ids, input_mask (or attention_mask) and segment_ids (or token_type_ids), of integers and \
                    of one shape [n]"
                .to_owned(),
            wanted: describe(inputs),
        }),
    }
}

impl Pipeline for SquadBert {
    fn outputs(&self) -> &[TensorSpec] {
        &self.outputs
    }

    fn run(&self, sample: &RawSample<'_>, tensors: &mut [&mut [u8]]) -> Result<(), PreprocessError> {
        let numbers = rows(NAME, sample, 2, self.length)?;
        let (ids, segments) = numbers.split_at(numbers.len() / 2);
        assert_eq!(tensors.len(), self.outputs.len(), "number of tensors");
        for ((tensor, spec), part) in tensors.iter_mut().zip(&self.outputs).zip(&self.parts) {
            let filled = match part {
                Part::Ids => fill(spec, tensor, ids.iter().copied(), 0),
                Part::Mask => fill(spec, tensor, ids.iter().map(|_| 1), 0),
                Part::Segments => fill(spec, tensor, segments.iter().copied(), 0),
            };
            filled.map_err(too_great(NAME, spec))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proctor_vocabulary::ElementType::{self, F32, I8, I16, I32, I64};

    use super::*;
    use crate::pipeline::build_pipeline;

    fn inputs(names: [&str; 3], element_type: ElementType, length: usize) -> Vec<TensorSpec> {
        let input = |name: &str| TensorSpec { name: name.to_owned(), element_type, shape: vec![length] };
        names.iter().map(|name| input(name)).collect()
    }

    fn sample(rows: &[[i32; 3]; 2]) -> RawSample<'static> {
        let bytes = rows.as_flattened().iter().flat_map(|number| number.to_ne_bytes()).collect();
        RawSample { element_type: I32, shape: Cow::Borrowed(&[2, 3]), bytes: Cow::Owned(bytes) }
    }

    const NAMES: [&str; 3] = ["input_ids", "input_mask", "segment_ids"];

    #[test]
    fn each_input_is_found_by_its_name_and_padded() {
        let inputs = inputs(["token_type_ids", "input_ids", "attention_mask"], I64, 5);
        let pipeline = build_pipeline(NAME, &inputs).unwrap();
        let mut tensors = [[0xff_u8; 40]; 3];
        let [segments, ids, mask] = &mut tensors;
        pipeline.run(&sample(&[[101, 30521, 102], [0, 1, 1]]), &mut [segments, ids, mask]).unwrap();
        let numbers = tensors.map(|tensor| {
            tensor.as_chunks().0.iter().map(|bytes| i64::from_ne_bytes(*bytes)).collect::<Vec<_>>()
        });
        assert_eq!(numbers, [[0, 1, 1, 0, 0], [101, 30521, 102, 0, 0], [1, 1, 1, 0, 0]]);
    }

    #[test]
    fn other_types_of_integers_hold_what_fits_them() {
        let pipeline = build_pipeline(NAME, &inputs(NAMES, I16, 3)).unwrap();
        let mut tensors = [[0xff_u8; 6]; 3];
        let [ids, mask, segments] = &mut tensors;
        pipeline.run(&sample(&[[1, 30521, 3], [0, 0, 1]]), &mut [ids, mask, segments]).unwrap();
        assert_eq!(tensors[0], [1_i16, 30521, 3].map(i16::to_ne_bytes).as_flattened());

        let pipeline = build_pipeline(NAME, &inputs(NAMES, I8, 3)).unwrap();
        let mut tensors = [[0_u8; 3]; 3];
        let [ids, mask, segments] = &mut tensors;
        let error = pipeline.run(&sample(&[[1, 128, 3], [0, 0, 1]]), &mut [ids, mask, segments]).unwrap_err();
        assert!(error.to_string().contains("numbers that i8 has, for input_ids i8[3]"), "{error}");
        assert!(error.to_string().contains("one with 128"), "{error}");
    }

    #[test]
    fn a_longer_row_or_another_kind_of_sample_is_refused() {
        let run = |length, sample: &RawSample<'_>| {
            let pipeline = build_pipeline(NAME, &inputs(NAMES, I32, length)).unwrap();
            let mut tensors = vec![vec![0; 4 * length]; 3];
            let mut slices: Vec<&mut [u8]> = tensors.iter_mut().map(Vec::as_mut_slice).collect();
            pipeline.run(sample, &mut slices)
        };
        let sample = sample(&[[1, 2, 3], [0, 0, 1]]);
        run(3, &sample).unwrap();
        let error = run(2, &sample).unwrap_err().to_string();
        assert!(error.contains("reads i32[2, n] with n up to 2") && error.contains("i32[2, 3]"), "{error}");
        for bad in [
            RawSample { element_type: I64, ..sample.clone() },
            RawSample { shape: Cow::Borrowed(&[6]), ..sample.clone() },
            RawSample { shape: Cow::Borrowed(&[2, 2]), ..sample.clone() },
            RawSample { shape: Cow::Borrowed(&[3, 2]), ..sample.clone() },
        ] {
            assert!(matches!(run(6, &bad), Err(PreprocessError::Sample { .. })), "{bad:?}");
        }
    }

    #[test]
    fn other_inputs_are_refused_and_named() {
        let error = |inputs: &[TensorSpec]| build_pipeline(NAME, inputs).err().unwrap().to_string();
        assert!(error(&inputs(NAMES, F32, 384)).contains("the model takes input_ids f32[384]"));
        assert!(
            error(&inputs(["input_ids", "input_mask", "attention_mask"], I64, 8))
                .contains("attention_mask i64[8]")
        );
        assert!(error(&inputs(["input_ids", "input_mask", "words"], I64, 8)).contains("words i64[8]"));
        let mut uneven = inputs(NAMES, I64, 8);
        uneven[2].shape = vec![9];
        assert!(error(&uneven).contains("segment_ids i64[9]"));
        assert!(error(&[]).contains("the model takes nothing"));
    }
}

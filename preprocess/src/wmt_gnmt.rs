//! `wmt-gnmt`: sentences as numbers of tokens, padded to the length of the model, with their own length.
//!
//! A sample is i32 `[n]`.

use crate::{integers::RowWithLength, pipeline::PipelineEntry};

const NAME: &str = "wmt-gnmt";
const ABOUT: &str = "sentence, as integers [n] of tokens, padded, with their number";
/// The number of the token that fills sentences: the end of a sentence, as in the reference implementation.
const FILLER: i32 = 2;

inventory::submit! {
    PipelineEntry {
        name: NAME,
        about: ABOUT,
        version: 1,
        build: |inputs| RowWithLength::build(NAME, FILLER, inputs),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proctor_datasets::RawSample;
    use proctor_vocabulary::{
        ElementType::{self, F32, I8, I32, I64},
        TensorSpec,
    };

    use super::*;
    use crate::pipeline::build_pipeline;

    fn inputs(element_type: ElementType, length: usize) -> [TensorSpec; 2] {
        let input =
            |name: &str, length| TensorSpec { name: name.to_owned(), element_type, shape: vec![length] };
        [input("source", length), input("source_length", 1)]
    }

    fn sample(numbers: &[i32]) -> RawSample<'static> {
        let bytes = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        RawSample { element_type: I32, shape: Cow::Owned(vec![numbers.len()]), bytes: Cow::Owned(bytes) }
    }

    #[test]
    fn a_sentence_is_padded_and_its_length_is_beside_it() {
        let pipeline = build_pipeline(NAME, &inputs(I32, 4)).unwrap();
        let (mut tokens, mut length) = ([0xff; 16], [0xff; 4]);
        pipeline.run(&sample(&[9, 31_999]), &mut [&mut tokens, &mut length]).unwrap();
        assert_eq!(tokens, [9, 31_999, 2, 2].map(i32::to_ne_bytes).as_flattened());
        assert_eq!(length, 2_i32.to_ne_bytes());
        pipeline.run(&sample(&[]), &mut [&mut tokens, &mut length]).unwrap();
        assert_eq!((tokens[..4].to_vec(), length), (2_i32.to_ne_bytes().to_vec(), [0; 4]));
    }

    #[test]
    fn a_sentence_that_does_not_fit_is_refused() {
        let run = |inputs: [TensorSpec; 2], numbers: &[i32]| {
            let (mut tokens, mut length) = (vec![0; inputs[0].size_bytes()], vec![0; inputs[1].size_bytes()]);
            let pipeline = build_pipeline(NAME, &inputs).unwrap();
            pipeline.run(&sample(numbers), &mut [&mut tokens, &mut length]).unwrap_err().to_string()
        };
        let error = run(inputs(I64, 2), &[5, 6, 7]);
        assert!(error.contains("reads i32[n] with n up to 2") && error.contains("i32[3]"), "{error}");
        let error = run(inputs(I8, 2), &[5, 600]);
        assert!(error.contains("numbers that i8 has, for source i8[2]"), "{error}");
    }

    #[test]
    fn other_inputs_are_refused_and_named() {
        let error = |inputs: &[TensorSpec]| build_pipeline(NAME, inputs).err().unwrap().to_string();
        assert!(error(&inputs(F32, 50)).contains("the model takes source f32[50], source_length f32[1]"));
        let mut two = inputs(I32, 50);
        two[1].shape = vec![2];
        assert!(error(&two).contains("source_length i32[2]"));
        assert!(error(&two[..1]).contains("the model takes source i32[50]"));
    }
}

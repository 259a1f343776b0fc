//! `prompt`: the tokens of a prompt, padded to the length of the model, with their own length.
//!
//! A sample is i32 `[n]`.

use crate::{integers::RowWithLength, pipeline::PipelineEntry};

const NAME: &str = "prompt";
/// The number behind a prompt, which no model reads.
const FILLER: i32 = 0;

inventory::submit! {
    PipelineEntry {
        name: NAME,
        about: "prompt, as integers [n] of tokens, padded, with their number",
        version: 1,
        build: |inputs| RowWithLength::build(NAME, FILLER, inputs),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proctor_datasets::RawSample;
    use proctor_vocabulary::{ElementType::I32, TensorSpec};

    use super::*;
    use crate::pipeline::build_pipeline;

    #[test]
    fn zeros_are_behind_a_prompt_and_its_length_is_beside_it() {
        let input =
            |name: &str, length| TensorSpec { name: name.to_owned(), element_type: I32, shape: vec![length] };
        let pipeline = build_pipeline(NAME, &[input("input_ids", 3), input("input_length", 1)]).unwrap();
        let bytes = [1_i32, 49_151].map(i32::to_ne_bytes).concat();
        let sample = RawSample { element_type: I32, shape: Cow::Borrowed(&[2]), bytes: Cow::Owned(bytes) };
        let (mut tokens, mut length) = ([0xff; 12], [0xff; 4]);
        pipeline.run(&sample, &mut [&mut tokens, &mut length]).unwrap();
        assert_eq!(tokens, [1, 49_151, 0].map(i32::to_ne_bytes).as_flattened());
        assert_eq!(length, 2_i32.to_ne_bytes());
    }
}

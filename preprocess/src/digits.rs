//! Handwritten digits: pixel / 16 as f32.

use proctor_datasets::RawSample;
use proctor_vocabulary::{ElementType, TensorSpec};

use crate::{
    error::PreprocessError,
    pipeline::{Pipeline, PipelineEntry, describe},
};

const NAME: &str = "digits";
/// Rows and columns of an image.
const IMAGE: [usize; 2] = [8, 8];
const PIXEL_COUNT: usize = IMAGE[0] * IMAGE[1];
/// The shapes that models take an image in; the memory is the same.
const SHAPES: [&[usize]; 3] = [&[8, 8], &[1, 8, 8], &[64]];
/// The blackest pixel. The quotient is exact in f32: the divisor is a power of two.
const PIXEL_MAX: f32 = 16.0;

inventory::submit! { PipelineEntry { name: NAME, version: 1, build } }

struct Digits {
    outputs: [TensorSpec; 1],
}

fn build(inputs: &[TensorSpec]) -> Result<Box<dyn Pipeline>, PreprocessError> {
    match inputs {
        [input] if input.element_type == ElementType::F32 && SHAPES.contains(&input.shape.as_slice()) => {
            Ok(Box::new(Digits { outputs: [input.clone()] }))
        }
        _ => Err(PreprocessError::Outputs {
            pipeline: NAME.to_owned(),
            makes: "one f32 tensor of shape [8, 8], [1, 8, 8] or [64]".to_owned(),
            wanted: describe(inputs),
        }),
    }
}

impl Pipeline for Digits {
    fn outputs(&self) -> &[TensorSpec] {
        &self.outputs
    }

    fn run(&self, sample: &RawSample<'_>, tensors: &mut [&mut [u8]]) -> Result<(), PreprocessError> {
        let is_image = sample.element_type == ElementType::U8 && *sample.shape == IMAGE;
        if !is_image || sample.bytes.len() != PIXEL_COUNT {
            return Err(PreprocessError::Sample {
                pipeline: NAME.to_owned(),
                reads: format!("u8{IMAGE:?} of {PIXEL_COUNT} bytes"),
                got: format!("{}{:?} of {} bytes", sample.element_type, sample.shape, sample.bytes.len()),
            });
        }
        let [image] = tensors else { panic!("one tensor expected, got {}", tensors.len()) };
        assert_eq!(image.len(), self.outputs[0].size_bytes(), "size of the tensor in bytes");
        let (elements, _) = image.as_chunks_mut::<4>();
        for (element, pixel) in elements.iter_mut().zip(&*sample.bytes) {
            *element = (f32::from(*pixel) / PIXEL_MAX).to_ne_bytes();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;

    use super::*;
    use crate::pipeline::build_pipeline;

    fn input(element_type: ElementType, shape: &[usize]) -> TensorSpec {
        TensorSpec { name: "image".into(), element_type, shape: shape.to_vec() }
    }

    fn sample(element_type: ElementType, shape: &[usize], bytes: Vec<u8>) -> RawSample<'_> {
        RawSample { element_type, shape: Cow::Borrowed(shape), bytes: Cow::Owned(bytes) }
    }

    #[test]
    fn other_inputs_are_refused_and_named() {
        let error = |inputs: &[TensorSpec]| build_pipeline(NAME, inputs).err().unwrap().to_string();
        assert!(error(&[input(ElementType::F32, &[8, 9])]).contains("the model takes image f32[8, 9]"));
        assert!(error(&[input(ElementType::I8, &[8, 8])]).contains("the model takes image i8[8, 8]"));
        assert!(error(&[]).contains("the model takes nothing"));
        let two = [input(ElementType::F32, &[64]), input(ElementType::F32, &[64])];
        assert!(error(&two).contains("image f32[64], image f32[64]"));
    }

    #[test]
    fn a_misspelled_name_is_answered_with_the_near_one() {
        let error = build_pipeline("digist", &[]).err().unwrap().to_string();
        let expected = "unknown preprocessing \"digist\", did you mean \"digits\"?; known are ";
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn a_sample_of_another_kind_is_refused() {
        let pipeline = build_pipeline(NAME, &[input(ElementType::F32, &[64])]).unwrap();
        for (element_type, shape, count) in [
            (ElementType::U8, &[28, 28][..], 784),
            (ElementType::I8, &[8, 8], 64),
            (ElementType::U8, &[8, 8], 63),
        ] {
            let mut tensor = [0; 256];
            let result = pipeline.run(&sample(element_type, shape, vec![0; count]), &mut [&mut tensor]);
            assert!(matches!(result, Err(PreprocessError::Sample { .. })));
        }
    }

    proptest! {
        #[test]
        fn each_element_is_its_pixel_by_sixteen_in_every_shape(pixels in prop::collection::vec(0_u8..=16, 64)) {
            for shape in SHAPES {
                let pipeline = build_pipeline(NAME, &[input(ElementType::F32, shape)]).unwrap();
                let mut tensor = [0xff; 256];
                pipeline.run(&sample(ElementType::U8, &IMAGE, pixels.clone()), &mut [&mut tensor]).unwrap();
                for (bytes, pixel) in tensor.as_chunks::<4>().0.iter().zip(&pixels) {
                    prop_assert_eq!(f32::from_ne_bytes(*bytes) * 16.0, f32::from(*pixel));
                }
            }
        }
    }
}

//! Images of grey pixels in one byte each: pixel / white as f32.

use proctor_datasets::RawSample;
use proctor_vocabulary::{ElementType, TensorSpec};

use crate::{
    error::PreprocessError,
    pipeline::{Pipeline, describe},
};

/// Square images of grey pixels, as a data set has them.
#[derive(Debug)]
pub(crate) struct GreyImages {
    /// Name of the pipeline.
    pub(crate) name: &'static str,
    /// Number of rows, and of columns.
    pub(crate) side: usize,
    /// The largest pixel, which becomes 1.
    pub(crate) white: f32,
}

impl GreyImages {
    /// Returns the shapes that models take an image in; the memory is the same.
    fn shapes(&self) -> [Vec<usize>; 3] {
        let side = self.side;
        [vec![side, side], vec![1, side, side], vec![side * side]]
    }

    /// Builds the pipeline for a model that takes `inputs`.
    ///
    /// # Errors
    /// [`PreprocessError::Outputs`] unless it takes one image.
    pub(crate) fn build(&'static self, inputs: &[TensorSpec]) -> Result<Box<dyn Pipeline>, PreprocessError> {
        let shapes = self.shapes();
        match inputs {
            [input] if input.element_type == ElementType::F32 && shapes.contains(&input.shape) => {
                Ok(Box::new(Grey { images: self, outputs: [input.clone()] }))
            }
            _ => {
                let [rows, channel, flat] = shapes;
                Err(PreprocessError::Outputs {
                    pipeline: self.name.to_owned(),
                    makes: format!("one f32 tensor of shape {rows:?}, {channel:?} or {flat:?}"),
                    wanted: describe(inputs),
                })
            }
        }
    }
}

struct Grey {
    images: &'static GreyImages,
    outputs: [TensorSpec; 1],
}

impl Pipeline for Grey {
    fn outputs(&self) -> &[TensorSpec] {
        &self.outputs
    }

    fn run(&self, sample: &RawSample<'_>, tensors: &mut [&mut [u8]]) -> Result<(), PreprocessError> {
        let GreyImages { name, side, white } = self.images;
        let (shape, pixel_count) = ([*side; 2], side * side);
        let is_image = sample.element_type == ElementType::U8 && *sample.shape == shape;
        if !is_image || sample.bytes.len() != pixel_count {
            return Err(PreprocessError::Sample {
                pipeline: (*name).to_owned(),
                reads: format!("u8{shape:?} of {pixel_count} bytes"),
                got: format!("{}{:?} of {} bytes", sample.element_type, sample.shape, sample.bytes.len()),
            });
        }
        let [image] = tensors else { panic!("one tensor expected, got {}", tensors.len()) };
        assert_eq!(image.len(), self.outputs[0].size_bytes(), "size of the tensor in bytes");
        let (elements, _) = image.as_chunks_mut::<4>();
        for (element, pixel) in elements.iter_mut().zip(&*sample.bytes) {
            *element = (f32::from(*pixel) / white).to_ne_bytes();
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

    /// Name, side and white of each pipeline.
    const KINDS: [(&str, usize, u8); 2] = [("digits", 8, 16), ("fashion-mnist", 28, 255)];

    fn input(element_type: ElementType, shape: &[usize]) -> TensorSpec {
        TensorSpec { name: "image".into(), element_type, shape: shape.to_vec() }
    }

    fn sample(element_type: ElementType, shape: &[usize], bytes: Vec<u8>) -> RawSample<'_> {
        RawSample { element_type, shape: Cow::Borrowed(shape), bytes: Cow::Owned(bytes) }
    }

    #[test]
    fn other_inputs_are_refused_and_named() {
        let error =
            |name: &str, inputs: &[TensorSpec]| build_pipeline(name, inputs).err().unwrap().to_string();
        assert!(
            error("digits", &[input(ElementType::F32, &[8, 9])]).contains("the model takes image f32[8, 9]")
        );
        assert!(
            error("digits", &[input(ElementType::I8, &[8, 8])]).contains("the model takes image i8[8, 8]")
        );
        assert!(error("digits", &[]).contains("the model takes nothing"));
        let two = [input(ElementType::F32, &[64]), input(ElementType::F32, &[64])];
        assert!(error("digits", &two).contains("image f32[64], image f32[64]"));
        let error = error("fashion-mnist", &[input(ElementType::F32, &[8, 8])]);
        let makes = "makes one f32 tensor of shape [28, 28], [1, 28, 28] or [784], ";
        assert!(error.contains(makes), "{error}");
    }

    #[test]
    fn a_misspelled_name_is_answered_with_the_near_one() {
        let error = build_pipeline("digist", &[]).err().unwrap().to_string();
        let expected = "unknown preprocessing \"digist\", did you mean \"digits\"?; known are ";
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn a_sample_of_another_kind_is_refused() {
        for (name, side, _) in KINDS {
            let count = side * side;
            let pipeline = build_pipeline(name, &[input(ElementType::F32, &[count])]).unwrap();
            for (element_type, shape, count) in [
                (ElementType::U8, vec![side + 1, side + 1], (side + 1) * (side + 1)),
                (ElementType::I8, vec![side, side], count),
                (ElementType::U8, vec![side, side], count - 1),
            ] {
                let mut tensor = vec![0; 4 * side * side];
                let result = pipeline.run(&sample(element_type, &shape, vec![0; count]), &mut [&mut tensor]);
                assert!(matches!(result, Err(PreprocessError::Sample { .. })), "{name} {shape:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn each_element_is_its_pixel_by_white_in_every_shape(pixels in prop::collection::vec(any::<u8>(), 784)) {
            for (name, side, white) in KINDS {
                let (count, white) = (side * side, f32::from(white));
                for shape in [vec![side, side], vec![1, side, side], vec![count]] {
                    let pipeline = build_pipeline(name, &[input(ElementType::F32, &shape)]).unwrap();
                    let mut tensor = vec![0xff; 4 * count];
                    let image = [side, side];
                    let image = sample(ElementType::U8, &image, pixels[..count].to_vec());
                    pipeline.run(&image, &mut [&mut tensor]).unwrap();
                    for (bytes, pixel) in tensor.as_chunks::<4>().0.iter().zip(&pixels) {
                        prop_assert_eq!(f32::from_ne_bytes(*bytes), f32::from(*pixel) / white);
                    }
                }
            }
        }
    }
}

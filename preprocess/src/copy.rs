//! `copy`: samples that are the model's tensors already, one after another without gaps.

use proctor_datasets::RawSample;
use proctor_vocabulary::TensorSpec;

use crate::{
    error::PreprocessError,
    pipeline::{Pipeline, PipelineEntry, describe},
};

const NAME: &str = "copy";
const ABOUT: &str = "bytes that are the tensors already, of any type and shape";

inventory::submit! { PipelineEntry { name: NAME, about: ABOUT, version: 1, build } }

struct Copied {
    outputs: Vec<TensorSpec>,
}

fn build(inputs: &[TensorSpec]) -> Result<Box<dyn Pipeline>, PreprocessError> {
    Ok(Box::new(Copied { outputs: inputs.to_vec() }))
}

impl Pipeline for Copied {
    fn outputs(&self) -> &[TensorSpec] {
        &self.outputs
    }

    fn run(&self, sample: &RawSample<'_>, tensors: &mut [&mut [u8]]) -> Result<(), PreprocessError> {
        let size_bytes: usize = self.outputs.iter().map(TensorSpec::size_bytes).sum();
        if sample.bytes.len() != size_bytes {
            return Err(PreprocessError::Sample {
                pipeline: NAME.to_owned(),
                reads: format!("{size_bytes} bytes for {}", describe(&self.outputs)),
                got: format!("{}{:?} of {} bytes", sample.element_type, sample.shape, sample.bytes.len()),
            });
        }
        assert_eq!(tensors.len(), self.outputs.len(), "number of tensors");
        let mut rest = &*sample.bytes;
        for (tensor, spec) in tensors.iter_mut().zip(&self.outputs) {
            let (bytes, after) = rest.split_at(spec.size_bytes());
            tensor.copy_from_slice(bytes);
            rest = after;
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

    fn pipeline() -> Box<dyn Pipeline> {
        let spec = |name: &str, element_type, shape: &[usize]| TensorSpec {
            name: name.into(),
            element_type,
            shape: shape.to_vec(),
        };
        let inputs = [spec("a", ElementType::I8, &[3]), spec("b", ElementType::I32, &[1])];
        build_pipeline(NAME, &inputs).unwrap()
    }

    fn sample(bytes: &[u8]) -> RawSample<'_> {
        let shape = Cow::Owned(vec![bytes.len()]);
        RawSample { element_type: ElementType::U8, shape, bytes: Cow::Borrowed(bytes) }
    }

    #[test]
    fn each_tensor_gets_its_bytes() {
        let (mut a, mut b) = ([0; 3], [0; 4]);
        pipeline().run(&sample(&[1, 2, 3, 4, 5, 6, 7]), &mut [&mut a, &mut b]).unwrap();
        assert_eq!((a, b), ([1, 2, 3], [4, 5, 6, 7]));
    }

    #[test]
    fn a_sample_of_another_size_is_refused() {
        let (mut a, mut b) = ([0; 3], [0; 4]);
        let error = pipeline().run(&sample(&[0; 8]), &mut [&mut a, &mut b]).unwrap_err().to_string();
        assert!(error.contains("reads 7 bytes for a i8[3], b i32[1]") && error.contains("u8[8]"), "{error}");
    }
}

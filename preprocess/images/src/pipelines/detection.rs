//! Pipelines of COCO and Open Images: the whole picture to a size, whatever its sides were.

use proctor_datasets::RawSample;
use proctor_jpeg_file::Part;
use proctor_preprocess::{Pipeline, PipelineEntry, PreprocessError};
use proctor_vocabulary::{ElementType, TensorSpec};
use pulp::{Arch, WithSimd};

use crate::{
    pipelines::{Photo, Scale, image_input, numbers},
    resize::smooth::{Rows, SmoothRows},
};

/// One of the pipelines.
struct Kind {
    name: &'static str,
    /// The way to numbers; without one they are cut to bytes.
    scale: Option<Scale>,
}

const SSD_MOBILENET: Kind = Kind { name: "coco-ssd-mobilenet", scale: None };

const SSD_MOBILENET_PYTORCH: Kind = Kind {
    name: "coco-ssd-mobilenet-pytorch",
    scale: Some(Scale { divisor: 1.0, mean: [127.5; 3], deviation: [127.5; 3] }),
};

const SSD_RESNET34: Kind = Kind { name: "coco-ssd-resnet34", scale: Some(Scale::PYTORCH) };

const SSD_RESNET34_TF: Kind =
    Kind { name: "coco-ssd-resnet34-tf", scale: Some(Scale::less([123.68, 116.78, 103.94])) };

const RETINANET: Kind = Kind {
    name: "open-images-retinanet",
    scale: Some(Scale { divisor: 255.0, mean: [0.0; 3], deviation: [1.0; 3] }),
};

inventory::submit! { PipelineEntry { name: SSD_MOBILENET.name, version: 1, build: |inputs| build(&SSD_MOBILENET, inputs) } }
inventory::submit! {
    PipelineEntry { name: SSD_MOBILENET_PYTORCH.name, version: 1, build: |inputs| build(&SSD_MOBILENET_PYTORCH, inputs) }
}
inventory::submit! { PipelineEntry { name: SSD_RESNET34.name, version: 1, build: |inputs| build(&SSD_RESNET34, inputs) } }
inventory::submit! { PipelineEntry { name: SSD_RESNET34_TF.name, version: 1, build: |inputs| build(&SSD_RESNET34_TF, inputs) } }
inventory::submit! { PipelineEntry { name: RETINANET.name, version: 1, build: |inputs| build(&RETINANET, inputs) } }

struct Detection {
    kind: &'static Kind,
    outputs: [TensorSpec; 1],
    height: usize,
    width: usize,
}

fn build(kind: &'static Kind, inputs: &[TensorSpec]) -> Result<Box<dyn Pipeline>, PreprocessError> {
    let element_type = if kind.scale.is_some() { ElementType::F32 } else { ElementType::U8 };
    let (output, height, width) = image_input(kind.name, element_type, false, inputs)?;
    Ok(Box::new(Detection { kind, outputs: [output], height, width }))
}

impl Pipeline for Detection {
    fn outputs(&self) -> &[TensorSpec] {
        &self.outputs
    }

    fn run(&self, sample: &RawSample<'_>, tensors: &mut [&mut [u8]]) -> Result<(), PreprocessError> {
        let photo = Photo::open(self.kind.name, sample)?;
        let (width, height) = photo.size();
        let (picture, _) = photo.pixels(self.kind.name, Part { left: 0, top: 0, width, height })?;
        let (width, plane) = (self.width, self.width * self.height);
        let rows = SmoothRows { picture: &picture, width, height: self.height };
        match self.kind.scale {
            Some(scale) => {
                let out = numbers(tensors, &self.outputs[0]);
                let write = |number: f32, channel| scale.apply(number, channel).to_ne_bytes();
                Arch::new().dispatch(Planes { rows, plane: Plane { out, plane, width, write } });
            }
            None => {
                let out = numbers(tensors, &self.outputs[0]);
                // Towards zero, as NumPy does it.
                let write = |number: f32, _| [number as u8];
                Arch::new().dispatch(Planes { rows, plane: Plane { out, plane, width, write } });
            }
        }
        Ok(())
    }
}

/// Writes the channels of rows of pixels apart from each other.
struct Plane<'a, const SIZE: usize, Write> {
    out: &'a mut [[u8; SIZE]],
    /// Pixels of the picture.
    plane: usize,
    width: usize,
    write: Write,
}

impl<const SIZE: usize, Write: Fn(f32, usize) -> [u8; SIZE]> Rows for Plane<'_, SIZE, Write> {
    #[inline(always)]
    fn row(&mut self, number: usize, pixels: &[[f32; 4]]) {
        for channel in 0..3 {
            let out = &mut self.out[channel * self.plane + number * self.width..][..self.width];
            for (out, pixel) in out.iter_mut().zip(pixels) {
                *out = (self.write)(pixel[channel], channel);
            }
        }
    }
}

/// The work as `pulp` compiles it for each instruction set.
struct Planes<'a, const SIZE: usize, Write> {
    rows: SmoothRows<'a>,
    plane: Plane<'a, SIZE, Write>,
}

impl<const SIZE: usize, Write: Fn(f32, usize) -> [u8; SIZE]> WithSimd for Planes<'_, SIZE, Write> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, _: S) {
        self.rows.each(&mut self.plane);
    }
}

#[cfg(test)]
mod tests {
    use proctor_preprocess::build_pipeline;

    use super::*;

    #[test]
    fn the_element_type_is_that_of_the_reference() {
        let input = |element_type| TensorSpec { name: "image".into(), element_type, shape: vec![3, 30, 20] };
        for (name, right, wrong) in [
            (SSD_MOBILENET.name, ElementType::U8, ElementType::F32),
            (RETINANET.name, ElementType::F32, ElementType::U8),
        ] {
            let pipeline = build_pipeline(name, &[input(right)]).unwrap();
            assert_eq!(pipeline.outputs(), [input(right)]);
            let error = build_pipeline(name, &[input(wrong)]).err().unwrap().to_string();
            assert!(
                error.contains(&format!("makes one {right} tensor of shape [3, height, width]")),
                "{error}"
            );
        }
    }
}

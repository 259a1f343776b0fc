//! Pipelines of COCO and Open Images: the whole picture is resized to a fixed size, regardless of its aspect ratio.

use proctor_datasets::RawSample;
use proctor_jpeg_file::Part;
use proctor_preprocess::{Pipeline, PipelineEntry, PreprocessError};
use proctor_vocabulary::{ElementType, TensorSpec};
use pulp::{Arch, WithSimd};

use crate::{
    pipelines::{PYTORCH_DEVIATION, PYTORCH_MEAN, Photo, VGG_MEAN, image_input, numbers},
    resize::smooth::SmoothRows,
};

/// One of the pipelines.
struct Kind {
    name: &'static str,
    numbers: Numbers,
}

/// The numbers that are made of the parts of pixels, in the order and the precision of the references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// Bytes, with the fraction cut off.
    Bytes,
    /// Values from -1 to 1.
    Centred,
    /// Values from 0 to 1.
    Unit,
    /// Values from 0 to 1, minus the mean of ImageNet, divided by its deviation.
    Pytorch,
    /// Less the mean of VGG.
    Less,
}

const SSD_MOBILENET: Kind = Kind { name: "coco-ssd-mobilenet", numbers: Numbers::Bytes };
const SSD_MOBILENET_PYTORCH: Kind = Kind { name: "coco-ssd-mobilenet-pytorch", numbers: Numbers::Centred };
const SSD_RESNET34: Kind = Kind { name: "coco-ssd-resnet34", numbers: Numbers::Pytorch };
const SSD_RESNET34_TF: Kind = Kind { name: "coco-ssd-resnet34-tf", numbers: Numbers::Less };
const RETINANET: Kind = Kind { name: "open-images-retinanet", numbers: Numbers::Unit };

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
    let element_type = if kind.numbers == Numbers::Bytes { ElementType::U8 } else { ElementType::F32 };
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
        let rows = SmoothRows { picture: &picture, width: self.width, height: self.height };
        match self.kind.numbers {
            Numbers::Bytes => self.write(tensors, rows, |number, _| [whole(number)]),
            Numbers::Centred => {
                self.write(tensors, rows, |number, _| ((number - 127.5) / 127.5).to_ne_bytes());
            }
            Numbers::Unit => self.write(tensors, rows, |number, _| (number / 255.0).to_ne_bytes()),
            Numbers::Pytorch => self.write(tensors, rows, |number, colour| {
                ((number / 255.0 - PYTORCH_MEAN[colour]) / PYTORCH_DEVIATION[colour]).to_ne_bytes()
            }),
            Numbers::Less => {
                self.write(tensors, rows, |number, colour| (number - VGG_MEAN[colour]).to_ne_bytes());
            }
        }
        Ok(())
    }
}

impl Detection {
    /// Writes the rows, each number as `write` makes it.
    fn write<const SIZE: usize>(
        &self,
        tensors: &mut [&mut [u8]],
        rows: SmoothRows<'_>,
        write: impl Fn(f32, usize) -> [u8; SIZE],
    ) {
        let out = numbers(tensors, &self.outputs[0]);
        Arch::new().dispatch(Planes { rows, out, write });
    }
}

/// Returns the whole part of a number from 0 to 255, as in NumPy's conversion.
#[inline(always)]
fn whole(number: f32) -> u8 {
    // At this size the last bit of an f32 is worth one, so that adding rounds. A conversion would look for numbers that
    // are too large, one after the other.
    const ONES: f32 = 8_388_608.0;
    let rounded = number + ONES;
    let is_above = rounded - ONES > number;
    (rounded.to_bits() as u8).wrapping_sub(u8::from(is_above))
}

/// The work as `pulp` compiles it for each instruction set.
struct Planes<'a, const SIZE: usize, Write> {
    rows: SmoothRows<'a>,
    out: &'a mut [[u8; SIZE]],
    write: Write,
}

impl<const SIZE: usize, Write: Fn(f32, usize) -> [u8; SIZE]> WithSimd for Planes<'_, SIZE, Write> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { rows, out, write } = self;
        let (width, height) = (rows.width, rows.height);
        rows.each(
            #[inline(always)]
            |row, colour, blend| {
                let out = &mut out[(colour * height + row) * width..][..width];
                blend.write(
                    out,
                    #[inline(always)]
                    |number| write(number, colour),
                );
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use proctor_preprocess::build_pipeline;

    use super::*;

    #[test]
    fn the_whole_part_is_cut_off() {
        for number in 0..=255_u8 {
            assert_eq!(whole(f32::from(number)), number);
            let next = f32::from(number) + 1.0;
            assert_eq!(whole(f32::from_bits(next.to_bits() - 1)), number);
            assert_eq!(whole(f32::from(number) + 0.5), number);
        }
    }

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

//! Pipelines of ImageNet: the short side to a size, and the centre cropped.

use proctor_datasets::RawSample;
use proctor_preprocess::{Pipeline, PipelineEntry, PreprocessError};
use proctor_vocabulary::{ElementType, TensorSpec};
use pulp::{Arch, WithSimd};

use crate::{
    pipelines::{PYTORCH_DEVIATION, PYTORCH_MEAN, Photo, VGG_MEAN, image_input, numbers},
    resize::{Method, Resize, Side},
};

/// Percentage of the short side that a crop keeps, which the references fix.
const CROPPED_PERCENT: f64 = 87.5;

/// One of the pipelines.
struct Kind {
    name: &'static str,
    method: Method,
    numbers: Numbers,
    /// The edge of the crop is rounded to even, as torchvision does it, and not down.
    is_crop_rounded: bool,
}

/// The numbers that are made of the parts of pixels, in the order and the precision of the references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// Subtracts the mean of VGG.
    Less,
    /// Values from -1 to 1.
    Centred,
    /// Values from 0 to 1, minus the mean, divided by the deviation.
    Pytorch,
    /// Blue first, less the mean.
    BlueFirst,
}

const VGG: Kind =
    Kind { name: "imagenet-vgg", method: Method::Area, numbers: Numbers::Less, is_crop_rounded: false };
const MOBILENET: Kind = Kind {
    name: "imagenet-mobilenet",
    method: Method::Linear,
    numbers: Numbers::Centred,
    is_crop_rounded: false,
};
const TORCHVISION: Kind = Kind {
    name: "imagenet-torchvision",
    method: Method::Antialiased,
    numbers: Numbers::Pytorch,
    is_crop_rounded: true,
};
const TFLITE: Kind = Kind {
    name: "imagenet-tflite",
    method: Method::Linear,
    numbers: Numbers::BlueFirst,
    is_crop_rounded: false,
};

/// Mean of ImageNet in blue, green and red, as the pipeline of TFLite has it.
const BLUE_FIRST_MEAN: [f32; 3] = [103.939, 116.779, 123.68];

inventory::submit! { PipelineEntry { name: VGG.name, version: 1, build: |inputs| build(&VGG, inputs) } }
inventory::submit! { PipelineEntry { name: MOBILENET.name, version: 1, build: |inputs| build(&MOBILENET, inputs) } }
inventory::submit! { PipelineEntry { name: TORCHVISION.name, version: 1, build: |inputs| build(&TORCHVISION, inputs) } }
inventory::submit! { PipelineEntry { name: TFLITE.name, version: 1, build: |inputs| build(&TFLITE, inputs) } }

struct Classification {
    kind: &'static Kind,
    outputs: [TensorSpec; 1],
    /// Rows and columns of the crop.
    size: usize,
}

fn build(kind: &'static Kind, inputs: &[TensorSpec]) -> Result<Box<dyn Pipeline>, PreprocessError> {
    let (output, size, _) = image_input(kind.name, ElementType::F32, true, inputs)?;
    Ok(Box::new(Classification { kind, outputs: [output], size }))
}

impl Classification {
    /// Returns the change of size of a picture, with the crop.
    fn resize(&self, width: usize, height: usize) -> Resize {
        let short = (100.0 * self.size as f64 / CROPPED_PERCENT) as usize;
        // The longer side is cut to an integer.
        let (to_width, to_height) =
            if height > width { (short, short * height / width) } else { (short * width / height, short) };
        let side = |from, to: usize| {
            let room = to - self.size;
            // A half is rounded to even.
            let first = if self.kind.is_crop_rounded { (room + room / 2 % 2) / 2 } else { room / 2 };
            Side { from, to, wanted: first..first + self.size }
        };
        Resize { method: self.kind.method, columns: side(width, to_width), rows: side(height, to_height) }
    }
}

impl Pipeline for Classification {
    fn outputs(&self) -> &[TensorSpec] {
        &self.outputs
    }

    fn run(&self, sample: &RawSample<'_>, tensors: &mut [&mut [u8]]) -> Result<(), PreprocessError> {
        let out = numbers(tensors, &self.outputs[0]);
        let photo = Photo::open(self.kind.name, sample)?;
        let (width, height) = photo.size();
        let resize = self.resize(width, height);
        let (picture, part) = photo.pixels(self.kind.name, resize.needed())?;
        let picture = resize.apply(&picture, part);
        let pixels = &picture.pixels;
        match self.kind.numbers {
            Numbers::Less => planes(pixels, out, |number, colour| (colour, number - VGG_MEAN[colour])),
            Numbers::Centred => planes(pixels, out, |number, colour| (colour, (number / 255.0 - 0.5) * 2.0)),
            Numbers::Pytorch => planes(pixels, out, |number, colour| {
                (colour, (number / 255.0 - PYTORCH_MEAN[colour]) / PYTORCH_DEVIATION[colour])
            }),
            Numbers::BlueFirst => planes(pixels, out, |number, colour| {
                let channel = 2 - colour;
                (channel, number - BLUE_FIRST_MEAN[channel])
            }),
        }
        Ok(())
    }
}

/// Writes the colours of pixels as planes, one after another. `convert` maps a number and the index of its colour, 0
/// for red, to a channel and the number stored there.
fn planes(pixels: &[[u8; 4]], out: &mut [[u8; 4]], convert: impl Fn(f32, usize) -> (usize, f32)) {
    Arch::new().dispatch(Planes { pixels, out, convert });
}

/// The conversion, in the form that `pulp` compiles for each instruction set.
struct Planes<'a, Convert> {
    pixels: &'a [[u8; 4]],
    out: &'a mut [[u8; 4]],
    convert: Convert,
}

impl<Convert: Fn(f32, usize) -> (usize, f32)> WithSimd for Planes<'_, Convert> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { pixels, out, convert } = self;
        for colour in 0..3 {
            let (channel, _) = convert(0.0, colour);
            let out = &mut out[channel * pixels.len()..][..pixels.len()];
            for (out, pixel) in out.iter_mut().zip(pixels) {
                // A shift of whole pixels makes a vector of one colour.
                let part = u32::from_le_bytes(*pixel) >> (8 * colour) & 0xff;
                *out = convert(part as i32 as f32, colour).1.to_ne_bytes();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proctor_preprocess::build_pipeline;

    use super::*;

    fn input(element_type: ElementType, shape: &[usize]) -> TensorSpec {
        TensorSpec { name: "image".into(), element_type, shape: shape.to_vec() }
    }

    #[test]
    fn crops_begin_where_the_references_have_them() {
        let begin = |kind: &'static Kind, width, height| {
            let pipeline =
                Classification { kind, outputs: [input(ElementType::F32, &[3, 224, 224])], size: 224 };
            let resize = pipeline.resize(width, height);
            let begin = (resize.columns.wanted.start, resize.rows.wanted.start);
            (resize.columns.to, resize.rows.to, begin)
        };
        // 500 x 375: 256 * 500 / 375 = 341.3, and (341 - 224) / 2 = 58.5.
        assert_eq!(begin(&VGG, 500, 375), (341, 256, (58, 16)));
        assert_eq!(begin(&TORCHVISION, 500, 375), (341, 256, (58, 16)));
        // 343 wide: 59.5 is rounded to 60.
        assert_eq!(begin(&VGG, 343, 256), (343, 256, (59, 16)));
        assert_eq!(begin(&TORCHVISION, 343, 256), (343, 256, (60, 16)));
        assert_eq!(begin(&VGG, 100, 1000), (256, 2560, (16, 1168)));
        assert_eq!(begin(&VGG, 1, 1), (256, 256, (16, 16)));
    }

    #[test]
    fn other_inputs_are_refused() {
        for (element_type, shape) in [
            (ElementType::U8, &[3, 224, 224][..]),
            (ElementType::F32, &[224, 224, 3]),
            (ElementType::F32, &[3, 224, 225]),
            (ElementType::F32, &[3, 0, 0]),
        ] {
            let error = build_pipeline(VGG.name, &[input(element_type, shape)]).err().unwrap().to_string();
            assert!(
                error.contains("makes one f32 tensor of shape [3, n, n], but the model takes"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_sample_that_is_no_jpeg_file_is_refused_with_the_reason() {
        let pipeline = build_pipeline(VGG.name, &[input(ElementType::F32, &[3, 32, 32])]).unwrap();
        let mut tensor = vec![0; 3 * 32 * 32 * 4];
        let mut run = |element_type, shape: &[usize], bytes: &[u8]| {
            let sample = RawSample { element_type, shape: Cow::Borrowed(shape), bytes: Cow::Borrowed(bytes) };
            pipeline.run(&sample, &mut [&mut tensor]).unwrap_err().to_string()
        };
        let png = b"\x89PNG\r\n\x1a\n";
        let error = run(ElementType::U8, &[8], png);
        let expected =
            "preprocessing \"imagenet-vgg\" cannot decode the sample: it is a PNG file and no JPEG file";
        assert!(error.starts_with(expected), "{error}");
        let error = run(ElementType::U8, &[2, 4], png);
        assert!(error.contains("reads the bytes of a JPEG file, but the sample is u8[2, 4]"), "{error}");
    }
}

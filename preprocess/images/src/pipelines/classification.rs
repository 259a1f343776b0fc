//! Pipelines of ImageNet: the short side to a size, and the centre cropped.

use proctor_datasets::RawSample;
use proctor_preprocess::{Pipeline, PipelineEntry, PreprocessError};
use proctor_vocabulary::{ElementType, TensorSpec};
use pulp::{Arch, WithSimd};

use crate::{
    pipelines::{Photo, Scale, image_input, numbers},
    resize::{Method, Resize, Side},
};

/// Percentage of the short side that a crop keeps, which the references fix.
const CROPPED_PERCENT: f64 = 87.5;

/// One of the pipelines.
struct Kind {
    name: &'static str,
    method: Method,
    scale: Scale,
    /// Numbers are doubled in the end.
    is_doubled: bool,
    /// Blue comes first.
    is_reversed: bool,
    /// The edge of the crop is rounded to even, as torchvision does it, and not down.
    is_crop_rounded: bool,
}

const VGG: Kind = Kind {
    name: "imagenet-vgg",
    method: Method::Area,
    scale: Scale::less([123.68, 116.78, 103.94]),
    is_doubled: false,
    is_reversed: false,
    is_crop_rounded: false,
};

const MOBILENET: Kind = Kind {
    name: "imagenet-mobilenet",
    method: Method::Linear,
    scale: Scale { divisor: 255.0, mean: [0.5; 3], deviation: [1.0; 3] },
    is_doubled: true,
    ..VGG
};

const TORCHVISION: Kind = Kind {
    name: "imagenet-torchvision",
    method: Method::Antialiased,
    scale: Scale::PYTORCH,
    is_crop_rounded: true,
    ..VGG
};

const TFLITE: Kind = Kind {
    name: "imagenet-tflite",
    method: Method::Linear,
    scale: Scale::less([103.939, 116.779, 123.68]),
    is_reversed: true,
    ..VGG
};

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
    /// The change of size of a picture, with the crop.
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
        Arch::new().dispatch(Scaled { kind: self.kind, pixels: &picture.pixels, out });
        Ok(())
    }
}

/// Writes the channels of pixels one after the other, scaled.
struct Scaled<'a> {
    kind: &'a Kind,
    pixels: &'a [[u8; 4]],
    out: &'a mut [[u8; 4]],
}

impl WithSimd for Scaled<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let factor = if self.kind.is_doubled { 2.0 } else { 1.0 };
        for (channel, out) in self.out.chunks_exact_mut(self.pixels.len()).enumerate() {
            let part = if self.kind.is_reversed { 2 - channel } else { channel };
            for (out, pixel) in out.iter_mut().zip(self.pixels) {
                let number = self.kind.scale.apply(f32::from(pixel[part]), channel) * factor;
                *out = number.to_ne_bytes();
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

//! The steps from a JPEG file to a tensor: pixels of the right size, then their numbers.

use proctor_datasets::RawSample;
use proctor_jpeg_file::Part;
use proctor_preprocess::{Channels, ImageInput, ImageSteps, Pipeline, PreprocessError, ResizeMethod};
use proctor_vocabulary::TensorSpec;
use pulp::{Arch, WithSimd};

use crate::{
    pipelines::photo::Photo,
    resize::{Method, Resize, Side, smooth::SmoothRows},
};

/// The pipeline of steps that fit an input.
pub(super) struct Pictures {
    name: &'static str,
    steps: ImageSteps,
    input: ImageInput,
    outputs: [TensorSpec; 1],
}

impl Pictures {
    /// Returns the pipeline for an input that the steps can make.
    pub(super) fn new(name: &'static str, steps: ImageSteps, input: ImageInput, output: &TensorSpec) -> Self {
        Self { name, steps, input, outputs: [output.clone()] }
    }
}

impl Pipeline for Pictures {
    fn outputs(&self) -> &[TensorSpec] {
        &self.outputs
    }

    fn run(&self, sample: &RawSample<'_>, tensors: &mut [&mut [u8]]) -> Result<(), PreprocessError> {
        let [tensor] = tensors else { panic!("one tensor expected, got {}", tensors.len()) };
        assert_eq!(tensor.len(), self.outputs[0].size_bytes(), "size of the tensor in bytes");
        let photo = Photo::open(self.name, sample)?;
        if !self.input.is_channels_last {
            return self.planes(&photo, tensor);
        }
        let mut planes = vec![0; tensor.len()];
        self.planes(&photo, &mut planes)?;
        let size_bytes = if self.input.is_bytes { 1 } else { 4 };
        interleave(&planes, tensor, size_bytes);
        Ok(())
    }
}

impl Pictures {
    /// Writes the channels one after another.
    fn planes(&self, photo: &Photo<'_>, planes: &mut [u8]) -> Result<(), PreprocessError> {
        let ImageSteps { scale, mean, deviation, .. } = self.steps;
        if self.input.is_bytes {
            return self.fill(photo, planes.as_chunks_mut().0, |number, _| [whole(number)]);
        }
        let out = planes.as_chunks_mut().0;
        // Dividing by one changes nothing, and takes its time.
        if scale == 1.0 && deviation == [1.0; 3] {
            self.fill(photo, out, |number, channel| (number - mean[channel]).to_ne_bytes())
        } else {
            self.fill(photo, out, |number, channel| {
                ((number / scale - mean[channel]) / deviation[channel]).to_ne_bytes()
            })
        }
    }

    /// Writes the numbers of all pixels in the right size, as `convert` makes them for a channel.
    fn fill<const SIZE: usize>(
        &self,
        photo: &Photo<'_>,
        out: &mut [[u8; SIZE]],
        convert: impl Fn(f32, usize) -> [u8; SIZE],
    ) -> Result<(), PreprocessError> {
        let method = match self.steps.resize {
            ResizeMethod::OpencvArea => Method::Area,
            ResizeMethod::OpencvLinear => Method::Linear,
            ResizeMethod::PillowBilinear => Method::Antialiased,
            ResizeMethod::PillowBicubic => Method::Cubic,
            ResizeMethod::OpencvLinearF32 => return self.fill_smooth(photo, out, convert),
        };
        let resize = self.resize(method, photo.size());
        let (picture, part) = photo.pixels(resize.needed())?;
        let picture = resize.apply(&picture, part);
        Arch::new().dispatch(Planes { pixels: &picture.pixels, out, channels: self.steps.channels, convert });
        Ok(())
    }

    /// Works as [`Pictures::fill`] on a whole picture that is resized in f32.
    fn fill_smooth<const SIZE: usize>(
        &self,
        photo: &Photo<'_>,
        out: &mut [[u8; SIZE]],
        convert: impl Fn(f32, usize) -> [u8; SIZE],
    ) -> Result<(), PreprocessError> {
        let (width, height) = photo.size();
        let (picture, _) = photo.pixels(Part { left: 0, top: 0, width, height })?;
        let rows = SmoothRows { picture: &picture, width: self.input.width, height: self.input.height };
        Arch::new().dispatch(SmoothPlanes { rows, out, channels: self.steps.channels, convert });
        Ok(())
    }

    /// Returns the change of size of a picture, with the crop.
    fn resize(&self, method: Method, (width, height): (usize, usize)) -> Resize {
        let ImageInput { height: to_height, width: to_width, .. } = self.input;
        let Some(short) = self.steps.short_side else {
            return Resize {
                method,
                columns: Side::whole(width, to_width),
                rows: Side::whole(height, to_height),
            };
        };
        // The longer side is cut to an integer.
        let (all_width, all_height) =
            if height > width { (short, short * height / width) } else { (short * width / height, short) };
        // torchvision, which resizes by Pillow, rounds the edge of the crop to even; the others round it down.
        let is_rounded = matches!(method, Method::Antialiased | Method::Cubic);
        let side = |from, to: usize, kept: usize| {
            let room = to - kept;
            let first = if is_rounded { (room + room / 2 % 2) / 2 } else { room / 2 };
            Side { from, to, wanted: first..first + kept }
        };
        Resize {
            method,
            columns: side(width, all_width, to_width),
            rows: side(height, all_height, to_height),
        }
    }
}

/// Writes channels that lie one after another beside each other.
fn interleave(planes: &[u8], out: &mut [u8], size_bytes: usize) {
    let plane_bytes = planes.len() / 3;
    for (channel, plane) in planes.chunks_exact(plane_bytes).enumerate() {
        let places = out[channel * size_bytes..].chunks_mut(3 * size_bytes);
        for (place, number) in places.zip(plane.chunks_exact(size_bytes)) {
            place[..size_bytes].copy_from_slice(number);
        }
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

/// Conversion of pixels, in the form that `pulp` compiles for each instruction set.
struct Planes<'a, const SIZE: usize, Convert> {
    pixels: &'a [[u8; 4]],
    out: &'a mut [[u8; SIZE]],
    channels: Channels,
    convert: Convert,
}

impl<const SIZE: usize, Convert: Fn(f32, usize) -> [u8; SIZE]> WithSimd for Planes<'_, SIZE, Convert> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { pixels, out, channels, convert } = self;
        for colour in 0..3 {
            let channel = channels.of_colour(colour);
            let out = &mut out[channel * pixels.len()..][..pixels.len()];
            for (out, pixel) in out.iter_mut().zip(pixels) {
                // A shift of whole pixels makes a vector of one colour.
                let part = u32::from_le_bytes(*pixel) >> (8 * colour) & 0xff;
                *out = convert(part as i32 as f32, channel);
            }
        }
    }
}

/// Conversion of the rows of a picture that is resized in f32, likewise.
struct SmoothPlanes<'a, const SIZE: usize, Convert> {
    rows: SmoothRows<'a>,
    out: &'a mut [[u8; SIZE]],
    channels: Channels,
    convert: Convert,
}

impl<const SIZE: usize, Convert: Fn(f32, usize) -> [u8; SIZE]> WithSimd for SmoothPlanes<'_, SIZE, Convert> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { rows, out, channels, convert } = self;
        let (width, height) = (rows.width, rows.height);
        rows.each(
            #[inline(always)]
            |row, colour, blend| {
                let channel = channels.of_colour(colour);
                let out = &mut out[(channel * height + row) * width..][..width];
                blend.write(
                    out,
                    #[inline(always)]
                    |number| convert(number, channel),
                );
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use proctor_vocabulary::ElementType;

    use super::*;

    #[test]
    fn crops_begin_where_the_references_have_them() {
        let begin = |resize: ResizeMethod, method, width, height| {
            let output =
                TensorSpec { name: "image".into(), element_type: ElementType::F32, shape: vec![3, 224, 224] };
            let steps = ImageSteps { short_side: Some(256), ..ImageSteps::bytes(resize) };
            let input = ImageInput::of(std::slice::from_ref(&output)).unwrap();
            let resize = Pictures::new("image", steps, input, &output).resize(method, (width, height));
            let begin = (resize.columns.wanted.start, resize.rows.wanted.start);
            (resize.columns.to, resize.rows.to, begin)
        };
        let area = |width, height| begin(ResizeMethod::OpencvArea, Method::Area, width, height);
        let pillow = |width, height| begin(ResizeMethod::PillowBilinear, Method::Antialiased, width, height);
        // 500 x 375: 256 * 500 / 375 = 341.3, and (341 - 224) / 2 = 58.5.
        assert_eq!(area(500, 375), (341, 256, (58, 16)));
        assert_eq!(pillow(500, 375), (341, 256, (58, 16)));
        // 343 wide: 59.5 is rounded to 60.
        assert_eq!(area(343, 256), (343, 256, (59, 16)));
        assert_eq!(pillow(343, 256), (343, 256, (60, 16)));
        assert_eq!(area(100, 1000), (256, 2560, (16, 1168)));
        assert_eq!(area(1, 1), (256, 256, (16, 16)));
    }

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
    fn channels_can_be_beside_each_other() {
        let mut out = [0; 6];
        interleave(&[1, 2, 3, 4, 5, 6], &mut out, 1);
        assert_eq!(out, [1, 3, 5, 2, 4, 6]);
        interleave(&[1, 2, 3, 4, 5, 6], &mut out, 2);
        assert_eq!(out, [1, 2, 3, 4, 5, 6]);
    }
}

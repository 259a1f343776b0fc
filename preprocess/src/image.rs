//! The steps from a picture to a tensor that a definition of a benchmark gives in its table `[image]`.
//!
//! `proctor-images` has the decoders and runs the steps. A program without it knows them all the same: it checks a
//! definition, and passes them on.

use proctor_vocabulary::{ElementType, TensorSpec};
use serde::{Deserialize, Serialize};

use crate::{
    error::{PreprocessError, SHORT_SIDE_MAX, StepsFault},
    pipeline::Pipeline,
};

/// Way to the pixels of a picture in another size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResizeMethod {
    /// OpenCV's `INTER_AREA` on bytes.
    OpencvArea,
    /// OpenCV's `INTER_LINEAR` on bytes.
    OpencvLinear,
    /// OpenCV's `INTER_LINEAR` on numbers of f32, of the whole picture alone.
    #[serde(rename = "opencv-linear-f32")]
    OpencvLinearF32,
    /// Pillow's `BILINEAR`, which averages where a picture shrinks.
    PillowBilinear,
    /// Pillow's `BICUBIC`, which averages where a picture shrinks.
    PillowBicubic,
}

impl ResizeMethod {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::OpencvArea,
        Self::OpencvLinear,
        Self::OpencvLinearF32,
        Self::PillowBilinear,
        Self::PillowBicubic,
    ];

    /// Returns the name in definitions.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpencvArea => "opencv-area",
            Self::OpencvLinear => "opencv-linear",
            Self::OpencvLinearF32 => "opencv-linear-f32",
            Self::PillowBilinear => "pillow-bilinear",
            Self::PillowBicubic => "pillow-bicubic",
        }
    }
}

/// Order of the colours of a pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channels {
    /// Red, green, blue.
    Rgb,
    /// Blue, green, red.
    Bgr,
}

impl Channels {
    /// Both of them.
    pub const ALL: &[Self] = &[Self::Rgb, Self::Bgr];

    /// Returns the name in definitions.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rgb => "rgb",
            Self::Bgr => "bgr",
        }
    }

    /// Returns the channel of a colour, 0 for red.
    #[must_use]
    pub const fn of_colour(self, colour: usize) -> usize {
        match self {
            Self::Rgb => colour,
            Self::Bgr => 2 - colour,
        }
    }
}

/// Steps from a picture to a tensor: its size, then its numbers.
///
/// A number of a tensor of f32 is `(byte / scale - mean) / deviation`, in this order and in f32. A tensor of u8 has the
/// bytes as they are; of numbers from [`ResizeMethod::OpencvLinearF32`] the fraction is cut off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageSteps {
    /// Interpolation of the pixels.
    pub resize: ResizeMethod,
    /// Length that the short side gets, in pixels, before the centre of the size of the tensor is cropped. If `None`,
    /// the whole picture gets the size of the tensor, regardless of its aspect ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_side: Option<usize>,
    /// Order of the colours.
    pub channels: Channels,
    /// Divisor of the bytes.
    pub scale: f32,
    /// Mean of each channel, after that.
    pub mean: [f32; 3],
    /// Deviation of each channel.
    pub deviation: [f32; 3],
}

impl ImageSteps {
    /// Resizing of the whole picture by a method, and bytes as they are, red first.
    #[must_use]
    pub const fn bytes(resize: ResizeMethod) -> Self {
        Self {
            resize,
            short_side: None,
            channels: Channels::Rgb,
            scale: 1.0,
            mean: [0.0; 3],
            deviation: [1.0; 3],
        }
    }

    /// Returns the first reason why these steps cannot make this input.
    #[must_use]
    pub fn fault(&self, input: ImageInput) -> Option<StepsFault> {
        let ImageInput { height, width, is_bytes, .. } = input;
        let Self { resize, short_side, channels: _, scale, mean, deviation } = self;
        if let Some(side) = *short_side {
            if *resize == ResizeMethod::OpencvLinearF32 {
                return Some(StepsFault::Whole);
            }
            if side < height.max(width) || side > SHORT_SIDE_MAX {
                return Some(StepsFault::ShortSide { side, height, width });
            }
        }
        let is_above_zero = |number: &f32| number.is_finite() && *number > 0.0;
        if !is_above_zero(scale) {
            return Some(StepsFault::Scale(*scale));
        }
        if !mean.iter().all(|mean| mean.is_finite()) {
            return Some(StepsFault::Mean(*mean));
        }
        if !deviation.iter().all(is_above_zero) {
            return Some(StepsFault::Deviation(*deviation));
        }
        let changed =
            [("scale", *scale != 1.0), ("mean", *mean != [0.0; 3]), ("deviation", *deviation != [1.0; 3])];
        let changed = changed.into_iter().find(|(_, is_changed)| *is_changed).filter(|_| is_bytes);
        changed.map(|(key, _)| StepsFault::OfBytes(key))
    }
}

/// The single input that a picture becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageInput {
    /// Number of rows.
    pub height: usize,
    /// Number of columns.
    pub width: usize,
    /// Whether the three numbers of a pixel are beside each other, and not in planes.
    pub is_channels_last: bool,
    /// Whether the numbers are bytes, and not f32.
    pub is_bytes: bool,
}

impl ImageInput {
    /// The inputs that fit, in words.
    pub const FITTING: &str = "one f32 or u8 tensor of shape [3, height, width] or [height, width, 3]";

    /// Returns the input, if these are one.
    #[must_use]
    pub fn of(inputs: &[TensorSpec]) -> Option<Self> {
        let [input] = inputs else { return None };
        let (height, width, is_channels_last) = match input.shape[..] {
            [3, height, width] => (height, width, false),
            [height, width, 3] => (height, width, true),
            _ => return None,
        };
        let is_bytes = match input.element_type {
            ElementType::U8 => true,
            ElementType::F32 => false,
            _ => return None,
        };
        (height > 0 && width > 0).then_some(Self { height, width, is_channels_last, is_bytes })
    }
}

/// Builds the pipeline of steps for a model that takes these inputs, or says why it cannot.
pub type BuildSteps = fn(&ImageSteps, &[TensorSpec]) -> Result<Box<dyn Pipeline>, PreprocessError>;

/// The code that runs steps, registered with `inventory::submit!` by the crate that has the decoders.
#[derive(Debug, Clone, Copy)]
pub struct ImageStepsEntry {
    /// Version of its output, in the sense of a [`PipelineEntry`](crate::PipelineEntry).
    pub version: u32,
    /// Function that builds the pipeline.
    pub build: BuildSteps,
}

inventory::collect!(ImageStepsEntry);

/// Returns the code that runs steps.
///
/// # Errors
/// [`PreprocessError::NoDecoders`] if the program has none.
pub(crate) fn image_steps_entry() -> Result<&'static ImageStepsEntry, PreprocessError> {
    inventory::iter::<ImageStepsEntry>().next().ok_or(PreprocessError::NoDecoders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_definitions_are_those_of_orders() {
        let words = |value: serde_json::Value| value.as_str().map(str::to_owned);
        for method in ResizeMethod::ALL {
            assert_eq!(words(serde_json::to_value(method).unwrap()).as_deref(), Some(method.name()));
        }
        for channels in Channels::ALL {
            assert_eq!(words(serde_json::to_value(channels).unwrap()).as_deref(), Some(channels.name()));
        }
    }

    #[test]
    fn an_input_is_of_either_layout_and_type() {
        let of = |element_type, shape: &[usize]| {
            ImageInput::of(&[TensorSpec { name: "image".into(), element_type, shape: shape.to_vec() }])
        };
        let input = ImageInput { height: 20, width: 30, is_channels_last: false, is_bytes: false };
        assert_eq!(of(ElementType::F32, &[3, 20, 30]), Some(input));
        let last = ImageInput { is_channels_last: true, is_bytes: true, ..input };
        assert_eq!(of(ElementType::U8, &[20, 30, 3]), Some(last));
        for (element_type, shape) in [
            (ElementType::F16, &[3, 20, 30][..]),
            (ElementType::F32, &[1, 20, 30]),
            (ElementType::F32, &[3, 0, 30]),
            (ElementType::F32, &[3, 20]),
        ] {
            assert_eq!(of(element_type, shape), None, "{element_type} {shape:?}");
        }
        assert_eq!(ImageInput::of(&[]), None);
    }
    #[test]
    fn steps_that_cannot_be_are_told_by_their_keys() {
        let input = ImageInput { height: 224, width: 200, is_channels_last: false, is_bytes: false };
        let steps = ImageSteps { short_side: Some(256), ..ImageSteps::bytes(ResizeMethod::PillowBicubic) };
        assert_eq!(steps.fault(input), None);
        let of_bytes = ImageInput { is_bytes: true, ..input };
        assert_eq!(steps.fault(of_bytes), None);
        let whole = ImageSteps { resize: ResizeMethod::OpencvLinearF32, ..steps.clone() };
        let key = |steps: ImageSteps, input| steps.fault(input).map(|fault| fault.key());
        assert_eq!(key(whole, input), Some("resize"));
        assert_eq!(key(ImageSteps { short_side: Some(223), ..steps.clone() }, input), Some("short_side"));
        assert_eq!(key(ImageSteps { short_side: Some(1 << 20), ..steps.clone() }, input), Some("short_side"));
        assert_eq!(key(ImageSteps { scale: 0.0, ..steps.clone() }, input), Some("scale"));
        assert_eq!(key(ImageSteps { mean: [f32::NAN; 3], ..steps.clone() }, input), Some("mean"));
        assert_eq!(
            key(ImageSteps { deviation: [1.0, -1.0, 1.0], ..steps.clone() }, input),
            Some("deviation")
        );
        let less = ImageSteps { mean: [1.0; 3], ..steps };
        assert_eq!((key(less.clone(), input), key(less, of_bytes)), (None, Some("mean")));
    }
}

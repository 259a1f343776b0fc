//! Constants as integers.

use proctor_onnx_file::{TensorData, data_type, proto::TensorProto};
use proctor_vocabulary::ElementType;

use crate::ranges::Range;

/// Steps of weights on either side of zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WeightSteps {
    /// 64: products of bytes are the same on all processors. Processors without an instruction for such products add
    /// pairs of them in 16 bits, which two of 255 x 127 overflow, and two of 255 x 64 do not.
    #[default]
    Safe,
    /// 127: the whole range of a byte.
    All,
}

impl WeightSteps {
    /// Returns the number of steps.
    #[must_use]
    pub fn count(self) -> u8 {
        match self {
            Self::Safe => 64,
            Self::All => 127,
        }
    }
}

/// A constant in integers: `scale * (integer - zero_point)`, with a scale for each index of an axis, or for all.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Integers {
    pub(crate) element: ElementType,
    pub(crate) shape: Vec<usize>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) scales: Vec<f32>,
    pub(crate) zero_point: u8,
    /// Axis of the scales; `None` for a single one.
    pub(crate) axis: Option<usize>,
}

/// Returns the values of a constant of f32.
pub(crate) fn f32s(data: &TensorData<'_>) -> Vec<f32> {
    let (words, _) = data.bytes.as_chunks::<4>();
    words.iter().map(|word| f32::from_le_bytes(*word)).collect()
}

/// Returns whether all values of a constant of f32 are numbers that are finite: others have no integer.
pub(crate) fn are_finite(data: &TensorData<'_>) -> bool {
    data.bytes.as_chunks().0.iter().all(|word| f32::from_le_bytes(*word).is_finite())
}

/// Returns the number of the channel of each element along an axis: how many elements it has in a row, and how many
/// channels there are.
fn channels(shape: &[usize], axis: Option<usize>) -> (usize, usize) {
    match axis {
        None => (usize::MAX, 1),
        Some(axis) => (shape[axis + 1..].iter().product::<usize>().max(1), shape[axis].max(1)),
    }
}

/// Rounds weights, symmetric around zero. The scale of a channel is at least `scale_min` of it, so that its bias has
/// room.
pub(crate) fn signed(
    values: &[f32],
    shape: &[usize],
    axis: Option<usize>,
    steps: WeightSteps,
    scale_min: impl Fn(usize) -> f64,
) -> Integers {
    let (run, count) = channels(shape, axis);
    let channel = |place: usize| place / run % count;
    let steps = f64::from(steps.count());
    let mut largest = vec![0.0_f64; count];
    for (place, value) in values.iter().enumerate() {
        let value = f64::from(value.abs());
        largest[channel(place)] = largest[channel(place)].max(value);
    }
    let scale = |(channel, largest): (usize, &f64)| {
        #[expect(clippy::cast_possible_truncation, reason = "rounded to f32, in which the file has it")]
        let scale = (largest / steps).max(scale_min(channel)) as f32;
        if scale.is_normal() { scale } else { 1.0 }
    };
    let scales: Vec<f32> = largest.iter().enumerate().map(scale).collect();
    let integer = |(place, value): (usize, &f32)| {
        let rounded = (f64::from(*value) / f64::from(scales[channel(place)])).round_ties_even();
        #[expect(clippy::cast_possible_truncation, reason = "within the steps")]
        let integer = rounded.clamp(-steps, steps) as i8;
        integer.to_le_bytes()[0]
    };
    Integers {
        element: ElementType::I8,
        shape: shape.to_vec(),
        bytes: values.iter().enumerate().map(integer).collect(),
        scales,
        zero_point: 0,
        axis,
    }
}

/// Rounds the values of an operand that is no weight, as a tensor between operations; `None` if one is not finite.
pub(crate) fn unsigned(values: &[f32], shape: &[usize]) -> Option<Integers> {
    if values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let (low, high) = values
        .iter()
        .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), it| (low.min(*it), high.max(*it)));
    let scale = Range { low, high }.scale()?;
    let integer = |value: &f32| {
        let rounded = (f64::from(*value) / f64::from(scale.scale)).round_ties_even();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within a byte")]
        let integer = (rounded + f64::from(scale.zero_point)).clamp(0.0, 255.0) as u8;
        integer
    };
    Some(Integers {
        element: ElementType::U8,
        shape: shape.to_vec(),
        bytes: values.iter().map(integer).collect(),
        scales: vec![scale.scale],
        zero_point: scale.zero_point,
        axis: None,
    })
}

/// Returns the smallest scale of weights with which a bias still is a number of 32 bits.
pub(crate) fn scale_for_bias(bias: f32, input_scale: f32) -> f64 {
    // Somewhat below the largest, since scales are rounded.
    const LARGEST: f64 = 2_147_000_000.0;
    f64::from(bias.abs()) / (f64::from(input_scale) * LARGEST)
}

/// Rounds a bias to the scale of the sums that it is added to.
pub(crate) fn bias(values: &[f32], input_scale: f32, weights: &Integers) -> Integers {
    let scale_of = |channel: usize| weights.scales.get(channel).unwrap_or(&weights.scales[0]);
    let scales: Vec<f32> = match weights.axis {
        None => vec![input_scale * weights.scales[0]],
        Some(_) => (0..values.len()).map(|channel| input_scale * scale_of(channel)).collect(),
    };
    let integer = |(channel, value): (usize, &f32)| {
        let scale = scales.get(channel).unwrap_or(&scales[0]);
        let rounded = (f64::from(*value) / f64::from(*scale)).round_ties_even();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a conversion of `as` keeps to the bounds of the type"
        )]
        let integer = rounded as i32;
        integer.to_le_bytes()
    };
    Integers {
        element: ElementType::I32,
        shape: vec![values.len()],
        bytes: values.iter().enumerate().flat_map(integer).collect(),
        scales,
        zero_point: 0,
        axis: weights.axis.map(|_| 0),
    }
}

impl Integers {
    /// Returns the constants of a DequantizeLinear: integers, scale and zero point, with these names.
    pub(crate) fn constants(&self, names: [&str; 3]) -> [TensorProto; 3] {
        let of_scales: Vec<usize> = if self.axis.is_some() { vec![self.scales.len()] } else { Vec::new() };
        let scales = self.scales.iter().flat_map(|scale| scale.to_le_bytes()).collect();
        let zeros = match self.element {
            ElementType::U8 => vec![self.zero_point; self.scales.len()],
            element => vec![0; element.bytes_of(self.scales.len())],
        };
        [
            constant(names[0], self.element, &self.shape, self.bytes.clone()),
            constant(names[1], ElementType::F32, &of_scales, scales),
            constant(names[2], self.element, &of_scales, zeros),
        ]
    }
}

/// Returns a constant with its values.
pub(crate) fn constant(name: &str, element: ElementType, shape: &[usize], bytes: Vec<u8>) -> TensorProto {
    TensorProto {
        name: Some(name.to_owned()),
        data_type: Some(data_type(element)),
        dims: shape.iter().map(|extent| i64::try_from(*extent).unwrap_or(i64::MAX)).collect(),
        raw_data: Some(bytes),
        ..TensorProto::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_channel_has_its_scale_and_its_largest_weight_all_steps() {
        let values = [0.5, -1.0, 0.0, 0.0, 0.25, 8.0];
        let rows = signed(&values, &[3, 2], Some(0), WeightSteps::All, |_| 0.0);
        assert_eq!(rows.scales, [1.0 / 127.0, 1.0, 8.0 / 127.0]);
        assert_eq!(rows.bytes, [64, 0_u8.wrapping_sub(127), 0, 0, 4, 127]);
        let columns = signed(&values, &[3, 2], Some(1), WeightSteps::Safe, |_| 0.0);
        assert_eq!((columns.scales.len(), columns.bytes[0], columns.bytes[5]), (2, 64, 64));
        let one = signed(&values, &[3, 2], None, WeightSteps::Safe, |_| 0.0);
        assert_eq!((one.scales, one.bytes), (vec![0.125], vec![4, 248, 0, 0, 2, 64]));
    }

    #[test]
    fn a_bias_beyond_32_bits_makes_the_scale_of_its_channel_larger() {
        let (biases, input_scale) = ([1.0, 1e9], 1e-3);
        let room = |channel: usize| scale_for_bias(biases[channel], input_scale);
        let weights = signed(&[1e-3, 1e-3], &[2, 1], Some(0), WeightSteps::Safe, room);
        assert!(weights.scales[0] < 2e-5 && weights.scales[1] > 4e2, "{:?}", weights.scales);
        let made = bias(&biases, input_scale, &weights);
        let (words, _) = made.bytes.as_chunks::<4>();
        for (word, (scale, bias)) in words.iter().zip(made.scales.iter().zip(biases)) {
            let value = f64::from(i32::from_le_bytes(*word)) * f64::from(*scale);
            assert!((value / f64::from(bias) - 1.0).abs() < 1e-3, "{value} for {bias}");
        }
    }

    #[test]
    fn an_operand_keeps_its_zero() {
        let made = unsigned(&[-1.0, 0.0, 1.0], &[3]).unwrap();
        assert_eq!(made.bytes[1], made.zero_point);
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(unsigned(&[0.0, value, 1.0], &[3]).is_none(), "{value}");
        }
    }
}

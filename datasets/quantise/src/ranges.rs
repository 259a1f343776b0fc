//! Ranges of tensors, and the scales of the integers that hold them.

use crate::error::QuantiseError;

/// Largest value of an unsigned byte.
const STEPS: f64 = 255.0;

/// Smallest and largest value of a tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// Smallest value.
    pub low: f32,
    /// Largest value.
    pub high: f32,
}

/// The ranges of a plan's tensors, in its order, over the samples so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranges {
    ranges: Vec<Range>,
    sample_count: usize,
}

/// The real values of integers: `scale * (integer - zero_point)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// Distance of two integers.
    pub scale: f32,
    /// The integer of 0.0.
    pub zero_point: u8,
}

impl Ranges {
    /// Creates the ranges of this number of tensors, over no samples.
    #[must_use]
    pub fn new(tensor_count: usize) -> Self {
        Self {
            ranges: vec![Range { low: f32::INFINITY, high: f32::NEG_INFINITY }; tensor_count],
            sample_count: 0,
        }
    }

    /// Adds the answer to a sample: the smallest and the largest value of each tensor in turn. The order of samples
    /// makes no difference.
    ///
    /// # Errors
    /// [`QuantiseError::RangeCount`] if they are not two values for each tensor.
    pub fn add(&mut self, answer: &[f32]) -> Result<(), QuantiseError> {
        if answer.len() != 2 * self.ranges.len() {
            return Err(QuantiseError::RangeCount { got: answer.len() / 2, expected: self.ranges.len() });
        }
        for (range, values) in self.ranges.iter_mut().zip(answer.chunks_exact(2)) {
            // A value that is not a number stays: it shows when the ranges are used.
            range.low = if values[0] < range.low || values[0].is_nan() { values[0] } else { range.low };
            range.high = if values[1] > range.high || values[1].is_nan() { values[1] } else { range.high };
        }
        self.sample_count += 1;
        Ok(())
    }

    /// Returns the number of samples.
    #[must_use]
    pub fn sample_count(&self) -> usize {
        self.sample_count
    }

    /// Returns the ranges, in the order of the plan.
    #[must_use]
    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }
}

impl Range {
    /// Returns the scale of unsigned bytes that hold the range and 0.0, which is an integer exactly; `None` if the
    /// range is not finite.
    #[must_use]
    pub fn scale(self) -> Option<Scale> {
        let (low, high) = (f64::from(self.low).min(0.0), f64::from(self.high).max(0.0));
        if !self.low.is_finite() || !self.high.is_finite() {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "rounded to f32, in which the file has it")]
        let scale = ((high - low) / STEPS) as f32;
        if !scale.is_normal() {
            // Nothing but zeros, or as good as that.
            return Some(Scale { scale: 1.0, zero_point: 0 });
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0 and 255")]
        let zero_point = (-low / f64::from(scale)).round_ties_even().clamp(0.0, STEPS) as u8;
        Some(Scale { scale, zero_point })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_an_integer_and_the_ends_are_held() {
        let scale = |low, high| Range { low, high }.scale();
        assert_eq!(scale(0.0, 6.0), Some(Scale { scale: 6.0 / 255.0, zero_point: 0 }));
        assert_eq!(scale(1.0, 51.0), Some(Scale { scale: 0.2, zero_point: 0 }));
        assert_eq!(scale(-2.0, -1.0), Some(Scale { scale: 2.0 / 255.0, zero_point: 255 }));
        assert_eq!(scale(-1.0, 1.0), Some(Scale { scale: 2.0 / 255.0, zero_point: 127 }));
        assert_eq!(scale(0.0, 0.0), Some(Scale { scale: 1.0, zero_point: 0 }));
        for (low, high) in [(0.0, f32::INFINITY), (f32::NAN, 1.0), (f32::INFINITY, f32::NEG_INFINITY)] {
            assert_eq!(scale(low, high), None);
        }
    }

    #[test]
    fn samples_widen_ranges_in_any_order_and_what_is_no_number_stays() {
        let mut ranges = Ranges::new(2);
        ranges.add(&[-1.0, 2.0, 0.0, 1.0]).unwrap();
        ranges.add(&[-0.5, 3.0, f32::NAN, f32::NAN]).unwrap();
        ranges.add(&[0.0, 0.0, 0.0, 0.5]).unwrap();
        assert_eq!((ranges.sample_count(), ranges.ranges()[0]), (3, Range { low: -1.0, high: 3.0 }));
        assert!(ranges.ranges()[1].scale().is_none());
        assert!(matches!(ranges.add(&[1.0]), Err(QuantiseError::RangeCount { got: 0, expected: 2 })));
    }
}

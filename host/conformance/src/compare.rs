//! Compares answers to the same sample.

use proctor_vocabulary::{ElementType, TensorSpec};

use crate::answers::Answer;

/// Returns how far apart equal answers of a precision may be, as a share of the largest value: the order of
/// sums differs with the size of a batch.
fn tolerance(precision: &str) -> f64 {
    if matches!(precision, "f32" | "f64") { 1e-3 } else { 5e-2 }
}

/// Compares two answers to the same sample.
///
/// # Errors
/// Returns a sentence about the first difference that is more than rounding.
pub(crate) fn compare(
    outputs: &[TensorSpec],
    precision: &str,
    one: &Answer,
    other: &Answer,
) -> Result<(), String> {
    let (one, other) = match (one, other) {
        (Ok(one), Ok(other)) => (one, other),
        (Err(one), Err(other)) if one == other => return Ok(()),
        (Err(status), Ok(_)) | (Ok(_), Err(status)) | (Err(status), Err(_)) => {
            return Err(format!("one answer failed with status {}", status.0));
        }
    };
    if one == other {
        return Ok(());
    }
    if one.len() != other.len() {
        return Err(format!("one answer has {} bytes, another {}", one.len(), other.len()));
    }
    let (mut one, mut other) = (&one[..], &other[..]);
    for output in outputs {
        let size_bytes = output.size_bytes().min(one.len());
        let (left, rest) = one.split_at(size_bytes);
        let (right, other_rest) = other.split_at(size_bytes);
        (one, other) = (rest, other_rest);
        if left == right {
            continue;
        }
        let (Some(left), Some(right)) =
            (floats(output.element_type, left), floats(output.element_type, right))
        else {
            if tolerance(precision) > 1e-2 {
                continue;
            }
            return Err(format!("output \"{}\" has other values", output.name));
        };
        let finite = left.iter().chain(&right).filter(|value| value.is_finite());
        let largest = finite.fold(0.0_f64, |largest, value| largest.max(value.abs()));
        let bound = tolerance(precision) * largest.max(1e-6);
        let differ = |(left, right): (&f64, &f64)| {
            let is_same = left == right || left.is_nan() && right.is_nan();
            // Of NaN or infinity and anything else it does not hold, for the bound is finite.
            let is_close = (left - right).abs() <= bound;
            !is_same && !is_close
        };
        if let Some(position) = left.iter().zip(&right).position(differ) {
            let (left, right) = (left[position], right[position]);
            return Err(format!("output \"{}\" is {left} and {right} at element {position}", output.name));
        }
    }
    Ok(())
}

/// Returns the values of a tensor of floats; `None` for any other type.
pub(crate) fn floats(element_type: ElementType, bytes: &[u8]) -> Option<Vec<f64>> {
    let halves = || bytes.as_chunks::<2>().0.iter().map(|half| u16::from_le_bytes(*half));
    match element_type {
        ElementType::F32 => {
            Some(bytes.as_chunks::<4>().0.iter().map(|word| f32::from_le_bytes(*word).into()).collect())
        }
        ElementType::F64 => {
            Some(bytes.as_chunks::<8>().0.iter().map(|word| f64::from_le_bytes(*word)).collect())
        }
        ElementType::F16 => Some(halves().map(|bits| half::f16::from_bits(bits).to_f64()).collect()),
        ElementType::Bf16 => Some(halves().map(|bits| half::bf16::from_bits(bits).to_f64()).collect()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differ(one: [f32; 3], other: [f32; 3]) -> bool {
        let answer = |values: [f32; 3]| Ok(values.iter().flat_map(|value| value.to_le_bytes()).collect());
        let output = TensorSpec { name: "y".into(), element_type: ElementType::F32, shape: vec![3] };
        compare(&[output], "f32", &answer(one), &answer(other)).is_err()
    }

    #[test]
    fn what_is_not_finite_is_the_same_only_as_itself() {
        const NAN: f32 = f32::NAN;
        const INFINITY: f32 = f32::INFINITY;
        assert!(!differ([1.0, NAN, INFINITY], [1.0001, -NAN, INFINITY]));
        assert!(differ([1.0, NAN, 1.0], [1.0, 1.0, 1.0]));
        assert!(differ([1.0, 1.0, 1.0], [1.0, INFINITY, 1.0]));
        assert!(differ([INFINITY, 1.0, 1.0], [-INFINITY, 1.0, 1.0]));
        assert!(differ([INFINITY, 1.0, 1.0], [NAN, 1.0, 1.0]));
        // Infinity is no measure for the rest.
        assert!(differ([INFINITY, 1.0, 1.0], [INFINITY, 2.0, 1.0]));
    }
}

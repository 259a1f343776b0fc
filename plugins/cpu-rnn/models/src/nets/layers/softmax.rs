//! Softmax and related functions.

use super::activation::exp;

/// Replaces the values by `e^x / sum e^x`. No values stay none; infinities of one sign apart, NaN stays NaN.
///
/// The largest value is subtracted first, so nothing overflows.
pub fn softmax(values: &mut [f32]) {
    let largest = largest(values);
    values.iter_mut().for_each(|value| *value -= largest);
    exp(values);
    let sum: f32 = values.iter().sum();
    let factor = 1.0 / sum;
    values.iter_mut().for_each(|value| *value *= factor);
}

/// Returns the logarithm of the sum of the exponentials: `x - log_sum_exp` is the logarithm of the softmax. Negative
/// infinity of none.
///
/// Exponentials are f32, summed in f64 by pieces that stay in the nearest cache.
#[must_use]
pub fn log_sum_exp(values: &[f32]) -> f64 {
    const PIECE: usize = 1024;
    let largest = largest(values);
    if values.is_empty() {
        return f64::NEG_INFINITY;
    }
    let mut room = [0.0; PIECE];
    let mut sum = 0.0;
    for piece in values.chunks(PIECE) {
        let room = &mut room[..piece.len()];
        for (room, value) in room.iter_mut().zip(piece) {
            *room = value - largest;
        }
        exp(room);
        sum += room.iter().map(|value| f64::from(*value)).sum::<f64>();
    }
    f64::from(largest) + sum.ln()
}

/// Returns the largest value; negative infinity of none.
fn largest(values: &[f32]) -> f32 {
    const LANES: usize = 16;
    let (lanes, rest) = values.as_chunks::<LANES>();
    let mut largest = [f32::NEG_INFINITY; LANES];
    for lane in lanes {
        for (largest, value) in largest.iter_mut().zip(lane) {
            *largest = largest.max(*value);
        }
    }
    largest.into_iter().chain(rest.iter().copied()).fold(f32::NEG_INFINITY, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_equally() {
        for count in [1, 15, 16, 17, 40] {
            let mut values = vec![3.0; count];
            softmax(&mut values);
            assert!(values.iter().all(|value| (value * count as f32 - 1.0).abs() < 1e-6), "{count}");
        }
        softmax(&mut []);
    }

    #[test]
    fn a_step_of_ln_three_is_a_factor_of_three() {
        let mut values = [0.0, 3.0_f32.ln()];
        softmax(&mut values);
        assert!((values[0] - 0.25).abs() < 1e-6 && (values[1] - 0.75).abs() < 1e-6, "{values:?}");
    }

    #[test]
    fn large_values_do_not_overflow() {
        let mut values = [1000.0, 1000.0, -1000.0];
        assert!((log_sum_exp(&values) - (1000.0 + 2.0_f64.ln())).abs() < 1e-6);
        softmax(&mut values);
        assert_eq!(values, [0.5, 0.5, 0.0]);
    }

    #[test]
    fn the_sum_is_over_all_pieces() {
        for count in [0, 1, 1023, 1024, 1025, 5000] {
            let got = log_sum_exp(&vec![0.5; count]);
            let expected = (count as f64).ln() + 0.5;
            assert!(got == expected || (got - expected).abs() < 1e-6, "{count}: {got} {expected}");
        }
    }
}

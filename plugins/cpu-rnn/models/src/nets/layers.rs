//! The layers around recurrent ones: DeepCPU's library (section 6.2 of the paper).
//!
//! Each is a small function on slices that knows no model. Per-step computations allocate nothing.

pub(crate) mod activation;
pub mod attention;
pub mod beam;
pub(crate) mod cosine;
pub(crate) mod embedding;
pub(crate) mod highway;
pub(crate) mod perceptron;
pub(crate) mod pooling;
pub(crate) mod softmax;

pub use activation::Activation;
pub use cosine::cosine;
pub use embedding::Embedding;
pub use highway::Highway;
pub use perceptron::{Perceptron, PerceptronScratch};
pub use pooling::max_over_time;
pub use softmax::{log_sum_exp, softmax};

/// Returns the sum of the products of two rows, in four chains so that additions overlap.
#[must_use]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 32;
    let (a_lanes, a_rest) = a.as_chunks::<LANES>();
    let (b_lanes, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

/// Adds `factor * row` to `to`.
pub fn add_scaled(to: &mut [f32], factor: f32, row: &[f32]) {
    for (to, value) in to.iter_mut().zip(row) {
        *to += factor * value;
    }
}

/// Adds the weighted rows of a `[rows, width]` tensor: `to = sum_i weights[i] * rows[i]`.
///
/// # Panics
/// If `rows` has fewer rows than there are weights.
pub fn weighted_sum(weights: &[f32], rows: &[f32], to: &mut [f32]) {
    assert!(rows.len() >= weights.len() * to.len(), "a row for each weight");
    to.fill(0.0);
    for (weight, row) in weights.iter().zip(rows.chunks_exact(to.len().max(1))) {
        add_scaled(to, *weight, row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_of_rows_has_all_its_terms() {
        for count in [0, 1, 31, 32, 33, 100] {
            let a: Vec<f32> = (0..count).map(|i| i as f32).collect();
            let expected: f32 = (0..count).map(|i| (i * i) as f32).sum();
            assert_eq!(dot(&a, &a), expected, "{count}");
        }
    }

    #[test]
    fn rows_are_weighted() {
        let mut to = [9.0, 9.0];
        weighted_sum(&[0.5, 2.0], &[2.0, 4.0, 1.0, 3.0, 7.0, 7.0], &mut to);
        assert_eq!(to, [3.0, 8.0]);
        weighted_sum(&[], &[], &mut to);
        assert_eq!(to, [0.0, 0.0]);
    }
}

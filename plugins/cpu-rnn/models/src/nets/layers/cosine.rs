//! Cosine similarity.

use super::dot;

/// Returns the cosine of the angle between two vectors, `a . b / (|a| |b|)`; 0 if one of them is zero.
///
/// # Panics
/// If their lengths differ.
#[must_use]
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len(), "vectors of one length");
    let norms = (dot(a, a) * dot(b, b)).sqrt();
    // A NaN must stay one, so the comparison is for zero and not for positive.
    if norms == 0.0 { 0.0 } else { dot(a, b) / norms }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_have_their_cosines() {
        let cases: [([f32; 2], [f32; 2], f32); 5] = [
            ([1.0, 0.0], [3.0, 0.0], 1.0),
            ([1.0, 0.0], [0.0, 2.0], 0.0),
            ([1.0, 1.0], [-2.0, -2.0], -1.0),
            ([1.0, 0.0], [1.0, 1.0], 0.5_f32.sqrt()),
            ([0.0, 0.0], [1.0, 1.0], 0.0),
        ];
        for (a, b, expected) in cases {
            assert!((cosine(&a, &b) - expected).abs() < 1e-6, "{a:?} {b:?}");
        }
        assert!(cosine(&[f32::NAN], &[1.0]).is_nan());
    }
}

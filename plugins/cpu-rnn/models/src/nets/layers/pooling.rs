//! Pooling over time.

/// Computes the largest value of each column of `rows` `[steps, width]`; zeros if there are no steps.
///
/// # Panics
/// If `rows` is not whole rows of the width of `to`.
pub fn max_over_time(rows: &[f32], to: &mut [f32]) {
    let width = to.len();
    assert!(width > 0 && rows.len().is_multiple_of(width), "whole rows of {width} values");
    let mut steps = rows.chunks_exact(width);
    match steps.next() {
        None => to.fill(0.0),
        Some(first) => to.copy_from_slice(first),
    }
    for step in steps {
        for (largest, value) in to.iter_mut().zip(step) {
            // Written so that a NaN, once met, stays.
            *largest = if *value <= *largest { *largest } else { *value };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_has_its_largest_value() {
        let mut to = [9.0; 2];
        max_over_time(&[-3.0, 1.0, -2.0, 0.5, -4.0, 2.0], &mut to);
        assert_eq!(to, [-2.0, 2.0]);
        max_over_time(&[-3.0, 1.0], &mut to);
        assert_eq!(to, [-3.0, 1.0]);
    }

    #[test]
    fn no_steps_are_zeros_and_nan_is_not_lost() {
        let mut to = [9.0; 2];
        max_over_time(&[], &mut to);
        assert_eq!(to, [0.0; 2]);
        max_over_time(&[1.0, 1.0, f32::NAN, 0.0], &mut to);
        assert!(to[0].is_nan() && to[1] == 1.0);
    }
}

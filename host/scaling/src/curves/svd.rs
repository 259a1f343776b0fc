//! Singular values and right singular vectors of a small matrix.

/// Sweeps after which rotations end in any case; ten are usual.
const SWEEPS_MAX: usize = 60;

/// A direction in which the rows of a matrix extend, and its length.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Direction {
    /// The singular value, 0 or more.
    pub(super) value: f64,
    /// The right singular vector, of length 1.
    pub(super) vector: Vec<f64>,
}

/// Returns the directions of the rows, the longest first; as many as there are columns.
///
/// One-sided Jacobi (Hestenes 1958): pairs of columns are rotated until all are perpendicular. Their lengths are then
/// the singular values, and the rotations together the right singular vectors.
pub(super) fn directions(rows: &[Vec<f64>]) -> Vec<Direction> {
    let count = rows.first().map_or(0, Vec::len);
    let mut columns: Vec<Vec<f64>> =
        (0..count).map(|column| rows.iter().map(|row| row[column]).collect()).collect();
    let unit = |at: usize| (0..count).map(|other| f64::from(u8::from(other == at))).collect();
    let mut vectors: Vec<Vec<f64>> = (0..count).map(unit).collect();
    for _ in 0..SWEEPS_MAX {
        let mut is_done = true;
        for first in 0..count {
            for second in first + 1..count {
                let Some((cosine, sine)) = rotation(&columns[first], &columns[second]) else { continue };
                is_done = false;
                rotate(&mut columns, first, second, cosine, sine);
                rotate(&mut vectors, first, second, cosine, sine);
            }
        }
        if is_done {
            break;
        }
    }
    let mut directions: Vec<Direction> = columns
        .iter()
        .zip(vectors)
        .map(|(column, vector)| Direction { value: dot(column, column).sqrt(), vector })
        .collect();
    directions.sort_by(|one, other| other.value.total_cmp(&one.value));
    directions
}

/// Returns cosine and sine of the rotation that makes two columns perpendicular; `None` if they are.
fn rotation(first: &[f64], second: &[f64]) -> Option<(f64, f64)> {
    let (one, other, both) = (dot(first, first), dot(second, second), dot(first, second));
    if both.abs() <= f64::EPSILON * (one * other).sqrt() {
        return None;
    }
    let slope = (other - one) / (2.0 * both);
    let tangent = slope.signum() / (slope.abs() + slope.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    Some((cosine, cosine * tangent))
}

fn rotate(columns: &mut [Vec<f64>], first: usize, second: usize, cosine: f64, sine: f64) {
    let (left, right) = columns.split_at_mut(second);
    for (one, other) in left[first].iter_mut().zip(&mut right[0]) {
        (*one, *other) = (cosine * *one - sine * *other, sine * *one + cosine * *other);
    }
}

pub(super) fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matrix() -> impl Strategy<Value = Vec<Vec<f64>>> {
        (1_usize..8, 1_usize..8).prop_flat_map(|(rows, columns)| {
            prop::collection::vec(prop::collection::vec(-100.0..100.0_f64, columns), rows)
        })
    }

    proptest! {
        #[test]
        fn vectors_are_perpendicular_of_length_1_and_make_up_the_matrix(rows in matrix()) {
            let directions = directions(&rows);
            let scale = rows.iter().map(|row| dot(row, row)).sum::<f64>().sqrt().max(1.0);
            for (at, one) in directions.iter().enumerate() {
                for (other_at, other) in directions.iter().enumerate() {
                    let expected = f64::from(u8::from(at == other_at));
                    prop_assert!((dot(&one.vector, &other.vector) - expected).abs() < 1e-12);
                }
                // Length of the rows in this direction.
                let length = rows.iter().map(|row| dot(row, &one.vector).powi(2)).sum::<f64>().sqrt();
                prop_assert!((length - one.value).abs() < 1e-10 * scale);
            }
            prop_assert!(directions.is_sorted_by(|one, other| one.value >= other.value));
            // The parts of a row in all directions are the row.
            for row in &rows {
                for (column, cell) in row.iter().enumerate() {
                    let back: f64 = directions.iter().map(|it| dot(row, &it.vector) * it.vector[column]).sum();
                    prop_assert!((back - cell).abs() < 1e-10 * scale);
                }
            }
            // Left singular vectors are perpendicular, too, so this is the decomposition.
            for (at, one) in directions.iter().enumerate() {
                for other in &directions[at + 1..] {
                    let product: f64 =
                        rows.iter().map(|row| dot(row, &one.vector) * dot(row, &other.vector)).sum();
                    prop_assert!(product.abs() < 1e-9 * scale * scale);
                }
            }
        }
    }

    #[test]
    fn a_matrix_of_rank_one_has_one_direction() {
        let found = directions(&[vec![3.0, 4.0], vec![6.0, 8.0]]);
        assert!((found[0].value - 125.0_f64.sqrt()).abs() < 1e-12 && found[1].value < 1e-12);
        let vector = &found[0].vector;
        assert!((vector[0].abs() - 0.6).abs() < 1e-12 && (vector[1] / vector[0] - 4.0 / 3.0).abs() < 1e-12);
        assert_eq!(directions(&[]), []);
    }
}

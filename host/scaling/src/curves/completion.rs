//! Completion of a row of latencies by a matrix of low rank.
//!
//! Rows are treated as slowdowns, latency relative to one instance, so that a large network counts as much as
//! a small one. All rows of the library are complete; so of a matrix of rank r with one more row, that row is
//! a combination of the library's r leading right singular vectors, and its known cells give the coefficients
//! by least squares. Truncating the decomposition of the whole matrix again and again, with the known cells
//! put back each time, ends at the same row.

use super::svd::{Direction, directions, dot};

/// Rank of the completed matrix.
///
/// Two, for the two cells that the profiler measures: one for the part of the time that is an instance's own, one for
/// the part that grows with their number. Logarithms of latencies need more: at rank 2 they are off by up to 20 % where
/// slowdowns are by 7 % (docs/scaling-jobs.md).
pub(super) const RANK: usize = 2;

/// Singular values below this fraction of the first are rounding.
const ROUNDING: f64 = 1e-9;

/// Estimates 1 to `count` instances from the `known` cells of the row, in any unit: numbers of instances with
/// latencies. `rows` are the others, all of one length.
///
/// Known cells stay as they are, except that a latency below that of fewer instances is raised to it. No estimate is
/// below that of fewer instances, nor further above it than if instances took turns. Empty if nothing is known.
pub(super) fn complete(rows: &[Vec<f64>], known: &[(usize, f64)], count: usize, rank: usize) -> Vec<f64> {
    let known = ordered(known);
    let Some((_, unit)) = known.first().copied() else { return Vec::new() };
    let estimates = low_rank(rows, &known, unit, rank).unwrap_or_default();
    let mut estimated = Vec::with_capacity(count);
    let mut least = 0.0_f64;
    for instances in 1..=count {
        // Beyond the library it goes on as at its end.
        let estimate = estimates.get(instances - 1).copied().or_else(|| match estimated[..] {
            [.., one, other] if !estimates.is_empty() => Some(2.0 * other - one),
            _ => None,
        });
        least = bounded(&known, instances, estimate).max(least);
        estimated.push(least);
    }
    estimated
}

/// Returns the known cells by number of instances, without cells with an impossible latency, ascending in both.
fn ordered(known: &[(usize, f64)]) -> Vec<(usize, f64)> {
    let mut known: Vec<_> = known
        .iter()
        .copied()
        .filter(|(instances, latency)| *instances > 0 && latency.is_finite() && *latency > 0.0)
        .collect();
    known.sort_by(|one, other| one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)));
    known.dedup_by_key(|(instances, _)| *instances);
    let mut least = 0.0_f64;
    for (_, latency) in &mut known {
        least = latency.max(least);
        *latency = least;
    }
    known
}

/// Returns the row for the columns of the library; none if it says nothing.
fn low_rank(rows: &[Vec<f64>], known: &[(usize, f64)], unit: f64, rank: usize) -> Option<Vec<f64>> {
    let slowdowns: Vec<Vec<f64>> =
        rows.iter().map(|row| row.iter().map(|latency| latency / row[0]).collect()).collect();
    let directions = directions(&slowdowns);
    let column_count = directions.len();
    let cells: Vec<(usize, f64)> = known
        .iter()
        .filter(|(instances, _)| *instances <= column_count)
        .map(|(instances, latency)| (instances - 1, latency / unit))
        .collect();
    let longest = directions.first()?.value;
    let useful = directions.iter().take_while(|it| it.value > ROUNDING * longest).count();
    let rank = rank.min(useful).min(cells.len());
    // If the known cells do not determine a combination, use one of lower rank.
    let (used, factors) = (1..=rank).rev().find_map(|rank| {
        let used = &directions[..rank];
        Some((used, least_squares(used, &cells)?))
    })?;
    let cell = |column: usize| {
        let values: Vec<f64> = used.iter().map(|it| it.vector[column]).collect();
        unit * dot(&values, &factors)
    };
    Some((0..column_count).map(cell).collect())
}

/// Returns the coefficients of the directions that fit the cells best; `None` if the cells do not determine them.
fn least_squares(used: &[Direction], cells: &[(usize, f64)]) -> Option<Vec<f64>> {
    let at_cells = |it: &Direction| cells.iter().map(|(column, _)| it.vector[*column]).collect::<Vec<_>>();
    let vectors: Vec<Vec<f64>> = used.iter().map(at_cells).collect();
    let values: Vec<f64> = cells.iter().map(|(_, value)| *value).collect();
    // The normal equations, with the right side as a last column.
    let mut equations: Vec<Vec<f64>> = vectors
        .iter()
        .map(|one| vectors.iter().map(|other| dot(one, other)).chain([dot(one, &values)]).collect())
        .collect();
    let scale = equations.iter().enumerate().map(|(at, row)| row[at]).fold(0.0, f64::max);
    for at in 0..equations.len() {
        let pivot = equations[at].clone();
        // Remainder of a vector that depends on the ones before it.
        if pivot[at].abs() <= ROUNDING * scale {
            return None;
        }
        for (_, row) in equations.iter_mut().enumerate().filter(|(other, _)| *other != at) {
            let factor = row[at] / pivot[at];
            row.iter_mut().zip(&pivot).for_each(|(cell, of_pivot)| *cell -= factor * of_pivot);
        }
    }
    Some(equations.iter().enumerate().map(|(at, row)| row[row.len() - 1] / row[at]).collect())
}

/// Returns the estimate, or without one a straight line, within the bounds set by the known cells.
fn bounded(known: &[(usize, f64)], instances: usize, estimate: Option<f64>) -> f64 {
    let below = known.iter().rev().find(|(count, _)| *count <= instances);
    let above = known.iter().find(|(count, _)| *count >= instances);
    let in_turns = |(count, latency): &(usize, f64)| latency * instances as f64 / *count as f64;
    let (least, most) = match (below, above) {
        (Some(below), Some(above)) => (below.1, above.1),
        (Some(below), None) => (below.1, in_turns(below)),
        (None, Some(above)) => (in_turns(above), above.1),
        (None, None) => return f64::INFINITY,
    };
    let line = || match (below, above) {
        (Some(below), Some(above)) if above.0 > below.0 => {
            least + (most - least) * (instances - below.0) as f64 / (above.0 - below.0) as f64
        }
        (_, None) => most,
        _ => least,
    };
    estimate.filter(|it| it.is_finite()).unwrap_or_else(line).clamp(least, most)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Latencies of an instance's own part and a shared one, which are of rank 2.
    fn row(own: f64, shared: f64) -> Vec<f64> {
        (1..=10).map(|instances| own + shared * f64::from(instances)).collect()
    }

    fn is_near(got: &[f64], expected: &[f64]) -> bool {
        got.len() == expected.len()
            && got.iter().zip(expected).all(|(one, other)| (one / other - 1.0).abs() < 1e-9)
    }

    #[test]
    fn a_matrix_of_rank_two_is_completed_exactly() {
        let rows = [row(5.0, 1.0), row(1.0, 2.0), row(20.0, 0.3)];
        let asked = row(7.0, 4.0);
        for known in [[(1, asked[0]), (8, asked[7])], [(2, asked[1]), (4, asked[3])]] {
            assert!(is_near(&complete(&rows, &known, 10, RANK), &asked));
            // It goes on beyond the library.
            assert!((complete(&rows, &known, 12, RANK)[11] - 55.0).abs() < 1e-6);
        }
    }

    #[test]
    fn a_library_that_says_nothing_leaves_a_straight_line() {
        let line = complete(&[], &[(1, 10.0), (5, 30.0)], 6, RANK);
        assert!(is_near(&line, &[10.0, 15.0, 20.0, 25.0, 30.0, 36.0]), "{line:?}");
        // As if instances took turns.
        assert_eq!(complete(&[], &[(1, 10.0)], 3, RANK), [10.0, 20.0, 30.0]);
        assert_eq!(complete(&[], &[], 3, RANK), Vec::<f64>::new());
    }

    #[test]
    fn one_known_cell_and_proportional_rows_are_of_rank_one() {
        let rows = [row(5.0, 1.0), row(50.0, 10.0)];
        let expected: Vec<f64> = row(10.0, 2.0);
        assert!(is_near(&complete(&rows, &[(1, 12.0)], 10, RANK), &expected));
        assert!(is_near(&complete(&rows, &[(1, 12.0), (8, 26.0)], 10, RANK), &expected));
    }

    proptest! {
        #[test]
        fn estimates_grow_and_keep_what_is_known(
            rows in prop::collection::vec(prop::collection::vec(1e-3..1e3_f64, 10), 0..6),
            first in 1_usize..5,
            further in 1_usize..12,
            latency in 1e-3..1e3_f64,
            factor in 0.5..20.0_f64,
        ) {
            let known = [(first, latency), (first + further, latency * factor)];
            let found = complete(&rows, &known, 20, RANK);
            prop_assert_eq!(found.len(), 20);
            prop_assert!(found.is_sorted() && found.iter().all(|it| it.is_finite() && *it > 0.0));
            prop_assert_eq!(found[first - 1], latency);
            prop_assert!((found[first + further - 1] / (latency * factor.max(1.0)) - 1.0).abs() < 1e-12);
        }
    }
}

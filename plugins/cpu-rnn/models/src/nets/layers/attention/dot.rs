//! Dot product attention.

use crate::nets::layers::dot;

/// Computes `scores[i] = rows[i] . query` for `rows` `[steps, width]`.
///
/// # Panics
/// If there is not a row for each score.
pub fn dot_scores(rows: &[f32], query: &[f32], scores: &mut [f32]) {
    assert_eq!(rows.len(), scores.len() * query.len(), "a row of {} values for each score", query.len());
    for (row, score) in rows.chunks_exact(query.len()).zip(scores) {
        *score = dot(row, query);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_its_product() {
        let mut scores = [9.0; 3];
        dot_scores(&[1.0, 0.0, 0.0, 1.0, 2.0, 3.0], &[5.0, 7.0], &mut scores);
        assert_eq!(scores, [5.0, 7.0, 31.0]);
        dot_scores(&[], &[5.0, 7.0], &mut []);
    }
}

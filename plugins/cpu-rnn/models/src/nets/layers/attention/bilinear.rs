//! Bilinear attention: a matrix between rows and query.

use proctor_rnn_engine::Team;

use crate::dense::Dense;
use crate::nets::layers::attention::dot::dot_scores;

/// Scores `k . W q` of rows `k` and a query `q`.
#[derive(Debug)]
pub struct Bilinear {
    weight: Dense,
}

impl Bilinear {
    /// Takes `W` `[row width, query width]`, a map without bias.
    #[must_use]
    pub fn new(weight: Dense) -> Self {
        Self { weight }
    }

    /// Writes the score of each row of `rows` `[steps, row width]`. `room` holds a row.
    ///
    /// # Panics
    /// If a size does not fit.
    pub fn scores(&self, team: &mut Team, room: &mut [f32], rows: &[f32], query: &[f32], scores: &mut [f32]) {
        let mapped = &mut room[..self.weight.output()];
        // The matrix meets the one query and not every row: a product of a matrix and a vector in place of one of two
        // matrices.
        self.weight.run_on(team, query, mapped);
        dot_scores(rows, mapped, scores);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_lies_between_row_and_query() {
        // W = [[1, 2, 3], [0, -1, 0]], q = [1, 1, 1]: W q = [6, -1].
        let attention = Bilinear::new(Dense::new(&[1.0, 2.0, 3.0, 0.0, -1.0, 0.0], &[], 3));
        let mut scores = [9.0; 2];
        let rows = [1.0, 0.0, 2.0, 5.0];
        attention.scores(&mut Team::new(1), &mut [0.0; 2], &rows, &[1.0; 3], &mut scores);
        assert_eq!(scores, [6.0, 7.0]);
    }
}

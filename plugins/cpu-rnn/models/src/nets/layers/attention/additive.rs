//! Additive attention, Bahdanau's.

use crate::nets::layers::{activation::tanh, dot};

/// Scores `v . tanh(k + q + b)` of rows `k` (the keys: the memory through its own map) and a query `q` (likewise).
#[derive(Debug, Clone)]
pub struct Additive {
    v: Vec<f32>,
    bias: Vec<f32>,
}

impl Additive {
    /// Takes the vector and the bias.
    ///
    /// # Panics
    /// If their lengths differ.
    #[must_use]
    pub fn new(v: Vec<f32>, bias: Vec<f32>) -> Self {
        assert_eq!(v.len(), bias.len(), "vector and bias of one width");
        Self { v, bias }
    }

    /// Returns the normed form: the vector is `g v / |v|`, which is computed once here. A zero vector stays zero.
    ///
    /// # Panics
    /// As [`Self::new`].
    #[must_use]
    pub fn normed(mut v: Vec<f32>, g: f32, bias: Vec<f32>) -> Self {
        let norm = v.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        if norm > 0.0 {
            let factor = f64::from(g) / norm;
            #[expect(clippy::cast_possible_truncation, reason = "rounded once to the type of the weights")]
            v.iter_mut().for_each(|value| *value = (f64::from(*value) * factor) as f32);
        }
        Self::new(v, bias)
    }

    /// Returns the width of keys and queries.
    #[must_use]
    pub fn width(&self) -> usize {
        self.v.len()
    }

    /// Writes the score of each row of `keys` `[steps, width]`. `room` holds two rows.
    ///
    /// # Panics
    /// If a size does not fit.
    pub fn scores(&self, room: &mut [f32], keys: &[f32], query: &[f32], scores: &mut [f32]) {
        let width = self.width();
        assert_eq!(keys.len(), scores.len() * width, "a key of {width} values for each score");
        assert_eq!(query.len(), width, "width of the query");
        let (shift, room) = room[..2 * width].split_at_mut(width);
        for ((shift, query), bias) in shift.iter_mut().zip(query).zip(&self.bias) {
            *shift = query + bias;
        }
        for (key, score) in keys.chunks_exact(width).zip(scores) {
            for ((room, key), shift) in room.iter_mut().zip(key).zip(&*shift) {
                *room = key + shift;
            }
            tanh(room);
            *score = dot(room, &self.v);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_those_of_the_formula() {
        let attention = Additive::new(vec![2.0, -1.0], vec![0.5, 0.0]);
        let mut scores = [9.0; 2];
        attention.scores(&mut [0.0; 4], &[0.0, 1.0, -1.5, 0.0], &[1.0, -1.0], &mut scores);
        let expected = [2.0 * 1.5_f32.tanh(), 1.0_f32.tanh()];
        assert!(
            scores.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-6),
            "{scores:?}"
        );
    }

    #[test]
    fn the_norm_leaves_the_direction_of_the_vector() {
        let attention = Additive::normed(vec![3.0, 4.0], 10.0, vec![0.0; 2]);
        assert_eq!(attention.v, [6.0, 8.0]);
        assert_eq!(Additive::normed(vec![0.0], 10.0, vec![0.0]).v, [0.0]);
    }
}

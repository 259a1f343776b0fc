//! BiDAF's attention flow: from the context to the question and back (Seo et al. 2017, section 2, layer 4).

use crate::nets::layers::softmax::softmax;
use crate::nets::layers::{add_scaled, dot, weighted_sum};

/// Attention between a context `h` and a question `u` by `S[t, j] = w . [h_t, u_j, h_t * u_j]`.
#[derive(Debug, Clone)]
pub struct TwoWay {
    of_context: Vec<f32>,
    of_question: Vec<f32>,
    of_both: Vec<f32>,
}

/// Memory of one caller of [`TwoWay`]. Grows to the largest call and then allocates nothing.
#[derive(Debug, Default)]
pub struct TwoWayScratch {
    /// `S[t, :]`, then its softmax; `[question]`.
    row: Vec<f32>,
    /// `w_u . u_j`; `[question]`.
    question: Vec<f32>,
    /// `max_j S[t, j]`, then its softmax; `[context]`.
    largest: Vec<f32>,
    /// `h_t * w_hu`, later the sum of the context; `[width]`.
    vector: Vec<f32>,
}

impl TwoWay {
    /// Takes `w` `[3 * width]`.
    ///
    /// # Panics
    /// If its length is not a multiple of 3.
    #[must_use]
    pub fn new(weight: &[f32]) -> Self {
        assert!(weight.len().is_multiple_of(3), "weights for context, question and both");
        let width = weight.len() / 3;
        let part = |index: usize| weight[index * width..][..width].to_vec();
        Self { of_context: part(0), of_question: part(1), of_both: part(2) }
    }

    /// Writes `[h_t, a_t, h_t * a_t, h_t * c]` for each row of `context` `[steps, width]` to `to` `[steps, 4 * width]`.
    ///
    /// `a_t` is the question `[words, width]` as `h_t` sees it (softmax over `S[t, :]`), `c` the context as the
    /// question sees it (softmax over `max_j S[t, j]`). Without a question `a_t` is zero and all `S` are 0.
    ///
    /// # Panics
    /// If a size does not fit.
    pub fn run(&self, scratch: &mut TwoWayScratch, context: &[f32], question: &[f32], to: &mut [f32]) {
        let width = self.of_context.len();
        assert_eq!(to.len(), 4 * context.len(), "four values for each of the context");
        scratch.fit(context.len() / width, question.len() / width, width);
        for (term, u) in scratch.question.iter_mut().zip(question.chunks_exact(width)) {
            *term = dot(&self.of_question, u);
        }
        let steps = context.chunks_exact(width).zip(to.chunks_exact_mut(4 * width));
        for ((h, to), largest) in steps.zip(&mut scratch.largest) {
            for ((product, h), w) in scratch.vector.iter_mut().zip(h).zip(&self.of_both) {
                *product = h * w;
            }
            let own = dot(&self.of_context, h);
            for ((score, term), u) in
                scratch.row.iter_mut().zip(&scratch.question).zip(question.chunks_exact(width))
            {
                *score = own + term + dot(&scratch.vector, u);
            }
            *largest = scratch.row.iter().copied().reduce(f32::max).unwrap_or(0.0);
            softmax(&mut scratch.row);
            let (copy, rest) = to.split_at_mut(width);
            copy.copy_from_slice(h);
            weighted_sum(&scratch.row, question, &mut rest[..width]);
        }
        softmax(&mut scratch.largest);
        scratch.vector.fill(0.0);
        for (weight, h) in scratch.largest.iter().zip(context.chunks_exact(width)) {
            add_scaled(&mut scratch.vector, *weight, h);
        }
        for to in to.chunks_exact_mut(4 * width) {
            for column in 0..width {
                let h = to[column];
                to[2 * width + column] = h * to[width + column];
                to[3 * width + column] = h * scratch.vector[column];
            }
        }
    }
}

impl TwoWayScratch {
    fn fit(&mut self, steps: usize, words: usize, width: usize) {
        self.row.resize(words, 0.0);
        self.question.resize(words, 0.0);
        self.largest.resize(steps, 0.0);
        self.vector.resize(width, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same from the definition, in f64.
    fn plain(w: &[f32], context: &[Vec<f64>], question: &[Vec<f64>]) -> Vec<f64> {
        let width = w.len() / 3;
        let weights = |scores: &[f64]| -> Vec<f64> {
            let sum: f64 = scores.iter().map(|score| score.exp()).sum();
            scores.iter().map(|score| score.exp() / sum).collect()
        };
        let score = |h: &[f64], u: &[f64]| -> f64 {
            let joined = h.iter().chain(u).copied().chain(h.iter().zip(u).map(|(h, u)| h * u));
            joined.zip(w).map(|(value, w)| value * f64::from(*w)).sum()
        };
        let scores: Vec<Vec<f64>> =
            context.iter().map(|h| question.iter().map(|u| score(h, u)).collect()).collect();
        let largest: Vec<f64> =
            scores.iter().map(|row| row.iter().copied().reduce(f64::max).unwrap_or(0.0)).collect();
        let sum = |weights: &[f64], rows: &[Vec<f64>], column: usize| -> f64 {
            weights.iter().zip(rows).map(|(weight, row)| weight * row[column]).sum()
        };
        let back = weights(&largest);
        let mut expected = Vec::new();
        for (h, scores) in context.iter().zip(&scores) {
            let to_question = weights(scores);
            let a: Vec<f64> = (0..width).map(|column| sum(&to_question, question, column)).collect();
            let c: Vec<f64> = (0..width).map(|column| sum(&back, context, column)).collect();
            expected.extend(h);
            expected.extend(&a);
            expected.extend(h.iter().zip(&a).map(|(h, a)| h * a));
            expected.extend(h.iter().zip(&c).map(|(h, c)| h * c));
        }
        expected
    }

    fn rows(count: usize, width: usize, seed: u32) -> Vec<Vec<f64>> {
        let value =
            |i: usize| f64::from((i as u32 * 7919 + seed).wrapping_mul(2_654_435_761) >> 20) / 2048.0 - 1.0;
        (0..count).map(|row| (0..width).map(|column| value(row * width + column)).collect()).collect()
    }

    #[test]
    fn the_rows_are_those_of_the_definition() {
        let mut scratch = TwoWayScratch::default();
        for (steps, words, width) in [(4, 3, 5), (1, 1, 1), (7, 2, 3), (3, 0, 2), (0, 2, 2)] {
            let (context, question) = (rows(steps, width, 1), rows(words, width, 2));
            let w: Vec<f32> = rows(3, width, 3).concat().iter().map(|value| *value as f32).collect();
            let flat =
                |rows: &[Vec<f64>]| rows.concat().iter().map(|value| *value as f32).collect::<Vec<f32>>();
            let mut to = vec![9.0; 4 * steps * width];
            TwoWay::new(&w).run(&mut scratch, &flat(&context), &flat(&question), &mut to);
            let expected = plain(&w, &context, &question);
            for (got, expected) in to.iter().zip(expected) {
                assert!(
                    (f64::from(*got) - expected).abs() < 2e-6,
                    "{steps} {words} {width}: {got} {expected}"
                );
            }
        }
    }
}

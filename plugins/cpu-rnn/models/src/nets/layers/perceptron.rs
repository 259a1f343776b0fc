//! A multilayer perceptron: dense layers, each with a function on its sums.

use proctor_rnn_engine::Team;

use crate::dense::Dense;
use crate::nets::layers::activation::Activation;

/// Dense layers one after another. With a single one it is a dense layer with its function.
#[derive(Debug)]
pub struct Perceptron {
    layers: Vec<(Dense, Activation)>,
}

/// Memory of one caller of a [`Perceptron`]. Grows to the largest call and then allocates nothing.
#[derive(Debug, Default)]
pub struct PerceptronScratch {
    between: [Vec<f32>; 2],
}

impl Perceptron {
    /// Joins layers, the first one first.
    ///
    /// # Panics
    /// If there is none, or one does not take what the one before gives.
    #[must_use]
    pub fn new(layers: Vec<(Dense, Activation)>) -> Self {
        assert!(!layers.is_empty(), "a perceptron has layers");
        for pair in layers.windows(2) {
            assert_eq!(pair[0].0.output(), pair[1].0.input(), "width between two layers");
        }
        Self { layers }
    }

    /// Maps each row of `x` to a row of `y`.
    ///
    /// # Panics
    /// If they are not the same number of whole rows.
    pub fn run(&self, team: &mut Team, scratch: &mut PerceptronScratch, x: &[f32], y: &mut [f32]) {
        let rows = x.len() / self.layers[0].0.input();
        let last = self.layers.len() - 1;
        for (index, (layer, activation)) in self.layers.iter().enumerate() {
            let [even, odd] = &mut scratch.between;
            let (from, to) = if index.is_multiple_of(2) { (odd, even) } else { (even, odd) };
            let from = if index == 0 { x } else { &from[..rows * layer.input()] };
            let to = if index == last {
                &mut *y
            } else {
                let count = rows * layer.output();
                if to.len() < count {
                    to.resize(count, 0.0);
                }
                &mut to[..count]
            };
            layer.run_on(team, from, to);
            activation.apply(to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exclusive or, which no single layer can: `relu(a + b) - 2 relu(a + b - 1)`, and a layer that negates twice.
    #[test]
    fn layers_follow_each_other() {
        let layers = vec![
            (Dense::new(&[1.0, 1.0, 1.0, 1.0], &[0.0, -1.0], 2), Activation::Relu),
            (Dense::new(&[-1.0, 2.0], &[], 2), Activation::Identity),
            (Dense::new(&[-1.0], &[], 1), Activation::Identity),
        ];
        let network = Perceptron::new(layers);
        let (mut team, mut scratch) = (Team::new(1), PerceptronScratch::default());
        let mut y = [9.0; 4];
        network.run(&mut team, &mut scratch, &[0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0], &mut y);
        assert_eq!(y, [0.0, 1.0, 1.0, 0.0]);
        let mut y = [9.0];
        network.run(&mut team, &mut scratch, &[1.0, 0.0], &mut y);
        assert_eq!(y, [1.0]);
    }
}

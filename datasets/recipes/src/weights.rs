//! Recipes of a model's weights.

use crate::stream::{Stream, fnv1a64};

/// Recipe for the weights of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRecipe {
    /// Name of the model.
    pub name: String,
    /// Seed of every tensor's [`Stream`].
    pub seed: u64,
    /// The tensors, in the order of the file.
    pub tensors: Vec<TensorRecipe>,
}

/// Recipe for one f32 tensor: uniform values around a center, parts of it constant.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorRecipe {
    /// Name in the file.
    pub name: String,
    /// Extents, slowest first.
    pub shape: Vec<usize>,
    /// Half the width of the range: values lie in `[center - scale, center + scale)`, up to one rounding.
    pub scale: f32,
    /// Middle of the values: 0 except for gains and variances, which must be positive.
    pub center: f32,
    /// Parts that hold a constant instead, in order; later ones take precedence.
    pub fills: Vec<Fill>,
}

/// A run of equal elements of a tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fill {
    /// First element, counted over the whole tensor.
    pub start: usize,
    /// Number of elements.
    pub count: usize,
    /// Value of each element.
    pub value: f32,
}

impl ModelRecipe {
    /// Creates a recipe without tensors, its seed the hash of the name.
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), seed: fnv1a64(name), tensors: Vec::new() }
    }

    /// Adds a tensor of values in `[-scale, scale)`.
    pub(crate) fn add(&mut self, name: &str, shape: &[usize], scale: f32) {
        self.add_around(name, shape, 0.0, scale);
    }

    /// Adds a tensor of values in `[center - scale, center + scale)`.
    pub(crate) fn add_around(&mut self, name: &str, shape: &[usize], center: f32, scale: f32) {
        let (name, shape) = (name.to_owned(), shape.to_vec());
        self.tensors.push(TensorRecipe { name, shape, scale, center, fills: Vec::new() });
    }

    /// Makes a part of a tensor that was added constant.
    pub(crate) fn fill(&mut self, name: &str, start: usize, count: usize, value: f32) {
        let tensor = self.tensors.iter_mut().find(|tensor| tensor.name == name);
        tensor.expect("only tensors that were added are filled").fills.push(Fill { start, count, value });
    }

    /// Returns the number of parameters.
    #[must_use]
    pub fn parameter_count(&self) -> u64 {
        self.tensors.iter().map(|tensor| tensor.element_count() as u64).sum()
    }

    /// Returns the tensor of this name.
    #[must_use]
    pub fn tensor(&self, name: &str) -> Option<&TensorRecipe> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }

    /// Returns all values of the tensor of this name.
    #[must_use]
    pub fn values(&self, name: &str) -> Option<Vec<f32>> {
        let tensor = self.tensor(name)?;
        let mut values = vec![0.0; tensor.element_count()];
        tensor.write(self.seed, 0, &mut values);
        Some(values)
    }
}

impl TensorRecipe {
    /// Returns the number of elements.
    #[must_use]
    pub fn element_count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Writes the elements from `start` on into `values`.
    pub fn write(&self, seed: u64, start: usize, values: &mut [f32]) {
        let stream = Stream::new(seed, &self.name);
        for (position, value) in (start as u64..).zip(values.iter_mut()) {
            *value = stream.uniform(position, self.scale) + self.center;
        }
        let end = start + values.len();
        for fill in &self.fills {
            let (first, last) = (fill.start.max(start), (fill.start + fill.count).min(end));
            if first < last {
                values[first - start..last - start].fill(fill.value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_tensor_is_the_part_of_the_whole() {
        let fills = vec![Fill { start: 3, count: 4, value: 9.0 }, Fill { start: 6, count: 1, value: -2.0 }];
        let tensor = TensorRecipe { name: "w".into(), shape: vec![4, 5], scale: 1.0, center: 0.0, fills };
        let recipe = ModelRecipe { name: "m".into(), seed: 1, tensors: vec![tensor.clone()] };
        let whole = recipe.values("w").unwrap();
        assert_eq!(whole[3..7], [9.0, 9.0, 9.0, -2.0]);
        assert!(whole[7..].iter().all(|value| (-1.0..1.0).contains(value)));
        for (start, count) in [(0, 20), (4, 1), (2, 7), (7, 13), (19, 1), (20, 0)] {
            let mut part = vec![0.0; count];
            tensor.write(1, start, &mut part);
            assert_eq!(part, whole[start..start + count]);
        }
    }
}

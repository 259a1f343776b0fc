//! Convolutions with everything that becomes part of their weights.

use proctor_onnx_file::{Attribute, GraphBuilder};

/// A convolution in ONNX's form.
#[derive(Debug, Clone)]
pub(crate) struct Convolution {
    pub(crate) kind: Kind,
    /// Weights, row-major.
    pub(crate) weights: Vec<f32>,
    /// Their shape: output channels, input channels of a group, window; of a transposed one the first two swapped.
    pub(crate) shape: Vec<usize>,
    /// A term for each output channel.
    pub(crate) bias: Option<Vec<f32>>,
    pub(crate) strides: Vec<usize>,
    pub(crate) dilations: Vec<usize>,
    /// Rows before the first one of each axis, then rows behind the last one.
    pub(crate) pads: Vec<usize>,
    pub(crate) groups: usize,
}

/// The two directions of convolutions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Several places of the input become one.
    Forward,
    /// One place of the input becomes several; further rows come behind the last one of each axis.
    Transposed { further: Vec<usize> },
}

impl Convolution {
    /// Returns the number of output channels.
    pub(crate) fn channel_count(&self) -> usize {
        match self.kind {
            Kind::Forward => self.shape[0],
            Kind::Transposed { .. } => self.shape[1],
        }
    }

    /// Multiplies each output channel by a factor.
    ///
    /// There are as many factors as channels.
    pub(crate) fn scale(&mut self, factors: &[f64]) {
        let channel_count = self.channel_count();
        let inner: usize = match self.kind {
            Kind::Forward => self.shape[1..].iter().product(),
            Kind::Transposed { .. } => self.shape[2..].iter().product(),
        };
        for (index, values) in self.weights.chunks_mut(inner.max(1)).enumerate() {
            let factor = factors[index % channel_count];
            values.iter_mut().for_each(|value| *value = (f64::from(*value) * factor) as f32);
        }
        for (value, factor) in self.bias.iter_mut().flatten().zip(factors) {
            *value = (f64::from(*value) * factor) as f32;
        }
    }

    /// Adds a term to each output channel.
    ///
    /// There are as many terms as channels.
    pub(crate) fn shift(&mut self, terms: &[f64]) {
        let bias = self.bias.get_or_insert_with(|| vec![0.0; terms.len()]);
        for (value, term) in bias.iter_mut().zip(terms) {
            *value = (f64::from(*value) + term) as f32;
        }
    }

    /// Adds the node and its constants to a graph; gives the name of the result.
    pub(crate) fn write(&self, graph: &mut GraphBuilder, name: &str, input: &str) -> String {
        let weights = graph.constant(&format!("{name}.weight"), &self.shape, &self.weights);
        let bias =
            self.bias.as_ref().map(|bias| graph.constant(&format!("{name}.bias"), &[bias.len()], bias));
        let inputs: Vec<&str> = [input, &weights].into_iter().chain(bias.as_deref()).collect();
        let ints = |values: &[usize]| Attribute::Ints(values.iter().map(|value| *value as i64).collect());
        let mut attributes = vec![
            ("dilations", ints(&self.dilations)),
            ("group", (self.groups as i64).into()),
            ("kernel_shape", ints(&self.shape[2..])),
            ("pads", ints(&self.pads)),
            ("strides", ints(&self.strides)),
        ];
        match &self.kind {
            Kind::Forward => graph.node("Conv", name, &inputs, &attributes),
            Kind::Transposed { further } => {
                attributes.push(("output_padding", ints(further)));
                graph.node("ConvTranspose", name, &inputs, &attributes)
            }
        }
    }
}

/// Factors and terms of a batch norm with fixed statistics.
#[derive(Debug, Clone)]
pub(crate) struct BatchNorm<'a> {
    pub(crate) scale: &'a [f32],
    pub(crate) offset: &'a [f32],
    pub(crate) mean: &'a [f32],
    pub(crate) variance: &'a [f32],
    pub(crate) epsilon: f32,
}

impl BatchNorm<'_> {
    /// Returns the factor and the term of each channel.
    pub(crate) fn factors_and_terms(&self) -> (Vec<f64>, Vec<f64>) {
        let factor = |(scale, variance): (&f32, &f32)| {
            f64::from(*scale) / (f64::from(*variance) + f64::from(self.epsilon)).sqrt()
        };
        let factors: Vec<f64> = self.scale.iter().zip(self.variance).map(factor).collect();
        let rest = self.offset.iter().zip(self.mean).zip(&factors);
        let terms = rest.map(|((offset, mean), factor)| f64::from(*offset) - f64::from(*mean) * factor);
        (factors.clone(), terms.collect())
    }
}

/// Returns the rows before and behind an axis with which TensorFlow's padding `SAME` makes `ceil(extent / stride)` of
/// it.
pub(crate) fn same_pads(extent: usize, window: usize, stride: usize) -> (usize, usize) {
    let full = (extent.div_ceil(stride).saturating_sub(1)).saturating_mul(stride).saturating_add(window);
    let total = full.saturating_sub(extent);
    (total / 2, total - total / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_comes_behind_first() {
        // The stem of MobileNet and EfficientNet: 224 rows become 112, by one more row behind the last.
        assert_eq!(same_pads(224, 3, 2), (0, 1));
        assert_eq!(same_pads(19, 3, 2), (1, 1));
        assert_eq!(same_pads(56, 5, 1), (2, 2));
        assert_eq!(same_pads(8, 1, 2), (0, 0));
        assert_eq!(same_pads(0, 3, 2), (1, 2));
    }

    #[test]
    fn factors_and_terms_belong_to_output_channels() {
        let plain = Convolution {
            kind: Kind::Forward,
            weights: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            shape: vec![2, 3, 1],
            bias: None,
            strides: vec![1],
            dilations: vec![1],
            pads: vec![0, 0],
            groups: 1,
        };
        let mut forward = plain.clone();
        forward.shift(&[1.0, 0.5]);
        forward.scale(&[2.0, 10.0]);
        assert_eq!(forward.weights, [2.0, 4.0, 6.0, 40.0, 50.0, 60.0]);
        assert_eq!(forward.bias.as_deref(), Some(&[2.0, 5.0][..]));
        let mut transposed = Convolution { kind: Kind::Transposed { further: vec![0] }, ..plain };
        transposed.scale(&[1.0, 10.0, 100.0]);
        assert_eq!(transposed.weights, [1.0, 20.0, 300.0, 4.0, 50.0, 600.0]);
    }

    #[test]
    fn a_batch_norm_is_a_factor_and_a_term() {
        let norm = BatchNorm { scale: &[6.0], offset: &[1.0], mean: &[2.0], variance: &[8.0], epsilon: 1.0 };
        assert_eq!(norm.factors_and_terms(), (vec![2.0], vec![-3.0]));
    }
}

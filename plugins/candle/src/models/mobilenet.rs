//! MobileNet-v1 by the names of Hugging Face's `MobileNetV1ForImageClassification`, each batch norm folded into its
//! convolution.
//!
//! Source: Howard et al. 2017, "MobileNets: Efficient Convolutional Neural Networks for Mobile Vision Applications".

use candle_core::{D, Result};

use super::{
    layers::{Geometry, Linear, folded_convolution},
    tensors::{Expected, fit_inputs, fit_outputs},
};
use crate::{
    error::LoadError,
    network::{LoadRequest, Network, NetworkCall, Output},
    ops::{
        convolution::{After, Convolution, Padding},
        depthwise::Depthwise,
    },
    weights::Weights,
};

/// Stride of each pair of convolutions; the widths are in the file.
const STRIDES: [usize; 13] = [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1];

/// Addition of the batch norms to a variance.
const EPSILON: f64 = 1e-3;

#[derive(Debug)]
struct MobileNet {
    stem: Convolution,
    pairs: Vec<Pair>,
    classifier: Linear,
}

/// A convolution of each channel for itself, and one of all channels at each place.
#[derive(Debug)]
struct Pair {
    depthwise: Depthwise,
    pointwise: Convolution,
}

/// Loads `mobilenet-v1` from `mobilenet_v1` and `classifier`.
pub(super) fn load(request: &LoadRequest<'_>) -> std::result::Result<Box<dyn Network>, LoadError> {
    let weights = request.weights;
    let full = |input, kernel, stride| Geometry {
        input,
        kernel,
        stride,
        padding: Padding::Same,
        depthwise: false,
        after: After::Relu6,
    };
    let stem = convolution(weights, "conv_stem", full(3, 3, 2))?;
    let mut width_in = stem.channels();
    let mut pairs = Vec::new();
    for (index, stride) in STRIDES.into_iter().enumerate() {
        let geometry = Geometry { depthwise: true, ..full(width_in, 3, stride) };
        let depthwise = convolution(weights, &format!("layer.{}", 2 * index), geometry)?;
        let depthwise = Depthwise::new(depthwise).map_err(|error| weights.refused(error))?;
        let pointwise = convolution(weights, &format!("layer.{}", 2 * index + 1), full(width_in, 1, 1))?;
        width_in = pointwise.channels();
        pairs.push(Pair { depthwise, pointwise });
    }
    let classifier = Linear::load(weights, "classifier", width_in)?;
    fit_inputs(request.inputs, [Expected::image()])?;
    fit_outputs(request.outputs, [Expected::f32("logits", &[classifier.width()])])?;
    Ok(Box::new(MobileNet { stem, pairs, classifier }))
}

impl Network for MobileNet {
    fn run(&self, call: &NetworkCall) -> Result<Vec<Output>> {
        let mut x = self.stem.forward(&call.input(0)?)?;
        for pair in &self.pairs {
            x = pair.pointwise.forward(&pair.depthwise.forward(&x)?)?;
        }
        let x = x.flatten_from(2)?.mean(D::Minus1)?;
        Ok(vec![Output::Tensor(self.classifier.forward(&x)?)])
    }

    fn summary(&self) -> String {
        let (first, classes) = (self.stem.channels(), self.classifier.width());
        format!(
            "MobileNet v1 of {} pairs of convolutions, {first} channels at first, linear {classes}, batch norms folded",
            self.pairs.len()
        )
    }
}

fn convolution(
    weights: &Weights,
    name: &str,
    geometry: Geometry,
) -> std::result::Result<Convolution, LoadError> {
    let part = |part: &str| format!("mobilenet_v1.{name}.{part}");
    folded_convolution(weights, &part("convolution"), &part("normalization"), EPSILON, geometry)
}

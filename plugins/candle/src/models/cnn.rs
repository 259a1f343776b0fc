//! Small convolutional networks: a grey image in, ten logits out. `make.py` in `datasets/digits` and in
//! `datasets/fashion-mnist-cnn` has their definition.

use candle_core::Result;

use super::{
    layers::{Geometry, Linear, convolution},
    tensors::{Expected, fit_inputs, fit_outputs},
};
use crate::{
    error::LoadError,
    network::{LoadRequest, Network, NetworkCall, Output},
    ops::convolution::{After, Convolution, Padding},
};

/// Convolutions of 3x3 with ReLU after each, max pooling of 2x2 after some, a linear layer.
#[derive(Debug)]
struct Cnn {
    /// The convolutions, and whether pooling follows.
    convolutions: Vec<(Convolution, bool)>,
    classifier: Linear,
}

type Loaded = std::result::Result<Box<dyn Network>, LoadError>;

/// Loads `digits-cnn`: two convolutions on 8x8 pixels.
pub(super) fn digits(request: &LoadRequest<'_>) -> Loaded {
    load(request, 8, &[false, true])
}

/// Loads `fashion-mnist-cnn`: three convolutions on 28x28 pixels.
pub(super) fn fashion_mnist(request: &LoadRequest<'_>) -> Loaded {
    load(request, 28, &[true, true, false])
}

/// Loads a network from `conv1`, `conv2`, ... and `fc`, for images with this many rows and columns. Pooling follows
/// where `pooled` says so.
fn load(request: &LoadRequest<'_>, side: usize, pooled: &[bool]) -> Loaded {
    let weights = request.weights;
    let (padding, after) = (Padding::Each(1), After::Relu);
    let (mut channels, mut extent) = (1, side);
    let mut convolutions = Vec::new();
    for (number, is_pooled) in (1..).zip(pooled) {
        let geometry = Geometry { input: channels, kernel: 3, stride: 1, padding, depthwise: false, after };
        let convolution = convolution(weights, &format!("conv{number}"), geometry)?;
        channels = convolution.channels();
        extent = if *is_pooled { extent / 2 } else { extent };
        convolutions.push((convolution, *is_pooled));
    }
    let classifier = Linear::load(weights, "fc", channels * extent * extent)?;
    fit_inputs(request.inputs, [Expected::f32("image", &[1, side, side])])?;
    fit_outputs(request.outputs, [Expected::f32("logits", &[classifier.width()])])?;
    Ok(Box::new(Cnn { convolutions, classifier }))
}

impl Network for Cnn {
    fn run(&self, call: &NetworkCall) -> Result<Vec<Output>> {
        let mut x = call.input(0)?;
        for (convolution, is_pooled) in &self.convolutions {
            x = convolution.forward(&x)?;
            x = if *is_pooled { x.max_pool2d(2)? } else { x };
        }
        let logits = self.classifier.forward(&x.flatten_from(1)?)?;
        Ok(vec![Output::Tensor(logits)])
    }

    fn summary(&self) -> String {
        let layer = |(convolution, is_pooled): &(Convolution, bool)| {
            let pooling = if *is_pooled { ", max pooling" } else { "" };
            format!("3x3 convolution to {}{pooling}, ", convolution.channels())
        };
        let layers = self.convolutions.iter().map(layer).collect::<String>();
        format!("{layers}linear {}", self.classifier.width())
    }
}

//! The three digits models: an image of 8x8 pixels in, ten logits out. `datasets/digits/make.py` has their definition.

use candle_core::{Result, Tensor};
use candle_nn::{Conv2d, Conv2dConfig, Linear, Module};

use super::{
    layers::{channels, conv2d, linear, width},
    lstm::Lstm,
    tensors::{Expected, fit_inputs, fit_outputs},
};
use crate::{Call, LoadError, LoadRequest, Network, Output};

/// Rows and columns of an image.
const SIDE: usize = 8;

/// Two convolutions of 3x3, ReLU after each, max pooling of 2x2, a linear layer.
#[derive(Debug)]
struct Cnn {
    convolutions: [Conv2d; 2],
    classifier: Linear,
}

/// An LSTM over the rows of an image, a linear layer on its last state.
#[derive(Debug)]
struct RowLstm {
    lstm: Lstm,
    classifier: Linear,
}

/// Linear layers with ReLU between them.
#[derive(Debug)]
struct Mlp {
    layers: Vec<Linear>,
}

type Loaded = std::result::Result<Box<dyn Network>, LoadError>;

/// Loads `digits-cnn` from `conv1`, `conv2` and `fc`.
pub(super) fn cnn(request: &LoadRequest<'_>) -> Loaded {
    let weights = request.weights;
    let same = Conv2dConfig { padding: 1, ..Conv2dConfig::default() };
    let first = conv2d(weights, "conv1", (1, 3), same)?;
    let second = conv2d(weights, "conv2", (channels(&first), 3), same)?;
    let classifier = linear(weights, "fc", channels(&second) * (SIDE / 2) * (SIDE / 2))?;
    fit_inputs(request.inputs, [Expected::f32("image", &[1, SIDE, SIDE])])?;
    fit_outputs(request.outputs, [Expected::f32("logits", &[width(&classifier)])])?;
    Ok(Box::new(Cnn { convolutions: [first, second], classifier }))
}

/// Loads `digits-lstm` from `lstm` and `fc`.
pub(super) fn lstm(request: &LoadRequest<'_>) -> Loaded {
    let lstm = Lstm::load(request.weights, "lstm.")?;
    let classifier = linear(request.weights, "fc", lstm.units())?;
    fit_inputs(request.inputs, [Expected::f32("image", &[SIDE, lstm.input_width()])])?;
    fit_outputs(request.outputs, [Expected::f32("logits", &[width(&classifier)])])?;
    Ok(Box::new(RowLstm { lstm, classifier }))
}

/// Loads `digits-mlp` from `fc1`, `fc2`, ...
pub(super) fn mlp(request: &LoadRequest<'_>) -> Loaded {
    let mut layers = vec![linear(request.weights, "fc1", SIDE * SIDE)?];
    let mut classes = width(&layers[0]);
    while request.weights.contains(&format!("fc{}.weight", layers.len() + 1)) {
        let layer = linear(request.weights, &format!("fc{}", layers.len() + 1), classes)?;
        classes = width(&layer);
        layers.push(layer);
    }
    fit_inputs(request.inputs, [Expected::f32("image", &[SIDE * SIDE])])?;
    fit_outputs(request.outputs, [Expected::f32("logits", &[classes])])?;
    Ok(Box::new(Mlp { layers }))
}

impl Network for Cnn {
    fn run(&self, call: &Call) -> Result<Vec<Output>> {
        let mut x = call.input(0)?;
        for convolution in &self.convolutions {
            x = convolution.forward(&x)?.relu()?;
        }
        let x = x.max_pool2d(2)?.flatten_from(1)?;
        one(self.classifier.forward(&x))
    }

    fn summary(&self) -> String {
        let [first, second] = self.convolutions.each_ref().map(channels);
        format!("3x3 convolutions to {first} and {second}, max pooling, linear {}", width(&self.classifier))
    }
}

impl Network for RowLstm {
    fn run(&self, call: &Call) -> Result<Vec<Output>> {
        let states = self.lstm.states(&call.input(0)?)?;
        one(self.classifier.forward(&states[states.len() - 1]))
    }

    fn summary(&self) -> String {
        format!("{}, linear {}", self.lstm.summary(), width(&self.classifier))
    }
}

impl Network for Mlp {
    fn run(&self, call: &Call) -> Result<Vec<Output>> {
        let mut x = call.input(0)?;
        for (index, layer) in self.layers.iter().enumerate() {
            x = if index == 0 { layer.forward(&x)? } else { layer.forward(&x.relu()?)? };
        }
        one(Ok(x))
    }

    fn summary(&self) -> String {
        let widths: Vec<String> = self.layers.iter().map(|layer| width(layer).to_string()).collect();
        format!("linear {}", widths.join(", "))
    }
}

/// The outputs of a network that has one.
fn one(output: Result<Tensor>) -> Result<Vec<Output>> {
    output.map(|output| vec![Output::Tensor(output)])
}

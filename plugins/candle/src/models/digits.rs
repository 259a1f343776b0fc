//! The digits models without convolutions: an image of 8x8 pixels in, ten logits out. `datasets/digits/make.py` has
//! their definition.

use candle_core::{Result, Tensor};

use super::{
    layers::Linear,
    lstm::Lstm,
    tensors::{Expected, fit_inputs, fit_outputs},
};
use crate::{
    error::LoadError,
    network::{LoadRequest, Network, NetworkCall, Output},
};

/// Rows and columns of an image.
const SIDE: usize = 8;

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

/// Loads `digits-lstm` from `lstm` and `fc`.
pub(super) fn lstm(request: &LoadRequest<'_>) -> Loaded {
    let lstm = Lstm::load(request.weights, "lstm.")?;
    let classifier = Linear::load(request.weights, "fc", lstm.units())?;
    fit_inputs(request.inputs, [Expected::f32("image", &[SIDE, lstm.input_width()])])?;
    fit_outputs(request.outputs, [Expected::f32("logits", &[classifier.width()])])?;
    Ok(Box::new(RowLstm { lstm, classifier }))
}

/// Loads `digits-mlp` from `fc1`, `fc2`, ...
pub(super) fn mlp(request: &LoadRequest<'_>) -> Loaded {
    let mut layers = vec![Linear::load(request.weights, "fc1", SIDE * SIDE)?];
    let mut classes = layers[0].width();
    while request.weights.contains(&format!("fc{}.weight", layers.len() + 1)) {
        let layer = Linear::load(request.weights, &format!("fc{}", layers.len() + 1), classes)?;
        classes = layer.width();
        layers.push(layer);
    }
    fit_inputs(request.inputs, [Expected::f32("image", &[SIDE * SIDE])])?;
    fit_outputs(request.outputs, [Expected::f32("logits", &[classes])])?;
    Ok(Box::new(Mlp { layers }))
}

impl Network for RowLstm {
    fn run(&self, call: &NetworkCall) -> Result<Vec<Output>> {
        let states = self.lstm.states(&call.input(0)?)?;
        one(self.classifier.forward(&states[states.len() - 1]))
    }

    fn summary(&self) -> String {
        format!("{}, linear {}", self.lstm.summary(), self.classifier.width())
    }
}

impl Network for Mlp {
    fn run(&self, call: &NetworkCall) -> Result<Vec<Output>> {
        let mut x = call.input(0)?;
        for (index, layer) in self.layers.iter().enumerate() {
            x = if index == 0 { layer.forward(&x)? } else { layer.forward(&x.relu()?)? };
        }
        one(Ok(x))
    }

    fn summary(&self) -> String {
        let widths: Vec<String> = self.layers.iter().map(|layer| layer.width().to_string()).collect();
        format!("linear {}", widths.join(", "))
    }
}

fn one(output: Result<Tensor>) -> Result<Vec<Output>> {
    output.map(|output| vec![Output::Tensor(output)])
}

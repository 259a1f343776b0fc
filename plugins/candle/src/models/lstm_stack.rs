//! A stack of LSTM layers that gives every state of the last one.

use candle_core::{Result, Tensor};

use super::{
    lstm::Lstm,
    tensors::{Expected, fit_inputs, fit_outputs},
};
use crate::{
    error::LoadError,
    network::{LoadRequest, Network, NetworkCall, Output},
};

#[derive(Debug)]
struct LstmStack(Lstm);

/// Loads `lstm-stack` from `lstm`.
pub(super) fn load(request: &LoadRequest<'_>) -> std::result::Result<Box<dyn Network>, LoadError> {
    let lstm = Lstm::load(request.weights, "lstm.")?;
    // As many steps as the benchmark has.
    let steps =
        request.inputs.first().and_then(|spec| spec.shape.first()).copied().filter(|steps| *steps > 0);
    let steps = steps.unwrap_or(1);
    fit_inputs(request.inputs, [Expected::f32("x", &[steps, lstm.input_width()])])?;
    fit_outputs(request.outputs, [Expected::f32("y", &[steps, lstm.units()])])?;
    Ok(Box::new(LstmStack(lstm)))
}

impl Network for LstmStack {
    fn run(&self, call: &NetworkCall) -> Result<Vec<Output>> {
        let states = self.0.states(&call.input(0)?)?;
        Ok(vec![Output::Tensor(Tensor::stack(&states, 1)?)])
    }

    fn summary(&self) -> String {
        self.0.summary()
    }
}

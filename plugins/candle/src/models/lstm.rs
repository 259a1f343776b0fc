//! A stack of LSTM layers by the names of `torch.nn.LSTM`.

use candle_core::{Result, Tensor};
use candle_nn::ops::sigmoid;

use crate::{error::LoadError, ops::product::product, weights::Weights};

/// Number of rows of a weight for each unit: the gates input, forget, cell and output.
const GATES: usize = 4;

/// LSTM layers, one on the other, in one direction.
#[derive(Debug)]
pub(crate) struct Lstm {
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    /// Weights from the input to all gates: `[4 units, input]`.
    from_input: Tensor,
    /// The sum of both biases: `[4 units]`.
    bias: Tensor,
    /// Weights from the hidden state to all gates: `[4 units, units]`.
    from_hidden: Tensor,
    units: usize,
}

impl Lstm {
    /// Reads `{prefix}weight_ih_l{k}` `[4 units, input]`, `weight_hh_l{k}` `[4 units, units]`, `bias_ih_l{k}` and
    /// `bias_hh_l{k}` `[4 units]`, for k from 0 as long as there are any.
    pub(crate) fn load(weights: &Weights, prefix: &str) -> std::result::Result<Self, LoadError> {
        let mut layers = vec![Layer::load(weights, prefix, 0, None)?];
        while weights.contains(&format!("{prefix}weight_ih_l{}", layers.len())) {
            let units = layers.last().map(|layer| layer.units);
            layers.push(Layer::load(weights, prefix, layers.len(), units)?);
        }
        Ok(Self { layers })
    }

    /// Returns the width of a step's input.
    pub(crate) fn input_width(&self) -> usize {
        self.layers[0].from_input.dims()[1]
    }

    /// Returns the width of a state.
    pub(crate) fn units(&self) -> usize {
        self.layers[self.layers.len() - 1].units
    }

    /// Returns the number of layers, and the width of the last.
    pub(crate) fn summary(&self) -> String {
        let count = self.layers.len();
        format!("{count} LSTM layer{} of {}", if count == 1 { "" } else { "s" }, self.units())
    }

    /// Computes the states of the last layer, one `[batch, units]` for each step, from `[batch, time, input]`.
    pub(crate) fn states(&self, steps: &Tensor) -> Result<Vec<Tensor>> {
        // Time first: then a step is contiguous.
        let mut steps = steps.transpose(0, 1)?.contiguous()?;
        let mut states = Vec::new();
        for (index, layer) in self.layers.iter().enumerate() {
            if index > 0 {
                steps = Tensor::stack(&states, 0)?;
            }
            states = layer.states(&steps)?;
        }
        Ok(states)
    }
}

impl Layer {
    fn load(
        weights: &Weights,
        prefix: &str,
        index: usize,
        input: Option<usize>,
    ) -> std::result::Result<Self, LoadError> {
        let name = |part: &str| format!("{prefix}{part}_l{index}");
        let [rows, units] = weights.dims(&name("weight_hh"))?;
        if rows != GATES * units {
            return Err(weights.misshapen(&name("weight_hh"), "[4 units, units]"));
        }
        let [_, width] = weights.dims(&name("weight_ih"))?;
        let input = input.unwrap_or(width);
        let bias = |part: &str| weights.exact(&name(part), &[rows]);
        let bias = (bias("bias_ih")? + bias("bias_hh")?).map_err(|error| weights.refused(error))?;
        Ok(Self {
            from_input: weights.tensor(&name("weight_ih"), &[rows, input])?,
            bias: weights.round(&bias)?,
            from_hidden: weights.tensor(&name("weight_hh"), &[rows, units])?,
            units,
        })
    }

    /// Computes the hidden states, one `[batch, units]` for each step, from `[time, batch, input]`.
    fn states(&self, steps: &Tensor) -> Result<Vec<Tensor>> {
        let (time, batch, _) = steps.dims3()?;
        // The share of the inputs does not depend on any state: one product for all steps.
        let from_input = product(steps, &self.from_input, &self.bias)?;
        let mut cell = Tensor::zeros((batch, self.units), steps.dtype(), steps.device())?;
        let mut states: Vec<Tensor> = Vec::with_capacity(time);
        for step in 0..time {
            let gates = from_input.get(step)?;
            // The first state is zero, and so is its share.
            let gates = match states.last() {
                None => gates,
                Some(hidden) => product(hidden, &self.from_hidden, &gates)?,
            };
            // c' = f c + i g, h' = o tanh(c').
            let gates = gates.chunk(GATES, 1)?;
            let (input, forget, output) = (sigmoid(&gates[0])?, sigmoid(&gates[1])?, sigmoid(&gates[3])?);
            cell = ((forget * cell)? + (input * gates[2].tanh()?)?)?;
            states.push((output * cell.tanh()?)?);
        }
        Ok(states)
    }
}

//! A stack of LSTM layers, with PyTorch's names.

use proctor_vocabulary::ElementType::F32;

use super::{Model, net::Net};
use crate::{
    inputs::{InputTensor, InputValues},
    rnn_layer::{RnnCell, layer_tensors},
    weights::ModelRecipe,
};

pub(super) struct Sizes {
    name: &'static str,
    input: usize,
    hidden: usize,
    layers: usize,
    steps: usize,
}

pub(super) const STACK: Sizes = Sizes { name: "lstm-stack", input: 512, hidden: 512, layers: 3, steps: 50 };
pub(super) const TINY: Sizes = Sizes { name: "lstm-stack-tiny", input: 6, hidden: 8, layers: 2, steps: 5 };

/// Order of the gates: i, f, g, o in PyTorch, and i, o, f, c in ONNX, where c is g.
const GATE_ORDER: [usize; 4] = [0, 3, 1, 2];

/// Size of the initial weights as a multiple of PyTorch's: with those, the values die away from layer to layer.
const LIVELINESS: f32 = 2.0;

impl Model for Sizes {
    fn weights(&self) -> ModelRecipe {
        let mut recipe = ModelRecipe::new(self.name);
        for layer in 0..self.layers {
            let input = if layer == 0 { self.input } else { self.hidden };
            recipe.tensors.extend(layer_tensors(RnnCell::Lstm, "lstm", layer, input, self.hidden, false));
        }
        for tensor in &mut recipe.tensors {
            tensor.scale *= LIVELINESS;
        }
        recipe
    }

    fn inputs(&self) -> Vec<InputTensor> {
        let values = InputValues::Uniform { scale: 1, lengths: None };
        vec![InputTensor { name: "x", element_type: F32, shape: vec![self.steps, self.input], values }]
    }

    fn compute(&self, net: &mut Net) {
        let steps_first = [("perm", [1, 0, 2].into())];
        let mut x = net.node("Transpose", "steps_first", &["x"], &steps_first);
        let (first, second) = (net.ints(&[0]), net.ints(&[1]));
        for layer in 0..self.layers {
            let name = format!("lstm_l{layer}");
            let [w, r] = ["weight_ih", "weight_hh"].map(|kind| {
                let gates = self.gates(net, &format!("lstm.{kind}_l{layer}"));
                joined(net, &format!("{name}.{kind}"), &gates, &first)
            });
            let biases = ["bias_ih", "bias_hh"].map(|kind| self.gates(net, &format!("lstm.{kind}_l{layer}")));
            let b = joined(net, &format!("{name}.bias"), &biases.concat(), &first);
            // The node's only output is Y, [step, direction, batch, hidden].
            let hidden = [("hidden_size", (self.hidden as i64).into())];
            let y = net.node("LSTM", &name, &[&x, &w, &r, &b], &hidden);
            x = net.node("Squeeze", &format!("{name}.y"), &[&y, &second], &[]);
        }
        net.node("Transpose", "y", &[&x], &steps_first);
        net.output("y", &[self.steps, self.hidden]);
    }
}

impl Sizes {
    /// Returns the parts of a tensor for each gate, in ONNX's order.
    fn gates(&self, net: &mut Net, tensor: &str) -> Vec<String> {
        let weight = net.weight(tensor);
        let parts = net.split(&format!("{tensor}.gates"), &weight, 0, &[self.hidden as i64; 4]);
        GATE_ORDER.map(|gate| parts[gate].clone()).to_vec()
    }
}

/// Returns the parts one after another, for a single direction.
fn joined(net: &mut Net, name: &str, parts: &[String], first: &str) -> String {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let joined = net.node("Concat", &format!("{name}.joined"), &parts, &[("axis", 0.into())]);
    net.node("Unsqueeze", name, &[&joined, first], &[])
}

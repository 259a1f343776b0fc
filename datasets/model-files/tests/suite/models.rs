//! Builds graph models of TensorFlow.js, node by node.

use proctor_model_files::{ConvertError, Graph, GraphInput, GraphOutput, Order, convert_graph};
use proctor_vocabulary::ElementType;
use serde_json::{Value, json};

/// A model whose weights lie in one shard.
#[derive(Debug, Default, Clone)]
pub(crate) struct Model {
    pub(crate) nodes: Vec<Value>,
    pub(crate) weights: Vec<Value>,
    pub(crate) bytes: Vec<u8>,
    /// State of the numbers that stand for weights.
    seed: u32,
}

impl Model {
    /// Adds a node; its parameters are in the form of the file.
    pub(crate) fn node(&mut self, operator: &str, name: &str, inputs: &[&str], attributes: Value) {
        self.nodes.push(json!({"name": name, "op": operator, "input": inputs, "attr": attributes}));
    }

    /// Adds a constant with these values.
    pub(crate) fn reals(&mut self, name: &str, shape: &[usize], values: &[f32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(json!({"name": name, "shape": shape, "dtype": "float32"}), &bytes);
    }

    pub(crate) fn ints(&mut self, name: &str, shape: &[usize], values: &[i32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(json!({"name": name, "shape": shape, "dtype": "int32"}), &bytes);
    }

    /// Adds a constant with values from -1 to 1 that are the same each time.
    pub(crate) fn weights(&mut self, name: &str, shape: &[usize]) {
        let mut next = || {
            self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (self.seed >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        let values: Vec<f32> = (0..shape.iter().product()).map(|_| next()).collect();
        self.reals(name, shape, &values);
    }

    /// Adds a constant that the manifest describes so.
    pub(crate) fn constant(&mut self, described: Value, bytes: &[u8]) {
        let name = described["name"].as_str().unwrap().to_owned();
        self.node("Const", &name, &[], json!({}));
        self.weights.push(described);
        self.bytes.extend(bytes);
    }

    /// Returns the file `model.json`.
    pub(crate) fn json(&self) -> Vec<u8> {
        let manifest = json!([{"paths": ["group1-shard1of1"], "weights": self.weights}]);
        let model = json!({"modelTopology": {"node": self.nodes}, "weightsManifest": manifest});
        serde_json::to_vec(&model).unwrap()
    }

    pub(crate) fn graph(&self) -> Graph {
        Graph::of_graph_model(&self.json(), std::slice::from_ref(&self.bytes)).unwrap()
    }

    /// Converts the graph from the node `x`, which has samples of this shape, to the node `y`.
    pub(crate) fn convert(&self, shape: &[usize]) -> Result<Vec<u8>, ConvertError> {
        let input = GraphInput {
            node: "x",
            name: "x",
            element_type: ElementType::F32,
            shape,
            order: Order::ChannelsLast,
        };
        convert_graph("model", &self.graph(), &[input], &[GraphOutput { node: "y", name: "result" }])
    }
}

/// Returns a list of integers as a parameter.
pub(crate) fn list(values: &[i64]) -> Value {
    let texts: Vec<String> = values.iter().map(i64::to_string).collect();
    json!({"list": {"i": texts}})
}

/// Returns the parameters of a window.
pub(crate) fn window(strides: &[i64], padding: &str) -> Value {
    let strides: Vec<i64> = [1].iter().chain(strides).chain(&[1]).copied().collect();
    json!({"strides": list(&strides), "padding": {"s": padding.as_bytes()}})
}

//! The ONNX file as far as it is written.

use std::collections::{HashMap, HashSet};

use proctor_onnx_file::{Attribute, Dim, GraphBuilder, proto::GraphProto};
use proctor_vocabulary::ElementType;
use prost::Message;

use super::{
    port::{GraphInput, GraphOutput, Order},
    value::{Computed, Extent, Reals, Value},
};
use crate::convolution::Convolution;

/// Name of the dimension that any number of samples may have.
const BATCH: &str = "batch";

/// A graph whose values have names that no other has.
pub(crate) struct Writer {
    graph: GraphBuilder,
    names: HashSet<String>,
    /// Names of written constants, by their source and their shape.
    constants: HashMap<(String, Vec<usize>), String>,
    /// Names of tensors in the other order of their axes.
    turned: HashMap<String, String>,
    /// Name of the input from which the size of a batch is read.
    sample: String,
    /// Bytes of the constants that are written.
    pub(crate) size_bytes: usize,
}

impl Writer {
    pub(crate) fn new(name: &str, inputs: &[GraphInput<'_>], outputs: &[GraphOutput<'_>]) -> Self {
        let names = inputs.iter().map(|input| input.name).chain(outputs.iter().map(|output| output.name));
        let mut names: HashSet<String> = names.map(str::to_owned).collect();
        names.insert(BATCH.to_owned());
        let sample = inputs.first().map_or_else(String::new, |input| input.name.to_owned());
        let graph = GraphBuilder::new(name);
        Self { graph, names, constants: HashMap::new(), turned: HashMap::new(), sample, size_bytes: 0 }
    }

    /// Returns the file, without nodes and constants that no output needs.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        let mut model = self.graph.into_model();
        model.graph.iter_mut().for_each(keep_needed);
        model.encode_to_vec()
    }

    /// Adds an input of the file, as f32.
    pub(crate) fn input(&mut self, input: &GraphInput<'_>) -> Computed {
        let GraphInput { name, element_type, shape, order, .. } = *input;
        let mut dims = vec![Extent::Batches(1)];
        dims.extend(shape.iter().map(|extent| Extent::of(*extent)));
        let of_file: Vec<Dim> = order.axes(dims.len()).into_iter().map(|axis| dim(dims[axis])).collect();
        self.graph.input(name, element_type, &of_file);
        let mut name = name.to_owned();
        if element_type != ElementType::F32 {
            name = self.node("Cast", &format!("{name}.f32"), &[&name], &[("to", 1.into())]);
        }
        Computed { name, dims, order }
    }

    /// Makes a value an output of the file.
    pub(crate) fn output(&mut self, name: &str, value: &Value) -> Result<(), String> {
        let computed = self.computed(value)?;
        if computed.order == Order::ChannelsLast {
            self.graph.node("Identity", name, &[&computed.name], &[]);
        } else {
            let perm = turning(Order::ChannelsLast, computed.dims.len());
            self.graph.node("Transpose", name, &[&computed.name], &[("perm", perm)]);
        }
        let dims: Vec<Dim> = computed.dims.iter().map(|extent| dim(*extent)).collect();
        self.graph.output(name, ElementType::F32, &dims);
        Ok(())
    }

    /// Adds a node; gives the name of its result, which is the given one if no other value has it.
    pub(crate) fn node(
        &mut self,
        operator: &str,
        name: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) -> String {
        let name = self.fresh(name, &[""]);
        self.graph.node(operator, &name, inputs, attributes)
    }

    /// Adds a convolution; gives the name of its result.
    pub(crate) fn convolution(&mut self, name: &str, input: &str, convolution: &Convolution) -> String {
        let name = self.fresh(name, &["", ".weight", ".bias"]);
        self.size_bytes = self.size_bytes.saturating_add(size_of_val(&convolution.weights[..]));
        convolution.write(&mut self.graph, &name, input)
    }

    /// Adds real numbers in a shape, unless they are there; gives their name.
    pub(crate) fn constant(&mut self, reals: &Reals, dims: &[usize]) -> String {
        if let ([], [value]) = (dims, &reals.values[..]) {
            return self.graph.float(*value);
        }
        let key = (reals.name.clone(), dims.to_vec());
        if let Some(known) = self.constants.get(&key) {
            return known.clone();
        }
        let name = self.fresh(&reals.name, &[""]);
        self.size_bytes = self.size_bytes.saturating_add(size_of_val(&reals.values[..]));
        self.graph.constant(&name, dims, &reals.values);
        self.constants.insert(key, name.clone());
        name
    }

    pub(crate) fn float(&mut self, value: f32) -> String {
        self.graph.float(value)
    }

    pub(crate) fn ints(&mut self, values: &[i64]) -> String {
        self.graph.ints(values)
    }

    /// Adds an i64 without dimensions, which takes an axis away where it is an index; gives its name.
    pub(crate) fn index(&mut self, value: usize) -> String {
        let bytes = (value as i64).to_le_bytes().to_vec();
        self.graph.constant_of(&format!("ints_at_{value}"), ElementType::I64, &[], bytes)
    }

    /// Adds a list of integers, of which some may depend on the batch; gives its name.
    pub(crate) fn extents(&mut self, extents: &[Extent]) -> String {
        let fixed: Option<Vec<i64>> = extents.iter().map(|extent| extent.fixed()).collect();
        if let Some(fixed) = fixed {
            return self.ints(&fixed);
        }
        let parts: Vec<String> = extents
            .iter()
            .map(|extent| match extent {
                Extent::Fixed(value) => self.ints(&[*value]),
                Extent::Batches(count) => self.batches(*count),
            })
            .collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        self.node("Concat", "extents", &parts, &[("axis", 0.into())])
    }

    /// Adds the number of samples times a factor as a list of one; gives its name.
    fn batches(&mut self, factor: i64) -> String {
        let sample = self.sample.clone();
        let shape = self.node("Shape", "sample.shape", &[&sample], &[]);
        let first = self.ints(&[0]);
        let samples = self.node("Gather", "samples", &[&shape, &first], &[("axis", 0.into())]);
        let factor = self.ints(&[factor]);
        self.node("Mul", "samples.times", &[&samples, &factor], &[])
    }

    /// Returns a value as a tensor of the file, which is written if it is not there.
    pub(crate) fn computed(&mut self, value: &Value) -> Result<Computed, String> {
        match value {
            Value::Computed(computed) => Ok(computed.clone()),
            Value::Pending(pending) => {
                let name = self.convolution(&pending.name, &pending.input, &pending.convolution);
                Ok(Computed { name, dims: pending.dims.clone(), order: Order::ChannelsFirst })
            }
            Value::Reals(reals) => {
                let name = self.constant(reals, &reals.dims);
                Ok(Computed { name, dims: value.dims(), order: Order::ChannelsLast })
            }
            Value::Ints(_) => Err("needs real numbers, and gets integers".to_owned()),
            Value::Dead => Err("needs the result of a branch that is not taken".to_owned()),
        }
    }

    /// Returns a value as a tensor with its axes in an order.
    pub(crate) fn in_order(&mut self, value: &Value, order: Order) -> Result<Computed, String> {
        let computed = self.computed(value)?;
        let rank = computed.dims.len();
        if computed.order == order || rank < 3 {
            return Ok(computed);
        }
        let name = match self.turned.get(&computed.name) {
            Some(name) => name.clone(),
            None => {
                let suffix = if order == Order::ChannelsFirst { "channels_first" } else { "channels_last" };
                let name = format!("{}.{suffix}", computed.name);
                let name =
                    self.node("Transpose", &name, &[&computed.name], &[("perm", turning(order, rank))]);
                self.turned.insert(computed.name.clone(), name.clone());
                self.turned.insert(name.clone(), computed.name.clone());
                name
            }
        };
        Ok(Computed { name, dims: computed.dims, order })
    }

    /// Returns a name of which no other value has any with these suffixes.
    fn fresh(&mut self, name: &str, suffixes: &[&str]) -> String {
        // The builder calls small constants so.
        let is_builders = name.starts_with("ints_") || name.starts_with("float_");
        let base = if is_builders || name.is_empty() { format!("node.{name}") } else { name.to_owned() };
        let mut number = 1_usize;
        let mut free = base.clone();
        while suffixes.iter().any(|suffix| self.names.contains(&format!("{free}{suffix}"))) {
            number += 1;
            free = format!("{base}.{number}");
        }
        self.names.extend(suffixes.iter().map(|suffix| format!("{free}{suffix}")));
        free
    }
}

/// Removes what the branches that are not taken have left.
fn keep_needed(graph: &mut GraphProto) {
    let outputs = graph.output.iter().filter_map(|output| output.name.clone());
    let mut needed: HashSet<String> = outputs.collect();
    let mut kept = Vec::new();
    for node in graph.node.drain(..).rev() {
        if node.output.iter().any(|name| needed.contains(name)) {
            needed.extend(node.input.iter().cloned());
            kept.push(node);
        }
    }
    kept.reverse();
    graph.node = kept;
    graph.initializer.retain(|tensor| tensor.name.as_ref().is_some_and(|name| needed.contains(name)));
}

/// Returns the axes of a transposition into an order.
fn turning(order: Order, rank: usize) -> Attribute {
    let axes = match order {
        Order::ChannelsFirst => order.axes(rank),
        Order::ChannelsLast => [0].into_iter().chain(2..rank).chain([1]).collect(),
    };
    Attribute::Ints(axes.into_iter().map(|axis| axis as i64).collect())
}

fn dim(extent: Extent) -> Dim {
    match extent {
        Extent::Batches(1) => Dim::Free(BATCH.to_owned()),
        Extent::Batches(_) => Dim::Free(String::new()),
        Extent::Fixed(value) => usize::try_from(value).map_or_else(|_| Dim::Free(String::new()), Dim::Fixed),
    }
}

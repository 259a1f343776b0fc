//! Converts graphs of TensorFlow to ONNX files, node by node.
//!
//! - `port`: where a graph begins and ends;
//! - `value`: what is between nodes; `writer` the ONNX file as far as it is written; `call` one node with both;
//! - `elementwise`, `windows`, `shapes`, `branches`: the operators.

mod branches;
mod call;
mod elementwise;
pub(crate) mod port;
mod shapes;
mod value;
mod windows;
mod writer;

use std::{collections::HashMap, rc::Rc};

use self::{
    call::Call,
    elementwise::Binary,
    port::{GraphInput, GraphOutput},
    value::{Extent, Ints, Reals, Value},
    writer::Writer,
};
use crate::{
    error::ConvertError,
    tensorflow::{
        constant::{Constant, Values},
        graph::Graph,
        node::{Attribute, Node},
    },
};

/// Maximum size of the constants of a file: protobuf's limit, less some room for the nodes.
const SIZE_MAX: usize = (1 << 31) - (1 << 24);

/// Maximum number of dimensions of a tensor.
const RANK_MAX: usize = 16;

/// Converts the part of a graph that leads from inputs to outputs. Outputs have their axes in TensorFlow's order.
///
/// # Errors
/// Returns a [`ConvertError`] that names the node which is missing, not known, or not known in this form.
pub fn convert_graph(
    name: &str,
    graph: &Graph,
    inputs: &[GraphInput<'_>],
    outputs: &[GraphOutput<'_>],
) -> Result<Vec<u8>, ConvertError> {
    let mut writer = Writer::new(name, inputs, outputs);
    let mut results: HashMap<usize, Vec<Value>> = HashMap::new();
    for input in inputs {
        let place = place(graph, input.node, &format!("the input {}", input.name))?;
        results.insert(place, vec![Value::Computed(writer.input(input))]);
    }
    let mut ends = Vec::new();
    for output in outputs {
        ends.push(place(graph, output.node, &format!("the output {}", output.name))?);
    }
    let given = results.keys().copied().collect::<Vec<_>>();
    let Walk { order, uses } = Walk::new(graph, &given, &ends)?;
    let (mut readers_left, mut held_bytes) = (uses.clone(), 0_usize);
    for place in order {
        let node = &graph.nodes()[place];
        let from = sources(graph, node)?;
        let inputs = from.iter().map(|(from, port)| {
            let of_node = results.get(from).map(Vec::as_slice).unwrap_or_default();
            of_node
                .get(*port)
                .cloned()
                .ok_or_else(|| fault(node, format!("wants the result {port} of an input")))
        });
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        let mut values = evaluate(node, &inputs, &mut writer)?;
        // One that several nodes read is written once; only the only reader may become part of it.
        for value in values.iter_mut().filter(|value| uses[&place] > 1 && matches!(value, Value::Pending(_)))
        {
            *value = Value::Computed(writer.computed(value).map_err(|reason| fault(node, reason))?);
        }
        if values.iter().any(|value| value.dims().len() > RANK_MAX) {
            return Err(fault(node, format!("has more than {RANK_MAX} dimensions")));
        }
        held_bytes = held_bytes.saturating_add(size_bytes(&values));
        results.insert(place, values);
        for (from, _) in from {
            let left = readers_left.entry(from).or_insert(1);
            *left -= 1;
            if *left == 0 {
                held_bytes -= results.remove(&from).as_deref().map_or(0, size_bytes);
            }
        }
        let all_bytes = writer.size_bytes.saturating_add(held_bytes);
        if all_bytes > SIZE_MAX {
            return Err(ConvertError::TooLarge { size_bytes: all_bytes, limit_bytes: SIZE_MAX });
        }
    }
    for (output, place) in outputs.iter().zip(ends) {
        let node = &graph.nodes()[place];
        let value = results.get(&place).and_then(|values| values.first()).unwrap_or(&Value::Dead);
        writer.output(output.name, value).map_err(|reason| fault(node, reason))?;
    }
    Ok(writer.into_bytes())
}

/// Returns the memory of results that they share with none: a small file may make much of one constant.
fn size_bytes(values: &[Value]) -> usize {
    let of_value = |value: &Value| match value {
        Value::Ints(ints) => size_of_val(&ints.values[..]),
        Value::Pending(pending) => size_of_val(&pending.convolution.weights[..]),
        Value::Reals(_) | Value::Computed(_) | Value::Dead => 0,
    };
    values.iter().map(of_value).sum()
}

fn place(graph: &Graph, node: &str, wanted_by: &str) -> Result<usize, ConvertError> {
    let missing = || ConvertError::NoNode { node: node.to_owned(), wanted_by: wanted_by.to_owned() };
    graph.place(node).ok_or_else(missing)
}

fn fault(node: &Node, reason: String) -> ConvertError {
    ConvertError::Node { node: node.name.clone(), operator: node.operator.clone(), reason }
}

/// Returns the nodes whose results a node reads, with the number of the result.
fn sources(graph: &Graph, node: &Node) -> Result<Vec<(usize, usize)>, ConvertError> {
    let source = |input: &String| {
        let split = input.rsplit_once(':').and_then(|(name, port)| Some((name, port.parse().ok()?)));
        let (name, port) = split.unwrap_or((input, 0));
        Ok((place(graph, name, &format!("\"{}\"", node.name))?, port))
    };
    node.inputs.iter().filter(|input| !input.starts_with('^')).map(source).collect()
}

/// The nodes that outputs need.
struct Walk {
    /// Their places, each behind those that it reads.
    order: Vec<usize>,
    /// How often each is read.
    uses: HashMap<usize, usize>,
}

/// Whether a node was seen on the way, or lies behind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Done,
}

impl Walk {
    fn new(graph: &Graph, given: &[usize], ends: &[usize]) -> Result<Self, ConvertError> {
        let mut states: HashMap<usize, State> = given.iter().map(|place| (*place, State::Done)).collect();
        let (mut order, mut uses) = (Vec::new(), HashMap::new());
        let mut stack: Vec<usize> = ends.iter().rev().copied().collect();
        ends.iter().for_each(|end| *uses.entry(*end).or_insert(0) += 1);
        while let Some(place) = stack.last().copied() {
            match states.get(&place) {
                Some(State::Done) => {
                    stack.pop();
                }
                Some(State::Open) => {
                    states.insert(place, State::Done);
                    order.push(place);
                    stack.pop();
                }
                None => {
                    states.insert(place, State::Open);
                    for (from, _) in sources(graph, &graph.nodes()[place])? {
                        *uses.entry(from).or_insert(0) += 1;
                        match states.get(&from) {
                            Some(State::Done) => {}
                            // The open ones lead to this one.
                            Some(State::Open) => {
                                return Err(ConvertError::Circle { node: graph.nodes()[from].name.clone() });
                            }
                            None => stack.push(from),
                        }
                    }
                }
            }
        }
        Ok(Self { order, uses })
    }
}

/// Returns the results of a node.
fn evaluate(node: &Node, inputs: &[Value], writer: &mut Writer) -> Result<Vec<Value>, ConvertError> {
    let is_dead = inputs.iter().any(|value| matches!(value, Value::Dead));
    if is_dead && node.operator != "Merge" {
        return Ok(vec![Value::Dead; RESULTS_OF_DEAD]);
    }
    let mut call = Call { node, inputs, writer };
    let one = |value: Value| vec![value];
    let values = match node.operator.as_str() {
        "Const" => constant(node).map(one),
        "Identity" | "PlaceholderWithDefault" | "StopGradient" => call.identity().map(one),
        "Switch" => call.switch(),
        "Merge" => call.merge(),
        "Conv2D" | "Conv3D" => call.convolution(false).map(one),
        "DepthwiseConv2dNative" => call.convolution(true).map(one),
        "Conv2DBackpropInput" | "Conv3DBackpropInputV2" => call.transposed().map(one),
        "MaxPool" | "MaxPool3D" => call.max_pool().map(one),
        "FusedBatchNorm" | "FusedBatchNormV2" | "FusedBatchNormV3" => call.batch_norm().map(one),
        "Add" | "AddV2" | "BiasAdd" => call.binary(Binary::Add).map(one),
        "Sub" => call.binary(Binary::Sub).map(one),
        "Mul" => call.binary(Binary::Mul).map(one),
        "AddN" => call.sum().map(one),
        "Relu" | "Sigmoid" | "Exp" => call.unary(&node.operator).map(one),
        "Relu6" => call.relu6().map(one),
        "Shape" => call.shape().map(one),
        "Reshape" => call.reshape().map(one),
        "ExpandDims" => call.expand_dims().map(one),
        "Squeeze" => call.squeeze().map(one),
        "Pack" => call.pack().map(one),
        "Unpack" => call.unpack(),
        "StridedSlice" => call.strided_slice().map(one),
        "ConcatV2" => call.concat().map(one),
        "Transpose" => call.transpose().map(one),
        "Tile" => call.tile().map(one),
        operator => {
            return Err(ConvertError::Operator { node: node.name.clone(), operator: operator.to_owned() });
        }
    };
    values.map_err(|reason| fault(node, reason))
}

/// Number of results of a node in a branch that is not taken: enough for a switch within it.
const RESULTS_OF_DEAD: usize = 2;

fn constant(node: &Node) -> Result<Value, String> {
    let Some(Attribute::Constant(Constant { dims, values })) = node.attributes.get("value") else {
        return Err("has no value".to_owned());
    };
    let dims = dims.clone();
    match values {
        Values::Reals(values) => {
            Ok(Value::Reals(Reals { name: node.name.clone(), dims, values: Rc::new(values.clone()) }))
        }
        Values::Ints(values) => {
            Ok(Value::Ints(Ints { dims, values: values.iter().map(|value| Extent::Fixed(*value)).collect() }))
        }
        Values::Other(data_type) => Err(format!("has values of the type {data_type}, which are not read")),
    }
}

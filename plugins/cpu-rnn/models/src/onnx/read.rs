//! Reads a whole file.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::Arc,
};

use proctor_onnx_file::{
    domain, label,
    proto::{GraphProto, ModelProto, NodeProto, ValueInfoProto},
};
use proctor_rnn_layer::Precision;
use proctor_vocabulary::misfetched;
use prost::Message;

use crate::graph::build::{Dim, Graph, GraphBuilder, NodeError, ValueId};
use crate::graph::op::Op;
use crate::graph::recurrent::{Recurrent, RecurrentSpec};
use crate::graph::tensor::{Element, Tensor};
use crate::onnx::error::OnnxError;
use crate::onnx::node::{Parsed, parse};
use crate::onnx::tensor::{element, tensor};

/// A protobuf message cannot be larger.
const FILE_BYTES_MAX: u64 = (1 << 31) - 1;

/// Versions of ONNX's operators that are read.
const OPSETS: std::ops::RangeInclusive<i64> = 7..=28;

/// The inputs W, R, B and P of a recurrent node.
const WEIGHTS: [usize; 4] = [1, 2, 3, 7];

/// Options for reading a file.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Number format of the weights of recurrent layers.
    pub precision: Precision,
    /// Inputs of the graph that are known now, by name: they become constants.
    pub constants: BTreeMap<String, Tensor>,
}

/// Reads a file.
///
/// # Errors
/// Returns an [`OnnxError`] that names the file and what of it cannot be used.
pub fn load(path: &Path, options: &ReadOptions) -> Result<Graph, OnnxError> {
    let read_error = |source| OnnxError::Read(path.to_owned(), source);
    let size_bytes = fs::metadata(path).map_err(read_error)?.len();
    if size_bytes > FILE_BYTES_MAX {
        return Err(OnnxError::FileTooLarge(path.to_owned(), size_bytes, FILE_BYTES_MAX));
    }
    from_bytes(path, &fs::read(path).map_err(read_error)?, options)
}

/// Reads the bytes of a file. `path` is for messages only.
///
/// # Errors
/// As [`load`].
pub fn from_bytes(path: &Path, bytes: &[u8], options: &ReadOptions) -> Result<Graph, OnnxError> {
    let model = decode(path, bytes)?;
    let incomplete = |missing| OnnxError::Incomplete(path.to_owned(), missing);
    let graph = model.graph.ok_or_else(|| incomplete("graph"))?;
    let opset = model.opset_import.iter().find(|import| domain(import.domain.as_deref()).is_empty());
    let opset = opset.and_then(|import| import.version).ok_or_else(|| incomplete("operator set"))?;
    if !OPSETS.contains(&opset) {
        return Err(OnnxError::Opset(path.to_owned(), opset, OPSETS));
    }
    if graph.output.is_empty() {
        return Err(incomplete("output"));
    }
    let parsed = parse_all(path, &graph.node, opset)?;
    Reader { path, options, builder: GraphBuilder::default(), values: BTreeMap::new() }.read(&graph, parsed)
}

fn decode(path: &Path, bytes: &[u8]) -> Result<ModelProto, OnnxError> {
    ModelProto::decode(bytes).map_err(|source| match misfetched(bytes) {
        Some(what) => OnnxError::Misfetched(path.to_owned(), what),
        None => OnnxError::NotOnnx(path.to_owned(), source),
    })
}

/// Reads all nodes by their attributes, so that one error lists everything unsupported.
fn parse_all(path: &Path, nodes: &[NodeProto], opset: i64) -> Result<Vec<Parsed>, OnnxError> {
    let mut parsed = Vec::with_capacity(nodes.len());
    let mut refused = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        match parse(node, opset) {
            Ok(node) => parsed.push(node),
            Err(what) => refused.push(format!("{}: {what}", label(node, index))),
        }
    }
    if refused.is_empty() { Ok(parsed) } else { Err(OnnxError::Unsupported(path.to_owned(), refused)) }
}

struct Reader<'a> {
    path: &'a Path,
    options: &'a ReadOptions,
    builder: GraphBuilder,
    values: BTreeMap<&'a str, ValueId>,
}

impl<'a> Reader<'a> {
    fn read(mut self, graph: &'a GraphProto, parsed: Vec<Parsed>) -> Result<Graph, OnnxError> {
        if let Some(sparse) = graph.sparse_initializer.first() {
            let name = sparse.values.as_ref().and_then(|values| values.name.as_deref()).unwrap_or("");
            return Err(self.tensor_error(name, "is sparse, which is not supported".to_owned()));
        }
        let mut constants = BTreeSet::new();
        for proto in &graph.initializer {
            let name = proto.name.as_deref().unwrap_or("");
            let tensor = tensor(proto).map_err(|what| self.tensor_error(name, what))?;
            let value = self.builder.constant(tensor);
            self.define(name, value)?;
            constants.insert(name);
        }
        for input in &graph.input {
            let name = input.name.as_deref().unwrap_or("");
            // Before version 4 of the format each constant is listed as an input, too.
            if !constants.contains(name) {
                self.input(name, input)?;
            }
        }
        for (index, (node, parsed)) in graph.node.iter().zip(parsed).enumerate() {
            self.node(node, index, parsed)?;
        }
        let mut outputs = Vec::new();
        for output in &graph.output {
            let name = output.name.as_deref().unwrap_or("");
            let value = *self.values.get(name).ok_or_else(|| {
                self.value_error(name, "is an output, but no node gives it; the file may be cut short")
            })?;
            outputs.push((name.to_owned(), value));
        }
        Ok(self.builder.finish(outputs))
    }

    fn define(&mut self, name: &'a str, value: ValueId) -> Result<(), OnnxError> {
        match self.values.insert(name, value) {
            None => Ok(()),
            Some(_) => Err(self.value_error(name, "is given twice")),
        }
    }

    fn input(&mut self, name: &'a str, info: &ValueInfoProto) -> Result<(), OnnxError> {
        if let Some(tensor) = self.options.constants.get(name) {
            let value = self.builder.constant(tensor.clone());
            return self.define(name, value);
        }
        let kind = info.r#type.as_ref().and_then(|kind| kind.tensor_type.as_ref());
        let kind = kind.ok_or_else(|| self.value_error(name, "is an input that is no tensor"))?;
        let element: Element =
            element(kind.elem_type.unwrap_or(0)).map_err(|what| self.value_error(name, &what))?;
        let shape =
            kind.shape.as_ref().ok_or_else(|| self.value_error(name, "is an input of unknown rank"))?;
        let mut dims = Vec::with_capacity(shape.dim.len());
        for (place, dim) in shape.dim.iter().enumerate() {
            dims.push(match (dim.dim_value, dim.dim_param.as_deref()) {
                (Some(extent), _) => Dim::Fixed(usize::try_from(extent).map_err(|_| {
                    self.value_error(name, &format!("has the extent {extent} in dimension {place}"))
                })?),
                (None, Some(free)) if !free.is_empty() => Dim::Free(free.to_owned()),
                _ => Dim::Free(format!("{name}.{place}")),
            });
        }
        let value = self.builder.input(name, element, dims);
        self.define(name, value)
    }

    fn node(&mut self, node: &'a NodeProto, index: usize, parsed: Parsed) -> Result<(), OnnxError> {
        let label = label(node, index);
        let mut inputs = Vec::with_capacity(node.input.len());
        for name in &node.input {
            inputs.push(match name.as_str() {
                "" => None,
                name => Some(*self.values.get(name).ok_or_else(|| {
                    let what =
                        format!("is read by {label}, but nothing before gives it; the file may be cut short");
                    self.value_error(name, &what)
                })?),
            });
        }
        let path = self.path;
        let error = |source| OnnxError::Node(path.to_owned(), source);
        let (op, inputs) = match parsed {
            Parsed::Op(op) => (op, inputs),
            Parsed::Constant(tensor) => {
                let value = self.builder.constant(tensor);
                return node.output.first().map_or(Ok(()), |name| self.define(name, value));
            }
            Parsed::Recurrent(spec) => {
                let refused = |what| error(NodeError { node: label.clone(), what });
                (self.recurrent(&spec, &mut inputs).map_err(refused)?, inputs)
            }
        };
        let outputs = self.builder.node(&label, op, inputs, node.output.len()).map_err(error)?;
        for (name, value) in node.output.iter().zip(outputs) {
            if !name.is_empty() {
                self.define(name, value)?;
            }
        }
        Ok(())
    }

    /// Returns the operation of a recurrent node, with its weights; they are taken out of the inputs.
    fn recurrent(&self, spec: &RecurrentSpec, inputs: &mut [Option<ValueId>]) -> Result<Op, String> {
        let mut weights = [None; 4];
        for (place, weight) in WEIGHTS.into_iter().zip(&mut weights) {
            let Some(value) = inputs.get_mut(place).and_then(Option::take) else { continue };
            let tensor = self.builder.constant_of(value);
            *weight =
                Some(tensor.map(|tensor| &**tensor).ok_or_else(|| {
                    format!("input {place}, a weight, does not follow from constants alone")
                })?);
        }
        Ok(Op::Recurrent(Arc::new(Recurrent::new(spec, weights, self.options.precision)?)))
    }

    fn tensor_error(&self, tensor: &str, what: String) -> OnnxError {
        OnnxError::Tensor(self.path.to_owned(), tensor.to_owned(), what)
    }

    fn value_error(&self, value: &str, what: &str) -> OnnxError {
        OnnxError::Value(self.path.to_owned(), value.to_owned(), what.to_owned())
    }
}

/// Returns the names of the inputs that a file lists, constants among them.
///
/// # Errors
/// [`OnnxError::NotOnnx`], [`OnnxError::Misfetched`] and [`OnnxError::Incomplete`].
pub fn input_names(path: &Path, bytes: &[u8]) -> Result<Vec<String>, OnnxError> {
    let graph = decode(path, bytes)?.graph;
    let graph = graph.ok_or_else(|| OnnxError::Incomplete(path.to_owned(), "graph"))?;
    Ok(graph.input.into_iter().map(|input| input.name.unwrap_or_default()).collect())
}

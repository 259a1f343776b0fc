//! Files, each read once for all batch sizes.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt,
    path::Path,
    sync::Arc,
};

use proctor_onnx_file::{
    Dim, OnnxFile, TensorData, ValueSpec, ValueType, label,
    proto::{GraphProto, ModelProto, NodeProto, TensorProto},
};

use super::{
    error::{ReadError, Refusal},
    fold::Folds,
    operators::{parameters::NodeText, rule},
    scope::{Rule, Scope},
};
use crate::{
    graph::{Graph, Value, ValueId},
    passes::{integers, unused},
    tensor::{Tensor, is_countable, is_real},
};

/// Versions of ONNX's operators that are read.
const OPSETS: std::ops::RangeInclusive<i64> = 7..=23;

/// A file that was read once, for graphs of any batch size. They share its weights.
pub struct Source {
    file: OnnxFile,
    constants: BTreeMap<String, Tensor>,
    nodes: Vec<SourceNode>,
    folds: Folds,
}

/// A node whose attributes were read.
struct SourceNode {
    label: String,
    inputs: Vec<String>,
    outputs: Vec<String>,
    rule: Rule,
}

/// Meaning of a name while a graph is made.
#[derive(Debug, Clone, Copy)]
enum Resolved {
    /// A value of the graph.
    Value(ValueId),
    /// A result that its operator does not give here, such as the indices of a pool.
    NotGiven,
    /// A result of a node that is refused.
    Refused,
}

impl Source {
    /// Reads a file, with its weights.
    ///
    /// # Errors
    /// Returns a [`ReadError`] that names the file and all nodes that are not supported for any shapes.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let (file, model) = OnnxFile::open_model(path)?;
        Self::new(file, model)
    }

    /// Works as [`open`](Self::open), from the bytes of the file at `path`; external data are searched next to it.
    ///
    /// # Errors
    /// Same as [`open`](Self::open).
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self, ReadError> {
        let (file, model) = OnnxFile::model_from_bytes(path, bytes)?;
        Self::new(file, model)
    }

    fn new(file: OnnxFile, model: ModelProto) -> Result<Self, ReadError> {
        let opset = file.opsets.iter().find(|opset| opset.domain.is_empty());
        let version = opset.map_or(0, |opset| opset.version);
        if !OPSETS.contains(&version) {
            return Err(ReadError::Opset { path: file.path, version, supported: OPSETS });
        }
        // The check of the file found a graph.
        let graph = model.graph.unwrap_or_default();
        let nodes = read_nodes(&file.path, &graph.node, version)?;
        let constants = read_constants(&file.path, graph)?;
        let counts = constants.values().map(|constant: &Tensor| constant.shape.iter().product::<usize>());
        let folds = Folds::new(counts.sum());
        Ok(Self { file, constants, nodes, folds })
    }

    /// Returns the file: its inputs and outputs, and its precision.
    #[must_use]
    pub fn file(&self) -> &OnnxFile {
        &self.file
    }

    /// Returns the shapes of the file's inputs for a batch: its size in place of a first extent that the file leaves
    /// open, and `open` in place of any other.
    ///
    /// # Errors
    /// Returns a [`ReadError`] that names an input of unknown shape.
    pub fn input_shapes(&self, batch_size: usize, open: usize) -> Result<Vec<Vec<usize>>, ReadError> {
        let extent = |(at, dim): (usize, &Dim)| match dim {
            Dim::Fixed(extent) => *extent,
            Dim::Free(_) if at == 0 => batch_size,
            Dim::Free(_) => open,
        };
        let shape = |spec: &ValueSpec| {
            let dims = dims(spec).map_err(|what| self.value_error(&spec.name, what))?;
            Ok(dims.iter().enumerate().map(extent).collect())
        };
        self.file.signature.inputs.iter().map(shape).collect()
    }

    /// Returns the graph for inputs of these shapes, in the order of the file's signature.
    ///
    /// A tensor of the file is the same memory in every graph, and so is a large one that was computed of
    /// such tensors alone. Unread results and constants are left out; inputs and outputs are always there.
    /// Products of dequantised 8-bit integers are products of the integers.
    ///
    /// # Errors
    /// Returns a [`ReadError`] that names the file, and the inputs that do not take these shapes or all nodes that are
    /// refused.
    pub fn graph(&self, shapes: &[Vec<usize>]) -> Result<Graph, ReadError> {
        let specs = &self.file.signature.inputs;
        if specs.len() != shapes.len() {
            let path = self.file.path.clone();
            return Err(ReadError::InputCount { path, has: specs.len(), got: shapes.len() });
        }
        let mut graph = Graph::default();
        let mut known: BTreeMap<&str, Resolved> = BTreeMap::new();
        for (spec, shape) in specs.iter().zip(shapes) {
            let value = input(spec, shape).map_err(|what| self.value_error(&spec.name, &what))?;
            let id = graph.add_value(value);
            graph.inputs.push(id);
            if known.insert(&spec.name, Resolved::Value(id)).is_some() {
                return Err(self.value_error(&spec.name, "is given twice"));
            }
        }
        let mut refused = Vec::new();
        for node in &self.nodes {
            if let Err(why) = self.add_node(&mut graph, &mut known, node) {
                refused.push(Refusal { node: node.label.clone(), why });
            }
        }
        if !refused.is_empty() {
            return Err(self.refused(refused));
        }
        for spec in &self.file.signature.outputs {
            let what = match self.find(&mut graph, &mut known, &spec.name) {
                Some(Resolved::Value(id)) => {
                    graph.outputs.push(id);
                    continue;
                }
                None => "is an output, but no node gives it; the file may be cut short",
                Some(_) => "is an output, but its operator does not give it here",
            };
            return Err(self.value_error(&spec.name, what));
        }
        integers::rewrite(&mut graph);
        unused::remove(&mut graph);
        self.folds.fold(&mut graph).map_err(|refusal| self.refused(vec![refusal]))?;
        unused::remove(&mut graph);
        Ok(graph)
    }

    /// Adds a node. One that reads a result of a refused node cannot be judged, and is left out.
    fn add_node<'a>(
        &'a self,
        graph: &mut Graph,
        known: &mut BTreeMap<&'a str, Resolved>,
        node: &'a SourceNode,
    ) -> Result<(), String> {
        let mut inputs = Vec::with_capacity(node.inputs.len());
        let mut reads_refused = false;
        let mut result = Ok(Vec::new());
        for name in &node.inputs {
            let found = if name.is_empty() { None } else { Some(self.find(graph, known, name)) };
            inputs.push(match found {
                None => None,
                Some(Some(Resolved::Value(id))) => Some(id),
                Some(Some(Resolved::Refused)) => {
                    reads_refused = true;
                    None
                }
                Some(Some(Resolved::NotGiven)) => {
                    result = Err(format!("it reads \"{name}\", a result that is not supported"));
                    None
                }
                Some(None) => {
                    let why = "which nothing before it gives; the file may be cut short";
                    result = Err(format!("it reads \"{name}\", {why}"));
                    None
                }
            });
        }
        if result.is_ok() && !reads_refused {
            result = (node.rule)(&mut Scope::new(graph, &node.label, inputs));
        }
        let values: &[ValueId] = result.as_deref().unwrap_or(&[]);
        let missing = if result.is_ok() && !reads_refused { Resolved::NotGiven } else { Resolved::Refused };
        let mut twice = None;
        for (index, name) in node.outputs.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            match known.entry(name) {
                Entry::Vacant(entry) if !self.constants.contains_key(name) => {
                    entry.insert(values.get(index).map_or(missing, |id| Resolved::Value(*id)));
                }
                _ => twice = Some(name),
            }
        }
        match twice {
            Some(name) if result.is_ok() => Err(format!("\"{name}\" is given twice")),
            _ => result.map(drop),
        }
    }

    /// Returns the knowledge of this name, if any. A constant becomes a value when it is first read.
    fn find<'a>(
        &'a self,
        graph: &mut Graph,
        known: &mut BTreeMap<&'a str, Resolved>,
        name: &str,
    ) -> Option<Resolved> {
        if let Some(known) = known.get(name) {
            return Some(*known);
        }
        let (name, tensor) = self.constants.get_key_value(name)?;
        let Tensor { element, shape, .. } = tensor.clone();
        let id = graph.add_value(Value { element, shape, constant: Some(tensor.clone()) });
        known.insert(name, Resolved::Value(id));
        Some(Resolved::Value(id))
    }

    fn refused(&self, nodes: Vec<Refusal>) -> ReadError {
        ReadError::Refused { path: self.file.path.clone(), nodes }
    }

    fn value_error(&self, value: &str, what: &str) -> ReadError {
        let path = self.file.path.clone();
        ReadError::Value { path, value: value.to_owned(), what: what.to_owned() }
    }
}

impl fmt::Debug for Source {
    /// Writes the path alone: the rest is long, and rules cannot be written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("path", &self.file.path).finish_non_exhaustive()
    }
}

/// Reads all nodes by their attributes, so that everything unsupported is known at once.
fn read_nodes(path: &Path, nodes: &[NodeProto], opset: i64) -> Result<Vec<SourceNode>, ReadError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut read = Vec::with_capacity(nodes.len());
    let mut refused = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let label = label(node, index);
        match rule(&NodeText { node, opset, folder }) {
            Ok(rule) => {
                let (inputs, outputs) = (node.input.clone(), node.output.clone());
                read.push(SourceNode { label, inputs, outputs, rule });
            }
            Err(why) => refused.push(Refusal { node: label, why }),
        }
    }
    if refused.is_empty() {
        Ok(read)
    } else {
        Err(ReadError::Refused { path: path.to_owned(), nodes: refused })
    }
}

fn read_constants(path: &Path, graph: GraphProto) -> Result<BTreeMap<String, Tensor>, ReadError> {
    let value_error = |value: &str, what: &str| ReadError::Value {
        path: path.to_owned(),
        value: value.to_owned(),
        what: what.to_owned(),
    };
    if let Some(sparse) = graph.sparse_initializer.first() {
        let name = sparse.values.as_ref().and_then(|values| values.name.as_deref()).unwrap_or("");
        return Err(value_error(name, "is a sparse constant, which is not supported"));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut constants = BTreeMap::new();
    // One after the other, so that the bytes of the file are not in memory twice.
    for proto in graph.initializer {
        let name = proto.name.clone().unwrap_or_default();
        let tensor = read_constant(&proto, folder).map_err(|source| ReadError::Constant {
            path: path.to_owned(),
            tensor: name.clone(),
            source,
        })?;
        is_real(tensor.element).map_err(|what| value_error(&name, &format!("is a constant: {what}")))?;
        if constants.insert(name.clone(), tensor).is_some() {
            return Err(value_error(&name, "is given twice"));
        }
    }
    Ok(constants)
}

fn read_constant(proto: &TensorProto, folder: &Path) -> Result<Tensor, proctor_onnx_file::TensorError> {
    let TensorData { element, shape, bytes } = TensorData::read(proto, folder)?;
    Ok(Tensor { element, shape, bytes: Arc::new(bytes.into_owned()) })
}

/// Returns the dimensions of an input.
fn dims(spec: &ValueSpec) -> Result<&[Dim], &'static str> {
    spec.dims.as_deref().ok_or("is an input of unknown shape")
}

/// Returns an input of the graph, of this shape.
fn input(spec: &ValueSpec, shape: &[usize]) -> Result<Value, String> {
    let element = match spec.value_type {
        ValueType::Tensor(element) if is_real(element).is_ok() => element,
        other => return Err(format!("is an input that holds {other}, which is not supported")),
    };
    let dims = dims(spec)?;
    let takes = |(dim, extent): (&Dim, &usize)| match dim {
        Dim::Fixed(fixed) => fixed == extent,
        Dim::Free(_) => true,
    };
    if dims.len() != shape.len() || !dims.iter().zip(shape).all(takes) {
        return Err(format!("is an input {spec}, which does not take the shape {shape:?}"));
    }
    if !is_countable(shape) {
        return Err(format!("is an input of the shape {shape:?}, which does not fit into memory"));
    }
    Ok(Value { element, shape: shape.to_vec(), constant: None })
}

//! Reads a file, and keeps the facts that are needed before it runs.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use prost::Message;

use crate::{
    elements::{self, ValueType},
    error::OnnxFileError,
    external::{self, ExternalData},
    node::domain,
    parts,
    proto::{GraphProto, ModelProto, TensorProto},
    signature::{Precision, Signature, ValueSpec},
};

/// A protobuf message cannot be larger.
const FILE_BYTES_MAX: u64 = (1 << 31) - 1;

/// A file that was read and checked: its inputs, outputs and needs. The weights are not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnnxFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Inputs and outputs.
    pub signature: Signature,
    /// The operators of the graph, excluding the bodies of functions and the branches of conditions and loops.
    pub op_types: BTreeSet<OpType>,
    /// The operator sets that they belong to.
    pub opsets: Vec<Opset>,
    /// The constants whose values are in other files.
    pub external_data: Vec<ExternalData>,
    /// Precision of the file: int8 if an operator quantises, f16 if a constant has this type, else f32.
    pub precision: Precision,
}

/// An operator that a model uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpType {
    /// Domain; empty for ONNX's own.
    pub domain: String,
    /// Name, such as `Conv`.
    pub name: String,
}

/// A set of operators that a model uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opset {
    /// Domain; empty for ONNX's own.
    pub domain: String,
    /// Version.
    pub version: i64,
}

impl OnnxFile {
    /// Reads a file, and checks that it is a whole model and that the external data that it names exist.
    ///
    /// # Errors
    /// Returns an [`OnnxFileError`] that names the file and its unusable part.
    pub fn open(path: &Path) -> Result<Self, OnnxFileError> {
        Self::open_model(path).map(|(file, _)| file)
    }

    /// Works as [`open`](Self::open), with the messages of the file.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_model(path: &Path) -> Result<(Self, ModelProto), OnnxFileError> {
        let read_error = |source| OnnxFileError::Read { path: path.to_owned(), source };
        let size_bytes = fs::metadata(path).map_err(read_error)?.len();
        if size_bytes > FILE_BYTES_MAX {
            let path = path.to_owned();
            return Err(OnnxFileError::FileTooLarge { path, size_bytes, limit_bytes: FILE_BYTES_MAX });
        }
        Self::model_from_bytes(path, &fs::read(path).map_err(read_error)?)
    }

    /// Works as [`open`](Self::open), from the bytes of the file at `path`; external data are searched in the folder of
    /// the file.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self, OnnxFileError> {
        Self::model_from_bytes(path, bytes).map(|(file, _)| file)
    }

    /// Works as [`from_bytes`](Self::from_bytes), with the messages of the file.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn model_from_bytes(path: &Path, bytes: &[u8]) -> Result<(Self, ModelProto), OnnxFileError> {
        parts::check(path, bytes)?;
        let damaged = |source| OnnxFileError::Damaged { path: path.to_owned(), source };
        let model = ModelProto::decode(bytes).map_err(damaged)?;
        let incomplete = |missing| OnnxFileError::Incomplete { path: path.to_owned(), missing };
        let opsets: Vec<Opset> = (model.opset_import.iter())
            .map(|import| Opset {
                domain: domain(import.domain.as_deref()).to_owned(),
                version: import.version.unwrap_or(0),
            })
            .collect();
        let graph = model.graph.as_ref().ok_or_else(|| incomplete("graph"))?;
        if opsets.is_empty() {
            return Err(incomplete("operator set"));
        }
        if graph.output.is_empty() {
            return Err(incomplete("output"));
        }
        let op_types: BTreeSet<OpType> = (graph.node.iter())
            .map(|node| OpType {
                domain: domain(node.domain.as_deref()).to_owned(),
                name: node.op_type.clone().unwrap_or_default(),
            })
            .collect();
        let file = Self {
            signature: signature(graph),
            precision: precision(graph, &op_types),
            external_data: external::check(path, &graph.initializer)?,
            path: path.to_owned(),
            op_types,
            opsets,
        };
        Ok((file, model))
    }
}

fn signature(graph: &GraphProto) -> Signature {
    // Before version 4 of the format each constant is listed as an input, too; after it that is a default value.
    let constants: BTreeSet<&str> =
        graph.initializer.iter().filter_map(|tensor| tensor.name.as_deref()).collect();
    let mut inputs: Vec<ValueSpec> = graph.input.iter().map(ValueSpec::read).collect();
    inputs.retain(|input| !constants.contains(input.name.as_str()));
    Signature { inputs, outputs: graph.output.iter().map(ValueSpec::read).collect() }
}

fn precision(graph: &GraphProto, op_types: &BTreeSet<OpType>) -> Precision {
    let quantises = |op: &OpType| {
        op.name.starts_with("QLinear")
            || op.name.ends_with("Integer")
            || ["QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"].contains(&op.name.as_str())
    };
    if op_types.iter().any(quantises) {
        return Precision::Int8;
    }
    let in_nodes =
        graph.node.iter().flat_map(|node| &node.attribute).filter_map(|attribute| attribute.t.as_ref());
    let constants: Vec<&TensorProto> = graph.initializer.iter().chain(in_nodes).collect();
    let some = |element| {
        let number = Some(elements::data_type(element));
        constants.iter().any(|tensor| tensor.data_type == number)
    };
    use proctor_vocabulary::ElementType::{Bf16, F16};
    let is_f16 = |value: &ValueSpec| value.value_type == ValueType::Tensor(F16);
    if some(F16) || (graph.initializer.is_empty() && signature(graph).inputs.iter().any(is_f16)) {
        Precision::F16
    } else if some(Bf16) {
        Precision::Bf16
    } else {
        Precision::F32
    }
}

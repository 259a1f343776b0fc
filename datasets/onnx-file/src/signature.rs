//! Inputs and outputs of a model, and its precision.

use std::fmt;

use crate::{
    elements::{ValueType, value_type},
    proto::ValueInfoProto,
};

/// The inputs that must be fed, and the outputs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signature {
    /// Inputs, in the order of the file, without those that constants give a value.
    pub inputs: Vec<ValueSpec>,
    /// Outputs, in the order of the file.
    pub outputs: Vec<ValueSpec>,
}

/// An input or output of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueSpec {
    /// Name.
    pub name: String,
    /// Type.
    pub value_type: ValueType,
    /// Extent of each dimension, the batch among them; `None` if the file does not say it, as it may of outputs.
    pub dims: Option<Vec<Dim>>,
}

/// Extent of one dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dim {
    /// The model requires this extent.
    Fixed(usize),
    /// Any extent; equal names mean equal extents. Empty if it has no name.
    Free(String),
}

/// Number format of a model's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Precision {
    /// 32-bit floating point: all other files.
    F32,
    /// 16-bit floating point: some constant has this type.
    F16,
    /// The upper half of 32-bit floating point: some constant has this type.
    Bf16,
    /// 8-bit integers: some operator quantises.
    Int8,
}

impl Precision {
    /// Returns its name in manifests and settings, such as `int8`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Int8 => "int8",
        }
    }
}

impl ValueSpec {
    pub(crate) fn read(info: &ValueInfoProto) -> Self {
        let tensor = info.r#type.as_ref().and_then(|kind| kind.tensor_type.as_ref());
        let value_type = match tensor {
            None => ValueType::Other("sequence, map or optional"),
            Some(tensor) => value_type(tensor.elem_type.unwrap_or(0)),
        };
        let dims = tensor.and_then(|tensor| tensor.shape.as_ref()).map(|shape| {
            let dim = |dim: &crate::proto::DimensionProto| match dim.dim_value {
                // Some exporters write -1, and some 0, for an extent that is not known.
                Some(extent) if extent > 0 => Dim::Fixed(usize::try_from(extent).unwrap_or(usize::MAX)),
                _ => Dim::Free(dim.dim_param.clone().unwrap_or_default()),
            };
            shape.dim.iter().map(dim).collect()
        });
        Self { name: info.name.clone().unwrap_or_default(), value_type, dims }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(extent) => extent.fmt(f),
            Self::Free(name) if name.is_empty() => f.pad("?"),
            Self::Free(name) => f.pad(name),
        }
    }
}

impl fmt::Display for ValueSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.value_type)?;
        match &self.dims {
            None => f.write_str(" of unknown shape"),
            Some(dims) => {
                let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", dims.join(", "))
            }
        }
    }
}

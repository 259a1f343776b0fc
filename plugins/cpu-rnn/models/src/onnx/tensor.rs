//! Constants of an ONNX file.

use std::path::Path;

use proctor_onnx_file::{TensorData, ValueType, proto::TensorProto, value_type};
use proctor_vocabulary::ElementType;
use prost::Message;

use crate::graph::tensor::{Element, Tensor, Values, element_count};

/// Returns the element type of this number.
///
/// # Errors
/// Returns the one that is not supported.
pub fn element(data_type: i32) -> Result<Element, String> {
    match value_type(data_type) {
        ValueType::Tensor(ElementType::F32) => Ok(Element::F32),
        ValueType::Tensor(ElementType::I32) => Ok(Element::I32),
        ValueType::Tensor(ElementType::I64) => Ok(Element::I64),
        other => Err(format!("holds {other}; supported are f32, i32 and i64")),
    }
}

/// Reads a constant.
///
/// # Errors
/// Returns the fault in it, in words.
pub fn tensor(proto: &TensorProto) -> Result<Tensor, String> {
    if proto.data_location == Some(1) || !proto.external_data.is_empty() {
        let location = proto.external_data.iter().find(|entry| entry.key.as_deref() == Some("location"));
        let file = location.and_then(|entry| entry.value.as_deref()).unwrap_or("another file");
        return Err(format!("has its values in \"{file}\"; save the model as one file"));
    }
    let element = element(proto.data_type.unwrap_or(0))?;
    let TensorData { shape, bytes, .. } =
        TensorData::read(proto, Path::new("")).map_err(|error| error.to_string())?;
    element_count(&shape).ok_or_else(|| format!("has the shape {shape:?}"))?;
    Ok(Tensor { element, shape, values: values(element, &bytes) })
}

/// Reads the bytes of a file that holds one tensor, as the test data of ONNX are.
///
/// # Errors
/// Returns the fault in it, in words.
pub fn tensor_from_bytes(bytes: &[u8]) -> Result<Tensor, String> {
    tensor(&TensorProto::decode(bytes).map_err(|error| error.to_string())?)
}

/// Returns the values from little-endian bytes, which are whole values.
fn values(element: Element, bytes: &[u8]) -> Values {
    match element {
        Element::F32 => {
            Values::Real(bytes.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect())
        }
        Element::I32 => {
            let words = bytes.as_chunks().0.iter().map(|word| i64::from(i32::from_le_bytes(*word)));
            Values::Integer(words.collect())
        }
        Element::I64 => {
            Values::Integer(bytes.as_chunks().0.iter().map(|word| i64::from_le_bytes(*word)).collect())
        }
    }
}

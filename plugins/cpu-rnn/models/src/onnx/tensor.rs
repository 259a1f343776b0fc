//! Constants of an ONNX file.

use prost::Message;

use crate::graph::tensor::{Element, Tensor, Values, element_count};
use proctor_onnx_file::proto::TensorProto;

/// Names of the element types by their numbers in `TensorProto.DataType`.
const NAMES: [&str; 29] = [
    "undefined",
    "f32",
    "u8",
    "i8",
    "u16",
    "i16",
    "i32",
    "i64",
    "string",
    "bool",
    "f16",
    "f64",
    "u32",
    "u64",
    "complex64",
    "complex128",
    "bf16",
    "f8e4m3fn",
    "f8e4m3fnuz",
    "f8e5m2",
    "f8e5m2fnuz",
    "u4",
    "i4",
    "f4e2m1",
    "f8e8m0",
    "u2",
    "i2",
    "f6e2m3",
    "f6e3m2",
];

/// The element type of this number.
///
/// # Errors
/// Which one it is that is not supported.
pub fn element(data_type: i32) -> Result<Element, String> {
    match data_type {
        1 => Ok(Element::F32),
        6 => Ok(Element::I32),
        7 => Ok(Element::I64),
        other => {
            let name = usize::try_from(other).ok().and_then(|index| NAMES.get(index).copied());
            let name = name.map_or_else(|| format!("type {other}"), str::to_owned);
            Err(format!("holds {name}; supported are f32, i32 and i64"))
        }
    }
}

/// Reads a constant.
///
/// # Errors
/// The fault in it, in words.
pub fn tensor(proto: &TensorProto) -> Result<Tensor, String> {
    if proto.data_location == Some(1) || !proto.external_data.is_empty() {
        let location = proto.external_data.iter().find(|entry| entry.key.as_deref() == Some("location"));
        let file = location.and_then(|entry| entry.value.as_deref()).unwrap_or("another file");
        return Err(format!("has its values in \"{file}\"; save the model as one file"));
    }
    let element = element(proto.data_type.unwrap_or(0))?;
    let refused = || format!("has the shape {:?}", proto.dims);
    let shape: Option<Vec<usize>> = proto.dims.iter().map(|extent| usize::try_from(*extent).ok()).collect();
    let shape = shape.ok_or_else(refused)?;
    let count = element_count(&shape).ok_or_else(refused)?;
    let values = match &proto.raw_data {
        Some(raw) => raw_values(element, raw)?,
        None => match element {
            Element::F32 => Values::Real(proto.float_data.clone()),
            Element::I32 => Values::Integer(proto.int32_data.iter().copied().map(i64::from).collect()),
            Element::I64 => Values::Integer(proto.int64_data.clone()),
        },
    };
    let got = match &values {
        Values::Real(values) => values.len(),
        Values::Integer(values) => values.len(),
    };
    if got != count {
        return Err(format!("has {got} values, but the shape {shape:?} has {count}"));
    }
    Ok(Tensor { element, shape, values })
}

/// Reads the bytes of a file that holds one tensor, as the test data of ONNX are.
///
/// # Errors
/// The fault in it, in words.
pub fn tensor_from_bytes(bytes: &[u8]) -> Result<Tensor, String> {
    tensor(&TensorProto::decode(bytes).map_err(|error| error.to_string())?)
}

/// Values from little-endian bytes.
///
/// # Errors
/// If they are not whole values: what was cut off must not become a zero.
fn raw_values(element: Element, raw: &[u8]) -> Result<Values, String> {
    let size = if element == Element::I64 { size_of::<i64>() } else { size_of::<i32>() };
    if !raw.len().is_multiple_of(size) {
        return Err(format!("has {} bytes, which are not whole values of {element}", raw.len()));
    }
    Ok(match element {
        Element::F32 => {
            Values::Real(raw.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect())
        }
        Element::I32 => {
            let words = raw.as_chunks().0.iter().map(|word| i64::from(i32::from_le_bytes(*word)));
            Values::Integer(words.collect())
        }
        Element::I64 => {
            Values::Integer(raw.as_chunks().0.iter().map(|word| i64::from_le_bytes(*word)).collect())
        }
    })
}

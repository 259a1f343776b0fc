//! ONNX's types of elements, and ours.

use std::fmt;

use proctor_vocabulary::ElementType;

/// Type of an input or output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// A tensor of a type that crosses the plugin boundary.
    Tensor(ElementType),
    /// Another type, by its name in ONNX: `string`, `complex64`, `sequence, map or optional`.
    Other(&'static str),
}

/// `TensorProto.DataType` of each type that crosses the plugin boundary.
const TENSORS: [(i32, ElementType); 17] = [
    (1, ElementType::F32),
    (2, ElementType::U8),
    (3, ElementType::I8),
    (4, ElementType::U16),
    (5, ElementType::I16),
    (6, ElementType::I32),
    (7, ElementType::I64),
    (9, ElementType::Bool),
    (10, ElementType::F16),
    (11, ElementType::F64),
    (12, ElementType::U32),
    (13, ElementType::U64),
    (16, ElementType::Bf16),
    (17, ElementType::F8E4M3),
    (19, ElementType::F8E5M2),
    (21, ElementType::U4),
    (22, ElementType::I4),
];

/// The other types by `TensorProto.DataType`, with their names in ONNX and the bits of an element, 0 for texts.
const OTHERS: [(i32, &str, u64); 8] = [
    (8, "string", 0),
    (14, "complex64", 64),
    (15, "complex128", 128),
    (18, "float8e4m3fnuz", 8),
    (20, "float8e5m2fnuz", 8),
    (23, "float4e2m1", 4),
    (24, "float8e8m0", 8),
    (25, "uint2", 2),
];

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor(element) => element.fmt(f),
            Self::Other(name) => f.pad(name),
        }
    }
}

/// Returns the type with this number in ONNX files.
#[must_use]
pub fn value_type(data_type: i32) -> ValueType {
    match TENSORS.iter().find(|(number, _)| *number == data_type) {
        Some((_, element)) => ValueType::Tensor(*element),
        None => ValueType::Other(
            OTHERS
                .iter()
                .find(|(number, ..)| *number == data_type)
                .map_or("unknown type", |(_, name, _)| name),
        ),
    }
}

/// Returns the number of a type in ONNX files.
#[must_use]
pub fn data_type(element: ElementType) -> i32 {
    TENSORS.iter().find(|(_, known)| *known == element).map_or(0, |(number, _)| *number)
}

/// Returns the number of bytes of `element_count` elements in a file; `None` for texts and unknown types.
pub(crate) fn size_bytes(data_type: i32, element_count: u64) -> Option<u64> {
    let tensor = TENSORS.iter().find(|(number, _)| *number == data_type);
    let other = || OTHERS.iter().find(|(number, _, bits)| *number == data_type && *bits > 0);
    let bits =
        tensor.map(|(_, element)| element.bits() as u64).or_else(|| other().map(|(.., bits)| *bits))?;
    element_count.checked_mul(bits).map(|bits| bits.div_ceil(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_the_boundary_has_a_number() {
        for element in ElementType::ALL {
            assert_eq!(value_type(data_type(*element)), ValueType::Tensor(*element));
        }
    }

    #[test]
    fn elements_smaller_than_a_byte_share_bytes() {
        assert_eq!(size_bytes(22, 3), Some(2));
        assert_eq!(size_bytes(data_type(ElementType::U4), 4), Some(2));
        assert_eq!(size_bytes(23, 3), Some(2));
        assert_eq!(size_bytes(1, 3), Some(12));
        assert_eq!(size_bytes(8, 3), None);
        assert_eq!(size_bytes(1, u64::MAX), None);
    }

    #[test]
    fn what_does_not_cross_the_boundary_keeps_its_name() {
        assert_eq!(value_type(8), ValueType::Other("string"));
        assert_eq!(value_type(99), ValueType::Other("unknown type"));
    }
}

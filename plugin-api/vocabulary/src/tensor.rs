//! Element types and shapes of the tensors that cross the plugin boundary.

use std::fmt;

/// Type of one tensor element. The numeric codes are part of the plugin ABI and never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ElementType {
    /// IEEE 754 binary32.
    F32 = 1,
    /// IEEE 754 binary64.
    F64 = 2,
    /// IEEE 754 binary16.
    F16 = 3,
    /// Upper half of a binary32.
    Bf16 = 4,
    /// Signed 8-bit integer.
    I8 = 5,
    /// Unsigned 8-bit integer.
    U8 = 6,
    /// Signed 16-bit integer.
    I16 = 7,
    /// Signed 32-bit integer.
    I32 = 8,
    /// Signed 64-bit integer.
    I64 = 9,
    /// One byte, 0 or 1.
    Bool = 10,
    /// Unsigned 16-bit integer.
    U16 = 11,
    /// Unsigned 32-bit integer.
    U32 = 12,
    /// Unsigned 64-bit integer.
    U64 = 13,
    /// Eight bits with 4 of exponent and 3 of mantissa (OCP OFP8 E4M3).
    F8E4M3 = 14,
    /// Eight bits with 5 of exponent and 2 of mantissa (OCP OFP8 E5M2).
    F8E5M2 = 15,
    /// Signed 4-bit integers, two in a byte, the first in its lower half.
    I4 = 16,
    /// Unsigned 4-bit integers, two in a byte, the first in its lower half.
    U4 = 17,
}

crate::named_values!(ElementType {
    F32 => "f32",
    F64 => "f64",
    F16 => "f16",
    Bf16 => "bf16",
    I8 => "i8",
    U8 => "u8",
    I16 => "i16",
    I32 => "i32",
    I64 => "i64",
    Bool => "bool",
    U16 => "u16",
    U32 => "u32",
    U64 => "u64",
    F8E4M3 => "f8e4m3",
    F8E5M2 => "f8e5m2",
    I4 => "i4",
    U4 => "u4",
});

impl ElementType {
    /// Returns the type with this ABI code.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|element| *element as u32 == code)
    }

    /// Returns the type with this short name, such as `f32`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|element| element.name() == name)
    }

    /// Returns the size of one element in bits. A size in bytes is one of several elements: see
    /// [`bytes_of`](Self::bytes_of).
    #[must_use]
    pub fn bits(self) -> usize {
        match self {
            Self::I4 | Self::U4 => 4,
            Self::I8 | Self::U8 | Self::Bool | Self::F8E4M3 | Self::F8E5M2 => 8,
            Self::F16 | Self::Bf16 | Self::I16 | Self::U16 => 16,
            Self::F32 | Self::I32 | Self::U32 => 32,
            Self::F64 | Self::I64 | Self::U64 => 64,
        }
    }

    /// Returns the size in bytes of `count` elements that lie without gaps; `usize::MAX` if it is beyond that.
    #[must_use]
    pub fn bytes_of(self, count: usize) -> usize {
        match self.bits() {
            4 => count.div_ceil(2),
            bits => count.saturating_mul(bits / 8),
        }
    }

    /// Returns the size in bytes of the least memory that holds whole elements: one, or the two that share a byte.
    #[must_use]
    pub fn unit_bytes(self) -> usize {
        self.bits().div_ceil(8)
    }
}

/// Name, type and shape of one tensor of one sample (there is no batch dimension). Layout is row-major, contiguous.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TensorSpec {
    /// Name as the model knows it.
    pub name: String,
    /// Type of each element.
    pub element_type: ElementType,
    /// Extent of each dimension; empty for a scalar.
    pub shape: Vec<usize>,
}

impl TensorSpec {
    /// Returns the number of elements of one sample.
    #[must_use]
    pub fn element_count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the size of one sample in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.element_type.bytes_of(self.element_count())
    }

    /// Returns a tensor of the same name and type in another shape.
    #[must_use]
    pub fn of_shape(&self, shape: Vec<usize>) -> Self {
        Self { name: self.name.clone(), element_type: self.element_type, shape }
    }
}

impl fmt::Display for TensorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{:?}", self.name, self.element_type, self.shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_round_trip() {
        for element in ElementType::ALL {
            assert_eq!(ElementType::from_code(*element as u32), Some(*element));
            assert_eq!(ElementType::from_name(element.name()), Some(*element));
        }
        assert_eq!(ElementType::from_code(0), None);
    }

    #[test]
    fn a_unit_of_memory_holds_whole_elements() {
        for element in ElementType::ALL {
            let unit = element.unit_bytes();
            assert_eq!(element.bytes_of(unit * 8 / element.bits()), unit, "{element}");
            assert_eq!(element.bytes_of(0), 0);
        }
        assert_eq!((ElementType::I4.unit_bytes(), ElementType::I4.bytes_of(3)), (1, 2));
        assert_eq!(ElementType::U64.bytes_of(usize::MAX), usize::MAX);
    }

    #[test]
    fn size_is_elements_times_width() {
        let spec = TensorSpec { name: "image".into(), element_type: ElementType::F32, shape: vec![8, 8] };
        assert_eq!(spec.size_bytes(), 256);
        assert_eq!(spec.to_string(), "image f32[8, 8]");
        let packed = TensorSpec { element_type: ElementType::U4, ..spec };
        assert_eq!(packed.size_bytes(), 32, "two elements share a byte");
    }
}

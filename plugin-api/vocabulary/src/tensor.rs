//! Element types and shapes of the tensors that cross the plugin boundary.

use std::fmt;

/// Type of one tensor element. The numeric codes are part of the plugin ABI and never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
}

impl ElementType {
    /// All types, in the order of their codes.
    pub const ALL: &'static [Self] = &[
        Self::F32,
        Self::F64,
        Self::F16,
        Self::Bf16,
        Self::I8,
        Self::U8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::Bool,
    ];

    /// The type with this ABI code.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|element| *element as u32 == code)
    }

    /// The type with this short name, such as `f32`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|element| element.name() == name)
    }

    /// The short name, such as `f32`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::Bool => "bool",
        }
    }

    /// Size of one element in bytes.
    #[must_use]
    pub fn size_bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 | Self::Bool => 1,
            Self::F16 | Self::Bf16 | Self::I16 => 2,
            Self::F32 | Self::I32 => 4,
            Self::F64 | Self::I64 => 8,
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Name, type and shape of one tensor of one sample (there is no batch dimension). Layout is row-major, contiguous.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorSpec {
    /// Name as the model knows it.
    pub name: String,
    /// Type of each element.
    pub element_type: ElementType,
    /// Extent of each dimension; empty for a scalar.
    pub shape: Vec<usize>,
}

impl TensorSpec {
    /// Number of elements of one sample.
    #[must_use]
    pub fn element_count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Size of one sample in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.element_count() * self.element_type.size_bytes()
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
    fn size_is_elements_times_width() {
        let spec = TensorSpec { name: "image".into(), element_type: ElementType::F32, shape: vec![8, 8] };
        assert_eq!(spec.size_bytes(), 256);
        assert_eq!(spec.to_string(), "image f32[8, 8]");
    }
}

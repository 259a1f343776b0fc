//! Types of voxels.

use crate::error::NiftiError;

/// Type of a voxel that is read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataType {
    /// Code 2.
    U8,
    /// Code 4.
    I16,
    /// Code 8.
    I32,
    /// Code 16.
    F32,
    /// Code 64.
    F64,
    /// Code 256.
    I8,
    /// Code 512.
    U16,
    /// Code 768.
    U32,
    /// Code 1024.
    I64,
    /// Code 1280.
    U64,
}

proctor_vocabulary::named_values!(DataType {
    U8 => "u8",
    I16 => "i16",
    I32 => "i32",
    F32 => "f32",
    F64 => "f64",
    I8 => "i8",
    U16 => "u16",
    U32 => "u32",
    I64 => "i64",
    U64 => "u64",
});

impl DataType {
    pub(crate) fn from_code(code: i16) -> Result<Self, NiftiError> {
        let found = Self::ALL.iter().copied().find(|data_type| data_type.code() == code);
        found.ok_or_else(|| NiftiError::DataType { code, name: name_of_other(code) })
    }

    /// Returns the number for it in a header.
    #[must_use]
    pub fn code(self) -> i16 {
        match self {
            Self::U8 => 2,
            Self::I16 => 4,
            Self::I32 => 8,
            Self::F32 => 16,
            Self::F64 => 64,
            Self::I8 => 256,
            Self::U16 => 512,
            Self::U32 => 768,
            Self::I64 => 1024,
            Self::U64 => 1280,
        }
    }

    /// Returns the size of a voxel in bytes.
    #[must_use]
    pub fn size_bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::F32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }
}

/// Returns the standard's name of a type that is not read here.
fn name_of_other(code: i16) -> &'static str {
    match code {
        0 => "unknown",
        1 => "one bit",
        32 => "complex of 64 bits",
        128 => "RGB colours",
        1536 => "floating point of 128 bits",
        1792 => "complex of 128 bits",
        2048 => "complex of 256 bits",
        2304 => "RGBA colours",
        _ => "not in the standard",
    }
}

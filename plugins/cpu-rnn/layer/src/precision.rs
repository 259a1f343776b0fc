//! Number formats of weights.

use serde::{Deserialize, Serialize};

/// Number format of the weights. Sums are f32; int8 sums are i32 within one product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// 32-bit floating point.
    #[default]
    F32,
    /// The upper half of an f32, rounded to nearest even. Activations stay f32.
    Bf16,
    /// 8-bit integers with a scale for each output column. Activations are quantised row by row, with a scale for each.
    Int8,
}

impl Precision {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::F32, Self::Bf16, Self::Int8];

    /// Returns the size of a weight in bytes.
    #[must_use]
    pub fn weight_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::Bf16 => 2,
            Self::Int8 => 1,
        }
    }
}

//! Number formats of weights.

/// Number format of packed weights. Sums are f32; int8 sums are i32 within one product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Precision {
    /// 32-bit floating point.
    #[default]
    F32,
    /// The upper half of an f32, rounded to nearest even. Activations stay f32.
    Bf16,
    /// 8-bit integers with a scale for each column. Activations are quantised row by row to as many levels.
    Int8,
}

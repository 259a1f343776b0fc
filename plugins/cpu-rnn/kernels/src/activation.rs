//! exp, sigmoid and tanh of slices.
//!
//! The same code is in the cells. Error bounds, for every instruction set, on all of f32 unless said:
//!
//! | function | bound | beyond |
//! |---|---|---|
//! | [`exp`] | relative [`EXP_RELATIVE_ERROR`] on -87 ..= 88 | infinity above 88.73; 0 below -103.98 |
//! | [`sigmoid`] | absolute [`SIGMOID_ABSOLUTE_ERROR`] | arguments are held within -30 ..= 30 |
//! | [`tanh`] | absolute [`TANH_ABSOLUTE_ERROR`] | arguments are held within -15 ..= 15 |
//!
//! A NaN stays a NaN.

use crate::body::slices::Function;
use crate::isa::Isa;
use crate::table;

/// Bound of the relative error of [`exp`].
pub const EXP_RELATIVE_ERROR: f64 = 1.8e-7;

/// Bound of the absolute error of [`sigmoid`].
pub const SIGMOID_ABSOLUTE_ERROR: f64 = 2.0e-7;

/// Bound of the absolute error of [`tanh`].
pub const TANH_ABSOLUTE_ERROR: f64 = 3.0e-7;

/// Replaces each value by its exponential.
///
/// # Panics
/// If this processor does not have the instruction set.
pub fn exp(isa: Isa, values: &mut [f32]) {
    table::apply(isa, Function::Exp, values);
}

/// Replaces each value `x` by `1 / (1 + e^-x)`.
///
/// # Panics
/// If this processor does not have the instruction set.
pub fn sigmoid(isa: Isa, values: &mut [f32]) {
    table::apply(isa, Function::Sigmoid, values);
}

/// Replaces each value by its hyperbolic tangent.
///
/// # Panics
/// If this processor does not have the instruction set.
pub fn tanh(isa: Isa, values: &mut [f32]) {
    table::apply(isa, Function::Tanh, values);
}

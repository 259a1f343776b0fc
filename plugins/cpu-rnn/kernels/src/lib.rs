//! Kernels of recurrent layers for the processor at hand: packed weights, products, activations, cells.
//!
//! A [`PackedCell`] holds the weights of one direction of a layer in blocks of units, a [`PackedLinear`] those of a
//! dense layer. [`PackedCell::product`] computes the time-independent part of a layer for many rows at once, and
//! [`PackedCell::step`] one time step: the hidden product starts from those gates, and the cell follows in registers.
//! [`activation`] has exp, sigmoid and tanh of slices.
//!
//! - Kernels take rows by pointer, so hidden states are read and written in place, whatever the tensor's layout. The
//!   caller decides on threads, and which of them computes which rows and blocks of units.
//! - Each kernel is written once, over a vector type and a weight format, and compiled for each [`Isa`]. The
//!   instruction set is chosen when weights are packed.
//! - The order of additions depends on the number of rows in a call, and so may the last bits of a row's result.
//! - Sums are in f32 throughout; int8 weights give exact i32 sums within one product, the same on each instruction set.
//!
//! ```
//! use proctor_rnn_kernels::{Isa, PackedLinear};
//! use proctor_rnn_layer::Precision;
//!
//! let layer = PackedLinear::new(Isa::best(), Precision::F32, &[1.0, 2.0, 3.0, 4.0], &[0.5, 0.0], 2);
//! let mut output = [0.0; 2];
//! layer.apply(&[1.0, 1.0], &mut output);
//! assert_eq!(output, [3.5, 7.0]);
//! ```

pub mod activation;
mod args;
mod body;
mod buffer;
mod cell;
mod fetch;
mod isa;
mod linear;
mod matrix;
mod packed;
mod panel;
mod table;
mod vector;

pub use args::{Between, Product, Rows, RowsMut, Start, Step};
pub use buffer::{ALIGNMENT_BYTES, Buffer, HUGE_PAGE_BYTES};
pub use cell::PackedCell;
pub use fetch::fetch;
pub use isa::{ISA_VARIABLE, Isa, IsaError};
pub use linear::PackedLinear;
pub use packed::{CellSpec, DirectionWeights};

//! Types that describe a recurrent layer: its computation, its schedule, and its machine.
//!
//! Kernels, engine, optimiser, limits and models share these types. [`LayerShape`] says what one call of a layer
//! computes, in sizes; [`Schedule`] how the engine runs it; [`Machine`] what there is to run it on. Nothing here
//! computes or chooses.
//!
//! ```
//! use proctor_rnn_layer::{Cell, Directions, LayerShape, Precision};
//!
//! let shape = LayerShape {
//!     cell: Cell::Lstm,
//!     directions: Directions::Forward,
//!     input: 64,
//!     hidden: 256,
//!     batch: 1,
//!     time: 100,
//!     precision: Precision::F32,
//! };
//! assert_eq!(shape.cell.gate_count() * shape.hidden, 1024);
//! ```

#![forbid(unsafe_code)]

mod cell;
mod cores;
mod machine;
mod precision;
mod schedule;
mod shape;

pub use cell::{Cell, GruReset, RnnActivation};
pub use cores::{allowed_cores, pin_to};
pub use machine::{Machine, cache_sizes};
pub use precision::Precision;
pub use schedule::{Chunk, Mapping, Schedule, Sweep};
pub use shape::{Directions, LayerShape};

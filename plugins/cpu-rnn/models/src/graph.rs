//! Graphs of tensor operations around recurrent layers: built once, planned for the shapes of a batch, run many times.
//!
//! A [`GraphBuilder`] takes nodes one after another and computes at once whatever follows from constants. A [`Graph`]
//! is the rest. [`Program::new`] plans it for given shapes of its inputs: what follows from shapes is computed, what no
//! step needs is left out, memory is shared out. A [`Session`] runs programs and owns that memory.
//!
//! Operations mean what the ONNX operators of the same names mean.

pub(crate) mod build;
mod kernel;
mod lower;
pub(crate) mod op;
pub(crate) mod program;
pub(crate) mod recurrent;
pub(crate) mod session;
mod strided;
pub(crate) mod tensor;

pub use build::{Dim, Graph, GraphBuilder, GraphInput, Node, NodeError, ValueId};
pub use op::{Binary, Gemm, Op, Reduce, ReduceKind, Slice, Softmax, Split, Unary};
pub use program::{Program, ScheduleOf};
pub use recurrent::{Recurrent, RecurrentSpec};
pub use session::Session;
pub use tensor::{Element, Tensor, Values, ValuesMut, ValuesRef, View, element_count};

//! Graphs with inputs for the tests of devices: tests compare the outputs of a device with those of the host, and
//! compile the kernels they need.
//!
//! # Example
//! ```
//! for case in proctor_device_cases::operators::rows() {
//!     let expected = proctor_device::evaluate::run(&case.graph, &case.inputs)?;
//!     assert!(!expected.is_empty(), "{}", case.name);
//! }
//! # Ok::<_, String>(())
//! ```
//!
//! # Limits
//! For tests only: a case that cannot be made panics.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a case that cannot be made fails the test")]

mod check;
pub mod drawn;
pub mod few;
pub mod models;
pub mod operators;
mod random;
pub mod recurrent;

pub use check::difference;
use proctor_device::{graph::Graph, tensor::Array};

/// A graph and its inputs.
#[derive(Debug, Clone)]
pub struct Case {
    /// Name, for messages.
    pub name: String,
    /// The graph as read.
    pub graph: Graph,
    /// An array for each input.
    pub inputs: Vec<Array>,
}

/// Returns the cases of these names, in the order of the names.
///
/// # Panics
/// If there is none of a name.
#[must_use]
pub fn named(cases: &[Case], names: &[&str]) -> Vec<Case> {
    let of = |name: &&str| cases.iter().find(|case| case.name == **name).cloned();
    names.iter().map(|name| of(name).unwrap_or_else(|| panic!("there is no case {name}"))).collect()
}

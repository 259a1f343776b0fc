//! The types that all of Proctor's crates share: scenarios, ids, tensors, completions.
//!
//! The load generator ([`Scenario`], [`QuerySample`], [`CompletionSink`]), the scheduler and the plugin boundary meet
//! only in these types, so they need not know each other. There is no behaviour here beyond naming, finding by name,
//! parsing, sizes, making foreign text safe for terminals, opening files that must be
//! regular files, and reading lines of `/proc`.
//!
//! # Where things are
//! - `scenario`, `completion`, `tensor`, `input_form`, `intent`: the shared types; `generation`: how a model in two
//!   files answers with tokens;
//! - `named_values`, `registry`, `nearest`: names, what has one, and the closest name;
//! - `printable`: text for a terminal and for XML; its `odd_space`: characters that look like a space but are not one;
//! - `beginning`: the first bytes of files; `misfetched`: the remains of a failed download; `regular_file`: files and
//!   no pipes; `proc_value`: lines such as those of `/proc/self/status`.

#![forbid(unsafe_code)]

pub mod beginning;
mod completion;
mod generation;
mod input_form;
mod intent;
mod misfetched;
mod named_values;
mod nearest;
mod printable;
mod proc_value;
mod program;
pub mod registry;
mod regular_file;
mod scenario;
mod tensor;

pub use completion::{
    CompletionSink, QueryPart, QuerySample, QuerySampleResponse, ResponseId, SampleIndex, SampleStatus,
};
pub use generation::{Cache, Decoder, Encoder, Generation};
pub use input_form::{InputForm, Layout, Quantization};
pub use intent::Intent;
pub use misfetched::{NotIntact, intact_bytes, intact_text, misfetched, not_text};
pub use nearest::{did_you_mean, nearest};
pub use printable::odd_space::OddSpace;
pub use printable::{printable, printable_lines, steers, xml_text};
pub use proc_value::proc_value;
pub use program::{embed, image, program, restart_by, restart_command};
pub use regular_file::{Irregular, open_regular, read_regular};
pub use scenario::{Scenario, TestMode};
pub use tensor::{ElementType, TensorSpec};

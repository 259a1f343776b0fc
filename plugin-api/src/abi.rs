//! The canonical table: `#[repr(C)]` types, and nothing else.
//!
//! `include/proctor_plugin.h` is generated from these files, so their comments speak to C programmers, too.

mod basic;
mod batch;
mod devices;
mod energy;
mod extensions;
mod host;
mod input_form;
mod instance;
mod manifest;
mod memory;
mod model;
mod plugin;
mod tokens;

pub use basic::*;
pub use batch::*;
pub use devices::*;
pub use energy::*;
pub use extensions::*;
pub use host::*;
pub use input_form::*;
pub use instance::*;
pub use manifest::*;
pub use memory::*;
pub use model::*;
pub use plugin::*;
pub use tokens::*;

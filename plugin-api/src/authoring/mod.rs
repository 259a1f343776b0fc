//! What a plugin in Rust is made of: three traits, and the shims that put them behind the table.

mod batch;
mod entry;
mod error;
pub(crate) mod export;
mod forward;
mod host;
mod manifest;
mod plugin;
mod request;
mod shims;

pub use batch::{Batch, BatchSample};
pub use entry::{LinkedPlugin, entry, linked_plugins};
pub use error::PluginError;
pub use export::{Root, RootModuleRef};
pub use host::{Host, Response};
pub use plugin::{Instance, Model, Plugin};
pub use request::{ModelFile, ModelRequest, Placement, PreparedSample, PreparedTensor};

//! Plugins in Rust: three traits, and the shims that put them behind the table.

mod batch;
mod entry;
pub(crate) mod error;
mod export;
mod forward;
mod host;
#[cfg(feature = "abi_stable")]
pub(crate) mod layout;
mod manifest;
mod memory;
mod plugin;
mod query;
mod raw;
mod request;
mod shims;
mod stage;

pub use batch::{Batch, BatchSample, submitted::SubmittedBatch};
pub use entry::{LinkedPlugin, entry, linked_plugins};
pub use error::PluginError;
pub use forward::log_code;
pub use host::{Host, Response, TokenReport};
#[cfg(feature = "abi_stable")]
pub use layout::{Root, RootModuleRef};
pub use memory::{Allocation, MemoryKind, PluginMemory};
pub use plugin::{Instance, Model, Plugin};
pub use query::Query;
pub use request::{ModelFile, ModelRequest, Placement, PreparedSample, PreparedTensor};
pub use stage::Stage;

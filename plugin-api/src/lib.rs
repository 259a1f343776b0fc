//! The stable plugin ABI and the safe traits that a Rust plugin implements.
//!
//! It has two layers. [`abi`] is the canonical table: `#[repr(C)]` types that the header `include/proctor_plugin.h`
//! mirrors, for plugins in any language; `proctor_plugin.hpp` wraps it in classes for C++17. Above it are three traits
//! for plugins in Rust: a [`Plugin`] opens and loads a [`Model`], a model makes each [`Instance`], and an instance
//! executes batches; [`export_plugin!`] puts them behind the table.
//!
//! # Where things are
//! - `abi`: the table, from which `cargo xtask header` generates `include/proctor_plugin.h`;
//! - `authoring`: the traits, the shims and [`export_plugin!`], and `layout`, the feature `abi_stable`;
//! - `options`: typed options; `threads`: the one that most engines have;
//! - `CHANGELOG.md`: the versions of the ABI.
//!
//! # Life of a plugin
//! 1. The host finds the entry point (C symbol `proctor_plugin_entry`, or the registry of linked-in plugins) and says
//!    which ABI versions it speaks; the plugin answers with its table or a reason.
//! 2. [`Plugin::manifest`]: its capabilities and options. No device is touched.
//! 3. [`Plugin::open`], [`Plugin::input_form`] for each input, [`Plugin::load_model`], [`Model::create_instance`] for
//!    each instance. [`Model::explain`] if a user wants to know how the model would run.
//! 4. [`Model::prepare_samples`], [`Instance::warm_up`] or [`Model::warm_up`], [`Model::start`].
//! 5. [`Instance::execute`] with batches that the host forms, or [`Model::issue`] with whole queries.
//! 6. [`Model::flush`], [`Model::stop`], [`Model::release_samples`]; then everything is dropped, instances first.
//!
//! # Choices
//! - **One table for every language.** With the feature `abi_stable`, a Rust plugin also exports the layouts of the
//!   table's types, which the host uses to explain a mismatch field by field; everything else goes through the table.
//! - **Versions grow by sizes.** A structure passed on its own begins with its size, an array has its stride in the
//!   structure that carries it, fields are only appended, and each side reads as much as it knows ([`versioned`]).
//!   abi_stable's own rule would refuse every plugin older than the host.
//! - **Nothing unwinds and nothing shares an allocator.** The shims catch panics and return a status; memory is freed
//!   by the side that allocated it.
//! - **`tracing` events of a plugin reach the host** through the table, because a library has its own `tracing`. So do
//!   spans around parts of its work on a batch, as stages of that batch: see [`Stage::SPAN`].
//!
//! # A whole plugin
//! ```
//! use proctor_plugin_api::{
//!     Batch, Host, Instance, Manifest, Model, ModelRequest, ModelSupport, Options, Placement, Plugin, PluginError,
//!     export_plugin,
//! };
//!
//! struct Zeros;
//! struct ZerosModel;
//! struct ZerosInstance;
//!
//! impl Plugin for Zeros {
//!     type Model = ZerosModel;
//!
//!     fn manifest() -> Manifest {
//!         Manifest::new("zeros", "1.0.0", "Answers every sample with zeros.")
//!             .vendor("Example Ltd", "proprietary")
//!             .model(ModelSupport::new("*", "*"))
//!     }
//!
//!     fn open(_host: Host, _options: &Options) -> Result<Self, PluginError> {
//!         Ok(Self)
//!     }
//!
//!     fn load_model(&self, _request: &ModelRequest) -> Result<ZerosModel, PluginError> {
//!         Ok(ZerosModel)
//!     }
//! }
//!
//! impl Model for ZerosModel {
//!     type Instance = ZerosInstance;
//!
//!     fn create_instance(&self, _placement: &Placement) -> Result<ZerosInstance, PluginError> {
//!         Ok(ZerosInstance)
//!     }
//! }
//!
//! impl Instance for ZerosInstance {
//!     fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
//!         for mut sample in batch.samples() {
//!             sample.output_mut(0).fill(0);
//!         }
//!         Ok(())
//!     }
//! }
//!
//! export_plugin!(Zeros);
//!
//! let linked: Vec<String> = proctor_plugin_api::linked_plugins().map(|plugin| (plugin.name)()).collect();
//! assert_eq!(linked, ["zeros"]);
//! ```
//! Build it with `crate-type = ["cdylib"]` and name it `<name>_sut`, so `--plugin <name>` finds it.
//!
//! # Features
//! - `abi_stable` (off by default) exports the layout of each type of the table, as a root module of the crate
//!   abi_stable. A host of the same ABI version then compares them with its own and names the field that differs, and
//!   `result.json` says `layout_checked`. It is for a plugin built with its host, such as Proctor's own, and brings
//!   some thirty packages. Without it, the host checks versions, sizes and values, as for a plugin in C.
//! - `serde` (off by default) makes manifests, options, devices and requests serialisable, for a host that runs a
//!   plugin in its own process.
//!
//! # Limits
//! A program can link one crate that exports a plugin, and any number that only [`register_plugin!`]. Of `tracing`
//! spans, only stages cross the boundary.

pub mod abi;
mod authoring;
mod device;
mod manifest;
mod options;
mod threads;
pub mod versioned;

pub use authoring::{
    Allocation, Batch, BatchSample, Host, Instance, LinkedPlugin, MemoryKind, Model, ModelFile, ModelRequest,
    Placement, Plugin, PluginError, PluginMemory, PreparedSample, PreparedTensor, Query, Response, Stage,
    SubmittedBatch, TokenReport, linked_plugins, log_code,
};
#[cfg(feature = "abi_stable")]
pub use authoring::{Root, RootModuleRef};
pub use device::Device;
pub use manifest::{Manifest, ModelSupport};
pub use options::{OptionError, OptionKind, OptionSpec, OptionValue, Options};
pub use proctor_vocabulary as vocabulary;
pub use threads::Threads;

/// Names that the expansion of [`export_plugin!`] needs. Not for direct use.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "abi_stable")]
    pub use abi_stable::library::{LibHeader, RootModuleResult};
    pub use inventory;

    pub use crate::authoring::entry;
    #[cfg(feature = "abi_stable")]
    pub use crate::authoring::layout::{call, header, root_module};
}

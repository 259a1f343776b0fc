//! Finds, loads, negotiates, checks and guards a plugin: the host's only unsafe code.
//!
//! A [`SearchPath`] turns a name into a [`PluginLocation`]; a [`LoadedPlugin`] is the loaded plugin with its manifest;
//! [`LoadedPlugin::open`] makes a [`Backend`], [`Backend::load_model`] a [`Model`], [`Model::create_instance`] each
//! [`Instance`]. All of them are safe to use; everything a plugin returns is checked here and nowhere else.
//!
//! # Where things are
//! - `search_path`: where plugins are found; `load`: from a file to a checked table and manifest;
//! - `objects`: the opened plugin, its model and instances, with their samples and outputs;
//! - `services`: the calls that a plugin may make; `foreign`: reading what a plugin points to;
//! - `guard`: a call that is noted while it lasts, and the process that it is made in;
//! - `record`: functions between host and plugin that write what crosses;
//! - `newer_host`: a plugin as a later host would call it, for tests of plugins.
//!
//! # Life of a plugin
//! 1. [`LoadedPlugin::load`]: open the library, negotiate the version through its entry, check the table and copy
//!    the manifest. No device is touched.
//! 2. [`LoadedPlugin::open`] with checked options and the [`HostServices`] that the plugin may call.
//! 3. [`Backend::devices`] to spread the instances over several devices; [`Backend::load_model`] with a
//!    [`ModelDemand`], which is first checked against the manifest; [`Model::create_instance`] for each instance.
//! 4. [`Model::allocate`] for samples in the plugin's memory; [`Model::prepare`] with the samples of the phase,
//!    [`Instance::warm_up`], [`Model::start`].
//! 5. Per batch [`Instance::execute`] and [`Instance::complete`], or a [`Lane`] for each batch in flight; or
//!    [`Issuer::issue`] with whole queries, which the plugin completes into the sink of [`Backend::set_sink`].
//! 6. [`Model::flush`], [`Model::stop`], [`Model::release`], and again from 4. Dropping everything, in any order, does
//!    the remaining steps in the right order.
//!
//! # Choices
//! - **Nothing a plugin says is trusted.** Sizes, pointers, texts, codes, counts and output sizes are checked. Each
//!   defect is a distinct error ([`PluginHostError`]) or, if the run continues, a fault of the backend
//!   ([`HostSide::take_faults`]). Pointers that are not null and aligned must be trusted: no process can check more of
//!   native code that it runs.
//! - **Structures are copied by their size,** as far as both sides know them, so older and newer plugins of the same
//!   major version work.
//! - **Nothing is unloaded.** Threads and destructors of a plugin may run to the end of the process; for the same
//!   reason the host table of each backend is leaked.
//! - **The timed path does not allocate.** The arrays of a batch are made with the instance; outputs go into one buffer
//!   in which the outputs of a sample are adjacent, so a response is one slice. Only the first completion on a plugin
//!   thread may allocate, once.
//! - **A crash leaves a report.** Each call is noted before it is made, so [`crash`] can name the plugin, call,
//!   instance and sample in a signal handler; [`calls_under_way`] serves the report of a hang.
//! - **The host ends the process.** It uses [`process::end`], which runs no plugin code; a plugin that calls `exit` is
//!   reported, and so is one that returns from a fork of the process. A [`parent`] process reports what nothing inside
//!   can see, such as `_exit`.
//! - **A recording sits between the two.** [`LoadedPlugin::load_recorded`] wraps the functions of the table: they write
//!   what crosses to a [`Recorder`] and call the plugin's. Nothing else here knows of it.
//!
//! # Example
//! ```
//! use proctor_plugin_host::{PluginHostError, SearchPath};
//!
//! let path = SearchPath::standard(&[]);
//! let error = path.find("no-such-accelerator").unwrap_err();
//! assert!(matches!(error, PluginHostError::NotFound { .. }));
//! assert!(error.to_string().starts_with("found no plugin \"no-such-accelerator\""));
//! for location in path.list() {
//!     println!("{location}");
//! }
//! ```
//!
//! # Limits
//! One model at a time per backend. Tensors have the shapes of their specs; plugins that take dynamic shapes receive
//! these too. Signals and `dlopen` behave as on Linux.

mod call;
mod error;
mod foreign;
mod guard;
#[macro_use]
mod load;
mod newer_host;
mod objects;
mod record;
mod scripts;
mod search_path;
mod services;
#[cfg(test)]
mod tests;

pub use call::Call;
pub use error::{PluginHostError, status_name};
pub use guard::{
    activity::{CallUnderWay, calls_under_way, progress_count},
    changes::{ProcessChange, ProcessPart, process_changes},
    crash,
    interrupts::on_interrupt,
    last_words::{
        drop_last_words, expect_last_words, expect_no_last_words, last_words_are_awaited, set_last_words,
    },
    parent,
    process::{self, EXIT_PLUGIN_CRASHED},
};
pub use load::{
    checksum::CHECKSUM_THREAD,
    elf::missing_end,
    loaded_plugin::{Described, LoadStep, LoadedPlugin, PluginIdentity},
    other_hosts::{EntryAnswer, OtherHost},
};
pub use objects::{
    backend::Backend,
    demand::{FileOffer, ModelDemand, choose_row, is_declared},
    devices::DeviceList,
    instance::Instance,
    issuer::Issuer,
    lane::Lane,
    memory::PluginRange,
    model::{Model, out_of_turn::OutOfTurn},
    samples::SampleBuffers,
};
pub use record::{
    hash::hash_of,
    line::{Answer, Begun, CallName, Head, Input, Line, RECORDING_VERSION, RecordedPlugin, Returned, Told},
    log::{RECORDING_FILE, Recorder, read_recording},
};
pub use scripts::{Scripts, install_scripts, is_script};
pub use search_path::{PluginLocation, SearchPath};
pub use services::{
    context::HostServices,
    done::DoneProblem,
    failures::SampleFailure,
    faults::{PluginFault, RepeatedFault},
    host_side::HostSide,
    metric::PluginMetric,
    notes::Notes,
    stages::{PluginStage, Stage, StageProblem, StagesError},
};

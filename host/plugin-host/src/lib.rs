//! Finds, loads, negotiates, checks and guards a plugin: the host's only unsafe code.
//!
//! A [`SearchPath`] turns a name into a [`PluginLocation`]; a [`LoadedPlugin`] is the loaded plugin with its manifest;
//! [`LoadedPlugin::open`] makes a [`Backend`], [`Backend::load_model`] a [`Model`], [`Model::create_instance`] each
//! [`Instance`]. All of them are safe to use; what a plugin does behind them is checked here and nowhere else.
//!
//! # Life of a plugin
//! 1. [`LoadedPlugin::load`]: open the library, negotiate the version through its entry, check the table and copy
//!    the manifest. No device is touched.
//! 2. [`LoadedPlugin::open`] with checked options and the [`HostServices`] that the plugin may call.
//! 3. [`Backend::devices`] to spread the instances over, where there are several; [`Backend::load_model`] with a
//!    [`ModelDemand`], which is held against the manifest first; [`Model::create_instance`] for each instance.
//! 4. [`Model::allocate`] for samples in memory of the plugin; [`Model::prepare`] with the samples of the phase,
//!    [`Instance::warm_up`], [`Model::start`].
//! 5. Per batch [`Instance::execute`] and [`Instance::complete`], or a [`Lane`] for each batch in flight; or
//!    [`Issuer::issue`] with whole queries, which the plugin completes into the sink of [`Backend::set_sink`].
//! 6. [`Model::flush`], [`Model::stop`], [`Model::release`], and again from 4. Dropping everything, in any order, does
//!    what is left in due order.
//!
//! # Choices
//! - **Nothing that a plugin says is taken on trust.** Sizes, pointers, texts, codes, counts and the sizes of outputs
//!   are checked; each defect is an error with words of its own ([`PluginHostError`]), or, where a run goes on, a
//!   fault of the backend ([`HostSide::take_faults`]). Pointers that are not null and aligned have to be trusted: no
//!   process can check more of native code that it runs.
//! - **Structures are copied by their size,** as much as both sides know, so that an older or newer plugin of the same
//!   major version works.
//! - **Nothing is unloaded.** Threads and destructors of a plugin may run to the end of the process; for the same
//!   reason the host table of each backend is leaked.
//! - **The timed path does not allocate.** The arrays of a batch are made with the instance; outputs go into one
//!   buffer in which the outputs of a sample lie side by side, so that a response is one slice. Only the first
//!   completion of a thread of the plugin's own may allocate, once.
//! - **A crash leaves words.** Each call is noted before it is made, so that [`crash`] can say in a signal handler
//!   which plugin, call, instance and sample it was, and [`calls_under_way`] is for the report of a hang.
//! - **The end of the process is the host's.** It ends by [`process::end`], which runs nothing of a plugin; a plugin
//!   that calls `exit` is reported, and so is one that a fork of the process comes back from. What nothing in the
//!   process sees, such as `_exit`, a [`parent`] of it reports.
//! - **A recording stands between the two.** [`LoadedPlugin::load_recorded`] puts functions into the table which write
//!   what crosses to a [`Recorder`] and go on to the plugin's; nothing else here knows of it.
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
//! One model at a time for each backend. Tensors have the shapes of their specs; a plugin that takes dynamic shapes is
//! served with these. Signals and `dlopen` as on Linux.

mod call;
mod error;
mod foreign;
mod guard;
#[macro_use]
mod load;
mod newer_host;
mod objects;
mod record;
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

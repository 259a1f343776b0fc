//! The table of a plugin, and how the host gets it.

use std::ffi::c_void;

use super::{
    basic::{ProctorError, ProctorStatus, ProctorString},
    batch::{ProctorBatch, ProctorSampleSet},
    host::ProctorHost,
    manifest::{ProctorManifest, ProctorOptionValue},
    model::{ProctorModelRequest, ProctorPlacement},
};

macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug)]
        #[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
        pub struct $name {
            _private: [u8; 0],
        }
    )*};
}

opaque! {
    /// An opened plugin; defined by the plugin alone.
    ProctorBackend
    /// A loaded model; defined by the plugin alone.
    ProctorModel
    /// One copy of a model, beside others on the same machine; defined by the plugin alone.
    ProctorInstance
}

/// The host and the options that a plugin is opened with. Valid for the duration of the call, but for `host`.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorOpenRequest {
    /// Size of this structure in bytes, as the host was compiled.
    pub size: usize,
    /// The services of the host; valid to the end of the process.
    pub host: *const ProctorHost,
    /// Each option that has a value; may be null if there are none.
    pub options: *const ProctorOptionValue,
    /// Number of elements of `options`.
    pub option_count: usize,
    /// Distance of two elements of `options` in bytes.
    pub option_stride: usize,
}

/// The range of ABI versions that a host speaks.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorVersionRange {
    /// Size of this structure in bytes, as the host was compiled.
    pub size: usize,
    /// Lowest major version.
    pub major_min: u32,
    /// Highest major version.
    pub major_max: u32,
    /// Highest minor version within `major_max`; lower minors are always spoken.
    pub minor_max: u32,
    /// Zero.
    pub reserved: u32,
}

/// The functions of a plugin. Owned by the plugin, valid to the end of the process: a plugin is never unloaded.
///
/// Life of a plugin that is given batches:
///
/// ```text
/// describe, extension                            at any time, always with the same answer; nothing is touched
/// open                                           once
///   load_model                                   one at a time
///     create_instance                            for each instance
///       prepare_samples, warm_up, release_samples     to warm up
///       prepare_samples, start                   for each part of a test
///         execute                                any number of times, each instance on its own thread
///       stop, release_samples
///     destroy_instance                           for each instance
///   unload_model
/// close
/// ```
///
/// The part from create_instance to destroy_instance repeats for each test of a run (first accuracy, then performance).
/// A plugin that is given whole queries is asked for no instances: the warm_up and issue of ProctorIssue take the place
/// of warm_up and execute, and flush comes before stop.
/// The part from prepare_samples to release_samples repeats in a test whose samples do not fit into memory at once.
/// After a call that failed, the calls that end what it began do not come. Those that end what was there before do,
/// unless the run cannot begin without what failed (describe to start): then the process ends without another call.
/// The library is never unloaded, and the process may end after close without another call.
///
/// Threads. [main thread] is the thread that called open. [instance thread] is one thread for each instance, the same
/// for all its calls to execute between start and stop. [issuing thread] is a thread that issues queries; it may be the
/// main thread, and there may be several. Calls for a model, its instances and its backend never run at the same time,
/// with these exceptions: execute of one instance beside execute of others; issue beside issue, on several threads,
/// with PROCTOR_CAPABILITY_CONCURRENT_ISSUE; and what an extension says of its own functions.
///
/// Ownership. What a function is given is the host's, and is read during the call alone, unless the structure says that
/// it stays longer. What a function returns or points to is the plugin's, and stays until the object that it belongs to
/// is ended. A function that returns a status other than PROCTOR_STATUS_OK has made no object.
///
/// No function may let an exception or a panic out. Each function may write a message to `error`, which is never null.
/// Every function is required unless it says "optional". Calls that end something (release_samples, stop,
/// destroy_instance, unload_model, close) have ended it also where they return a failure, which is reported.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorPlugin {
    /// Size of this structure in bytes, as the plugin was compiled.
    pub size: usize,
    /// Major version of the ABI that this table follows.
    pub abi_major: u32,
    /// Minor version of the ABI that this table follows.
    pub abi_minor: u32,
    /// Says what the plugin is and can run, without touching a device. What it returns stays to the end of the process;
    /// null is an error. Called first, and as often as the host likes. [any thread]
    pub describe: Option<unsafe extern "C" fn() -> *const ProctorManifest>,
    /// Opens the device or the library below, and writes a backend that is not null. `request->host` stays to the end
    /// of the process, the options for the call. Once for each run. [main thread]
    pub open: Option<
        unsafe extern "C" fn(
            request: *const ProctorOpenRequest,
            backend: *mut *mut ProctorBackend,
            error: *mut ProctorError,
        ) -> ProctorStatus,
    >,
    /// Loads a model from its files, and writes a model that is not null; or says UNSUPPORTED with the reason. A
    /// backend has one model at a time. May take long, if it tells ProctorHost.progress. [main thread]
    pub load_model: Option<
        unsafe extern "C" fn(
            backend: *mut ProctorBackend,
            request: *const ProctorModelRequest,
            model: *mut *mut ProctorModel,
            error: *mut ProctorError,
        ) -> ProctorStatus,
    >,
    /// Makes one copy of the model, and writes an instance that is not null. Before prepare_samples. Required with
    /// PROCTOR_CAPABILITY_EXECUTE. [main thread]
    pub create_instance: Option<
        unsafe extern "C" fn(
            model: *mut ProctorModel,
            placement: *const ProctorPlacement,
            instance: *mut *mut ProctorInstance,
            error: *mut ProctorError,
        ) -> ProctorStatus,
    >,
    /// Announces the samples that will be used next, to be pinned, registered or copied. They are the host's, which the
    /// plugin only reads; set and samples stay until release_samples. Optional. [main thread]
    pub prepare_samples: Option<
        unsafe extern "C" fn(
            model: *mut ProctorModel,
            samples: *const ProctorSampleSet,
            error: *mut ProctorError,
        ) -> ProctorStatus,
    >,
    /// Ends the use of all prepared samples: their memory is freed afterwards. Not between start and stop. Optional.
    /// [main thread]
    pub release_samples:
        Option<unsafe extern "C" fn(model: *mut ProctorModel, error: *mut ProctorError) -> ProctorStatus>,
    /// Runs a batch whose outputs are thrown away, before start. Optional: without it the host calls execute, in the
    /// same way. The ids of its samples are 0, and first tokens that are reported for them are thrown away. [main
    /// thread]
    pub warm_up: Option<
        unsafe extern "C" fn(
            instance: *mut ProctorInstance,
            batch: *mut ProctorBatch,
            error: *mut ProctorError,
        ) -> ProctorStatus,
    >,
    /// The timed part begins. After prepare_samples. Optional. [main thread]
    pub start:
        Option<unsafe extern "C" fn(model: *mut ProctorModel, error: *mut ProctorError) -> ProctorStatus>,
    /// Runs a batch to its end: writes each output and its size, and the status of each sample that fails. The host
    /// completes the samples when it returns. The batch is the host's for the call, but what is lent as an output stays
    /// until it is released. Between start and stop; where there is no warm_up also in its place, on the main thread
    /// and before start. Required with PROCTOR_CAPABILITY_EXECUTE. [instance thread]
    pub execute: Option<
        unsafe extern "C" fn(
            instance: *mut ProctorInstance,
            batch: *mut ProctorBatch,
            error: *mut ProctorError,
        ) -> ProctorStatus,
    >,
    /// No more queries will be issued in this phase: complete what waits. May return before or after that is done.
    /// Only called where whole queries were issued. Optional. [a thread of its own; no other call for the model comes
    /// until it returns]
    pub flush:
        Option<unsafe extern "C" fn(model: *mut ProctorModel, error: *mut ProctorError) -> ProctorStatus>,
    /// The timed part is over: no sample is outstanding. Optional. [main thread]
    pub stop:
        Option<unsafe extern "C" fn(model: *mut ProctorModel, error: *mut ProctorError) -> ProctorStatus>,
    /// Ends an instance, which is not used again. After release_samples. Required with PROCTOR_CAPABILITY_EXECUTE.
    /// [main thread]
    pub destroy_instance: Option<
        unsafe extern "C" fn(instance: *mut ProctorInstance, error: *mut ProctorError) -> ProctorStatus,
    >,
    /// Unloads a model that has no instances left, and is not used again. [main thread]
    pub unload_model:
        Option<unsafe extern "C" fn(model: *mut ProctorModel, error: *mut ProctorError) -> ProctorStatus>,
    /// Closes a backend that has no models left; the last call. Threads of the plugin have ended when it returns, or
    /// call nothing of the host any more. [main thread]
    pub close:
        Option<unsafe extern "C" fn(backend: *mut ProctorBackend, error: *mut ProctorError) -> ProctorStatus>,
    /// An optional feature by its id, or null if the plugin does not have it. Valid to the end of the process.
    /// Optional. [any thread]
    pub extension: Option<unsafe extern "C" fn(id: ProctorString) -> *const c_void>,
}

/// Name of the function that every plugin exports: "proctor_plugin_entry".
pub const PROCTOR_PLUGIN_ENTRY: &str = "proctor_plugin_entry";

/// Type of the function that every plugin exports under the name `proctor_plugin_entry`.
///
/// Returns a table of one of the major versions in `speaks`, or null and the reason in `refusal`. [any thread]
pub type ProctorPluginEntry = unsafe extern "C" fn(
    speaks: *const ProctorVersionRange,
    refusal: *mut ProctorError,
) -> *const ProctorPlugin;

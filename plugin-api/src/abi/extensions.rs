//! Optional features of a plugin, asked for by id through ProctorPlugin.extension.
//!
//! An id names one structure for ever; a changed feature gets a new id.

use std::ffi::c_void;

use super::{
    basic::{ProctorError, ProctorStatus, ProctorString},
    batch::{ProctorBatch, ProctorQuery},
    model::ProctorPlacement,
    plugin::{ProctorInstance, ProctorModel},
};

/// Id of ProctorIssue: "proctor.issue/1".
pub const PROCTOR_EXTENSION_ISSUE: &str = "proctor.issue/1";

/// Id of ProctorVirtualTime: "proctor.virtual_time/0".
pub const PROCTOR_EXTENSION_VIRTUAL_TIME: &str = "proctor.virtual_time/0";

/// Id of ProctorExplain: "proctor.explain/1".
pub const PROCTOR_EXTENSION_EXPLAIN: &str = "proctor.explain/1";

/// Id of ProctorLiveInstances: "proctor.live_instances/1".
pub const PROCTOR_EXTENSION_LIVE_INSTANCES: &str = "proctor.live_instances/1";

/// The plugin takes whole queries as LoadGen issues them, and completes them from its own threads in any order by
/// ProctorHost.complete. The host then forms no batches.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorIssue {
    /// Size of this structure in bytes, as the plugin was compiled.
    pub size: usize,
    /// Takes a query. Returns without waiting for its completion; may complete inside the call. A status other than OK
    /// fails every sample that was not yet completed; but after PROCTOR_STATUS_BUSY the query is issued again, so no
    /// sample of it may have been taken. What does not fit into an empty queue may not be refused so: while no sample
    /// completes, the host asks for `watchdog_ms` and then ends the test. [issuing thread]
    pub issue: Option<
        unsafe extern "C" fn(
            model: *mut ProctorModel,
            query: *const ProctorQuery,
            error: *mut ProctorError,
        ) -> ProctorStatus,
    >,
    /// Computes the answers to a query of prepared samples, whose ids mean nothing, and throws them away: it completes
    /// none of them. Comes between prepare_samples and start. Returns when that is done. Optional. [main thread]
    pub warm_up: Option<
        unsafe extern "C" fn(
            model: *mut ProctorModel,
            query: *const ProctorQuery,
            error: *mut ProctorError,
        ) -> ProctorStatus,
    >,
}

/// The plugin can say how long a batch takes instead of taking that long, so that the host simulates a long run in
/// a short time.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorVirtualTime {
    /// Size of this structure in bytes, as the plugin was compiled.
    pub size: usize,
    /// As ProctorPlugin.execute, but returns at once and writes the service time in ns. `busy_instances` counts the
    /// instances that are executing, this one included. [issuing thread]
    pub execute: Option<
        unsafe extern "C" fn(
            instance: *mut ProctorInstance,
            batch: *mut ProctorBatch,
            busy_instances: u32,
            service_time_ns: *mut u64,
            error: *mut ProctorError,
        ) -> ProctorStatus,
    >,
}

/// Where a text goes that the host wants, in one piece or in several. Owned by the host, valid for the duration of the
/// call.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorTextSink {
    /// Size of this structure in bytes, as the host was compiled.
    pub size: usize,
    /// To be passed to `write`.
    pub context: *mut c_void,
    /// Copies a piece of text. [the thread that was given the structure, during the call that it was given to]
    pub write: Option<unsafe extern "C" fn(context: *mut c_void, text: ProctorString)>,
}

/// The plugin can say in words how a loaded model will run: what it has chosen, from what, and why.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorExplain {
    /// Size of this structure in bytes, as the plugin was compiled.
    pub size: usize,
    /// Writes the text, lines ended by a newline, to `sink`, which is valid for the duration of the call; nothing if
    /// there is nothing to say. [main thread]
    pub explain: Option<
        unsafe extern "C" fn(
            model: *mut ProctorModel,
            sink: *const ProctorTextSink,
            error: *mut ProctorError,
        ) -> ProctorStatus,
    >,
}

/// Instances may come and go between start and stop, for a host that changes their number under load.
///
/// Both functions are called on a thread of the host's own, one call at a time, beside execute of other instances.
/// Before start and after stop instances are made and ended by ProctorPlugin, whichever way they are made or ended
/// here.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorLiveInstances {
    /// Size of this structure in bytes, as the plugin was compiled.
    pub size: usize,
    /// As ProctorPlugin.create_instance, between start and stop. The instance executes without a warm-up.
    /// [a thread of the host's own]
    pub create: Option<
        unsafe extern "C" fn(
            model: *mut ProctorModel,
            placement: *const ProctorPlacement,
            instance: *mut *mut ProctorInstance,
            error: *mut ProctorError,
        ) -> ProctorStatus,
    >,
    /// As ProctorPlugin.destroy_instance, between start and stop. [a thread of the host's own]
    pub destroy: Option<
        unsafe extern "C" fn(instance: *mut ProctorInstance, error: *mut ProctorError) -> ProctorStatus,
    >,
}

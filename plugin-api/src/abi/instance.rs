//! Optional features of instances, asked for by id through ProctorPlugin.extension.

use std::ffi::c_void;

use super::{
    basic::{ProctorError, ProctorStatus, ProctorString},
    batch::ProctorBatch,
    plugin::ProctorInstance,
};

/// Id of ProctorInstanceThread: "proctor.instance_thread/0".
pub const PROCTOR_EXTENSION_INSTANCE_THREAD: &str = "proctor.instance_thread/0";

/// The plugin wants to know the threads that run batches of its instances: to make a context of the device current
/// there, or to set a NUMA policy or a priority. What it changes of the thread stays as it is.
///
/// A thread begins before its first batch of an instance and ends after its last one, however many phases it sees:
/// what a thread is given it keeps. In a run that is once in the life of an instance. warm_up and destroy_instance come
/// on the main thread, which does not begin. In virtual time no thread begins.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorInstanceThread {
    /// Size of this structure in bytes, as the plugin was compiled.
    pub size: usize,
    /// The calling thread will run batches of the instance. After a failure it runs none: they fail. May come beside
    /// calls for the model and for other instances. [instance thread]
    pub begin: Option<
        unsafe extern "C" fn(instance: *mut ProctorInstance, error: *mut ProctorError) -> ProctorStatus,
    >,
    /// The calling thread will run no more batches of the instance. Does not come after a begin that failed.
    /// [instance thread]
    pub end: Option<
        unsafe extern "C" fn(instance: *mut ProctorInstance, error: *mut ProctorError) -> ProctorStatus,
    >,
}

/// Id of ProctorSubmit, and of ProctorSubmitHost: "proctor.submit/1".
pub const PROCTOR_EXTENSION_SUBMIT: &str = "proctor.submit/1";

/// Largest number of batches in flight of an instance.
pub const PROCTOR_SUBMIT_IN_FLIGHT_MAX: u32 = 64;

/// The plugin takes a batch before it has done the one before it.
///
/// A batch that was taken stays valid, with all that it points to, until the plugin reports it once by
/// ProctorSubmitHost.done, from any thread; also inside the call that takes it. The host completes its samples inside
/// `done`. What the batch points to that belongs to the plugin (lent outputs, messages, stages) has to stay valid until
/// `done` returns. Batches may be done in any order. None is in flight when stop or destroy_instance is called.
///
/// An instance has one thread for each batch that it may have in flight, which is what ProctorInstanceThread tells of;
/// their calls for the instance take turns.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorSubmit {
    /// Size of this structure in bytes, as the plugin was compiled.
    pub size: usize,
    /// Largest number of batches of the instance in flight, at most PROCTOR_SUBMIT_IN_FLIGHT_MAX; 0 to be given batches
    /// by execute. Asked once, right after the instance was created, on the same thread.
    pub in_flight_max: Option<unsafe extern "C" fn(instance: *mut ProctorInstance) -> u32>,
    /// Takes a batch and returns without waiting for its end. A status other than OK fails the batch, which is then not
    /// reported as done. [instance thread]
    pub submit: Option<
        unsafe extern "C" fn(
            instance: *mut ProctorInstance,
            batch: *mut ProctorBatch,
            error: *mut ProctorError,
        ) -> ProctorStatus,
    >,
}

/// The end of a batch that was submitted. Owned by the plugin, valid for the duration of the call.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorDone {
    /// Size of this structure in bytes, as the plugin was compiled.
    pub size: usize,
    /// ProctorBatch.id.
    pub batch_id: u64,
    /// PROCTOR_STATUS_OK, or why the whole batch failed.
    pub status: ProctorStatus,
    /// Zero.
    pub reserved: u32,
    /// Why it failed; may be null.
    pub message: ProctorString,
    /// Code of the vendor's own for the failure; 0 for none.
    pub vendor_code: i64,
}

/// The host's side of ProctorSubmit, asked for by ProctorHost.extension. Valid to the end of the process.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorSubmitHost {
    /// Size of this structure in bytes, as the host was compiled.
    pub size: usize,
    /// Reports the end of a batch that was submitted. `context` is ProctorHost.context. [any thread]
    pub done: Option<unsafe extern "C" fn(context: *mut c_void, done: *const ProctorDone)>,
}

//! Optional features of instances, asked for by id through ProctorPlugin.extension. Drafts, which may still change.

use super::{
    basic::{ProctorError, ProctorStatus},
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

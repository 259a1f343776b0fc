//! Notes calls with a batch, by any function.

use proctor_plugin_api::abi::{
    PROCTOR_STATUS_OK, ProctorBatch, ProctorError, ProctorInstance, ProctorStatus,
};

use crate::{
    call::Call,
    record::{
        line::{Begun, Returned},
        read::Handed,
        recording::recording,
    },
};

/// Notes a call with a batch, and its answers.
///
/// # Safety
/// The host vouches for the batch and its room for a message, and the plugin for what it writes.
pub(super) unsafe fn with_batch(
    call: Call,
    instance: *mut ProctorInstance,
    batch: *mut ProctorBatch,
    error: *mut ProctorError,
    with: Begun,
    act: impl FnOnce() -> (ProctorStatus, Option<u64>),
) -> ProctorStatus {
    let recording = recording();
    // SAFETY: the caller's promise.
    let handed = unsafe { Handed::of(&*batch) };
    let samples = handed.samples();
    let going = recording.begin(call, Begun { instance: recording.instance(instance), samples, ..with });
    let (status, service_time_ns) = act();
    let is_ok = status == PROCTOR_STATUS_OK;
    // SAFETY: the caller's promise; the host takes the batch back when this returns.
    unsafe {
        let answers = if is_ok { handed.answers() } else { Vec::new() };
        recording.end(going, status, error, Returned { answers, service_time_ns, ..Returned::default() });
    }
    status
}

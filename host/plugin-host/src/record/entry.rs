//! The entry of a plugin that is recorded.

use parking_lot::Mutex;
use proctor_plugin_api::{
    abi::{ProctorError, ProctorPlugin, ProctorPluginEntry, ProctorVersionRange},
    versioned::read,
};

use crate::{
    error::PluginHostError,
    record::{log::Recorder, recording::record, table},
};

/// Entry of the plugin to be recorded, and its recorder.
static ENTRY: Mutex<Option<(ProctorPluginEntry, Recorder)>> = Mutex::new(None);

/// Returns an entry with a table of functions that record and then call `entry`'s.
///
/// # Errors
/// If the process records a plugin already.
pub(crate) fn through(
    entry: ProctorPluginEntry,
    recorder: &Recorder,
) -> Result<ProctorPluginEntry, PluginHostError> {
    let mut place = ENTRY.lock();
    if place.is_some() {
        return Err(PluginHostError::WrongState("this process records a plugin already".to_owned()));
    }
    *place = Some((entry, recorder.clone()));
    Ok(recorded_entry)
}

/// # Safety
/// The host keeps to the contract of `ProctorPluginEntry`.
unsafe extern "C" fn recorded_entry(
    speaks: *const ProctorVersionRange,
    refusal: *mut ProctorError,
) -> *const ProctorPlugin {
    let found = ENTRY.lock().clone();
    let Some((entry, recorder)) = found else { return std::ptr::null() };
    // SAFETY: the caller's promise.
    let given = unsafe { entry(speaks, refusal) };
    // SAFETY: the plugin vouches for its table.
    let Ok(plugin) = (unsafe { read(given) }) else { return given };
    let recorded = table::of(&plugin);
    record(recorder, plugin);
    Box::leak(Box::new(recorded))
}

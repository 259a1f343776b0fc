//! The energy counter of a plugin.

use proctor_plugin_api::abi::{
    PROCTOR_EXTENSION_ENERGY, PROCTOR_STATUS_UNSUPPORTED, ProctorEnergy, ProctorModel,
};

use crate::{
    call::Call,
    error::PluginHostError,
    guard::{activity::Activity, checked::checked},
    load::table::{null_function, optional_extension},
    objects::backend::BackendInner,
};

/// Returns the counter of a loaded model, in joules; `None` if the plugin has no counter. [main thread]
///
/// # Errors
/// If it cannot be read.
pub(super) fn read_energy(
    backend: &BackendInner,
    model: *mut ProctorModel,
    activity: &'static Activity,
) -> Result<Option<f64>, PluginHostError> {
    let (table, reader) = (&backend.library.table().raw, backend.reader());
    // SAFETY: the id names this structure.
    let extension =
        unsafe { optional_extension::<ProctorEnergy>(table, reader, activity, PROCTOR_EXTENSION_ENERGY) }?;
    let Some(extension) = extension else { return Ok(None) };
    let read = extension.read.ok_or_else(|| null_function(reader, "ProctorEnergy.read"))?;
    let mut joules = f64::NAN;
    let room = &raw mut joules;
    let done = checked(activity, Call::ReadEnergy, |error| {
        // SAFETY: the function is that of a checked extension; the model is live, as the caller has it; the room for
        // the number lives for the call.
        unsafe { read(model, room, error) }
    });
    match done {
        Ok(()) => Ok(Some(joules)),
        Err(PluginHostError::CallFailed { status: PROCTOR_STATUS_UNSUPPORTED, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

//! The energy that a system uses.

use super::{
    basic::{ProctorError, ProctorStatus},
    plugin::ProctorModel,
};

/// Id of ProctorEnergy: "proctor.energy/1".
pub const PROCTOR_EXTENSION_ENERGY: &str = "proctor.energy/1";

/// The plugin has a counter of the energy that its devices use.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorEnergy {
    /// Size of this structure in bytes, as the plugin was compiled.
    pub size: usize,
    /// Reads the counter, in joules since any instant; it is finite and never decreases. Comes right after start and
    /// right before stop; the host takes the difference. UNSUPPORTED if this model has none. [main thread]
    pub read: Option<
        unsafe extern "C" fn(
            model: *mut ProctorModel,
            joules: *mut f64,
            error: *mut ProctorError,
        ) -> ProctorStatus,
    >,
}

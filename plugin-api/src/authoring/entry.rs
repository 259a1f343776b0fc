//! Gives a host the table: the negotiation, and the list of linked-in plugins.

use super::{
    plugin::Plugin,
    raw::{structure, write_error},
    shims::Shims,
};
use crate::abi;

/// A plugin that is linked into this program instead of loaded from a library.
#[derive(Debug, Clone, Copy)]
pub struct LinkedPlugin {
    /// Entry point, used like the one of a library.
    pub entry: abi::ProctorPluginEntry,
    /// The name in its manifest.
    pub name: fn() -> String,
}

impl LinkedPlugin {
    /// Creates a plugin of this program that is on no list: for one that represents another.
    #[must_use]
    pub fn of<P: Plugin>() -> Self {
        Self { entry: entry_of::<P>, name: || P::manifest().name }
    }
}

inventory::collect!(LinkedPlugin);

/// Returns the entry point of a plugin that is on no list.
///
/// # Safety
/// The caller keeps to the contract of `ProctorPluginEntry`.
unsafe extern "C" fn entry_of<P: Plugin>(
    speaks: *const abi::ProctorVersionRange,
    refusal: *mut abi::ProctorError,
) -> *const abi::ProctorPlugin {
    // SAFETY: both arguments go on unchanged, and `entry` asks of them what `ProctorPluginEntry` does.
    unsafe { entry::<P>(speaks, refusal) }
}

/// Returns the plugins that are linked into this program.
pub fn linked_plugins() -> impl Iterator<Item = &'static LinkedPlugin> {
    inventory::iter::<LinkedPlugin>.into_iter()
}

/// Returns the body of `proctor_plugin_entry` for a plugin in Rust: the table, or null and the reason.
///
/// # Safety
/// `speaks` is null or points to the versions that a host speaks; `refusal` is null or points to room for a message.
/// Both are valid for the call.
pub unsafe fn entry<P: Plugin>(
    speaks: *const abi::ProctorVersionRange,
    refusal: *mut abi::ProctorError,
) -> *const abi::ProctorPlugin {
    // SAFETY: `speaks` is null or points to a range that the host keeps for the call.
    let reason = match unsafe { structure(speaks) } {
        Err(error) => format!("the host did not say which ABI versions it speaks: {}", error.message),
        Ok(range) if !(range.major_min..=range.major_max).contains(&abi::PROCTOR_ABI_MAJOR) => format!(
            "this plugin speaks ABI {}.{}, the host speaks {} to {}.{}",
            abi::PROCTOR_ABI_MAJOR,
            abi::PROCTOR_ABI_MINOR,
            range.major_min,
            range.major_max,
            range.minor_max
        ),
        Ok(_) => return Shims::<P>::TABLE,
    };
    // SAFETY: `refusal` is null or points to room for a message that the host keeps for the call.
    unsafe { write_error(refusal, &reason, 0) };
    std::ptr::null()
}

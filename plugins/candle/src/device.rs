//! The devices that the engine was built for.

use candle_core::Device;
use proctor_plugin_api::PluginError;

/// Kinds of device in the manifest.
#[cfg(not(feature = "cuda"))]
pub(crate) const KINDS: &[&str] = &["cpu"];
/// Kinds of device in the manifest.
#[cfg(feature = "cuda")]
pub(crate) const KINDS: &[&str] = &["cpu", "cuda"];

/// Opens a device of a kind.
///
/// # Errors
/// If there is none.
pub(crate) fn open(kind: &str) -> Result<Device, PluginError> {
    match kind {
        "cpu" => Ok(Device::Cpu),
        #[cfg(feature = "cuda")]
        "cuda" => Device::new_cuda(0)
            .map_err(|error| PluginError::device_lost(format!("cannot open the first CUDA device: {error}"))),
        _ => Err(PluginError::unsupported(format!(
            "device \"{kind}\" is not supported; there is {}",
            KINDS.join(", ")
        ))),
    }
}

//! Discovery of devices.

use opencl3::{
    device::{CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, Device},
    error_codes::{ClError, DLOPEN_FUNCTION_NOT_AVAILABLE, DLOPEN_RUNTIME_LOAD_FAILED},
    platform::get_platforms,
};
use proctor_device::serve::Named;

/// Error code of the loader that means that it finds no platform.
const PLATFORM_NOT_FOUND: i32 = -1001;

/// The loader itself is missing, by opencl3's number.
const LOADER_NOT_FOUND: i32 = -6;

/// A device of a platform, before it is opened.
#[derive(Debug, Clone)]
pub struct DeviceInfo {
    /// Name of the platform.
    pub platform: String,
    /// Name of the device.
    pub name: String,
    /// Whether the device is the processor that the host runs on, too.
    pub is_processor: bool,
    /// Maximum number of items of a group.
    pub group_items_max: usize,
    /// Name and version of the device and its driver.
    pub version: String,
    /// Memory, in bytes.
    pub memory_bytes: u64,
    /// Handle, for as long as the program runs.
    pub(crate) device: Device,
}

impl Named for DeviceInfo {
    fn name(&self) -> &str {
        &self.name
    }

    fn other_name(&self) -> &str {
        &self.platform
    }
}

impl DeviceInfo {
    /// Returns the device as a host lists it.
    pub(crate) fn listed(&self) -> proctor_plugin_api::Device {
        let name = format!("{} ({})", self.name, self.platform);
        proctor_plugin_api::Device { name, id: None, memory_bytes: Some(self.memory_bytes), numa_node: None }
    }
}

/// Reason why there is no device.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The library that finds platforms cannot be loaded.
    #[error(
        "there is no OpenCL device: libOpenCL.so.1 cannot be loaded; install ocl-icd-libopencl1, and a driver such as \
         pocl-opencl-icd ({0})"
    )]
    NoLoader(ClError),
    /// The library finds no platform.
    #[error(
        "there is no OpenCL device: no driver is installed, such as pocl-opencl-icd for processors ({0})"
    )]
    NoPlatform(ClError),
    /// The platforms have no device.
    #[error(
        "there is no OpenCL device on the platforms that there are ({platforms}); PoCL has none if it cannot write its \
         cache, whose folder POCL_CACHE_DIR names"
    )]
    NoDevice {
        /// Names of the platforms.
        platforms: String,
    },
    /// A call of OpenCL has failed.
    #[error("OpenCL: {0}")]
    Failed(ClError),
}

/// Returns all devices of all platforms.
///
/// # Errors
/// If there is none.
pub fn devices() -> Result<Vec<DeviceInfo>, OpenError> {
    let platforms = get_platforms().map_err(|error| match error.0 {
        PLATFORM_NOT_FOUND => OpenError::NoPlatform(error),
        LOADER_NOT_FOUND | DLOPEN_RUNTIME_LOAD_FAILED | DLOPEN_FUNCTION_NOT_AVAILABLE => {
            OpenError::NoLoader(error)
        }
        _ => OpenError::Failed(error),
    })?;
    let mut devices = Vec::new();
    let mut names = Vec::new();
    for platform in platforms {
        let name = platform.name().map_err(OpenError::Failed)?;
        // A platform without devices answers with an error.
        for id in platform.get_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default() {
            let device = Device::new(id);
            let kind = device.dev_type().map_err(OpenError::Failed)?;
            devices.push(DeviceInfo {
                platform: name.clone(),
                name: device.name().map_err(OpenError::Failed)?.trim().to_owned(),
                group_items_max: device.max_work_group_size().map_err(OpenError::Failed)?,
                version: format!(
                    "{} {} {}",
                    device.name().map_err(OpenError::Failed)?,
                    device.version().map_err(OpenError::Failed)?,
                    device.driver_version().map_err(OpenError::Failed)?
                ),
                memory_bytes: device.global_mem_size().map_err(OpenError::Failed)?,
                is_processor: kind & CL_DEVICE_TYPE_CPU != 0,
                device,
            });
        }
        names.push(name);
    }
    if devices.is_empty() { Err(OpenError::NoDevice { platforms: names.join(", ") }) } else { Ok(devices) }
}

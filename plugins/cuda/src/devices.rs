//! The available devices.

use std::ffi::{CStr, c_int};

use cudarc::driver::{DriverError, result, sys};
use proctor_device::serve::Named;
use proctor_plugin_api::Device;

use crate::{
    error::{OpenError, failed},
    libraries::cuda,
};

/// A device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Name of the product.
    pub name: String,
    /// Own identity, as nvidia-smi writes it.
    pub uuid: String,
    /// Place on the bus, as NVML takes it.
    pub bus_id: String,
    /// Memory, in bytes.
    pub memory_bytes: u64,
    /// Number of the NUMA node of the host that is nearest; `None` if not known.
    pub numa_node: Option<u32>,
    /// Architecture, such as `sm_90`.
    pub architecture: String,
    /// The largest grid that it takes.
    pub limits: Limits,
    /// Handle, for as long as the program runs.
    pub(crate) device: sys::CUdevice,
}

/// The largest grid that a device takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Number of threads of a block.
    pub threads: usize,
    /// Threads of a block along each dimension.
    pub block: [usize; 3],
    /// Blocks along each dimension: along the second and third 65535 on any device so far.
    pub blocks: [usize; 3],
}

impl Named for DeviceInfo {
    fn name(&self) -> &str {
        &self.name
    }

    fn other_name(&self) -> &str {
        &self.uuid
    }
}

impl DeviceInfo {
    /// Returns the device as a host lists it.
    pub(crate) fn listed(&self) -> Device {
        let memory_bytes = Some(self.memory_bytes);
        Device {
            name: self.name.clone(),
            id: Some(self.uuid.clone()),
            memory_bytes,
            numa_node: self.numa_node,
        }
    }

    fn read(device: sys::CUdevice) -> Result<Self, OpenError> {
        let call = |name: &str| {
            let failed = failed(name);
            move |error: DriverError| OpenError::Failed(failed(error))
        };
        let attribute = |attribute: sys::CUdevice_attribute| {
            // SAFETY: the device is one that cuDeviceGet has given.
            unsafe { result::device::get_attribute(device, attribute) }
        };
        let number = |which: sys::CUdevice_attribute| {
            let value = attribute(which).map_err(call("cuDeviceGetAttribute"))?;
            Ok::<usize, OpenError>(usize::try_from(value).unwrap_or(0))
        };
        use sys::CUdevice_attribute as Attribute;
        let limits = Limits {
            threads: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            block: [
                number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
                number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
                number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
            ],
            blocks: [
                number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
                number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
                number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
            ],
        };
        let major = number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let numa_node = attribute(Attribute::CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID).ok();
        // SAFETY: the device is one that cuDeviceGet has given.
        let bytes = unsafe { result::device::total_mem(device) }.map_err(call("cuDeviceTotalMem"))?;
        Ok(Self {
            name: result::device::get_name(device).map_err(call("cuDeviceGetName"))?,
            uuid: uuid(device).map_err(call("cuDeviceGetUuid"))?,
            bus_id: bus_id(device).map_err(call("cuDeviceGetPCIBusId"))?,
            memory_bytes: bytes as u64,
            numa_node: numa_node.and_then(|node| u32::try_from(node).ok()),
            architecture: format!("sm_{major}{minor}"),
            limits,
            device,
        })
    }
}

/// Returns all devices that CUDA shows, in its order.
///
/// # Errors
/// If there is none.
pub fn devices() -> Result<Vec<DeviceInfo>, OpenError> {
    cuda::open()?;
    let count = match result::device::get_count() {
        Err(error) if error.0 != sys::CUresult::CUDA_ERROR_NO_DEVICE => {
            return Err(OpenError::Failed(failed("cuDeviceGetCount")(error)));
        }
        count => count.unwrap_or(0),
    };
    let device = |number: c_int| {
        let device = result::device::get(number);
        DeviceInfo::read(device.map_err(|error| OpenError::Failed(failed("cuDeviceGet")(error)))?)
    };
    let infos: Vec<DeviceInfo> = (0..count).map(device).collect::<Result<_, _>>()?;
    if infos.is_empty() { Err(OpenError::NoDevice) } else { Ok(infos) }
}

impl Limits {
    /// Returns the numbers of blocks and threads along each dimension for `items` in groups, or why the device cannot
    /// have them.
    pub(crate) fn grid(
        &self,
        items: [usize; 3],
        group: [usize; 3],
        threads_max: usize,
    ) -> Result<[[u32; 3]; 2], String> {
        let threads: usize = group.iter().product();
        if threads > threads_max.min(self.threads) {
            return Err(format!("it takes groups of at most {threads_max} items, not {group:?}"));
        }
        let mut grid = [[0; 3]; 2];
        for dimension in 0..3 {
            let (items, group) = (items[dimension], group[dimension]);
            if group == 0 || !items.is_multiple_of(group) || items == 0 {
                return Err(format!("{items} items along dimension {dimension} are no groups of {group}"));
            }
            let blocks = items / group;
            if blocks > self.blocks[dimension] || group > self.block[dimension] {
                return Err(format!(
                    "{blocks} groups of {group} items along dimension {dimension}, where the device takes {} groups of {}",
                    self.blocks[dimension], self.block[dimension]
                ));
            }
            let count = |number: usize| u32::try_from(number).map_err(|error| error.to_string());
            (grid[0][dimension], grid[1][dimension]) = (count(blocks)?, count(group)?);
        }
        Ok(grid)
    }
}

/// Returns the identity of a device, as nvidia-smi writes it.
fn uuid(device: sys::CUdevice) -> Result<String, DriverError> {
    let mut uuid = sys::CUuuid { bytes: [0; 16] };
    // SAFETY: `uuid` has room for the 16 bytes.
    unsafe { sys::cuDeviceGetUuid_v2(&raw mut uuid, device) }.result()?;
    Ok(uuid_text(uuid.bytes.map(c_int::from)))
}

fn uuid_text(bytes: [c_int; 16]) -> String {
    let mut text = "GPU-".to_owned();
    for (position, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&position) {
            text.push('-');
        }
        text.push_str(&format!("{:02x}", byte & 0xff));
    }
    text
}

/// Returns the place of a device on the bus, such as `0000:3B:00.0`.
fn bus_id(device: sys::CUdevice) -> Result<String, DriverError> {
    let mut text = [0_u8; 32];
    // SAFETY: there is room for as many bytes as are said, and CUDA writes no more.
    unsafe { sys::cuDeviceGetPCIBusId(text.as_mut_ptr().cast(), 32, device) }.result()?;
    let text = CStr::from_bytes_until_nul(&text).map(CStr::to_string_lossy);
    Ok(text.map_or_else(|_| String::new(), |text| text.into_owned()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const LIMITS: Limits =
        Limits { threads: 1024, block: [1024, 1024, 64], blocks: [2_147_483_647, 65_535, 65_535] };

    #[test]
    fn items_become_blocks_of_threads() {
        assert_eq!(LIMITS.grid([512, 3, 2], [128, 1, 1], 1024), Ok([[4, 3, 2], [128, 1, 1]]));
    }

    #[test]
    fn grids_that_the_device_does_not_take_are_refused() {
        let reason = LIMITS.grid([1, 65_536, 1], [1, 1, 1], 1024).unwrap_err();
        assert!(reason.contains("65536 groups of 1 items along dimension 1"), "{reason}");
        assert!(LIMITS.grid([1 << 20, 65_535, 65_535], [1, 1, 1], 1024).is_ok());
        let reason = LIMITS.grid([512, 1, 1], [512, 1, 1], 256).unwrap_err();
        assert!(reason.contains("at most 256 items"), "{reason}");
        assert!(LIMITS.grid([1, 1, 128], [1, 1, 128], 1024).is_err());
        assert!(LIMITS.grid([100, 1, 1], [64, 1, 1], 1024).is_err());
        assert!(LIMITS.grid([0, 1, 1], [1, 1, 1], 1024).is_err());
    }

    #[test]
    fn a_uuid_is_written_as_nvidia_smi_does() {
        let bytes = std::array::from_fn(|position| c_int::try_from(position).unwrap() - 1);
        assert_eq!(uuid_text(bytes), "GPU-ff000102-0304-0506-0708-090a0b0c0d0e");
    }
}

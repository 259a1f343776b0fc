//! The devices of a plugin.

use std::ffi::c_void;

use super::{
    basic::{ProctorError, ProctorStatus, ProctorString},
    plugin::ProctorBackend,
};

/// Id of ProctorDevices: "proctor.devices/1".
pub const PROCTOR_EXTENSION_DEVICES: &str = "proctor.devices/1";

/// Flag of ProctorDevices: instances at different devices may be created at the same time, on a thread for each device.
pub const PROCTOR_DEVICES_PARALLEL: u32 = 1;

/// A device. Owned by the plugin, valid for the duration of the call.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorDevice {
    /// Size of this structure in bytes, as the plugin was compiled.
    pub size: usize,
    /// Name for people, such as that of the product; one line of at most PROCTOR_NAME_LENGTH_MAX bytes.
    pub name: ProctorString,
    /// Text that tells it from others of its name, also at the next start of the machine: a UUID, a serial number or an
    /// address on a bus; one line of at most PROCTOR_NAME_LENGTH_MAX bytes, empty if there is none.
    pub id: ProctorString,
    /// Memory of the device in bytes; 0 if not known.
    pub memory_bytes: u64,
    /// Number of the NUMA node of the host that is nearest; -1 if not known.
    pub numa_node: i32,
    /// Zero.
    pub reserved: u32,
}

/// Where the devices go that the host wants, one by one. Owned by the host, valid for the duration of the call.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorDeviceSink {
    /// Size of this structure in bytes, as the host was compiled.
    pub size: usize,
    /// To be passed to `add`.
    pub context: *mut c_void,
    /// Copies a device. [the thread that was given the structure, during the call that it was given to]
    pub add: Option<unsafe extern "C" fn(context: *mut c_void, device: *const ProctorDevice)>,
}

/// The plugin has several devices, over which the host spreads the instances: ProctorPlacement.device_index.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorDevices {
    /// Size of this structure in bytes, as the plugin was compiled.
    pub size: usize,
    /// Set of PROCTOR_DEVICES flags.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
    /// Writes each device to `sink`, in an order that stays; none if there is nothing to choose. After open.
    /// [main thread]
    pub list: Option<
        unsafe extern "C" fn(
            backend: *mut ProctorBackend,
            sink: *const ProctorDeviceSink,
            error: *mut ProctorError,
        ) -> ProctorStatus,
    >,
}

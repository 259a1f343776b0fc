//! The devices of a plugin.

use std::ffi::c_void;

use proctor_plugin_api::{
    Device,
    abi::{
        PROCTOR_DEVICES_PARALLEL, PROCTOR_EXTENSION_DEVICES, PROCTOR_LIST_COUNT_MAX, ProctorDevice,
        ProctorDeviceSink, ProctorDevices,
    },
};

use crate::{
    call::Call,
    error::PluginHostError,
    foreign::Reader,
    guard::checked::checked,
    load::table::{null_function, optional_extension},
    objects::backend::Backend,
};

/// The devices of a plugin, in its order.
#[derive(Debug, Clone, Default)]
pub struct DeviceList {
    /// Devices; empty if the plugin does not report any.
    pub devices: Vec<Device>,
    /// True if instances at different devices may be created at the same time.
    pub in_parallel: bool,
}

/// The part of the list that the plugin has written.
struct Collected<'a> {
    reader: Reader<'a>,
    devices: Vec<Device>,
    /// First error; later ones are dropped.
    problem: Option<PluginHostError>,
}

impl Backend {
    /// Returns the devices of the plugin. [main thread]
    ///
    /// # Errors
    /// If the plugin cannot list its devices, or a device is malformed.
    pub fn devices(&self) -> Result<DeviceList, PluginHostError> {
        let backend = &*self.inner;
        let (reader, activity) = (backend.reader(), backend.activity);
        let table = &backend.library.table().raw;
        // SAFETY: the id names this structure.
        let found = unsafe {
            optional_extension::<ProctorDevices>(table, reader, activity, PROCTOR_EXTENSION_DEVICES)
        }?;
        let Some(extension) = found else { return Ok(DeviceList::default()) };
        let list = extension.list.ok_or_else(|| null_function(reader, "ProctorDevices.list"))?;
        let mut collected = Collected { reader, devices: Vec::new(), problem: None };
        let size = size_of::<ProctorDeviceSink>();
        let sink = ProctorDeviceSink { size, context: (&raw mut collected).cast(), add: Some(add) };
        checked(activity, Call::ListDevices, |error| {
            // SAFETY: the function is that of a checked extension; the handle is live; the sink lives for the call, and
            // so does the list whose address `add` takes, which no other code touches meanwhile.
            unsafe { list(backend.handle.get(), &raw const sink, error) }
        })?;
        match collected.problem {
            Some(problem) => Err(problem),
            None => Ok(DeviceList {
                devices: collected.devices,
                in_parallel: extension.flags & PROCTOR_DEVICES_PARALLEL != 0,
            }),
        }
    }
}

/// Takes a device for the list at `context`.
///
/// # Safety
/// `context` is the address of a `Collected` that lives and that no other code uses during the call; the plugin vouches
/// for the device.
unsafe extern "C" fn add(context: *mut c_void, device: *const ProctorDevice) {
    // SAFETY: `context` is the address that `devices` put into the sink, of a local that it does not touch until the
    // plugin's call has returned.
    let Some(collected) = (unsafe { context.cast::<Collected<'_>>().as_mut() }) else { return };
    if collected.problem.is_some() {
        return;
    }
    // SAFETY: the plugin vouches for the device that it hands to the sink.
    match unsafe { read(collected.reader, device, collected.devices.len()) } {
        Ok(device) => collected.devices.push(device),
        Err(problem) => collected.problem = Some(problem),
    }
}

/// # Safety
/// The plugin vouches for the device.
unsafe fn read(
    reader: Reader<'_>,
    device: *const ProctorDevice,
    position: usize,
) -> Result<Device, PluginHostError> {
    if position >= PROCTOR_LIST_COUNT_MAX {
        return Err(reader.malformed(format!("it lists more than {PROCTOR_LIST_COUNT_MAX} devices")));
    }
    // SAFETY: the plugin vouches for the device.
    let raw = unsafe { reader.structure(device) }?;
    let what = format!("the name of device {position}");
    // SAFETY: the plugin vouches for the bytes of the name.
    let name = unsafe { reader.name(&what, raw.name) }?;
    let id = if raw.id.length == 0 {
        None
    } else {
        // SAFETY: the plugin vouches for the bytes of the id.
        Some(unsafe { reader.name(&format!("the id of device {position}"), raw.id) }?)
    };
    let numa_node = match raw.numa_node {
        -1 => None,
        node => Some(u32::try_from(node).map_err(|_| {
            reader.malformed(format!("the NUMA node of device {position} is {node}; it is -1 if not known"))
        })?),
    };
    Ok(Device { name, id, memory_bytes: (raw.memory_bytes != 0).then_some(raw.memory_bytes), numa_node })
}

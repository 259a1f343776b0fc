//! The driver and its devices.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use super::{functions, give};
use crate::{errors::CudaError, settings::Settings, world::init};

/// Returns the place of a device on the bus, as CUDA and NVML write it.
pub(crate) fn bus_id(device: usize) -> String {
    format!("0000:{:02X}:00.0", device + 1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuInit(_flags: c_uint) -> i32 {
    init()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> i32 {
    give(version, Settings::read().driver).err().unwrap_or(CudaError::SUCCESS).0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(error: c_int, name: *mut *const c_char) -> i32 {
    text(error, name, |(name, _)| name)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(error: c_int, meaning: *mut *const c_char) -> i32 {
    text(error, meaning, |(_, meaning)| meaning)
}

fn text(
    error: c_int,
    to: *mut *const c_char,
    which: impl Fn((&'static CStr, &'static CStr)) -> &'static CStr,
) -> i32 {
    let Some(texts) = CudaError(error).texts() else { return CudaError::ERROR_INVALID_VALUE.0 };
    give(to, which(texts).as_ptr()).err().unwrap_or(CudaError::SUCCESS).0
}

/// Refuses NVIDIA's own compiler, which requests undocumented tables: there are none.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetExportTable(table: *mut *const c_void, _id: *const c_void) -> i32 {
    give(table, std::ptr::null()).err().unwrap_or(CudaError::ERROR_NOT_FOUND).0
}

/// Writes a text that ends in a zero, cut to the room.
fn give_text(to: *mut c_char, length: c_int, text: &str) -> Result<(), CudaError> {
    let length = usize::try_from(length).unwrap_or(0);
    if length <= text.len() {
        return Err(CudaError::ERROR_INVALID_VALUE);
    }
    for (at, byte) in text.bytes().chain([0]).enumerate() {
        // SAFETY: the caller has room for `length` bytes, which are more than the text's.
        unsafe { to.add(at).write(byte as c_char) };
    }
    Ok(())
}

functions! {
    fn cuDeviceGetCount(world, count: *mut c_int) {
        give(count, world.devices.len() as c_int)
    }

    fn cuDeviceGet(world, device: *mut c_int, ordinal: c_int) {
        let is_there = usize::try_from(ordinal).is_ok_and(|ordinal| ordinal < world.devices.len());
        if is_there { give(device, ordinal) } else { Err(CudaError::ERROR_INVALID_DEVICE) }
    }

    fn cuDeviceGetName(world, name: *mut c_char, length: c_int, device: c_int) {
        give_text(name, length, &world.devices[world.device(device)?].name)
    }

    fn cuDeviceGetUuid_v2(world, uuid: *mut [u8; 16], device: c_int) {
        give(uuid, [world.device(device)? as u8 + 1; 16])
    }

    fn cuDeviceGetPCIBusId(world, text: *mut c_char, length: c_int, device: c_int) {
        give_text(text, length, &bus_id(world.device(device)?))
    }

    fn cuDeviceTotalMem_v2(world, bytes: *mut usize, device: c_int) {
        world.device(device)?;
        give(bytes, world.settings.memory)
    }

    fn cuDeviceGetAttribute(world, value: *mut c_int, attribute: c_int, device: c_int) {
        world.device(device)?;
        let number = match attribute {
            1..=3 => world.settings.threads_max as c_int,
            4 => 64,
            5 => c_int::MAX,
            6 | 7 => 65_535,
            75 => world.settings.capability.0,
            76 => world.settings.capability.1,
            _ => return Err(CudaError::ERROR_INVALID_VALUE),
        };
        give(value, number)
    }
}

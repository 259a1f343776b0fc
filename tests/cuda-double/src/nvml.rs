//! The functions of `libnvidia-ml.so.1`, under their names: a device that always takes 100 W.

use std::{
    ffi::{CStr, c_char, c_int},
    sync::LazyLock,
    time::Instant,
};

use crate::{driver::device::bus_id, settings::Settings};

const NOT_FOUND: c_int = 6;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlInit_v2() -> c_int {
    LazyLock::force(&START);
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlShutdown() -> c_int {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlErrorString(error: c_int) -> *const c_char {
    if error == 0 { c"Success".as_ptr() } else { c"Not Found".as_ptr() }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(text: *const c_char, device: *mut usize) -> c_int {
    // SAFETY: the caller has a text that ends in a zero.
    let wanted = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    let count = Settings::read().devices.len();
    let Some(found) = (0..count).find(|device| bus_id(*device) == wanted) else {
        return NOT_FOUND;
    };
    // SAFETY: the caller has a place for the handle.
    unsafe { device.write(found + 1) };
    0
}

/// Functions that write a figure of a device, or of a part of one.
macro_rules! figures {
    ($($name:ident($($which:ident)?) -> $type:ty { $value:expr })*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $name(_device: usize, $($which: c_int,)? to: *mut $type) -> c_int {
            // SAFETY: the caller has a place for the figure.
            unsafe { to.write($value) };
            0
        })*
    };
}

figures! {
    nvmlDeviceGetPowerUsage() -> u32 { 100_000 }
    nvmlDeviceGetTotalEnergyConsumption() -> u64 { START.elapsed().as_millis() as u64 * 100 }
    nvmlDeviceGetClockInfo(_clock) -> u32 { 1500 }
    nvmlDeviceGetMemoryInfo() -> [u64; 3] { [1 << 30, 1 << 29, 1 << 29] }
    nvmlDeviceGetUtilizationRates() -> [u32; 2] { [50, 25] }
    nvmlDeviceGetCurrentClocksThrottleReasons() -> u64 { 0 }
    nvmlDeviceGetTemperature(_sensor) -> u32 { 60 }
}

//! NVML, which reports the consumption of devices: energy, power, clocks, memory.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_uint, c_ulonglong, c_void},
    sync::Arc,
};

use super::{functions, load, reason};

/// Library of NVML, which comes with the driver.
const LIBRARY: &str = "libnvidia-ml.so.1";

/// Numbers of clocks and sensors in NVML's header.
const CLOCK_SM: c_int = 1;
const CLOCK_MEMORY: c_int = 2;
const SENSOR_OF_DEVICE: c_int = 0;

type Handle = *mut c_void;

functions! {
    /// The functions of NVML that are called here. They return 0, or the number of an error.
    Functions {
        nvmlInit_v2() -> c_int;
        nvmlShutdown() -> c_int;
        nvmlErrorString(c_int) -> *const c_char;
        nvmlDeviceGetHandleByPciBusId_v2(*const c_char, *mut Handle) -> c_int;
        nvmlDeviceGetTotalEnergyConsumption(Handle, *mut c_ulonglong) -> c_int;
        nvmlDeviceGetPowerUsage(Handle, *mut c_uint) -> c_int;
        nvmlDeviceGetClockInfo(Handle, c_int, *mut c_uint) -> c_int;
        nvmlDeviceGetMemoryInfo(Handle, *mut MemoryInfo) -> c_int;
        nvmlDeviceGetUtilizationRates(Handle, *mut Utilisation) -> c_int;
        nvmlDeviceGetCurrentClocksThrottleReasons(Handle, *mut c_ulonglong) -> c_int;
        nvmlDeviceGetTemperature(Handle, c_int, *mut c_uint) -> c_int;
    }
}

#[repr(C)]
#[derive(Default)]
struct MemoryInfo {
    total: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

#[repr(C)]
#[derive(Default)]
struct Utilisation {
    device: c_uint,
    memory: c_uint,
}

/// The library, started.
pub(crate) struct Nvml {
    functions: Functions,
}

/// A device as NVML knows it.
pub(crate) struct Gauge {
    handle: Handle,
    nvml: Arc<Nvml>,
}

// SAFETY: NVML says of its functions that they may be called on any thread; the handle is a name, which stays valid.
unsafe impl Send for Gauge {}
// SAFETY: NVML says that several threads may call at the same time.
unsafe impl Sync for Gauge {}

impl Nvml {
    /// Loads and starts the library.
    ///
    /// # Errors
    /// Returns a reason in words if there is none.
    pub fn open() -> Result<Arc<Self>, String> {
        // SAFETY: the name is that of NVML, whose library may be loaded at any time.
        let loaded = unsafe { load(LIBRARY) }.and_then(|library| {
            // SAFETY: the types are those of NVML's header for the versions that the names end in.
            unsafe { Functions::load(library) }
        });
        let functions = loaded.map_err(|error| reason(&error))?;
        // SAFETY: it takes nothing, and may be called at any time.
        let started = unsafe { (functions.nvmlInit_v2)() };
        if started == 0 { Ok(Arc::new(Self { functions })) } else { Err(error_of(&functions, started)) }
    }

    /// Returns the device at this address on the bus.
    ///
    /// # Errors
    /// Returns the reason why NVML does not know it, in words.
    pub fn device(self: &Arc<Self>, bus_id: &str) -> Result<Gauge, String> {
        let bus_id = CString::new(bus_id).map_err(|error| error.to_string())?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the text lives for the call, and `handle` is a place for the result.
        let found =
            unsafe { (self.functions.nvmlDeviceGetHandleByPciBusId_v2)(bus_id.as_ptr(), &raw mut handle) };
        if found != 0 {
            return Err(error_of(&self.functions, found));
        }
        Ok(Gauge { handle, nvml: Arc::clone(self) })
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        // SAFETY: it was started once, and no gauge is left.
        unsafe { (self.functions.nvmlShutdown)() };
    }
}

fn error_of(functions: &Functions, result: c_int) -> String {
    // SAFETY: any number may be asked about.
    let text = unsafe { (functions.nvmlErrorString)(result) };
    if text.is_null() {
        return format!("error {result} of NVML");
    }
    // SAFETY: NVML returns a text of its own, which stays.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

impl Gauge {
    /// Reads a figure by a function that takes a handle and a pointer for the result; `None` if the device has no such
    /// figure.
    fn read<T: Default>(&self, function: unsafe extern "C" fn(Handle, *mut T) -> c_int) -> Option<T> {
        let mut figure = T::default();
        // SAFETY: the handle is NVML's, which was started and lives; there is a place for the figure.
        let read = unsafe { function(self.handle, &raw mut figure) };
        (read == 0).then_some(figure)
    }

    /// Returns the same by a function that takes the number of a clock or a sensor, too.
    fn read_of<T: Default>(
        &self,
        function: unsafe extern "C" fn(Handle, c_int, *mut T) -> c_int,
        which: c_int,
    ) -> Option<T> {
        let mut figure = T::default();
        // SAFETY: as in `read`; NVML refuses a number that it does not know.
        let read = unsafe { function(self.handle, which, &raw mut figure) };
        (read == 0).then_some(figure)
    }

    /// Returns the energy since the driver was loaded, in mJ.
    pub fn energy_mj(&self) -> Option<u64> {
        self.read(self.nvml.functions.nvmlDeviceGetTotalEnergyConsumption)
    }

    /// Returns the power in mW.
    pub fn power_mw(&self) -> Option<u32> {
        self.read(self.nvml.functions.nvmlDeviceGetPowerUsage)
    }

    /// Returns the clock of the processors in MHz.
    pub fn sm_clock_mhz(&self) -> Option<u32> {
        self.read_of(self.nvml.functions.nvmlDeviceGetClockInfo, CLOCK_SM)
    }

    /// Returns the clock of the memory in MHz.
    pub fn memory_clock_mhz(&self) -> Option<u32> {
        self.read_of(self.nvml.functions.nvmlDeviceGetClockInfo, CLOCK_MEMORY)
    }

    /// Returns the memory that is used, by all processes, in bytes.
    pub fn memory_used_bytes(&self) -> Option<u64> {
        Some(self.read(self.nvml.functions.nvmlDeviceGetMemoryInfo)?.used)
    }

    /// Returns in percent how much of the time before a kernel ran, and how much of it memory was read or written.
    pub fn utilisation(&self) -> Option<(u32, u32)> {
        let Utilisation { device, memory } = self.read(self.nvml.functions.nvmlDeviceGetUtilizationRates)?;
        Some((device, memory))
    }

    /// Returns the reasons why the clocks are not higher, a bit for each.
    pub fn throttle_reasons(&self) -> Option<u64> {
        self.read(self.nvml.functions.nvmlDeviceGetCurrentClocksThrottleReasons)
    }

    /// Returns the temperature in degrees Celsius.
    pub fn temperature_c(&self) -> Option<u32> {
        self.read_of(self.nvml.functions.nvmlDeviceGetTemperature, SENSOR_OF_DEVICE)
    }
}

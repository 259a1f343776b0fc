//! The driver's library: whether it exists, and has the functions that are called.
//!
//! cudarc loads it at the first call, and panics if the library or the called function is missing. So no function of
//! the driver is called before [`open`] has checked for all of them.

use cudarc::driver::{result, sys};

use crate::error::{OpenError, VERSION_LEAST, failed};

/// Every function of the driver that this crate calls, or cudarc for it.
const FUNCTIONS: [&str; 41] = [
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetPCIBusId",
    "cuDeviceGetUuid_v2",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceTotalMem_v2",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventElapsedTime",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuFuncGetAttribute",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuInit",
    "cuLaunchKernel",
    "cuMemAlloc_v2",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemHostAlloc",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuModuleGetFunction",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuStreamBeginCapture_v2",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamEndCapture",
    "cuStreamSynchronize",
];

/// Loads the driver's library and starts the driver. Returns the version of CUDA that it is for, by CUDA's number.
///
/// # Errors
/// Returns the library, function or device that is missing.
pub(crate) fn open() -> Result<i32, OpenError> {
    // SAFETY: the names that are tried are those of NVIDIA's driver, whose library may be loaded at any time.
    if !unsafe { sys::is_culib_present() } {
        return Err(OpenError::NoDriver);
    }
    // SAFETY: as above. It was loaded a moment ago; were it gone since, the panic would be caught at the boundary.
    let library = unsafe { sys::culib() };
    for function in FUNCTIONS {
        // SAFETY: the symbol is looked up and not used.
        if unsafe { library.get::<*const ()>(function) }.is_err() {
            return Err(OpenError::NoFunction { function });
        }
    }
    let mut version = 0;
    // SAFETY: `version` is a place for the number. This function may be called before cuInit.
    let asked = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    asked.result().map_err(|error| OpenError::Failed(failed("cuDriverGetVersion")(error)))?;
    if version < VERSION_LEAST {
        return Err(OpenError::OldDriver { is: version });
    }
    match result::init() {
        Ok(()) => Ok(version),
        Err(error) if error.0 == sys::CUresult::CUDA_ERROR_NO_DEVICE => Err(OpenError::NoDevice),
        Err(error) => Err(OpenError::Failed(failed("cuInit")(error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files with calls; each call names its function if it fails.
    const FILES: [&str; 6] = [
        include_str!("cuda.rs"),
        include_str!("../context.rs"),
        include_str!("../devices.rs"),
        include_str!("../launch.rs"),
        include_str!("../memory.rs"),
        include_str!("../queue.rs"),
    ];

    #[test]
    fn every_function_that_is_called_is_looked_up_first() {
        let is_known = |name: &str| FUNCTIONS.iter().any(|known| known.trim_end_matches("_v2") == name);
        let names = FILES.iter().flat_map(|text| text.split("\"cu").skip(1)).filter_map(|rest| {
            let name: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
            name.starts_with(char::is_uppercase).then(|| format!("cu{name}"))
        });
        let unknown: Vec<String> = names.filter(|name| !is_known(name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}

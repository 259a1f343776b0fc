//! Errors of CUDA, in words with a remedy.

use std::ffi::CStr;

use cudarc::driver::DriverError;
use proctor_device::driver::{DeviceError, DeviceErrorKind};

/// Oldest supported driver, in CUDA's numbering: cudarc's types match this version.
pub(crate) const VERSION_LEAST: i32 = 12_020;

/// Reason why CUDA cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum OpenError {
    #[error(
        "there is no CUDA driver: libcuda.so.1 cannot be loaded; install NVIDIA's driver for CUDA {needed} or later, and \
         give a container its libraries (docker run --gpus all)",
        needed = version_text(VERSION_LEAST)
    )]
    NoDriver,
    #[error(
        "the CUDA driver is for CUDA {is}, which is too old: install one for CUDA {needed} or later",
        is = version_text(*.is),
        needed = version_text(VERSION_LEAST)
    )]
    OldDriver {
        /// Version of the driver, in CUDA's numbering.
        is: i32,
    },
    #[error(
        "the CUDA driver has no {function}: install NVIDIA's driver for CUDA {needed} or later",
        needed = version_text(VERSION_LEAST)
    )]
    NoFunction { function: &'static str },
    #[error(
        "there is no CUDA device: the driver finds none; see whether nvidia-smi lists one, and whether \
         CUDA_VISIBLE_DEVICES hides it"
    )]
    NoDevice,
    #[error(
        "there is no NVRTC, which compiles the kernels ({reason}); install the CUDA toolkit's libnvrtc or the Python \
         package nvidia-cuda-nvrtc-cu{major}, and name its folder with cuda.nvrtc"
    )]
    NoCompiler { major: i32, reason: String },
    #[error(
        "there is no cuBLASLt ({reason}); install the CUDA toolkit's libcublasLt or the Python package nvidia-cublas-cu12, \
         and name its folder with cuda.cublaslt, or set cuda.products=own"
    )]
    NoCublasLt { reason: String },
    #[error(
        "there is no cuDNN 9 ({reason}); install NVIDIA's libcudnn9 or the Python package nvidia-cudnn-cu12, and name its \
         folder with cuda.cudnn, or set cuda.convolutions=own"
    )]
    NoCudnn { reason: String },
    /// A call has failed.
    #[error("{}{}", .0.message, advice(.0.code))]
    Failed(DeviceError),
}

/// Returns a remedy for an error of the driver's first calls; empty if it is not known.
fn advice(code: i64) -> &'static str {
    match code {
        34 => {
            "; a stub of the driver's library was loaded, which is for linking: take it out of LD_LIBRARY_PATH"
        }
        803 => "; library and kernel module of the driver are of different versions: restart the machine",
        804 => "; the compatibility library of CUDA is not for this device: take it out of LD_LIBRARY_PATH",
        802 | 999 => "; see whether nvidia-smi works, and load the kernel module nvidia_uvm",
        _ => "",
    }
}

/// Formats a version in CUDA's numbering, such as 12020, as people write it.
pub(crate) fn version_text(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// Returns the error of a call of the driver.
pub(crate) fn failed(call: &str) -> impl Fn(DriverError) -> DeviceError + use<> {
    let call = call.to_owned();
    move |error| {
        let code = error.0 as u32;
        let name = error.error_name().map_or("an unknown error".into(), CStr::to_string_lossy);
        let meaning = error.error_string().map_or("not known to the driver".into(), CStr::to_string_lossy);
        let kind = kind(code);
        let end = match kind {
            DeviceErrorKind::Lost => "; this process cannot use the device any more, and dmesg may say why",
            DeviceErrorKind::OutOfMemory | DeviceErrorKind::Failed => "",
        };
        DeviceError { message: format!("{call}: {name} ({code}): {meaning}{end}"), code: code.into(), kind }
    }
}

/// Logs that a resource could not be released: there is no caller to return the error to.
pub(crate) fn log(call: &str, result: Result<(), DriverError>) {
    if let Err(error) = result.map_err(failed(call)) {
        // Once a device is lost, every call reports it; the first report was enough.
        match error.kind {
            DeviceErrorKind::Lost => tracing::debug!(%error, "not given back"),
            DeviceErrorKind::OutOfMemory | DeviceErrorKind::Failed => {
                tracing::warn!(%error, "not given back")
            }
        }
    }
}

/// Returns the kind of an error by its number in the driver's API.
fn kind(code: u32) -> DeviceErrorKind {
    match code {
        2 => DeviceErrorKind::OutOfMemory,
        // The driver has ended, the device is taken away, or the context is gone.
        4 | 46 | 201 | 709 | 810 |
        // Memory or a link is broken.
        214 | 220 |
        // A kernel accessed memory out of bounds or took too long; the context returns the same error to every later
        // call.
        700 | 702 | 710 | 714..=719 | 721 => DeviceErrorKind::Lost,
        _ => DeviceErrorKind::Failed,
    }
}

#[cfg(test)]
mod tests {
    use cudarc::driver::sys::CUresult;

    use super::*;

    #[test]
    fn what_breaks_a_context_means_that_the_device_is_lost() {
        for broken in [
            CUresult::CUDA_ERROR_LAUNCH_FAILED,
            CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
            CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION,
            CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
            CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE,
            CUresult::CUDA_ERROR_INVALID_PC,
            CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR,
            CUresult::CUDA_ERROR_LAUNCH_TIMEOUT,
            CUresult::CUDA_ERROR_ASSERT,
            CUresult::CUDA_ERROR_ECC_UNCORRECTABLE,
            CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE,
            CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED,
            CUresult::CUDA_ERROR_INVALID_CONTEXT,
            CUresult::CUDA_ERROR_DEINITIALIZED,
            CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE,
            CUresult::CUDA_ERROR_MPS_CLIENT_TERMINATED,
        ] {
            assert_eq!(kind(broken as u32), DeviceErrorKind::Lost, "{broken:?}");
        }
        assert_eq!(kind(CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32), DeviceErrorKind::OutOfMemory);
        for other in [
            CUresult::CUDA_ERROR_INVALID_VALUE,
            CUresult::CUDA_ERROR_NO_DEVICE,
            CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
            CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
            CUresult::CUDA_ERROR_NOT_READY,
        ] {
            assert_eq!(kind(other as u32), DeviceErrorKind::Failed, "{other:?}");
        }
    }

    #[test]
    fn errors_say_what_to_install() {
        assert!(OpenError::NoDriver.to_string().contains("install NVIDIA's driver for CUDA 12.2 or later"));
        let old = OpenError::OldDriver { is: 11_040 }.to_string();
        assert!(old.contains("is for CUDA 11.4") && old.contains("12.2 or later"), "{old}");
        let compiler = OpenError::NoCompiler { major: 12, reason: "not found".to_owned() }.to_string();
        assert!(compiler.contains("nvidia-cuda-nvrtc-cu12") && compiler.contains("cuda.nvrtc"), "{compiler}");
    }
}

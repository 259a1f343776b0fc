//! Errors of CUDA by their numbers.

use std::ffi::CStr;

/// An error of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CudaError(pub i32);

macro_rules! errors {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        impl CudaError {
            $(pub const $name: Self = Self($number);)*

            /// Returns the name and meaning.
            pub fn texts(self) -> Option<(&'static CStr, &'static CStr)> {
                match self.0 {
                    $($number => Some((
                        const { match CStr::from_bytes_with_nul(concat!("CUDA_", stringify!($name), "\0").as_bytes()) { Ok(text) => text, Err(_) => panic!() } },
                        const { match CStr::from_bytes_with_nul(concat!($text, "\0").as_bytes()) { Ok(text) => text, Err(_) => panic!() } },
                    )),)*
                    _ => None,
                }
            }
        }
    };
}

errors! {
    SUCCESS = 0, "no error";
    ERROR_INVALID_VALUE = 1, "invalid argument";
    ERROR_OUT_OF_MEMORY = 2, "out of memory";
    ERROR_NOT_INITIALIZED = 3, "initialization error";
    ERROR_NO_DEVICE = 100, "no CUDA-capable device is detected";
    ERROR_INVALID_DEVICE = 101, "invalid device ordinal";
    ERROR_INVALID_IMAGE = 200, "device kernel image is invalid";
    ERROR_INVALID_CONTEXT = 201, "invalid device context";
    ERROR_NO_BINARY_FOR_GPU = 209, "no kernel image is available for execution on the device";
    ERROR_OPERATING_SYSTEM = 304, "OS call failed or operation not supported on this OS";
    ERROR_INVALID_HANDLE = 400, "invalid resource handle";
    ERROR_NOT_FOUND = 500, "named symbol not found";
    ERROR_NOT_READY = 600, "device not ready";
    ERROR_ILLEGAL_ADDRESS = 700, "an illegal memory access was encountered";
    ERROR_LAUNCH_FAILED = 719, "unspecified launch failure";
    ERROR_STREAM_CAPTURE_UNSUPPORTED = 900, "operation not permitted when stream is capturing";
    ERROR_STREAM_CAPTURE_INVALIDATED = 901, "operation failed due to a previous error during capture";
    ERROR_ILLEGAL_STATE = 401, "the operation cannot be performed in the present state";
    ERROR_STREAM_CAPTURE_WRONG_THREAD = 908, "attempt to terminate a thread-local capture sequence from another thread";
}

//! cuDNN, NVIDIA's convolutions.

pub(crate) mod handle;

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    path::{Path, PathBuf},
    ptr,
    sync::Arc,
};

use cudarc::driver::sys::CUstream;
use proctor_device::driver::{DeviceError, DeviceErrorKind};

use super::{TOOLKIT, functions, load, reason};

/// Numbers of cuDNN's header, under its names.
pub(crate) mod numbers {
    use std::ffi::c_int;

    pub(crate) const DATA_FLOAT: c_int = 0;
    pub(crate) const DATA_HALF: c_int = 2;
    pub(crate) const DATA_BFLOAT16: c_int = 9;
    pub(crate) const TENSOR_NCHW: c_int = 0;
    pub(crate) const CROSS_CORRELATION: c_int = 1;
    pub(crate) const DEFAULT_MATH: c_int = 0;
    pub(crate) const TENSOR_OP_MATH: c_int = 1;
    pub(crate) const FMA_MATH: c_int = 3;
    pub(crate) const ACTIVATION_RELU: c_int = 1;
    pub(crate) const ACTIVATION_IDENTITY: c_int = 5;
    pub(crate) const NOT_PROPAGATE_NAN: c_int = 0;
    pub(crate) const ALGO_IMPLICIT_PRECOMP_GEMM: c_int = 1;
    pub(crate) const ALGO_COUNT: c_int = 8;
}

/// The major version whose numbers and types these are.
const MAJOR: usize = 9;

/// Names of its file.
const NAMES: [&str; 2] = ["libcudnn.so.9", "libcudnn.so"];

/// Statuses that are handled separately: too little memory on the host or the device.
const ALLOCATION_FAILED: [c_int; 2] = [4003, 4004];

type Opaque = *mut c_void;

/// An algorithm as the heuristic proposes it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Proposal {
    algorithm: c_int,
    status: c_int,
    time: f32,
    memory: usize,
    determinism: c_int,
    math: c_int,
    reserved: [c_int; 3],
}

functions! {
    /// The functions of cuDNN that are called here. But for the first two they return 0, or the number of an error.
    Functions {
        cudnnGetVersion() -> usize;
        cudnnGetErrorString(c_int) -> *const c_char;
        cudnnCreate(*mut Opaque) -> c_int;
        cudnnDestroy(Opaque) -> c_int;
        cudnnSetStream(Opaque, CUstream) -> c_int;
        cudnnCreateTensorDescriptor(*mut Opaque) -> c_int;
        cudnnSetTensor4dDescriptor(Opaque, c_int, c_int, c_int, c_int, c_int, c_int) -> c_int;
        cudnnDestroyTensorDescriptor(Opaque) -> c_int;
        cudnnCreateFilterDescriptor(*mut Opaque) -> c_int;
        cudnnSetFilter4dDescriptor(Opaque, c_int, c_int, c_int, c_int, c_int, c_int) -> c_int;
        cudnnDestroyFilterDescriptor(Opaque) -> c_int;
        cudnnCreateConvolutionDescriptor(*mut Opaque) -> c_int;
        cudnnSetConvolution2dDescriptor(Opaque, c_int, c_int, c_int, c_int, c_int, c_int, c_int, c_int) -> c_int;
        cudnnSetConvolutionGroupCount(Opaque, c_int) -> c_int;
        cudnnSetConvolutionMathType(Opaque, c_int) -> c_int;
        cudnnDestroyConvolutionDescriptor(Opaque) -> c_int;
        cudnnCreateActivationDescriptor(*mut Opaque) -> c_int;
        cudnnSetActivationDescriptor(Opaque, c_int, c_int, f64) -> c_int;
        cudnnDestroyActivationDescriptor(Opaque) -> c_int;
        cudnnGetConvolutionForwardAlgorithm_v7(Opaque, Opaque, Opaque, Opaque, Opaque, c_int, *mut c_int, *mut Proposal) -> c_int;
        cudnnGetConvolutionForwardWorkspaceSize(Opaque, Opaque, Opaque, Opaque, Opaque, c_int, *mut usize) -> c_int;
        cudnnConvolutionForward(Opaque, *const f32, Opaque, *const c_void, Opaque, *const c_void, Opaque, c_int, *mut c_void, usize,
            *const f32, Opaque, *mut c_void) -> c_int;
        cudnnConvolutionBiasActivationForward(Opaque, *const f32, Opaque, *const c_void, Opaque, *const c_void, Opaque, c_int,
            *mut c_void, usize, *const f32, Opaque, *const c_void, Opaque, *const c_void, Opaque, Opaque, *mut c_void) -> c_int;
    }
}

/// The library.
pub(crate) struct Cudnn {
    functions: Functions,
}

impl Cudnn {
    /// Loads the library, from this folder if there is one. Else it is looked for where the system looks, and before
    /// that in Python's packages if the compiler is of one, whose folder is `compiler`.
    ///
    /// # Errors
    /// Returns a reason in words if there is none.
    pub fn load(folder: Option<&Path>, compiler: Option<&Path>) -> Result<Arc<Self>, String> {
        let mut first_reason = None;
        for path in candidates(folder, compiler) {
            // SAFETY: the name is that of cuDNN, whose library may be loaded at any time.
            let loaded = unsafe { load(&path) }.and_then(|library| {
                // SAFETY: the types are those of the header of cuDNN 9. Of another version none is called but the one
                // that says so, which is the same in all.
                unsafe { Functions::load(library) }
            });
            let found = loaded.map_err(|error| reason(&error)).and_then(|functions| {
                // SAFETY: it takes nothing, and may be called at any time.
                let version = version(unsafe { (functions.cudnnGetVersion)() });
                match version[0] {
                    MAJOR => Ok((functions, version)),
                    _ => Err(format!(
                        "{} is version {}",
                        path.display(),
                        version.map(|part| part.to_string()).join(".")
                    )),
                }
            });
            match found {
                Ok((functions, version)) => {
                    tracing::info!(path = %path.display(), ?version, "cuDNN loaded");
                    return Ok(Arc::new(Self { functions }));
                }
                Err(reason) => first_reason = first_reason.or(Some(reason)),
            }
        }
        Err(first_reason.unwrap_or_default())
    }

    /// Returns a tensor row by row.
    pub fn tensor(
        self: &Arc<Self>,
        element: c_int,
        [n, c, height, width]: [c_int; 4],
    ) -> Result<Tensor, DeviceError> {
        let tensor = Tensor::new(self)?;
        // SAFETY: the descriptor is live, and nobody else has it yet; wrong numbers are refused.
        let set = unsafe {
            let set = self.functions.cudnnSetTensor4dDescriptor;
            set(tensor.raw, numbers::TENSOR_NCHW, element, n, c, height, width)
        };
        self.check("cudnnSetTensor4dDescriptor", set)?;
        Ok(tensor)
    }

    /// Returns the filters row by row.
    pub fn filters(
        self: &Arc<Self>,
        element: c_int,
        [count, channels, height, width]: [c_int; 4],
    ) -> Result<Filters, DeviceError> {
        let filters = Filters::new(self)?;
        // SAFETY: as of a tensor.
        let set = unsafe {
            let set = self.functions.cudnnSetFilter4dDescriptor;
            set(filters.raw, element, numbers::TENSOR_NCHW, count, channels, height, width)
        };
        self.check("cudnnSetFilter4dDescriptor", set)?;
        Ok(filters)
    }

    /// Returns a cross-correlation with sums in f32, by this kind of arithmetic.
    pub fn windows(
        self: &Arc<Self>,
        [pads, strides, dilations]: [[c_int; 2]; 3],
        groups: c_int,
        math: c_int,
    ) -> Result<Windows, DeviceError> {
        let windows = Windows::new(self)?;
        // SAFETY: as of a tensor.
        let set = unsafe {
            (self.functions.cudnnSetConvolution2dDescriptor)(
                windows.raw,
                pads[0],
                pads[1],
                strides[0],
                strides[1],
                dilations[0],
                dilations[1],
                numbers::CROSS_CORRELATION,
                numbers::DATA_FLOAT,
            )
        };
        self.check("cudnnSetConvolution2dDescriptor", set)?;
        // SAFETY: as of a tensor.
        let set = unsafe { (self.functions.cudnnSetConvolutionGroupCount)(windows.raw, groups) };
        self.check("cudnnSetConvolutionGroupCount", set)?;
        // SAFETY: as of a tensor.
        let set = unsafe { (self.functions.cudnnSetConvolutionMathType)(windows.raw, math) };
        self.check("cudnnSetConvolutionMathType", set)?;
        Ok(windows)
    }

    /// Returns an activation.
    pub fn activation(self: &Arc<Self>, mode: c_int) -> Result<Activation, DeviceError> {
        let activation = Activation::new(self)?;
        // SAFETY: as of a tensor. A convolution may end with no other treatment of a NaN.
        let set = unsafe {
            let set = self.functions.cudnnSetActivationDescriptor;
            set(activation.raw, mode, numbers::NOT_PROPAGATE_NAN, 0.0)
        };
        self.check("cudnnSetActivationDescriptor", set)?;
        Ok(activation)
    }

    fn check(&self, call: &str, status: c_int) -> Result<(), DeviceError> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: any number may be asked about.
        let text = unsafe { (self.functions.cudnnGetErrorString)(status) };
        let text = if text.is_null() {
            format!("error {status}")
        } else {
            // SAFETY: cuDNN returns a text of its own, which stays.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        let is_memory = ALLOCATION_FAILED.contains(&status);
        let kind = if is_memory { DeviceErrorKind::OutOfMemory } else { DeviceErrorKind::Failed };
        Err(DeviceError { message: format!("{call}: {text}"), code: status.into(), kind })
    }
}

/// Returns whether an error is the library's, which does not do the request or cannot be used at all, and not the
/// driver's, whose numbers are lower. A device that is lost fails the driver's next call, too.
pub(crate) fn is_refusal(error: &DeviceError) -> bool {
    error.code >= 1000
}

/// Returns the files that may be the library, in the order in which they are tried.
fn candidates(folder: Option<&Path>, compiler: Option<&Path>) -> Vec<PathBuf> {
    let in_folder = |folder: &Path| NAMES.map(|name| folder.join(name));
    if let Some(folder) = folder {
        return in_folder(folder).into();
    }
    let beside = compiler.map(|folder| [folder.to_owned(), folder.join("../../cudnn/lib")]);
    let beside = beside.iter().flatten().flat_map(|folder| in_folder(folder));
    beside.chain(NAMES.map(PathBuf::from)).chain(in_folder(Path::new(TOOLKIT))).collect()
}

/// Returns the parts of a version by cuDNN's number: 91002, and of versions before 9 8907.
fn version(number: usize) -> [usize; 3] {
    if number < 10_000 {
        return [number / 1000, number % 1000 / 100, number % 100];
    }
    [number / 10_000, number % 10_000 / 100, number % 100]
}

/// Objects of the library that are destroyed when they are dropped, and how one is made.
macro_rules! objects {
    ($($(#[$about:meta])* $name:ident $create:ident $destroy:ident;)*) => {
        $($(#[$about])*
        pub(crate) struct $name {
            raw: Opaque,
            library: Arc<Cudnn>,
        }

        // SAFETY: a descriptor of cuDNN may be used on any thread.
        unsafe impl Send for $name {}
        // SAFETY: several threads may use one at the same time; it is changed before anybody else has it alone.
        unsafe impl Sync for $name {}

        impl $name {
            fn new(library: &Arc<Cudnn>) -> Result<Self, DeviceError> {
                let mut raw = ptr::null_mut();
                // SAFETY: there is a place for the descriptor.
                library.check(stringify!($create), unsafe { (library.functions.$create)(&raw mut raw) })?;
                Ok(Self { raw, library: Arc::clone(library) })
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the descriptor is live, and nobody has it after this.
                let gone = unsafe { (self.library.functions.$destroy)(self.raw) };
                if let Err(error) = self.library.check(stringify!($destroy), gone) {
                    tracing::warn!(%error, "not given back");
                }
            }
        })*
    };
}

objects! {
    /// Type and extents of a tensor.
    Tensor cudnnCreateTensorDescriptor cudnnDestroyTensorDescriptor;
    /// Type and extents of filters.
    Filters cudnnCreateFilterDescriptor cudnnDestroyFilterDescriptor;
    /// Places of windows, and the arithmetic of a convolution.
    Windows cudnnCreateConvolutionDescriptor cudnnDestroyConvolutionDescriptor;
    /// Function that ends a convolution.
    Activation cudnnCreateActivationDescriptor cudnnDestroyActivationDescriptor;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_the_library_is_a_reason() {
        let reason = Cudnn::load(Some(Path::new("/nowhere")), None).err().unwrap();
        assert!(reason.contains("libcudnn.so.9"), "{reason}");
    }

    #[test]
    fn the_library_of_the_compilers_packages_is_found() {
        let found = candidates(None, Some(Path::new("/nvidia/cuda_nvrtc/lib")));
        let at = |path: &str| found.iter().position(|found| found == Path::new(path)).unwrap();
        let of_packages = at("/nvidia/cuda_nvrtc/lib/../../cudnn/lib/libcudnn.so.9");
        assert!(of_packages < at("libcudnn.so.9"));
    }

    #[test]
    fn versions_have_three_parts() {
        assert_eq!((version(91_002), version(8907)), ([9, 10, 2], [8, 9, 7]));
    }

    #[test]
    fn what_the_library_cannot_do_is_no_error_of_the_device() {
        let error = |code| DeviceError { message: String::new(), code, kind: DeviceErrorKind::Failed };
        assert!([1008, 2000, 3007, 4004, 5000].into_iter().all(|code| is_refusal(&error(code))));
        assert!([0, 2, 700, 999].into_iter().all(|code| !is_refusal(&error(code))));
    }
}

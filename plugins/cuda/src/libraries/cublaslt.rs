//! cuBLASLt, NVIDIA's products of matrices.
//!
//! Matrices of cuBLASLt are column by column: element (row, column) lies at `row + column ld`.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    path::{Path, PathBuf},
    ptr,
    sync::Arc,
};

use cudarc::driver::sys::CUstream;
use proctor_device::driver::{DeviceError, DeviceErrorKind};

use super::{TOOLKIT, functions, load, names, reason};

/// Numbers of cuBLASLt's header, under its names.
pub(crate) mod numbers {
    use std::ffi::c_int;

    pub(crate) const COMPUTE_32F: c_int = 68;
    pub(crate) const COMPUTE_32F_FAST_TF32: c_int = 77;
    pub(crate) const R_32F: c_int = 0;
    pub(crate) const R_16F: c_int = 2;
    pub(crate) const R_16BF: c_int = 14;
    pub(crate) const OP_N: c_int = 0;
    pub(crate) const OP_T: c_int = 1;
    pub(crate) const EPILOGUE_RELU: u32 = 2;
    pub(crate) const EPILOGUE_GELU: u32 = 32;
    pub(crate) const EPILOGUE_DEFAULT: u32 = 1;
    pub(crate) const EPILOGUE_BIAS: u32 = 4;
    pub(crate) const DESC_TRANSA: c_int = 3;
    pub(crate) const DESC_TRANSB: c_int = 4;
    pub(crate) const DESC_EPILOGUE: c_int = 7;
    pub(crate) const DESC_BIAS_POINTER: c_int = 8;
    pub(crate) const LAYOUT_BATCH_COUNT: c_int = 5;
    pub(crate) const LAYOUT_STRIDED_BATCH_OFFSET: c_int = 6;
    pub(crate) const PREF_MAX_WORKSPACE_BYTES: c_int = 1;
    /// For A; the following numbers are for B, C and D.
    pub(crate) const PREF_MIN_ALIGNMENT_A_BYTES: c_int = 5;
}

/// Statuses that are handled separately.
const ALLOC_FAILED: c_int = 3;
const NOT_SUPPORTED: c_int = 15;

type Opaque = *mut c_void;

/// An algorithm with its settings, in cuBLASLt's own form.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Algorithm([u64; 8]);

/// An algorithm as the heuristic proposes it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Proposal {
    algorithm: Algorithm,
    workspace_bytes: usize,
    status: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

functions! {
    /// The functions of cuBLASLt that are called here. They return 0, or the number of an error.
    Functions {
        cublasLtGetVersion() -> usize;
        cublasLtGetStatusString(c_int) -> *const c_char;
        cublasLtCreate(*mut Opaque) -> c_int;
        cublasLtDestroy(Opaque) -> c_int;
        cublasLtMatmulDescCreate(*mut Opaque, c_int, c_int) -> c_int;
        cublasLtMatmulDescSetAttribute(Opaque, c_int, *const c_void, usize) -> c_int;
        cublasLtMatmulDescDestroy(Opaque) -> c_int;
        cublasLtMatrixLayoutCreate(*mut Opaque, c_int, u64, u64, i64) -> c_int;
        cublasLtMatrixLayoutSetAttribute(Opaque, c_int, *const c_void, usize) -> c_int;
        cublasLtMatrixLayoutDestroy(Opaque) -> c_int;
        cublasLtMatmulPreferenceCreate(*mut Opaque) -> c_int;
        cublasLtMatmulPreferenceSetAttribute(Opaque, c_int, *const c_void, usize) -> c_int;
        cublasLtMatmulPreferenceDestroy(Opaque) -> c_int;
        cublasLtMatmulAlgoGetHeuristic(Opaque, Opaque, Opaque, Opaque, Opaque, Opaque, Opaque, c_int, *mut Proposal, *mut c_int) -> c_int;
        cublasLtMatmul(Opaque, Opaque, *const c_void, *const c_void, Opaque, *const c_void, Opaque, *const c_void,
            *const c_void, Opaque, *mut c_void, Opaque, *const Algorithm, *mut c_void, usize, CUstream) -> c_int;
    }
}

/// The library.
pub(crate) struct CublasLt {
    functions: Functions,
}

impl CublasLt {
    /// Loads the library, from this folder if there is one. Else it is looked for where the system looks, and before
    /// that in Python's packages if the compiler is of one, whose folder is `compiler`. `driver` is the version of CUDA
    /// that the driver is for.
    ///
    /// # Errors
    /// Returns a reason in words if there is none.
    pub fn load(folder: Option<&Path>, compiler: Option<&Path>, driver: i32) -> Result<Arc<Self>, String> {
        let mut first_reason = None;
        for path in candidates(folder, compiler, driver / 1000) {
            // SAFETY: the name is that of cuBLASLt, whose library may be loaded at any time.
            let loaded = unsafe { load(&path) }.and_then(|library| {
                // SAFETY: the types are those of cuBLASLt's header, the same in versions 12 and 13.
                unsafe { Functions::load(library) }
            });
            match loaded {
                Ok(functions) => {
                    // SAFETY: it takes nothing, and may be called at any time.
                    let number = unsafe { (functions.cublasLtGetVersion)() };
                    let version = version(number);
                    tracing::info!(path = %path.display(), ?version, "cuBLASLt loaded");
                    return Ok(Arc::new(Self { functions }));
                }
                Err(error) => first_reason = first_reason.or_else(|| Some(reason(&error))),
            }
        }
        Err(first_reason.unwrap_or_default())
    }

    /// Returns a handle for the device of the current context.
    pub fn handle(self: &Arc<Self>) -> Result<Handle, DeviceError> {
        let mut raw = ptr::null_mut();
        // SAFETY: there is a place for the handle.
        self.check("cublasLtCreate", unsafe { (self.functions.cublasLtCreate)(&raw mut raw) })?;
        Ok(Handle { raw, library: Arc::clone(self) })
    }

    /// Returns a matrix, or `batch[0]` of them with a distance of `batch[1]` elements.
    pub fn layout(
        self: &Arc<Self>,
        element: c_int,
        [rows, columns]: [u64; 2],
        ld: i64,
        batch: (i32, i64),
    ) -> Result<Layout, DeviceError> {
        let mut raw = ptr::null_mut();
        // SAFETY: there is a place for the layout.
        let made =
            unsafe { (self.functions.cublasLtMatrixLayoutCreate)(&raw mut raw, element, rows, columns, ld) };
        self.check("cublasLtMatrixLayoutCreate", made)?;
        let layout = Layout { raw, library: Arc::clone(self) };
        layout.set(numbers::LAYOUT_BATCH_COUNT, &batch.0)?;
        layout.set(numbers::LAYOUT_STRIDED_BATCH_OFFSET, &batch.1)?;
        Ok(layout)
    }

    /// Returns a product with sums in f32.
    pub fn description(self: &Arc<Self>, compute: c_int) -> Result<Description, DeviceError> {
        let mut raw = ptr::null_mut();
        // SAFETY: there is a place for the description.
        let made =
            unsafe { (self.functions.cublasLtMatmulDescCreate)(&raw mut raw, compute, numbers::R_32F) };
        self.check("cublasLtMatmulDescCreate", made)?;
        Ok(Description { raw, library: Arc::clone(self) })
    }

    /// Returns the limits for an algorithm.
    pub fn preference(self: &Arc<Self>) -> Result<Preference, DeviceError> {
        let mut raw = ptr::null_mut();
        // SAFETY: there is a place for the preference.
        let made = unsafe { (self.functions.cublasLtMatmulPreferenceCreate)(&raw mut raw) };
        self.check("cublasLtMatmulPreferenceCreate", made)?;
        Ok(Preference { raw, library: Arc::clone(self) })
    }

    fn check(&self, call: &str, status: c_int) -> Result<(), DeviceError> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: any number may be asked about.
        let text = unsafe { (self.functions.cublasLtGetStatusString)(status) };
        let text = if text.is_null() {
            format!("error {status}")
        } else {
            // SAFETY: cuBLASLt returns a text of its own, which stays.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        let kind =
            if status == ALLOC_FAILED { DeviceErrorKind::OutOfMemory } else { DeviceErrorKind::Failed };
        Err(DeviceError { message: format!("{call}: {text}"), code: status.into(), kind })
    }
}

/// Returns the files that may be the library, in the order in which they are tried.
fn candidates(folder: Option<&Path>, compiler: Option<&Path>, major: i32) -> Vec<PathBuf> {
    let names = names("libcublasLt", major);
    let in_folder = |folder: &Path| names.iter().map(|name| folder.join(name)).collect::<Vec<_>>();
    if let Some(folder) = folder {
        return in_folder(folder);
    }
    let beside = compiler.map(|folder| [folder.to_owned(), folder.join("../../cublas/lib")]);
    let beside = beside.iter().flatten().flat_map(|folder| in_folder(folder));
    beside.chain(names.iter().map(PathBuf::from)).chain(in_folder(Path::new(TOOLKIT))).collect()
}

/// Returns the parts of a version by cuBLASLt's number, such as 120901.
fn version(number: usize) -> [usize; 3] {
    [number / 10_000, number % 10_000 / 100, number % 100]
}

/// Objects of the library that are destroyed when they are dropped, and how an attribute of one is set.
macro_rules! objects {
    ($($(#[$about:meta])* $name:ident $destroy:ident $($set:ident)?;)*) => {
        $($(#[$about])*
        pub(crate) struct $name {
            raw: Opaque,
            library: Arc<CublasLt>,
        }

        // SAFETY: objects of cuBLASLt may be used on any thread.
        unsafe impl Send for $name {}
        // SAFETY: several threads may use one at the same time; only one that is borrowed by nobody is changed.
        unsafe impl Sync for $name {}

        impl $name {
            $(
            /// Sets an attribute; `T` must be its type in the header.
            pub fn set<T: Copy>(&self, attribute: c_int, value: &T) -> Result<(), DeviceError> {
                let library = &self.library;
                // SAFETY: the object is live, and there are as many bytes as are said; a wrong number is refused.
                let set = unsafe {
                    (library.functions.$set)(self.raw, attribute, (&raw const *value).cast(), size_of::<T>())
                };
                library.check(stringify!($set), set)
            })?
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the object is live, and nobody has it after this.
                let gone = unsafe { (self.library.functions.$destroy)(self.raw) };
                if let Err(error) = self.library.check(stringify!($destroy), gone) {
                    tracing::warn!(%error, "not given back");
                }
            }
        })*
    };
}

objects! {
    /// The library's own memory of a device, which stays current while this is used and dropped.
    Handle cublasLtDestroy;
    /// Places of the elements of a matrix.
    Layout cublasLtMatrixLayoutDestroy cublasLtMatrixLayoutSetAttribute;
    /// Types, transpositions and the end of a product.
    Description cublasLtMatmulDescDestroy cublasLtMatmulDescSetAttribute;
    /// Limits that an algorithm has to keep to.
    Preference cublasLtMatmulPreferenceDestroy cublasLtMatmulPreferenceSetAttribute;
}

/// Layouts of A, B and of C and D, which are one.
pub(crate) type Layouts = [Layout; 3];

impl Handle {
    pub fn library(&self) -> &Arc<CublasLt> {
        &self.library
    }

    /// Returns the best algorithm by the library's own heuristic, and the bytes of workspace that it needs; `None` if
    /// there is none.
    pub fn algorithm(
        &self,
        description: &Description,
        [a, b, c]: &Layouts,
        preference: &Preference,
    ) -> Result<Option<(Algorithm, usize)>, DeviceError> {
        let mut proposal = Proposal {
            algorithm: Algorithm([0; 8]),
            workspace_bytes: 0,
            status: 0,
            waves: 0.0,
            reserved: [0; 4],
        };
        let mut count = 0;
        // SAFETY: all objects are live; there is a place for one proposal, as is said, and for the number of them.
        let asked = unsafe {
            (self.library.functions.cublasLtMatmulAlgoGetHeuristic)(
                self.raw,
                description.raw,
                a.raw,
                b.raw,
                c.raw,
                c.raw,
                preference.raw,
                1,
                &raw mut proposal,
                &raw mut count,
            )
        };
        if asked == NOT_SUPPORTED {
            return Ok(None);
        }
        self.library.check("cublasLtMatmulAlgoGetHeuristic", asked)?;
        Ok((count > 0 && proposal.status == 0).then_some((proposal.algorithm, proposal.workspace_bytes)))
    }

    /// Puts D = A B, ended as described, into a stream.
    ///
    /// # Safety
    /// The addresses are those of matrices as the layouts say, of the device and aligned as the algorithm was asked
    /// for; the same holds of the bias and of as many bytes of workspace. They stay until the work is done.
    pub unsafe fn multiply(
        &self,
        description: &Description,
        layouts: &Layouts,
        [a_at, b_at, c_at]: [u64; 3],
        algorithm: &Algorithm,
        (workspace, bytes): (u64, usize),
        stream: CUstream,
    ) -> Result<(), DeviceError> {
        let [a, b, c] = layouts;
        let (one, zero) = (1.0_f32, 0.0_f32);
        let (one, zero): (*const c_void, *const c_void) = ((&raw const one).cast(), (&raw const zero).cast());
        // An address of the device is as wide as one of the host.
        let at = |address: u64| address as *mut c_void;
        // SAFETY: all objects are live; the caller vouches for the memory. Both numbers are read before it returns.
        let status = unsafe {
            (self.library.functions.cublasLtMatmul)(
                self.raw,
                description.raw,
                one,
                at(a_at),
                a.raw,
                at(b_at),
                b.raw,
                zero,
                at(c_at),
                c.raw,
                at(c_at),
                c.raw,
                algorithm,
                at(workspace),
                bytes,
                stream,
            )
        };
        self.library.check("cublasLtMatmul", status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_the_library_is_a_reason() {
        let reason = CublasLt::load(Some(Path::new("/nowhere")), None, 12_040).err().unwrap();
        assert!(reason.contains("libcublasLt"), "{reason}");
    }

    #[test]
    fn the_library_of_the_compilers_packages_is_found() {
        let found = candidates(None, Some(Path::new("/nvidia/cuda_nvrtc/lib")), 12);
        let at = |path: &str| found.iter().position(|found| found == Path::new(path)).unwrap();
        let of_packages = at("/nvidia/cuda_nvrtc/lib/../../cublas/lib/libcublasLt.so.12");
        assert!(of_packages < at("libcublasLt.so.12") && at("libcublasLt.so.12") < at("libcublasLt.so.13"));
    }

    #[test]
    fn versions_have_three_parts() {
        assert_eq!(version(120_901), [12, 9, 1]);
    }
}

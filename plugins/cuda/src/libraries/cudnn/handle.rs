//! Convolutions in a stream.

use std::{
    ffi::{c_int, c_void},
    ptr,
    sync::Arc,
};

use cudarc::driver::sys::CUstream;
use proctor_device::driver::DeviceError;

use super::{Activation, Cudnn, Filters, Opaque, Proposal, Tensor, Windows, numbers};

/// Descriptors of a convolution.
pub(crate) struct Form {
    pub x: Tensor,
    pub w: Filters,
    pub y: Tensor,
    pub windows: Windows,
    /// Bias tensor and activation; `None` without an end.
    pub end: Option<(Tensor, Activation)>,
}

/// Addresses of a convolution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    pub x: u64,
    pub w: u64,
    pub y: u64,
    /// Addresses of the bias and of the residual, if there is one; `None` without an end.
    pub end: Option<(u64, Option<u64>)>,
    /// Address and bytes.
    pub workspace: (u64, usize),
}

/// The library's own memory of a device, with the stream that takes its work. One thread at a time may use it, while
/// the device is current; the same holds when it is dropped.
pub(crate) struct Handle {
    raw: Opaque,
    library: Arc<Cudnn>,
}

// SAFETY: a handle may be used on any thread, one at a time, which it being not `Sync` sees to.
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle is live, and nobody has it after this.
        let gone = unsafe { (self.library.functions.cudnnDestroy)(self.raw) };
        if let Err(error) = self.library.check("cudnnDestroy", gone) {
            tracing::warn!(%error, "not given back");
        }
    }
}

impl Handle {
    /// Creates a handle for the device of the current context that puts its work into a stream.
    pub fn new(library: &Arc<Cudnn>, stream: CUstream) -> Result<Self, DeviceError> {
        let mut raw = ptr::null_mut();
        // SAFETY: there is a place for the handle.
        library.check("cudnnCreate", unsafe { (library.functions.cudnnCreate)(&raw mut raw) })?;
        let handle = Self { raw, library: Arc::clone(library) };
        // SAFETY: the handle is live; a stream of another context is refused.
        let set = unsafe { (library.functions.cudnnSetStream)(handle.raw, stream) };
        library.check("cudnnSetStream", set)?;
        Ok(handle)
    }

    /// Returns the algorithms for a convolution, the best by the library's own heuristic first.
    pub fn algorithms(&self, form: &Form) -> Result<Vec<c_int>, DeviceError> {
        let mut proposals = [Proposal::default(); numbers::ALGO_COUNT as usize];
        let mut count = 0;
        // SAFETY: handle and descriptors are live; there is a place for as many proposals as are said, and for the
        // number of them.
        let asked = unsafe {
            (self.library.functions.cudnnGetConvolutionForwardAlgorithm_v7)(
                self.raw,
                form.x.raw,
                form.w.raw,
                form.windows.raw,
                form.y.raw,
                numbers::ALGO_COUNT,
                &raw mut count,
                proposals.as_mut_ptr(),
            )
        };
        self.library.check("cudnnGetConvolutionForwardAlgorithm_v7", asked)?;
        let count = usize::try_from(count).unwrap_or(0);
        let fit = proposals.into_iter().take(count).filter(|proposal| proposal.status == 0);
        Ok(fit.map(|proposal| proposal.algorithm).collect())
    }

    /// Returns the bytes of workspace that an algorithm needs for a convolution.
    pub fn workspace_bytes(&self, form: &Form, algorithm: c_int) -> Result<usize, DeviceError> {
        let mut bytes = 0;
        // SAFETY: handle and descriptors are live; there is a place for the number.
        let asked = unsafe {
            (self.library.functions.cudnnGetConvolutionForwardWorkspaceSize)(
                self.raw,
                form.x.raw,
                form.w.raw,
                form.windows.raw,
                form.y.raw,
                algorithm,
                &raw mut bytes,
            )
        };
        self.library.check("cudnnGetConvolutionForwardWorkspaceSize", asked)?;
        Ok(bytes)
    }

    /// Puts a convolution into the stream of this handle.
    ///
    /// # Safety
    /// The addresses are those of tensors of the device as the descriptors say, and of as many bytes of workspace, at
    /// least those that the algorithm needs. They stay until the work is done. There is an end if the form has one.
    pub unsafe fn convolve(&self, form: &Form, places: Places, algorithm: c_int) -> Result<(), DeviceError> {
        let Form { x, w, y, windows, end } = form;
        let functions = &self.library.functions;
        // An address of the device is as wide as one of the host.
        let at = |address: u64| address as *mut c_void;
        let (workspace, bytes) = places.workspace;
        let (one, zero) = (1.0_f32, 0.0_f32);
        let (Some((of_bias, activation)), Some((bias, residual))) = (end, places.end) else {
            // SAFETY: handle and descriptors are live; the caller vouches for the memory. Both numbers are read before
            // it returns.
            let status = unsafe {
                (functions.cudnnConvolutionForward)(
                    self.raw,
                    &raw const one,
                    x.raw,
                    at(places.x),
                    w.raw,
                    at(places.w),
                    windows.raw,
                    algorithm,
                    at(workspace),
                    bytes,
                    &raw const zero,
                    y.raw,
                    at(places.y),
                )
            };
            return self.library.check("cudnnConvolutionForward", status);
        };
        // Without a residual its factor is 0, and the result stands for it, which is not read then.
        let (factor, residual) = residual.map_or((&zero, places.y), |residual| (&one, residual));
        // SAFETY: as above.
        let status = unsafe {
            (functions.cudnnConvolutionBiasActivationForward)(
                self.raw,
                &raw const one,
                x.raw,
                at(places.x),
                w.raw,
                at(places.w),
                windows.raw,
                algorithm,
                at(workspace),
                bytes,
                &raw const *factor,
                y.raw,
                at(residual),
                of_bias.raw,
                at(bias),
                activation.raw,
                y.raw,
                at(places.y),
            )
        };
        self.library.check("cudnnConvolutionBiasActivationForward", status)
    }
}

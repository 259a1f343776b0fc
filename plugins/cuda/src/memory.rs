//! Memory of a device, and memory of the host that it reaches by itself.

use std::{
    ffi::c_void,
    ops::{Deref, DerefMut},
    ptr::NonNull,
    slice,
    sync::Arc,
};

use cudarc::driver::{result, sys};
use proctor_device::driver::{DeviceError, DeviceErrorKind, check_range};

use crate::{
    context::Context,
    error::{failed, log},
};

/// Memory of a device, or a part of it.
#[derive(Clone)]
pub struct Memory {
    address: sys::CUdeviceptr,
    bytes: usize,
    whole: Arc<Allocation>,
}

/// Memory that was allocated in one piece.
struct Allocation {
    address: sys::CUdeviceptr,
    context: Arc<Context>,
}

impl Memory {
    pub(crate) fn allocate(context: &Arc<Context>, bytes: usize) -> Result<Self, DeviceError> {
        context.enter()?;
        // SAFETY: the memory holds bytes, of which nobody asks what they are before they are written.
        let allocated = unsafe { result::malloc_sync(bytes) };
        let address = allocated.map_err(failed("cuMemAlloc")).map_err(|error| DeviceError {
            message: format!("{bytes} bytes of memory of the device{}: {}", left(error.kind), error.message),
            ..error
        })?;
        let whole = Arc::new(Allocation { address, context: Arc::clone(context) });
        Ok(Self { address, bytes, whole })
    }

    pub(crate) fn part(&self, offset: usize, bytes: usize) -> Result<Self, DeviceError> {
        let address = self.place("a part", offset, bytes)?;
        Ok(Self { address, bytes, whole: Arc::clone(&self.whole) })
    }

    /// Returns where `bytes` bytes from `offset` on begin on the device, if all of them are within.
    pub(crate) fn place(
        &self,
        what: &str,
        offset: usize,
        bytes: usize,
    ) -> Result<sys::CUdeviceptr, DeviceError> {
        check_range(what, offset, bytes, self.bytes)?;
        // An address of the device is as wide as one of the host.
        Ok(self.address + offset as sys::CUdeviceptr)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn address(&self) -> sys::CUdeviceptr {
        self.address
    }
}

/// Returns how much memory is left, where that is the reason.
fn left(kind: DeviceErrorKind) -> String {
    match (kind, result::mem_get_info()) {
        (DeviceErrorKind::OutOfMemory, Ok((free, total))) => {
            format!(", of which {} of {} MiB are left", free >> 20, total >> 20)
        }
        _ => String::new(),
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // Launches that are still in a queue may use it.
        self.context.give_back("cuMemFree", || {
            // SAFETY: the address is of `malloc_sync`; no part is left, and no work that uses one.
            unsafe { result::free_sync(self.address) }
        });
    }
}

/// Pinned memory of the host, which devices copy from and to on their own.
pub struct HostMemory {
    data: NonNull<u8>,
    bytes: usize,
    context: Arc<Context>,
}

// SAFETY: it owns its memory, which any thread may use and give back.
unsafe impl Send for HostMemory {}

impl HostMemory {
    pub(crate) fn allocate(context: &Arc<Context>, bytes: usize) -> Result<Self, DeviceError> {
        context.enter()?;
        // SAFETY: nobody reads the memory before it is filled below. Other devices' copies use it, too: it is portable.
        let allocated = unsafe { result::malloc_host(bytes, sys::CU_MEMHOSTALLOC_PORTABLE) };
        let data = allocated.map_err(failed("cuMemHostAlloc")).map_err(|error| DeviceError {
            message: format!(
                "{bytes} bytes of memory of the host that a device copies from: {}",
                error.message
            ),
            ..error
        })?;
        let data = NonNull::new(data.cast::<u8>());
        let data = data.ok_or_else(|| DeviceError::refused("cuMemHostAlloc: no memory and no error"))?;
        // SAFETY: there are as many bytes, which are nobody else's.
        unsafe { data.write_bytes(0, bytes) };
        Ok(Self { data, bytes, context: Arc::clone(context) })
    }
}

impl Deref for HostMemory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: there are as many bytes, filled when they were allocated, and this memory's alone. A copy that writes
        // them lets nobody read them meanwhile, as whoever asks for it promises.
        unsafe { slice::from_raw_parts(self.data.as_ptr(), self.bytes) }
    }
}

impl DerefMut for HostMemory {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; a copy that reads them lets nobody write them meanwhile.
        unsafe { slice::from_raw_parts_mut(self.data.as_ptr(), self.bytes) }
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        if let Err(error) = self.context.enter() {
            tracing::debug!(%error, "memory of the host is not given back");
            return;
        }
        // SAFETY: the memory is of `malloc_host`, and of copies it was promised that they are over.
        log("cuMemFreeHost", unsafe { result::free_host(self.data.as_ptr().cast::<c_void>()) });
    }
}

//! The primary context of a device.

use std::sync::Arc;

use cudarc::driver::{result, sys};
use parking_lot::Mutex;
use proctor_device::driver::DeviceError;

use crate::{
    devices::DeviceInfo,
    error::{failed, log},
};

/// Held while launches are captured, and while waiting for a context: CUDA does not allow both at once.
static CAPTURE: Mutex<()> = Mutex::new(());

/// The primary context of a device, retained for as long as this lives. Everything of the device keeps it alive.
pub(crate) struct Context {
    device: sys::CUdevice,
    context: sys::CUcontext,
}

// SAFETY: a context may be current on any number of threads, and CUDA's functions that take one may be called on any.
unsafe impl Send for Context {}
// SAFETY: as above; nothing changes the two handles.
unsafe impl Sync for Context {}

impl Context {
    pub fn open(info: &DeviceInfo) -> Result<Arc<Self>, DeviceError> {
        let device = info.device;
        // SAFETY: the device is one that the driver has listed.
        let context = unsafe { result::primary_ctx::retain(device) };
        let context = context.map_err(failed("cuDevicePrimaryCtxRetain"))?;
        Ok(Arc::new(Self { device, context }))
    }

    /// Makes the context current on the calling thread: calls that name no device are about this one.
    pub fn enter(&self) -> Result<(), DeviceError> {
        // SAFETY: the context is retained until `self` is dropped.
        unsafe { result::ctx::set_current(self.context) }.map_err(failed("cuCtxSetCurrent"))
    }

    /// Calls a function in this context while no other thread captures or waits for a context.
    pub fn alone<T>(&self, call: impl FnOnce() -> Result<T, DeviceError>) -> Result<T, DeviceError> {
        let _alone = CAPTURE.lock();
        self.enter()?;
        call()
    }

    /// Waits for all work of the device and then releases a resource that the work may use: `call`, its name first.
    pub fn give_back(&self, name: &str, call: impl FnOnce() -> Result<(), result::DriverError>) {
        let waited = self.alone(|| result::ctx::synchronize().map_err(failed("cuCtxSynchronize")));
        if let Err(error) = waited {
            tracing::debug!(%error, "not waited for");
        }
        log(name, call());
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: `open` has retained it once, and whatever lives in it keeps `self` alive.
        log("cuDevicePrimaryCtxRelease", unsafe { result::primary_ctx::release(self.device) });
    }
}

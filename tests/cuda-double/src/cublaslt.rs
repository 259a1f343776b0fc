//! The functions of `libcublasLt.so.12`, under their names.

mod checks;
pub(crate) mod objects;
pub(crate) mod product;

use std::ffi::{c_char, c_int, c_void};

use self::{
    checks::{Algorithm, Proposal},
    objects::{Attributes, Description, Layout},
    product::Product,
};
use crate::{
    errors::CudaError,
    work::{Id, Work},
    world::{World, functions},
};

/// A status of cuBLASLt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Status(pub c_int);

impl Status {
    pub const NOT_INITIALIZED: Self = Self(1);
    pub const INVALID_VALUE: Self = Self(7);
    pub const EXECUTION_FAILED: Self = Self(13);
    pub const NOT_SUPPORTED: Self = Self(15);
}

impl From<CudaError> for Status {
    fn from(_: CudaError) -> Self {
        Self::EXECUTION_FAILED
    }
}

type Done<T = ()> = Result<T, Status>;

impl World {
    /// Says that the caller has made a mistake, and returns the status for it.
    fn wrong<T>(&self, status: Status, what: impl AsRef<str>) -> Done<T> {
        // The driver's error is not returned.
        let _ = self.mistake::<()>(CudaError::ERROR_INVALID_VALUE, what);
        Err(status)
    }

    /// Returns the value of an attribute.
    ///
    /// # Safety
    /// There are as many bytes.
    unsafe fn value(
        &self,
        known: &[(c_int, usize)],
        attribute: c_int,
        value: *const c_void,
        bytes: usize,
    ) -> Done<u64> {
        if !known.contains(&(attribute, bytes)) || value.is_null() {
            return self.wrong(Status::INVALID_VALUE, format!("attribute {attribute} of {bytes} bytes"));
        }
        // SAFETY: the caller promises it.
        Ok(unsafe {
            match bytes {
                4 => value.cast::<u32>().read_unaligned().into(),
                _ => value.cast::<u64>().read_unaligned(),
            }
        })
    }

    /// Returns the device of a handle, which has to be the device of the current context.
    fn handle(&self, handle: Id) -> Done<usize> {
        let device = self.current()?;
        match self.objects.handles.get(&handle) {
            Some(of) if *of == device => Ok(device),
            Some(_) => self.wrong(Status::INVALID_VALUE, "the handle is of another device"),
            None => self.wrong(Status::NOT_INITIALIZED, "no such handle"),
        }
    }
}

/// Writes a result to where the caller wants it.
fn give<T>(to: *mut T, value: T) -> Done {
    if to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the caller of the C function has a place for the result, by the rules of cuBLASLt.
    unsafe { to.write(value) };
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtGetVersion() -> usize {
    120_901
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtGetStatusString(status: c_int) -> *const c_char {
    let text = match Status(status) {
        Status::NOT_INITIALIZED => c"the library was not initialized",
        Status::INVALID_VALUE => c"an unsupported value or parameter was passed to the function",
        Status::EXECUTION_FAILED => c"the function failed to launch on the GPU",
        Status::NOT_SUPPORTED => c"the functionality requested is not supported",
        _ => c"unknown",
    };
    text.as_ptr()
}

functions! {
    fn cublasLtCreate(world, handle: *mut Id) {
        let device = world.current()?;
        world.not_in_capture()?;
        let id = world.id();
        world.objects.handles.insert(id, device);
        give(handle, id)
    }

    fn cublasLtDestroy(world, handle: Id) {
        let device = world.handle(handle)?;
        world.not_in_capture()?;
        // cuBLASLt waits for the device.
        if world.is_queued(|work| matches!(work, Work::Product(product) if product.device == device)) {
            return world.wrong(Status::INVALID_VALUE, "work in a stream is a product of this handle's device");
        }
        world.objects.handles.remove(&handle);
        Ok(())
    }

    fn cublasLtMatmulDescCreate(world, description: *mut Id, compute: c_int, scale: c_int) {
        let id = world.id();
        let made = Description { compute, scale, attributes: Attributes::default() };
        world.objects.descriptions.insert(id, made);
        give(description, id)
    }

    fn cublasLtMatmulDescSetAttribute(world, description: Id, attribute: c_int, value: *const c_void, bytes: usize) {
        let known = [(3, 4), (4, 4), (7, 4), (8, 8)];
        // SAFETY: the caller has as many bytes there.
        let value = unsafe { world.value(&known, attribute, value, bytes) }?;
        let Some(of) = world.objects.descriptions.get_mut(&description) else {
            return world.wrong(Status::INVALID_VALUE, "no such description");
        };
        of.attributes.insert(attribute, value);
        Ok(())
    }

    fn cublasLtMatmulDescDestroy(world, description: Id) {
        match world.objects.descriptions.remove(&description) {
            Some(_) => Ok(()),
            None => world.wrong(Status::INVALID_VALUE, "no such description"),
        }
    }

    fn cublasLtMatrixLayoutCreate(world, layout: *mut Id, element: c_int, rows: u64, columns: u64, ld: i64) {
        let id = world.id();
        let made = Layout { element, rows, columns, ld, attributes: Attributes::default() };
        world.objects.layouts.insert(id, made);
        give(layout, id)
    }

    fn cublasLtMatrixLayoutSetAttribute(world, layout: Id, attribute: c_int, value: *const c_void, bytes: usize) {
        // SAFETY: the caller has as many bytes there.
        let value = unsafe { world.value(&[(5, 4), (6, 8)], attribute, value, bytes) }?;
        let Some(of) = world.objects.layouts.get_mut(&layout) else {
            return world.wrong(Status::INVALID_VALUE, "no such layout");
        };
        of.attributes.insert(attribute, value);
        Ok(())
    }

    fn cublasLtMatrixLayoutDestroy(world, layout: Id) {
        match world.objects.layouts.remove(&layout) {
            Some(_) => Ok(()),
            None => world.wrong(Status::INVALID_VALUE, "no such layout"),
        }
    }

    fn cublasLtMatmulPreferenceCreate(world, preference: *mut Id) {
        let id = world.id();
        world.objects.preferences.insert(id, Attributes::default());
        give(preference, id)
    }

    fn cublasLtMatmulPreferenceSetAttribute(world, preference: Id, attribute: c_int, value: *const c_void, bytes: usize) {
        let known = [(1, 8), (5, 4), (6, 4), (7, 4), (8, 4)];
        // SAFETY: the caller has as many bytes there.
        let value = unsafe { world.value(&known, attribute, value, bytes) }?;
        let Some(of) = world.objects.preferences.get_mut(&preference) else {
            return world.wrong(Status::INVALID_VALUE, "no such preference");
        };
        of.insert(attribute, value);
        Ok(())
    }

    fn cublasLtMatmulPreferenceDestroy(world, preference: Id) {
        match world.objects.preferences.remove(&preference) {
            Some(_) => Ok(()),
            None => world.wrong(Status::INVALID_VALUE, "no such preference"),
        }
    }

    fn cublasLtMatmulAlgoGetHeuristic(
        world, handle: Id, description: Id, a: Id, b: Id, c: Id, d: Id, preference: Id, wanted: c_int,
        proposals: *mut Proposal, count: *mut c_int
    ) {
        world.handle(handle)?;
        let form = world.form(description, [a, b, c, d])?;
        let Some(preference) = world.objects.preferences.get(&preference) else {
            return world.wrong(Status::INVALID_VALUE, "no such preference");
        };
        let proposal = Proposal::of(&form, preference);
        give(count, 0)?;
        world.counts.proposals += 1;
        let is_left = world.settings.algorithms.is_none_or(|most| world.counts.proposals <= most);
        if wanted < 1 || !is_left {
            return Ok(());
        }
        give(proposals, proposal)?;
        give(count, 1)
    }

    fn cublasLtMatmul(
        world, handle: Id, description: Id, alpha: *const f32, a_at: usize, a: Id, b_at: usize, b: Id, beta: *const f32,
        c_at: usize, c: Id, d_at: usize, d: Id, algorithm: *const Algorithm, workspace: usize, workspace_bytes: usize,
        stream: Id
    ) {
        let device = world.handle(handle)?;
        if world.stream(stream)? != device {
            return world.wrong(Status::INVALID_VALUE, "the stream is of another device");
        }
        let form = world.form(description, [a, b, c, d])?;
        if algorithm.is_null() {
            return world.wrong(Status::INVALID_VALUE, "no algorithm: the library would ask its heuristic each time");
        }
        // SAFETY: the caller has both numbers, and an algorithm of the heuristic.
        let (alpha, beta, algorithm) = unsafe { (*alpha, *beta, *algorithm) };
        if (alpha, beta) != (1.0, 0.0) || c_at != d_at {
            return world.wrong(Status::NOT_SUPPORTED, "products that are scaled or added are not supported");
        }
        let workspace = (workspace, workspace_bytes);
        let product = Product { device, form, at: [a_at, b_at, d_at], workspace };
        world.check_algorithm(&product, &algorithm)?;
        world.check_product(&product)?;
        world.put(stream, Work::Product(product))?;
        Ok(())
    }
}

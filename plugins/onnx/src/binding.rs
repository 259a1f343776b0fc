//! One call of the runtime over memory that is already there: tensors are bound where they lie, and nothing is copied.
//!
//! `ort`'s own session wants `&mut self`, owns what it binds, and allocates for each call. Here the C functions are
//! called directly; they are made to be called by several threads of one session.

use std::{
    ffi::{CString, c_char},
    ptr,
    sync::Arc,
};

use ort::{
    AsPointer, Error,
    memory::{AllocationDevice, AllocatorType, MemoryInfo, MemoryType},
    session::SharedSessionInner,
    sys::{ONNXTensorElementDataType, OrtValue},
};
use proctor_onnx_file::Port;

/// The type of a tensor's elements, as the runtime numbers them.
pub(crate) type Element = ONNXTensorElementDataType;

/// A session with the tensors of its next call.
pub(crate) struct Binding {
    session: Arc<SharedSessionInner>,
    memory: MemoryInfo<'static>,
    inputs: Values,
    outputs: Values,
}

/// Names, and a tensor for each, in the form that the runtime takes them.
struct Values {
    /// Keeps what `names` points to.
    _owned: Box<[CString]>,
    names: Box<[*const c_char]>,
    values: Box<[*mut OrtValue]>,
}

// SAFETY: the names point into memory that the structure owns and never changes. Values belong to the call, and the
// runtime allows them on any thread. The memory that they refer to is vouched for by the code that binds it, on the
// thread that runs.
unsafe impl Send for Values {}

/// Memory of one tensor: address and size in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    pub data: *mut u8,
    pub size_bytes: usize,
}

impl Binding {
    /// Prepares for calls with these inputs and outputs.
    ///
    /// # Errors
    /// If the runtime refuses.
    pub(crate) fn new(
        session: Arc<SharedSessionInner>,
        inputs: &[Port],
        outputs: &[Port],
    ) -> Result<Self, Error> {
        let memory = MemoryInfo::new(AllocationDevice::CPU, 0, AllocatorType::Device, MemoryType::Default)?;
        Ok(Self { session, memory, inputs: Values::new(inputs)?, outputs: Values::new(outputs)? })
    }

    /// Binds the memory of an input.
    ///
    /// # Errors
    /// If the runtime refuses, for instance because shape and size do not agree.
    ///
    /// # Safety
    /// - `memory` can be read until [`run`](Self::run) has returned, and nothing writes to it meanwhile.
    /// - It is aligned to the size of an element.
    pub(crate) unsafe fn bind_input(
        &mut self,
        input: usize,
        memory: Memory,
        element: Element,
        dims: &[i64],
    ) -> Result<(), Error> {
        // SAFETY: until the run has returned `memory` can be read and is aligned, all that `bind` asks for an input.
        unsafe { self.inputs.bind(&self.memory, input, memory, element, dims) }
    }

    /// Binds the memory of an output.
    ///
    /// # Errors
    /// As [`bind_input`](Self::bind_input).
    ///
    /// # Safety
    /// - `memory` can be written until [`run`](Self::run) has returned, and no other code uses it meanwhile.
    /// - It is aligned to the size of an element.
    pub(crate) unsafe fn bind_output(
        &mut self,
        output: usize,
        memory: Memory,
        element: Element,
        dims: &[i64],
    ) -> Result<(), Error> {
        // SAFETY: until the run has returned `memory` is written by the runtime alone and is aligned, all that `bind`
        // asks for an output.
        unsafe { self.outputs.bind(&self.memory, output, memory, element, dims) }
    }

    /// Runs the session on what is bound, and ends all bindings.
    ///
    /// # Errors
    /// If the runtime fails, for instance because an output has another shape than the memory that is bound to it.
    ///
    /// # Panics
    /// If an input or output was not bound since the last run.
    pub(crate) fn run(&mut self) -> Result<(), Error> {
        let unbound = |values: &Values| values.values.iter().any(|value| value.is_null());
        assert!(!unbound(&self.inputs) && !unbound(&self.outputs), "every tensor is bound before a run");
        let values = self.inputs.values.as_ptr();
        // SAFETY: the session lives as long as `self.session`, and the runtime allows several threads to run it at a
        // time. Names and values have the numbers of elements that are passed; the values are tensors, as was just
        // asserted, over memory that the caller of `bind` keeps until this returns. No options are the default ones.
        // Values of outputs are not replaced, as none is null.
        let status = unsafe {
            (ort::api().Run)(
                self.session.ptr().cast_mut(),
                ptr::null(),
                self.inputs.names.as_ptr(),
                values.cast(),
                self.inputs.names.len(),
                self.outputs.names.as_ptr(),
                self.outputs.names.len(),
                self.outputs.values.as_mut_ptr(),
            )
        };
        // SAFETY: the status is the one that the call just returned.
        let result = unsafe { Error::result_from_status(status) };
        self.inputs.clear();
        self.outputs.clear();
        result
    }
}

impl Values {
    fn new(ports: &[Port]) -> Result<Self, Error> {
        let owned =
            ports.iter().map(|port| CString::new(port.spec.name.as_str())).collect::<Result<Box<[_]>, _>>();
        let owned = owned.map_err(Error::wrap)?;
        let names: Box<[_]> = owned.iter().map(|name| name.as_ptr()).collect();
        let values = vec![ptr::null_mut(); names.len()].into();
        Ok(Self { _owned: owned, names, values })
    }

    /// Makes a tensor over memory, in place of the one that was there.
    ///
    /// # Safety
    /// Until the value is cleared or used for the last time, `memory` is there for what it is used for, and aligned.
    unsafe fn bind(
        &mut self,
        info: &MemoryInfo<'static>,
        place: usize,
        memory: Memory,
        element: Element,
        dims: &[i64],
    ) -> Result<(), Error> {
        self.release(place);
        // SAFETY: description and dimensions live for the call, which copies them; the runtime checks that the size
        // is that of the shape, and keeps the address of the memory, for which the caller vouches.
        let status = unsafe {
            (ort::api().CreateTensorWithDataAsOrtValue)(
                info.ptr(),
                memory.data.cast(),
                memory.size_bytes,
                dims.as_ptr(),
                dims.len(),
                element,
                &raw mut self.values[place],
            )
        };
        // SAFETY: the status is the one that the call just returned.
        unsafe { Error::result_from_status(status) }
    }

    fn release(&mut self, place: usize) {
        let value = std::mem::replace(&mut self.values[place], ptr::null_mut());
        if !value.is_null() {
            // SAFETY: the value was made by `bind`, and just taken out of the one place that it was in.
            unsafe { (ort::api().ReleaseValue)(value) }
        }
    }

    fn clear(&mut self) {
        (0..self.values.len()).for_each(|place| self.release(place));
    }
}

impl Drop for Values {
    fn drop(&mut self) {
        self.clear();
    }
}

//! One call of the runtime over existing memory: tensors are bound where they lie, and nothing is copied. Outputs of
//! unknown size are allocated by the runtime and read from there.
//!
//! `ort`'s own session wants `&mut self`, owns what it binds, and allocates for each call. Here the C functions are
//! called directly; they are made to be called by several threads of one session.

use std::{
    ffi::{CString, c_char},
    ptr::{self, NonNull},
    slice,
    sync::Arc,
};

use ort::{
    AsPointer, Error,
    memory::{AllocationDevice, AllocatorType, MemoryInfo, MemoryType},
    session::SharedSessionInner,
    sys::{ONNXTensorElementDataType, OrtTensorTypeAndShapeInfo, OrtValue},
};
use proctor_onnx_file::Port;
use proctor_plugin_api::vocabulary::ElementType;

/// The type of a tensor's elements, as the runtime numbers them.
pub(crate) type Element = ONNXTensorElementDataType;

/// A session with the tensors of its next call.
pub(crate) struct Binding {
    session: Arc<SharedSessionInner>,
    memory: MemoryInfo<'static>,
    inputs: Values,
    outputs: Values,
    /// Owner of the memory for outputs.
    home: Home,
}

/// Owner of the memory that the outputs of a call lie in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// The caller's, bound before each call.
    Caller,
    /// The runtime's, which finds out their sizes, until the next call.
    Runtime,
}

/// An output in the runtime's memory.
#[derive(Debug)]
pub(crate) struct Lent<'a> {
    pub element: ElementType,
    /// Extents, the batch among them.
    pub dims: Vec<usize>,
    pub bytes: &'a [u8],
}

/// A tensor in memory of its own, which the runtime has made.
#[derive(Debug)]
pub(crate) struct OwnedTensor(NonNull<OrtValue>);

// SAFETY: the tensor and its memory belong to the structure alone, and the runtime allows them on any thread.
unsafe impl Send for OwnedTensor {}

impl Drop for OwnedTensor {
    fn drop(&mut self) {
        // SAFETY: the value was made by the runtime, and is in no other place.
        unsafe { (ort::api().ReleaseValue)(self.0.as_ptr()) }
    }
}

/// Names, and a tensor for each, in the form that the runtime takes them.
struct Values {
    /// Keeps the targets of `names` alive.
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
    /// Prepares for calls with the tensors of these ports, whose memory is all the caller's.
    ///
    /// # Errors
    /// If the runtime refuses.
    pub(crate) fn of_ports(
        session: Arc<SharedSessionInner>,
        inputs: &[Port],
        outputs: &[Port],
    ) -> Result<Self, Error> {
        Self::new(session, &names(inputs), &names(outputs), Home::Caller)
    }

    /// Prepares for calls with these inputs and outputs.
    ///
    /// # Errors
    /// If the runtime refuses.
    pub(crate) fn new(
        session: Arc<SharedSessionInner>,
        inputs: &[String],
        outputs: &[String],
        home: Home,
    ) -> Result<Self, Error> {
        let memory = MemoryInfo::new(AllocationDevice::CPU, 0, AllocatorType::Device, MemoryType::Default)?;
        Ok(Self { session, memory, inputs: Values::new(inputs)?, outputs: Values::new(outputs)?, home })
    }

    /// Binds the memory of an input.
    ///
    /// # Errors
    /// If the runtime refuses, for instance because shape and size do not agree.
    ///
    /// # Safety
    /// - `memory` can be read until [`run`](Self::run) has returned, and nothing writes to it meanwhile. The same holds
    ///   for each [`run_again`](Self::run_again) until the input is bound again.
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

    /// Runs the session on the bound tensors, and ends all bindings.
    ///
    /// # Errors
    /// If the runtime fails, for instance because an output has another shape than the memory that is bound to it.
    ///
    /// # Panics
    /// If an input, or an output of the caller's, was not bound since the last run.
    pub(crate) fn run(&mut self) -> Result<(), Error> {
        let result = self.run_again();
        self.unbind();
        result
    }

    /// Ends the bindings of all inputs.
    pub(crate) fn unbind(&mut self) {
        self.inputs.clear();
    }

    /// Takes an output of the last run out of the binding.
    ///
    /// # Errors
    /// If the runtime has not made it, or it was taken already.
    ///
    /// # Panics
    /// If the memory of the outputs is the caller's.
    pub(crate) fn take_output(&mut self, output: usize) -> Result<OwnedTensor, Error> {
        assert!(self.home == Home::Runtime, "outputs in the caller's memory stay there");
        let value = std::mem::replace(&mut self.outputs.values[output], ptr::null_mut());
        NonNull::new(value).map(OwnedTensor).ok_or_else(|| Error::new("the runtime has not made the output"))
    }

    /// Binds an input to a tensor, which is kept until the input is bound again or unbound.
    pub(crate) fn give_input(&mut self, input: usize, tensor: OwnedTensor) {
        self.inputs.release(input);
        self.inputs.values[input] = tensor.0.as_ptr();
        // The value is in the list now, which releases it.
        std::mem::forget(tensor);
    }

    /// Runs the session on the bound tensors, and keeps the inputs bound.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Panics
    /// If an input is not bound, or an output of the caller's was not bound since the last run.
    pub(crate) fn run_again(&mut self) -> Result<(), Error> {
        let unbound = |values: &Values| values.values.iter().any(|value| value.is_null());
        assert!(!unbound(&self.inputs), "every input is bound before a run");
        match self.home {
            Home::Caller => assert!(!unbound(&self.outputs), "every output is bound before a run"),
            Home::Runtime => self.outputs.clear(),
        }
        let values = self.inputs.values.as_ptr();
        // SAFETY: the session lives as long as `self.session`, and the runtime allows several threads to run it at a
        // time. Names and values have the numbers of elements that are passed; the values are tensors, as was just
        // asserted, over memory that the caller of `bind` keeps until this returns. No options are the default ones.
        // Values of outputs that are null are replaced by the runtime's own; the others are not.
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
        if self.home == Home::Caller {
            self.outputs.clear();
        }
        result
    }

    /// Returns an output of the last run, in the runtime's memory.
    ///
    /// # Errors
    /// If the runtime refuses, or has not made it, or it is of no type that is known here.
    pub(crate) fn output(&self, output: usize) -> Result<Lent<'_>, Error> {
        let value = self.outputs.values[output];
        if value.is_null() {
            return Err(Error::new("the runtime has not made the output"));
        }
        let info = Info::of(value)?;
        let (number, dims) = (info.element()?, info.dims()?);
        let known = ElementType::ALL.iter().copied().find(|known| element(*known) == number);
        let element = known.ok_or_else(|| Error::new("the output is of an unknown type"))?;
        let count = dims.iter().try_fold(1_usize, |count, extent| count.checked_mul(*extent));
        let size_bytes = element.bytes_of(count.ok_or_else(|| Error::new("the output is too large"))?);
        let mut data = ptr::null_mut();
        // SAFETY: the value is a tensor of this binding, and `data` has room for an address.
        let status = unsafe { (ort::api().GetTensorMutableData)(value, &raw mut data) };
        // SAFETY: the status is the one that the call just returned.
        unsafe { Error::result_from_status(status) }?;
        let bytes = if size_bytes == 0 || data.is_null() {
            &[]
        } else {
            // SAFETY: the tensor has as many elements of this type as its shape says, in memory of the processor, as
            // no other was asked for. It lives until it is released, for which the binding is borrowed exclusively.
            unsafe { slice::from_raw_parts(data.cast::<u8>().cast_const(), size_bytes) }
        };
        Ok(Lent { element, dims, bytes })
    }
}

/// Returns the names of the model's tensors.
pub(crate) fn names(ports: &[Port]) -> Vec<String> {
    ports.iter().map(|port| port.spec.name.clone()).collect()
}

/// The runtime's description of a tensor.
struct Info(*mut OrtTensorTypeAndShapeInfo);

impl Info {
    fn of(value: *const OrtValue) -> Result<Self, Error> {
        let mut info = ptr::null_mut();
        // SAFETY: the value is one that the runtime made and that was not released, and `info` has room for an address.
        let status = unsafe { (ort::api().GetTensorTypeAndShape)(value, &raw mut info) };
        // SAFETY: the status is the one that the call just returned.
        unsafe { Error::result_from_status(status) }?;
        Ok(Self(info))
    }

    fn element(&self) -> Result<Element, Error> {
        let mut element = Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
        // SAFETY: the description is live, and `element` has room for a number of a type.
        let status = unsafe { (ort::api().GetTensorElementType)(self.0, &raw mut element) };
        // SAFETY: the status is the one that the call just returned.
        unsafe { Error::result_from_status(status) }?;
        Ok(element)
    }

    fn dims(&self) -> Result<Vec<usize>, Error> {
        let mut count = 0;
        // SAFETY: the description is live, and `count` has room for a number.
        let status = unsafe { (ort::api().GetDimensionsCount)(self.0, &raw mut count) };
        // SAFETY: the status is the one that the call just returned.
        unsafe { Error::result_from_status(status) }?;
        let mut dims = vec![0; count];
        // SAFETY: the description is live, and `dims` has room for `count` extents.
        let status = unsafe { (ort::api().GetDimensions)(self.0, dims.as_mut_ptr(), count) };
        // SAFETY: the status is the one that the call just returned.
        unsafe { Error::result_from_status(status) }?;
        Ok(dims.into_iter().map(|extent| usize::try_from(extent).unwrap_or(0)).collect())
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: the description was made by `of`, and is not used after this.
        unsafe { (ort::api().ReleaseTensorTypeAndShapeInfo)(self.0) }
    }
}

/// Returns the runtime's number of a type.
pub(crate) fn element(element_type: ElementType) -> Element {
    match element_type {
        ElementType::F32 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
        ElementType::F64 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE,
        ElementType::F16 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16,
        ElementType::Bf16 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16,
        ElementType::I8 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8,
        ElementType::U8 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8,
        ElementType::I16 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16,
        ElementType::I32 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,
        ElementType::I64 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,
        ElementType::Bool => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL,
        ElementType::U16 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16,
        ElementType::U32 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32,
        ElementType::U64 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64,
        ElementType::F8E4M3 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN,
        ElementType::F8E5M2 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2,
        ElementType::I4 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4,
        ElementType::U4 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4,
    }
}

impl Values {
    fn new(names: &[String]) -> Result<Self, Error> {
        let owned = names.iter().map(|name| CString::new(name.as_str())).collect::<Result<Box<[_]>, _>>();
        let owned = owned.map_err(Error::wrap)?;
        let names: Box<[_]> = owned.iter().map(|name| name.as_ptr()).collect();
        let values = vec![ptr::null_mut(); names.len()].into();
        Ok(Self { _owned: owned, names, values })
    }

    /// Makes a tensor over memory, replacing the previous one.
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
            // SAFETY: the value was made by `bind` or by the runtime, and just taken out of the one place that it was
            // in.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_the_numbers_that_files_have_for_them() {
        for element_type in ElementType::ALL {
            assert_eq!(element(*element_type) as i32, proctor_onnx_file::data_type(*element_type));
        }
    }
}

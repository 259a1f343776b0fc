//! Checks of handles, descriptors and convolutions.

use std::{collections::BTreeMap, ffi::c_int};

use proctor_vocabulary::ElementType;

use super::{
    Done, Status,
    convolution::{Convolution, Form, Tensor},
    objects::{Descriptors, Handle},
};
use crate::{
    errors::CudaError,
    work::{Id, Work},
    world::World,
};

/// Alignment in bytes that all memory of a convolution has to have.
const ALIGNMENT: usize = 16;

impl World {
    /// Says that the caller has made a mistake, and returns the status for it.
    pub(super) fn bad<T>(&self, status: Status, what: impl AsRef<str>) -> Done<T> {
        // The driver's error is not returned.
        let _ = self.mistake::<()>(CudaError::ERROR_INVALID_VALUE, what);
        Err(status)
    }

    /// Returns a handle, which has to belong to the device of the current context.
    pub(super) fn cudnn_handle(&self, handle: Id) -> Done<Handle> {
        let device = self.current()?;
        match self.cudnn.handles.get(&handle) {
            Some(of) if of.device == device => Ok(*of),
            Some(_) => self.bad(Status::BAD_PARAM, "the handle is of another device"),
            None => self.bad(Status::NOT_INITIALIZED, "no such handle"),
        }
    }

    /// Returns the last setting of a descriptor.
    pub(super) fn described<T: Copy>(&self, list: &BTreeMap<Id, Option<T>>, descriptor: Id) -> Done<T> {
        match list.get(&descriptor) {
            Some(Some(set)) => Ok(*set),
            Some(None) => self.bad(Status::BAD_PARAM, "a descriptor was not set"),
            None => self.bad(Status::BAD_PARAM, "no such descriptor"),
        }
    }

    /// Sets the values of a descriptor.
    pub(super) fn describe<T>(
        &mut self,
        list: impl Fn(&mut Descriptors) -> &mut BTreeMap<Id, Option<T>>,
        descriptor: Id,
        set: T,
    ) -> Done {
        match list(&mut self.cudnn).get_mut(&descriptor) {
            Some(place) => {
                *place = Some(set);
                Ok(())
            }
            None => self.bad(Status::BAD_PARAM, "no such descriptor"),
        }
    }

    /// Returns a tensor by cuDNN's numbers.
    pub(super) fn tensor_of(&self, format: c_int, element: c_int, extents: [c_int; 4]) -> Done<Tensor> {
        let element = match element {
            0 => ElementType::F32,
            2 => ElementType::F16,
            9 => ElementType::Bf16,
            other => return self.bad(Status::NOT_SUPPORTED, format!("a tensor of type {other}")),
        };
        if format != 0 || extents.iter().any(|extent| *extent < 1) {
            return self.bad(Status::BAD_PARAM, format!("a tensor of {extents:?} in format {format}"));
        }
        Ok(Tensor { element, extents: extents.map(|extent| extent as usize) })
    }

    /// Returns the convolution of descriptors of x, w, windows and y.
    pub(super) fn convolution_form(&self, [x, w, windows, y]: [Id; 4]) -> Done<Form> {
        let objects = &self.cudnn;
        let images = self.described(&objects.tensors, x)?;
        let filters = self.described(&objects.filters, w)?;
        let windows = self.described(&objects.windows, windows)?;
        let results = self.described(&objects.tensors, y)?;
        let form = Form { images, filters, results, windows };
        let [count, channels, ..] = images.extents;
        let [maps, of_group, ..] = filters.extents;
        let groups = windows.groups;
        if groups == 0 || channels != of_group * groups || !maps.is_multiple_of(groups) {
            let what = format!("{maps} filters of {of_group} of {channels} channels in {groups} groups");
            return self.bad(Status::BAD_PARAM, what);
        }
        let expected = [2, 3].map(|at| {
            let (pad, stride, dilation) =
                (windows.pads[at - 2], windows.strides[at - 2], windows.dilations[at - 2]);
            let room = images.extents[at] + 2 * pad;
            room.checked_sub((filters.extents[at] - 1) * dilation + 1).map_or(0, |room| room / stride + 1)
        });
        if results.extents != [count, maps, expected[0], expected[1]] {
            let what = format!("results of {:?}, not {expected:?} for each filter", results.extents);
            return self.bad(Status::BAD_PARAM, what);
        }
        if filters.element != images.element || results.element != images.element {
            return self.bad(Status::NOT_SUPPORTED, "tensors of several types");
        }
        Ok(form)
    }

    /// Checks that the algorithm computes this.
    pub(super) fn check_convolution_algorithm(&self, form: &Form, algorithm: c_int) -> Done {
        if form.algorithms().contains(&algorithm) {
            return Ok(());
        }
        self.bad(Status::NOT_SUPPORTED, format!("algorithm {algorithm} does not compute this"))
    }

    /// Puts a convolution into the stream of its handle.
    pub(super) fn convolve(&mut self, mut convolution: Convolution) -> Done {
        let Handle { device, stream } = self.cudnn_handle(convolution.handle)?;
        convolution.device = device;
        let Some(stream) = stream else {
            return self.bad(Status::BAD_PARAM, "the handle has no stream");
        };
        self.stream(stream)?;
        self.check_convolution_algorithm(&convolution.form, convolution.algorithm)?;
        let (address, bytes) = convolution.workspace;
        let needed = convolution.form.workspace(convolution.algorithm);
        if bytes < needed || needed > 0 && address == 0 {
            return self.bad(Status::BAD_PARAM, format!("{bytes} bytes of workspace are too few"));
        }
        for (name, range) in convolution.ranges() {
            // CUDA's memory is aligned; the double's need not be.
            let begin = self.memory.range(..=range.start).next_back().map_or(0, |(begin, _)| *begin);
            if !(range.start - begin).is_multiple_of(ALIGNMENT) {
                return self.bad(Status::BAD_PARAM, format!("{name} is not aligned to {ALIGNMENT} bytes"));
            }
        }
        self.check_convolution(&convolution)?;
        self.put(stream, Work::Convolution(convolution))?;
        Ok(())
    }

    /// Checks that the memory of a convolution exists.
    pub(crate) fn check_convolution(&self, convolution: &Convolution) -> Done {
        let ranges = convolution.ranges();
        let result = &ranges[2].1;
        for (name, range) in &ranges {
            let within = self.within(convolution.device, range.start, range.len(), name);
            within.map_err(|_| Status::BAD_PARAM)?;
            let is_result = range == result && (*name == "y" || *name == "the residual");
            if !is_result && range.start < result.end && result.start < range.end {
                return self.bad(Status::BAD_PARAM, format!("y overlaps {name}"));
            }
        }
        Ok(())
    }
}

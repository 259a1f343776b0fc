//! Room for the outputs of one batch, and the check of the plugin's output in it.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    ptr::{self, NonNull},
};

use proctor_plugin_api::{
    abi::{PROCTOR_TENSOR_ALIGNMENT, ProctorOutput},
    vocabulary::{ElementType, TensorSpec},
};

use crate::{call::Call, guard::activity::Activity};

/// Memory `[sample][output]`, each output aligned as the ABI says while the plugin writes. Afterwards the outputs of a
/// sample are moved together, so that they are one slice.
pub(crate) struct OutputBuffer {
    start: NonNull<u8>,
    layout: Layout,
    /// Distance of two samples in bytes.
    stride: usize,
    /// Offset and size of each output of a sample, in bytes.
    places: Vec<(usize, usize)>,
    /// Byte of each output that no answer is made of.
    marks: Vec<u8>,
    /// Size in bytes in whose steps the last output grows, if that one may be shorter than its shape.
    varying_unit_bytes: Option<usize>,
    /// Size of each output of the sample that is being settled, in bytes.
    sizes_bytes: Vec<usize>,
    /// Size of all outputs of each settled sample, in bytes.
    response_sizes_bytes: Vec<usize>,
}

// SAFETY: the buffer owns its memory alone.
unsafe impl Send for OutputBuffer {}

impl OutputBuffer {
    /// Allocates room for `sample_count` samples; `None` if no machine has that much. With `last_varies` the last
    /// output may have fewer elements than its shape.
    pub(crate) fn new(specs: &[TensorSpec], last_varies: bool, sample_count: usize) -> Option<Self> {
        let mut places = Vec::with_capacity(specs.len());
        let mut end: usize = 0;
        for spec in specs {
            let offset = end.checked_next_multiple_of(PROCTOR_TENSOR_ALIGNMENT)?;
            end = offset.checked_add(spec.size_bytes())?;
            places.push((offset, spec.size_bytes()));
        }
        // At least one byte, as nothing cannot be allocated.
        let stride = end.max(1).checked_next_multiple_of(PROCTOR_TENSOR_ALIGNMENT)?;
        let layout =
            Layout::from_size_align(stride.checked_mul(sample_count.max(1))?, PROCTOR_TENSOR_ALIGNMENT)
                .ok()?;
        // SAFETY: the size is not 0.
        let Some(start) = NonNull::new(unsafe { alloc_zeroed(layout) }) else { handle_alloc_error(layout) };
        let varying_unit_bytes =
            specs.last().filter(|_| last_varies).map(|spec| spec.element_type.unit_bytes());
        let whole = places.iter().map(|(_, size)| size).sum();
        let response_sizes_bytes = vec![whole; sample_count.max(1)];
        let sizes_bytes = vec![0; places.len()];
        let marks = specs.iter().map(|spec| mark_of(spec.element_type)).collect();
        Some(Self {
            start,
            layout,
            stride,
            places,
            marks,
            varying_unit_bytes,
            sizes_bytes,
            response_sizes_bytes,
        })
    }

    /// Fills the room of an output with an impossible answer, so that an earlier batch's output there does not pass for
    /// one: NaN, or numbers that are mostly out of range.
    pub(crate) fn mark(&mut self, sample: usize, output: usize) {
        let ((_, size), mark) = (self.places[output], self.marks[output]);
        // SAFETY: the place has this size, and lies within the buffer.
        unsafe { self.place(sample, output).write_bytes(mark, size) };
    }

    /// Returns an output that the plugin has not touched yet.
    pub(crate) fn fresh(&mut self, sample: usize, output: usize) -> ProctorOutput {
        let (_, size) = self.places[output];
        ProctorOutput {
            data: self.place(sample, output).cast(),
            capacity_bytes: size,
            size_bytes: 0,
            lent: ptr::null(),
            release: None,
            context: ptr::null_mut(),
        }
    }

    /// Adopts the plugin's answer for one sample: copies lent outputs and returns them, once, regardless of other
    /// errors; checks each size; moves the outputs together. checks each size; moves the outputs together. Returns
    /// whether the response is whole.
    ///
    /// Without `is_ok` nothing is checked or copied, only given back. `wrong` gets the output and its size in bytes.
    ///
    /// # Safety
    /// The plugin vouches for what it wrote to `outputs`: `size_bytes` bytes at `lent`, and `release` for it.
    pub(crate) unsafe fn settle(
        &mut self,
        sample: usize,
        outputs: &[ProctorOutput],
        is_ok: bool,
        activity: &'static Activity,
        mut wrong: impl FnMut(usize, usize),
    ) -> bool {
        let mut is_whole = is_ok;
        for (output, written) in outputs.iter().enumerate() {
            // Read once: the checked values are the used ones, even if a thread of the plugin still writes.
            let size = written.size_bytes;
            self.sizes_bytes[output] = size;
            let fits = self.fits(output, size);
            if !written.lent.is_null() {
                if is_ok && fits {
                    let place = self.place(sample, output);
                    // SAFETY: the plugin vouches for `size_bytes` bytes at `lent`, which is the size of the place. It
                    // may have lent our own memory, so the ranges may overlap.
                    activity
                        .within(Call::LendOutput, || unsafe { ptr::copy(written.lent.cast(), place, size) });
                }
                if let Some(release) = written.release {
                    // SAFETY: the plugin gave the function for this pointer; the caller settles each batch once.
                    activity.within(Call::ReleaseOutput, || unsafe { release(written.context) });
                }
            }
            if is_ok && !fits {
                wrong(output, size);
                is_whole = false;
            }
        }
        if is_whole {
            self.move_together(sample);
        }
        is_whole
    }

    /// Returns whether an output may have this size in bytes.
    fn fits(&self, output: usize, size: usize) -> bool {
        let (_, whole) = self.places[output];
        let is_last = output + 1 == self.places.len();
        match self.varying_unit_bytes.filter(|_| is_last) {
            Some(unit) => size <= whole && size.is_multiple_of(unit),
            None => size == whole,
        }
    }

    /// Returns the settled outputs of a sample, one after another.
    pub(crate) fn response(&self, sample: usize) -> &[u8] {
        assert!(sample < self.layout.size() / self.stride, "sample {sample} lies beyond the buffer");
        let size_bytes = self.response_sizes_bytes[sample];
        // SAFETY: the sample lies within the buffer as just checked, the size of its outputs is at most its stride, and
        // the memory was zeroed when it was allocated. The plugin writes only during a call, for which this buffer is
        // borrowed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(sample * self.stride), size_bytes) }
    }

    /// Closes the gaps between outputs, whose sizes are known to fit.
    fn move_together(&mut self, sample: usize) {
        let mut end = 0;
        for output in 0..self.places.len() {
            let ((offset, _), size) = (self.places[output], self.sizes_bytes[output]);
            if offset != end {
                let from = self.place(sample, output);
                // SAFETY: `end` is at most `offset`, and the size at most that of the place, so both ranges of `size`
                // bytes lie within the sample's stride.
                unsafe { ptr::copy(from, from.sub(offset - end), size) };
            }
            end += size;
        }
        self.response_sizes_bytes[sample] = end;
    }

    fn place(&mut self, sample: usize, output: usize) -> *mut u8 {
        assert!(sample < self.layout.size() / self.stride, "sample {sample} lies beyond the buffer");
        // SAFETY: the sample lies within the buffer as just checked, and the offset within the stride.
        unsafe { self.start.as_ptr().add(sample * self.stride + self.places[output].0) }
    }
}

/// Returns a byte that no answer is made of.
fn mark_of(element_type: ElementType) -> u8 {
    use ElementType::{Bf16, F8E4M3, F8E5M2, F16, F32, F64};
    if matches!(element_type, F8E4M3 | F8E5M2 | F16 | Bf16 | F32 | F64) { 0xff } else { 0xa5 }
}

impl Drop for OutputBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str, element_type: ElementType, count: usize) -> TensorSpec {
        TensorSpec { name: name.into(), element_type, shape: vec![count] }
    }

    #[test]
    fn odd_sizes_are_aligned_for_the_plugin_and_adjacent_for_the_response() {
        let specs = [
            spec("label", ElementType::U8, 3),
            spec("score", ElementType::F64, 1),
            spec("x", ElementType::I8, 2),
        ];
        let mut buffer = OutputBuffer::new(&specs, false, 2).unwrap();
        let activity = Activity::new("output-test", None);
        let mut outputs: Vec<ProctorOutput> = (0..3).map(|output| buffer.fresh(1, output)).collect();
        assert!(outputs.iter().all(|output| output.data.addr().is_multiple_of(PROCTOR_TENSOR_ALIGNMENT)));
        for (value, output) in (1..).zip(&mut outputs) {
            // SAFETY: `data` has room for `capacity_bytes`.
            unsafe { output.data.cast::<u8>().write_bytes(value, output.capacity_bytes) };
            output.size_bytes = output.capacity_bytes;
        }
        // SAFETY: nothing is lent.
        assert!(unsafe { buffer.settle(1, &outputs, true, activity, |_, _| unreachable!()) });
        assert_eq!(buffer.response(1), [1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3]);
        assert_eq!(buffer.response(0), [0; 13]);
    }

    #[test]
    fn a_room_that_is_marked_holds_no_answer() {
        let specs = [
            spec("label", ElementType::I32, 1),
            spec("score", ElementType::F32, 2),
            spec("half", ElementType::Bf16, 1),
        ];
        let mut buffer = OutputBuffer::new(&specs, false, 2).unwrap();
        let activity = Activity::new("output-mark-test", None);
        let mut outputs: Vec<ProctorOutput> = (0..3).map(|output| buffer.fresh(1, output)).collect();
        (0..3).for_each(|output| buffer.mark(1, output));
        outputs.iter_mut().for_each(|output| output.size_bytes = output.capacity_bytes);
        // SAFETY: nothing is lent.
        assert!(unsafe { buffer.settle(1, &outputs, true, activity, |_, _| unreachable!()) });
        let (label, rest) = buffer.response(1).split_at(4);
        assert_eq!(label, [0xa5; 4]);
        let (scores, half) = rest.split_at(8);
        assert!(scores.as_chunks().0.iter().all(|score| f32::from_ne_bytes(*score).is_nan()));
        assert!(f32::from_bits(u32::from(u16::from_ne_bytes([half[0], half[1]])) << 16).is_nan());
        assert_eq!(buffer.response(0), [0; 14], "the room beside it");
    }

    #[test]
    fn only_the_last_output_may_be_shorter_and_only_by_whole_elements() {
        let specs = [spec("score", ElementType::F32, 1), spec("tokens", ElementType::I32, 4)];
        let activity = Activity::new("output-varies-test", None);
        let settled = |last_varies, sizes: [usize; 2]| {
            let mut buffer = OutputBuffer::new(&specs, last_varies, 1).unwrap();
            let mut outputs = [buffer.fresh(0, 0), buffer.fresh(0, 1)];
            for (output, size) in outputs.iter_mut().zip(sizes) {
                output.size_bytes = size;
            }
            // SAFETY: nothing is lent.
            let is_whole = unsafe { buffer.settle(0, &outputs, true, activity, |_, _| ()) };
            is_whole.then(|| buffer.response(0).len())
        };
        for (last_varies, sizes, expected) in [
            (true, [4, 16], Some(20)),
            (true, [4, 8], Some(12)),
            (true, [4, 0], Some(4)),
            (true, [4, 7], None),
            (true, [4, 20], None),
            (true, [0, 16], None),
            (false, [4, 16], Some(20)),
            (false, [4, 8], None),
        ] {
            assert_eq!(settled(last_varies, sizes), expected, "{last_varies} {sizes:?}");
        }
    }

    #[test]
    fn packed_elements_take_half_a_byte_each() {
        let specs = [spec("score", ElementType::F8E4M3, 3), spec("tokens", ElementType::U4, 6)];
        let activity = Activity::new("output-packed-test", None);
        for (size, expected) in [(3, Some(6)), (1, Some(4)), (4, None), (6, None)] {
            let mut buffer = OutputBuffer::new(&specs, true, 1).unwrap();
            let mut outputs = [buffer.fresh(0, 0), buffer.fresh(0, 1)];
            assert_eq!(outputs.each_ref().map(|output| output.capacity_bytes), [3, 3]);
            (outputs[0].size_bytes, outputs[1].size_bytes) = (3, size);
            // SAFETY: nothing is lent.
            let is_whole = unsafe { buffer.settle(0, &outputs, true, activity, |_, _| ()) };
            assert_eq!(is_whole.then(|| buffer.response(0).len()), expected, "{size}");
        }
    }

    #[test]
    fn more_than_a_machine_has_is_refused() {
        assert!(
            OutputBuffer::new(&[spec("x", ElementType::F32, 1 << 40)], false, usize::MAX >> 20).is_none()
        );
    }
}

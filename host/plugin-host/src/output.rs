//! Room for the outputs of one batch, and the check of what a plugin put there.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    ptr::{self, NonNull},
};

use proctor_plugin_api::{abi::ProctorOutput, vocabulary::TensorSpec};

use crate::{activity::Activity, call::Call};

/// Alignment of the outputs of each sample, in bytes.
const SAMPLE_ALIGNMENT: usize = 64;
/// Alignment of each output, in bytes; the ABI promises 4, the widest element has 8.
const OUTPUT_ALIGNMENT: usize = 8;

/// Memory `[sample][output]`: each sample aligned to 64, each output to 8 while the plugin writes. Afterwards the
/// outputs of a sample are moved together, so that they are one slice.
pub(crate) struct OutputBuffer {
    start: NonNull<u8>,
    layout: Layout,
    /// Distance of two samples in bytes.
    stride: usize,
    /// Offset and size of each output of a sample, in bytes.
    places: Vec<(usize, usize)>,
    /// Size of all outputs of a sample, in bytes.
    response_size_bytes: usize,
}

// SAFETY: the buffer owns its memory alone.
unsafe impl Send for OutputBuffer {}

impl OutputBuffer {
    /// Allocates room for `sample_count` samples; `None` if no machine has that much.
    pub(crate) fn new(specs: &[TensorSpec], sample_count: usize) -> Option<Self> {
        let mut places = Vec::with_capacity(specs.len());
        let mut end: usize = 0;
        for spec in specs {
            let offset = end.checked_next_multiple_of(OUTPUT_ALIGNMENT)?;
            end = offset.checked_add(spec.size_bytes())?;
            places.push((offset, spec.size_bytes()));
        }
        // At least one byte, as nothing cannot be allocated.
        let stride = end.max(1).checked_next_multiple_of(SAMPLE_ALIGNMENT)?;
        let layout =
            Layout::from_size_align(stride.checked_mul(sample_count.max(1))?, SAMPLE_ALIGNMENT).ok()?;
        // SAFETY: the size is not 0.
        let Some(start) = NonNull::new(unsafe { alloc_zeroed(layout) }) else { handle_alloc_error(layout) };
        let response_size_bytes = places.iter().map(|(_, size)| size).sum();
        Some(Self { start, layout, stride, places, response_size_bytes })
    }

    /// An output that the plugin has not touched yet.
    pub(crate) fn fresh(&mut self, sample: usize, output: usize) -> ProctorOutput {
        let (_, size) = self.places[output];
        ProctorOutput {
            data: self.place(sample, output).cast(),
            capacity_bytes: size,
            size_bytes: 0,
            lent: ptr::null(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }

    /// Takes over what the plugin says about one sample: copies what it lent and gives it back, once, whatever else
    /// is wrong; checks each size; moves the outputs together. Returns whether the response is whole.
    ///
    /// Without `is_ok` nothing is checked or copied, only given back. `wrong` is told the output and its size in bytes.
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
            let (_, size) = self.places[output];
            let fits = written.size_bytes == size;
            if !written.lent.is_null() {
                if is_ok && fits {
                    // SAFETY: the plugin vouches for `size_bytes` bytes at `lent`, which is the size of the place. It
                    // may have lent our own memory, so the ranges may overlap.
                    unsafe { ptr::copy(written.lent.cast(), self.place(sample, output), size) };
                }
                if let Some(release) = written.release {
                    let _scope = activity.enter(Call::ReleaseOutput);
                    // SAFETY: the plugin gave the function for this pointer; the caller settles each batch once.
                    unsafe { release(written.private_data) };
                }
            }
            if is_ok && !fits {
                wrong(output, written.size_bytes);
                is_whole = false;
            }
        }
        if is_whole {
            self.move_together(sample);
        }
        is_whole
    }

    /// The settled outputs of a sample, one after the other.
    pub(crate) fn response(&self, sample: usize) -> &[u8] {
        assert!(sample < self.layout.size() / self.stride, "sample {sample} lies beyond the buffer");
        // SAFETY: the sample lies within the buffer as just checked, its outputs fit its stride, and the memory was
        // zeroed when it was allocated. The plugin writes only during a call, for which this buffer is borrowed.
        unsafe {
            std::slice::from_raw_parts(
                self.start.as_ptr().add(sample * self.stride),
                self.response_size_bytes,
            )
        }
    }

    fn move_together(&mut self, sample: usize) {
        let mut end = 0;
        for output in 0..self.places.len() {
            let (offset, size) = self.places[output];
            if offset != end {
                let from = self.place(sample, output);
                // SAFETY: `end` is at most `offset`, so both ranges of `size` bytes lie within the sample's stride.
                unsafe { ptr::copy(from, from.sub(offset - end), size) };
            }
            end += size;
        }
    }

    fn place(&mut self, sample: usize, output: usize) -> *mut u8 {
        assert!(sample < self.layout.size() / self.stride, "sample {sample} lies beyond the buffer");
        // SAFETY: the sample lies within the buffer as just checked, and the offset within the stride.
        unsafe { self.start.as_ptr().add(sample * self.stride + self.places[output].0) }
    }
}

impl Drop for OutputBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use proctor_plugin_api::vocabulary::ElementType;

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
        let mut buffer = OutputBuffer::new(&specs, 2).unwrap();
        let activity = Activity::new("output-test", None);
        let mut outputs: Vec<ProctorOutput> = (0..3).map(|output| buffer.fresh(1, output)).collect();
        assert!(outputs.iter().all(|output| output.data.addr().is_multiple_of(OUTPUT_ALIGNMENT)));
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
    fn more_than_a_machine_has_is_refused() {
        assert!(OutputBuffer::new(&[spec("x", ElementType::F32, 1 << 40)], usize::MAX >> 20).is_none());
    }
}

//! Memory to read from: aligned, and on huge pages where the system has them.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    ptr::NonNull,
    slice,
};

use rustix::mm::{Advice, madvise};

/// Size and alignment of a huge page on x86-64.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Floats from an address that a huge page may begin at.
pub(crate) struct Buffer {
    start: NonNull<f32>,
    layout: Layout,
}

// SAFETY: the buffer owns its memory, as a boxed slice does.
unsafe impl Send for Buffer {}
// SAFETY: shared access only reads.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// `bytes` rounded up to whole cache lines, filled with ones, so that each page is there.
    pub(crate) fn new(bytes: usize) -> Self {
        let bytes = bytes.max(64).next_multiple_of(64);
        let layout = Layout::from_size_align(bytes, HUGE_PAGE_BYTES).expect("the sizes of caches are small");
        // SAFETY: the layout has a size above zero.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start.cast::<f32>()) else { handle_alloc_error(layout) };
        // Advice only: a system that does not follow it reads a little slower.
        // SAFETY: the range is the allocation just made; the advice does not change what is in it.
        let _ = unsafe { madvise(start.as_ptr().cast(), bytes, Advice::LinuxHugepage) };
        let mut buffer = Self { start, layout };
        buffer.values_mut().fill(1.0);
        buffer
    }

    /// All values.
    pub(crate) fn values(&self) -> &[f32] {
        // SAFETY: the allocation has this many initialised floats, and lives as long as self.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.layout.size() / size_of::<f32>()) }
    }

    fn values_mut(&mut self) -> &mut [f32] {
        // SAFETY: as above, and self is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size() / size_of::<f32>()) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the memory came from the same allocator with this layout.
        unsafe { dealloc(self.start.as_ptr().cast(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_has_whole_lines_of_ones() {
        let buffer = Buffer::new(100);
        assert_eq!(buffer.values(), [1.0; 32]);
        assert_eq!(buffer.values().as_ptr().addr() % HUGE_PAGE_BYTES, 0);
        assert_eq!(Buffer::new(0).values().len(), 16);
    }
}

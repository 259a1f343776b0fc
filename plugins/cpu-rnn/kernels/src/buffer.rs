//! Memory for packed weights: aligned to cache lines, in huge pages where it is large.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Alignment of every buffer: a cache line, which is also the longest vector.
pub const ALIGNMENT_BYTES: usize = 64;

/// Size of a huge page. Buffers of at least half of it are aligned to it, so that the system can back them with huge
/// pages.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Zeroed f32 values, or any plain bytes, aligned to [`ALIGNMENT_BYTES`].
#[derive(Debug)]
pub struct Buffer {
    start: NonNull<u8>,
    layout: Layout,
    size_bytes: usize,
}

// SAFETY: nothing else points to the memory that the buffer owns, and any thread may use and free it.
unsafe impl Send for Buffer {}
// SAFETY: the methods of a shared buffer only read; those that write borrow it mutably.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Returns `count` f32 zeros.
    ///
    /// # Panics
    /// If the size overflows.
    #[must_use]
    pub fn zeroed(count: usize) -> Self {
        Self::zeroed_bytes(count.checked_mul(4).expect("a buffer fits the address space"))
    }

    /// Returns `size_bytes` zero bytes.
    ///
    /// # Panics
    /// If the size overflows.
    #[must_use]
    pub fn zeroed_bytes(size_bytes: usize) -> Self {
        let huge = size_bytes >= HUGE_PAGE_BYTES / 2;
        let alignment = if huge { HUGE_PAGE_BYTES } else { ALIGNMENT_BYTES };
        // Whole cache lines, and at least one: no two buffers share a line.
        let rounded = size_bytes.max(1).checked_next_multiple_of(alignment);
        let rounded = rounded.expect("a buffer fits the address space");
        let layout = Layout::from_size_align(rounded, alignment).expect("a buffer fits the address space");
        // SAFETY: the layout's size is not zero: at least one byte was rounded up.
        let Some(start) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        if huge {
            advise_huge_pages(start, rounded);
        }
        // SAFETY: the allocation has `rounded` bytes, and nothing else knows of it yet. They are first touched here,
        // after the advice.
        unsafe { start.as_ptr().write_bytes(0, rounded) };
        Self { start, layout, size_bytes }
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// Returns the bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: at least `size_bytes` bytes were allocated and zeroed. They live as long as self, and nothing writes
        // them while self is borrowed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.size_bytes) }
    }

    /// Returns the bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: at least `size_bytes` bytes were allocated and zeroed. They live as long as self, and nothing else
        // uses them while self is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.size_bytes) }
    }

    /// Returns the bytes as f32 values.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        // SAFETY: `size_bytes / 4` values fit the `size_bytes` initialised bytes, from a start that is aligned to a
        // cache line; every bit pattern is an f32. Nothing writes them while self is borrowed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.size_bytes / 4) }
    }

    /// Returns the bytes as f32 values, to be written.
    pub fn values_mut(&mut self) -> &mut [f32] {
        // SAFETY: `size_bytes / 4` values fit the `size_bytes` initialised bytes, from a start that is aligned to a
        // cache line; every bit pattern is an f32. Nothing else uses them while self is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.size_bytes / 4) }
    }
}

impl Default for Buffer {
    /// Creates an empty buffer.
    fn default() -> Self {
        Self::zeroed_bytes(0)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: `zeroed_bytes` allocated the memory with this layout, and it is freed only here.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        let mut copy = Self::zeroed_bytes(self.size_bytes);
        copy.bytes_mut().copy_from_slice(self.bytes());
        copy
    }
}

/// Asks for huge pages: with 4 KB pages, a sweep over weights constantly misses the TLB. It is only advice, so a
/// refusal is not an error.
fn advise_huge_pages(start: NonNull<u8>, size_bytes: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: the caller has just allocated the range, whole huge pages, and the advice changes no contents.
    unsafe {
        libc::madvise(start.as_ptr().cast(), size_bytes, libc::MADV_HUGEPAGE);
    }
    #[cfg(not(target_os = "linux"))]
    let _unused = (start, size_bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_zeroed_and_cloned() {
        for count in [0, 1, 15, 16, 17, 300_000] {
            let mut buffer = Buffer::zeroed(count);
            assert_eq!(buffer.values().len(), count);
            assert_eq!(buffer.bytes().as_ptr() as usize % ALIGNMENT_BYTES, 0);
            assert!(buffer.values().iter().all(|value| *value == 0.0));
            buffer.values_mut().fill(1.5);
            assert_eq!(buffer.clone().values(), buffer.values());
        }
    }
    #[test]
    fn a_size_that_no_memory_has_is_refused() {
        for size_bytes in [usize::MAX, usize::MAX - ALIGNMENT_BYTES, isize::MAX.unsigned_abs()] {
            let made = std::panic::catch_unwind(|| Buffer::zeroed_bytes(size_bytes).size_bytes());
            let message = made.unwrap_err().downcast::<String>().unwrap();
            assert!(message.contains("a buffer fits the address space"), "{size_bytes} bytes: {message}");
        }
    }
}

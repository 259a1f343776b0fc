//! Memory that samples are decoded into: whole pages of this process, or of whoever has them read.

use std::{error::Error, fmt};

/// Every tensor starts at a multiple of this: one cache line, and the widest vector of current processors.
pub const ALIGNMENT_BYTES: usize = 64;

/// Every range of memory starts at a multiple of this and is as long as a multiple of it, so that what registers or
/// pins one has no page of anything else.
pub const PAGE_BYTES: usize = 4096;

/// A source of memory for samples.
pub trait SampleMemory: fmt::Debug + Send + Sync {
    /// A range of zeros, of as many bytes, a multiple of [`PAGE_BYTES`], that starts at a multiple of it.
    ///
    /// # Errors
    /// Why there is no such memory.
    fn allocate(&self, size_bytes: usize) -> Result<Box<dyn MemoryRange>, Box<dyn Error + Send + Sync>>;
}

/// Memory at an address that stays, until it is dropped.
pub trait MemoryRange: Send + Sync {
    /// All of it.
    fn bytes(&self) -> &[u8];

    /// All of it, to be written.
    fn bytes_mut(&mut self) -> &mut [u8];

    /// Nothing more will be written: what is read elsewhere has to go there now.
    ///
    /// # Errors
    /// Why it cannot.
    fn finish(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }
}

impl fmt::Debug for dyn MemoryRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryRange({:p}, {} bytes)", self.bytes().as_ptr(), self.bytes().len())
    }
}

/// Memory of this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct OwnMemory;

impl SampleMemory for OwnMemory {
    fn allocate(&self, size_bytes: usize) -> Result<Box<dyn MemoryRange>, Box<dyn Error + Send + Sync>> {
        let padded_bytes = size_bytes.checked_add(PAGE_BYTES).ok_or("no memory is as large")?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(padded_bytes)?;
        bytes.resize(padded_bytes, 0_u8);
        let start = bytes.as_ptr().align_offset(PAGE_BYTES);
        Ok(Box::new(Pages { bytes, start, size_bytes }))
    }
}

/// A vector that is a page longer than needed, from its first whole page on. It never grows, so its address is stable.
struct Pages {
    bytes: Vec<u8>,
    start: usize,
    size_bytes: usize,
}

impl MemoryRange for Pages {
    fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..][..self.size_bytes]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..][..self.size_bytes]
    }
}

/// Items of one size at a fixed stride, in one range.
#[derive(Debug)]
pub(crate) struct ItemBuffer {
    range: Box<dyn MemoryRange>,
    stride: usize,
}

impl ItemBuffer {
    /// Room for `count` items of `stride` bytes, a multiple of the alignment, rounded up to whole pages.
    pub fn allocate(
        memory: &dyn SampleMemory,
        stride: usize,
        count: usize,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        debug_assert!(stride.is_multiple_of(ALIGNMENT_BYTES));
        let size_bytes = stride.checked_mul(count).and_then(|size| size.checked_next_multiple_of(PAGE_BYTES));
        let range = memory.allocate(size_bytes.ok_or("no memory is as large")?)?;
        Ok(Self { range, stride })
    }

    /// The first `size_bytes` of an item.
    pub fn item(&self, position: usize, size_bytes: usize) -> &[u8] {
        debug_assert!(size_bytes <= self.stride);
        &self.range.bytes()[position * self.stride..][..size_bytes]
    }

    /// The first `size_bytes` of an item, to be written.
    pub fn item_mut(&mut self, position: usize, size_bytes: usize) -> &mut [u8] {
        debug_assert!(size_bytes <= self.stride);
        &mut self.range.bytes_mut()[position * self.stride..][..size_bytes]
    }

    /// All items have been written.
    pub fn finish(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.range.finish()
    }

    /// All items with the gaps between them, and the rest of the last page.
    pub fn as_bytes(&self) -> &[u8] {
        self.range.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_apart_in_whole_pages() {
        let mut buffer = ItemBuffer::allocate(&OwnMemory, 128, 3).unwrap();
        for position in 0..3 {
            buffer.item_mut(position, 100).fill(position as u8 + 1);
        }
        for position in 0..3 {
            let item = buffer.item(position, 100);
            assert_eq!(item.as_ptr().align_offset(ALIGNMENT_BYTES), 0);
            assert_eq!(item, [position as u8 + 1; 100]);
        }
        assert_eq!(buffer.as_bytes().len(), PAGE_BYTES);
        assert_eq!(buffer.as_bytes().as_ptr().align_offset(PAGE_BYTES), 0);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert!(ItemBuffer::allocate(&OwnMemory, usize::MAX / 64 * 64, 2).is_err());
        assert!(ItemBuffer::allocate(&OwnMemory, 1 << 62, 1).is_err());
    }
}

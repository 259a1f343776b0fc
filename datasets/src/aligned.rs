//! Aligned memory without unsafe code.

/// Every tensor starts at a multiple of this: one cache line, and the widest vector of current processors.
pub const ALIGNMENT_BYTES: usize = 64;

/// Items of one size at a fixed stride, the first at a multiple of [`ALIGNMENT_BYTES`].
///
/// The vector is a little longer than needed, and the items start at its first aligned byte. It never grows, so its
/// address is stable.
#[derive(Debug)]
pub(crate) struct AlignedBuffer {
    bytes: Vec<u8>,
    start: usize,
    stride: usize,
    size_bytes: usize,
}

impl AlignedBuffer {
    /// Zeroed memory for `count` items of `stride` bytes, a multiple of the alignment; `None` if there is no such
    /// memory.
    pub fn zeroed(stride: usize, count: usize) -> Option<Self> {
        debug_assert!(stride.is_multiple_of(ALIGNMENT_BYTES));
        let size_bytes = stride.checked_mul(count)?;
        let padded_bytes = size_bytes.checked_add(ALIGNMENT_BYTES)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(padded_bytes).ok()?;
        bytes.resize(padded_bytes, 0_u8);
        let start = bytes.as_ptr().align_offset(ALIGNMENT_BYTES);
        Some(Self { bytes, start, stride, size_bytes })
    }

    /// The first `size_bytes` of an item.
    pub fn item(&self, position: usize, size_bytes: usize) -> &[u8] {
        debug_assert!(size_bytes <= self.stride);
        &self.as_bytes()[position * self.stride..][..size_bytes]
    }

    /// The first `size_bytes` of an item, to be written.
    pub fn item_mut(&mut self, position: usize, size_bytes: usize) -> &mut [u8] {
        debug_assert!(size_bytes <= self.stride);
        &mut self.bytes[self.start..][position * self.stride..][..size_bytes]
    }

    /// All items with the gaps between them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start..][..self.size_bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_aligned_and_apart() {
        let mut buffer = AlignedBuffer::zeroed(128, 3).unwrap();
        for position in 0..3 {
            buffer.item_mut(position, 100).fill(position as u8 + 1);
        }
        for position in 0..3 {
            let item = buffer.item(position, 100);
            assert_eq!(item.as_ptr().align_offset(ALIGNMENT_BYTES), 0);
            assert_eq!(item, [position as u8 + 1; 100]);
        }
        assert_eq!(buffer.as_bytes().len(), 384);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert!(AlignedBuffer::zeroed(usize::MAX / 64 * 64, 2).is_none());
        assert!(AlignedBuffer::zeroed(1 << 62, 1).is_none());
    }
}

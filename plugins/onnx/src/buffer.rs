//! Memory for tensors of batches.

/// Alignment of tensors, as in the host.
const ALIGNMENT: usize = 64;

#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; ALIGNMENT]);

/// Bytes, aligned to 64 and touched, so that their first use costs no more than later ones.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    lines: Vec<Line>,
    size_bytes: usize,
}

impl Buffer {
    /// Allocates a buffer of zeros; `None` if there is not enough memory.
    pub(crate) fn new(size_bytes: usize) -> Option<Self> {
        let count = size_bytes.div_ceil(ALIGNMENT);
        let mut lines = Vec::new();
        lines.try_reserve_exact(count).ok()?;
        lines.resize(count, Line([0; ALIGNMENT]));
        Some(Self { lines, size_bytes })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.lines_as_bytes()[..self.size_bytes]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: lines are `repr(C)` arrays of bytes without padding, and lie side by side in the vector, which is
        // borrowed exclusively for as long as the result.
        let all = unsafe {
            std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * ALIGNMENT)
        };
        &mut all[..self.size_bytes]
    }

    fn lines_as_bytes(&self) -> &[u8] {
        // SAFETY: lines are `repr(C)` arrays of bytes without padding, side by side in the vector, which stays
        // borrowed.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * ALIGNMENT) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_has_its_size_is_aligned_and_zero() {
        for size_bytes in [0, 1, 63, 64, 65, 1000] {
            let mut buffer = Buffer::new(size_bytes).unwrap();
            assert_eq!(buffer.bytes(), vec![0; size_bytes]);
            assert_eq!(buffer.bytes().as_ptr() as usize % ALIGNMENT, 0);
            buffer.bytes_mut().fill(1);
            assert_eq!(buffer.bytes(), vec![1; size_bytes]);
        }
    }

    #[test]
    fn more_than_any_memory_is_refused() {
        assert!(Buffer::new(usize::MAX / 2).is_none());
    }
}

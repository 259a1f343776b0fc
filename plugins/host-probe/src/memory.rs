//! Ranges of bytes that must not meet, and sums of bytes that must not change.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hasher},
    slice,
};

/// Ranges of addresses that do not overlap.
#[derive(Debug, Default)]
pub(crate) struct Extents(BTreeMap<usize, usize>);

impl Extents {
    /// Adds a range, unless it overlaps an existing one. Returns whether it was added.
    pub(crate) fn add(&mut self, begin: usize, size_bytes: usize) -> bool {
        let is_free = !self.meets(begin, size_bytes);
        if is_free {
            self.0.insert(begin, begin.saturating_add(size_bytes));
        }
        is_free
    }

    /// Removes the range that begins here.
    pub(crate) fn remove(&mut self, begin: usize) {
        self.0.remove(&begin);
    }

    /// Returns whether a range has a byte in common with an existing one, or begins where one does.
    pub(crate) fn meets(&self, begin: usize, size_bytes: usize) -> bool {
        let end = begin.saturating_add(size_bytes.max(1));
        self.0
            .range(..end)
            .next_back()
            .is_some_and(|(other, other_end)| *other == begin || *other_end > begin)
    }
}

/// Returns a sum of bytes, which depends on their order.
///
/// # Safety
/// `size_bytes` can be read at `first`, which is not null unless `size_bytes` is 0.
pub(crate) unsafe fn sum_of(first: *const u8, size_bytes: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    if size_bytes > 0 {
        // SAFETY: the caller vouches for the bytes.
        hasher.write(unsafe { slice::from_raw_parts(first, size_bytes) });
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_meet_are_refused() {
        let mut extents = Extents::default();
        assert!(extents.add(100, 10) && extents.add(110, 10) && extents.add(80, 20));
        for (begin, size_bytes) in [(99, 2), (100, 1), (119, 5), (0, 1000), (105, 0)] {
            assert!(extents.meets(begin, size_bytes), "{begin} {size_bytes}");
            assert!(!extents.add(begin, size_bytes), "{begin} {size_bytes}");
        }
        for (begin, size_bytes) in [(120, 5), (70, 10), (0, 0)] {
            assert!(!extents.meets(begin, size_bytes), "{begin} {size_bytes}");
        }
        extents.remove(110);
        assert!(extents.add(112, 8));
    }
}

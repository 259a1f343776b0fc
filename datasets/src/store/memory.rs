//! Memory that samples are decoded into: whole pages of this process, or of a caller that wants the samples in its own
//! memory.

use std::{error::Error, fmt, mem, ops::Range};

/// Every tensor starts at a multiple of this: one cache line, and the widest vector of current processors.
pub const ALIGNMENT_BYTES: usize = 64;

/// Alignment and granularity of every range of memory, so that registering or pinning one touches no page of anything
/// else.
pub const PAGE_BYTES: usize = 4096;

/// A source of memory for samples.
pub trait SampleMemory: fmt::Debug + Send + Sync {
    /// Allocates a range of zeros of this size, a multiple of [`PAGE_BYTES`], aligned to [`PAGE_BYTES`].
    ///
    /// # Errors
    /// Returns the reason why the memory cannot be allocated.
    fn allocate(&self, size_bytes: usize) -> Result<Box<dyn MemoryRange>, Box<dyn Error + Send + Sync>>;
}

/// Memory at an address that stays, until it is dropped.
pub trait MemoryRange: Send + Sync {
    /// Returns all of it.
    fn bytes(&self) -> &[u8];

    /// Returns all of it, to be written.
    fn bytes_mut(&mut self) -> &mut [u8];

    /// Ends writing: data to be read elsewhere has to go there now.
    ///
    /// # Errors
    /// If it cannot.
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

/// Sizes of items in sequence, each aligned.
#[derive(Debug)]
pub(crate) enum Items {
    /// Items of the same size.
    Even { size_bytes: usize, count: usize },
    /// Items of different sizes, by their ranges.
    Uneven(Vec<Range<usize>>),
}

impl Items {
    /// Creates items of these sizes; `None` if no memory is as large.
    pub fn uneven(sizes: impl Iterator<Item = usize>) -> Option<Self> {
        let mut next = 0_usize;
        let place = |size_bytes: usize| {
            let place = next..next.checked_add(size_bytes)?;
            next = place.end.checked_next_multiple_of(ALIGNMENT_BYTES)?;
            Some(place)
        };
        sizes.map(place).collect::<Option<_>>().map(Self::Uneven)
    }

    /// Returns the number of bytes from the first item to the end of the last one, with the gaps; `None` if no memory
    /// is as large.
    pub fn total_bytes(&self) -> Option<usize> {
        match self {
            Self::Even { size_bytes, count } => {
                size_bytes.checked_next_multiple_of(ALIGNMENT_BYTES)?.checked_mul(*count)
            }
            Self::Uneven(places) => {
                places.last().map_or(Some(0), |place| place.end.checked_next_multiple_of(ALIGNMENT_BYTES))
            }
        }
    }

    fn place(&self, position: usize) -> Range<usize> {
        match self {
            Self::Even { size_bytes, .. } => {
                let begin = position * size_bytes.next_multiple_of(ALIGNMENT_BYTES);
                begin..begin + size_bytes
            }
            Self::Uneven(places) => places[position].clone(),
        }
    }
}

/// Items in one range.
#[derive(Debug)]
pub(crate) struct ItemBuffer {
    range: Box<dyn MemoryRange>,
    items: Items,
}

impl ItemBuffer {
    /// Returns room for items, rounded up to whole pages.
    pub fn allocate(memory: &dyn SampleMemory, items: Items) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let size_bytes = items.total_bytes().and_then(|size| size.checked_next_multiple_of(PAGE_BYTES));
        let range = memory.allocate(size_bytes.ok_or("no memory is as large")?)?;
        Ok(Self { range, items })
    }

    /// Returns an item.
    pub fn item(&self, position: usize) -> &[u8] {
        &self.range.bytes()[self.items.place(position)]
    }

    /// Returns the first items, to be written.
    pub fn items_mut(&mut self, count: usize) -> Vec<&mut [u8]> {
        let (items, mut rest, mut begin) = (&self.items, self.range.bytes_mut(), 0);
        let next = |position| {
            let place = items.place(position);
            let (item, behind) = mem::take(&mut rest)[place.start - begin..].split_at_mut(place.len());
            (rest, begin) = (behind, place.end);
            item
        };
        (0..count).map(next).collect()
    }

    /// Writes an item over another one, which is as large.
    pub fn copy(&mut self, from: usize, to: usize) {
        let (from, to) = (self.items.place(from), self.items.place(to));
        assert_eq!(from.len(), to.len(), "a copy is as large as its item");
        self.range.bytes_mut().copy_within(from, to.start);
    }

    /// Ends writing: all items are written.
    pub fn finish(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.range.finish()
    }

    /// Returns all items with the gaps between them, and the rest of the last page.
    pub fn as_bytes(&self) -> &[u8] {
        self.range.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_apart_in_whole_pages() {
        for (items, sizes) in [
            (Items::Even { size_bytes: 100, count: 3 }, [100; 3]),
            (Items::uneven([65, 0, 3].into_iter()).unwrap(), [65, 0, 3]),
        ] {
            let mut buffer = ItemBuffer::allocate(&OwnMemory, items).unwrap();
            for (position, item) in buffer.items_mut(3).into_iter().enumerate() {
                item.fill(position as u8 + 1);
            }
            for (position, size) in sizes.into_iter().enumerate() {
                let item = buffer.item(position);
                assert_eq!(item.as_ptr().align_offset(ALIGNMENT_BYTES), 0);
                assert_eq!(item, vec![position as u8 + 1; size]);
            }
            if sizes[0] == sizes[2] {
                buffer.copy(0, 2);
                assert_eq!(buffer.item(2), buffer.item(0));
            }
            assert_eq!(buffer.as_bytes().len(), PAGE_BYTES);
            assert_eq!(buffer.as_bytes().as_ptr().align_offset(PAGE_BYTES), 0);
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let even = |size_bytes, count| ItemBuffer::allocate(&OwnMemory, Items::Even { size_bytes, count });
        assert!(even(usize::MAX, 1).is_err());
        assert!(even(usize::MAX / 64 * 64, 2).is_err());
        assert!(even(1 << 62, 1).is_err());
        assert!(Items::uneven([usize::MAX - 70, 64].into_iter()).is_none());
    }
}

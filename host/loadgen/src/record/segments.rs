//! Lists that grow without moving, so that any thread may read them while one appends.

use std::{ops::Range, sync::OnceLock};

use crate::time::sync::{AtomicU64, zeroed_pairs};

const FIRST_SEGMENT_LEN: u64 = 1024;
/// Enough doubling segments for 48-bit indices.
const SEGMENT_COUNT: usize = 39;
/// A page of memory has 256 pairs.
const PAIRS_PER_PAGE: u64 = 256;

/// Two words of a sample: 16 bytes.
pub(crate) type Pair = [AtomicU64; 2];

/// Segments of 1024, 2048, 4096, ... entries, each made when first needed.
///
/// One thread makes segments; any thread reads those that exist, without a lock.
#[derive(Debug)]
pub(crate) struct Segments<T> {
    segments: [OnceLock<Box<[T]>>; SEGMENT_COUNT],
}

impl<T> Segments<T> {
    pub(crate) fn new() -> Self {
        Self { segments: std::array::from_fn(|_| OnceLock::new()) }
    }

    /// The entry at `index`, if its segment exists. [any thread, wait-free]
    #[inline]
    pub(crate) fn get(&self, index: u64) -> Option<&T> {
        let (level, offset) = locate(index);
        self.segments.get(level)?.get()?.get(offset)
    }

    /// The segment of the entry at `index`, and which entries it has, if it exists. [any thread, wait-free]
    #[inline]
    pub(crate) fn segment(&self, index: u64) -> Option<(Range<u64>, &[T])> {
        let (level, _) = locate(index);
        let segment = self.segments.get(level)?.get()?;
        let start = start(level);
        Some((start..start + segment.len() as u64, segment))
    }

    /// The entry at `index`; if it has no segment yet, `make` makes one of the length that it is given. [one thread]
    #[inline]
    fn get_or_make(&self, index: u64, make: impl FnOnce(usize) -> Box<[T]>) -> &T {
        let (level, offset) = locate(index);
        &self.segments[level].get_or_init(|| make((FIRST_SEGMENT_LEN as usize) << level))[offset]
    }
}

impl<T: Default> Segments<T> {
    /// The entry at `index`, making its segment if needed. [one thread]
    pub(crate) fn get_or_default(&self, index: u64) -> &T {
        self.get_or_make(index, |len| (0..len).map(|_| T::default()).collect())
    }
}

impl Segments<Pair> {
    /// The pair at `index`, making its segment of zeros if needed. [one thread]
    ///
    /// Zeros come from the system, which gives memory page by page as it is written: what lies behind the last pair in
    /// use costs nothing, however large its segment.
    #[inline]
    pub(crate) fn get_or_zero(&self, index: u64) -> &Pair {
        self.get_or_make(index, zeroed_pairs)
    }

    /// Makes sure that writing the pair at `index` will cost no more than that, for a thread that writes every
    /// `stride`th pair. [the thread that will use the pair, before that]
    #[inline]
    pub(crate) fn make_ready(&self, index: u64, stride: u64) {
        if index % PAIRS_PER_PAGE < stride {
            // The first write makes the system find a page and clear it; a pair that is not in use is zero anyway.
            self.get_or_zero(index)[1].store(0, std::sync::atomic::Ordering::Relaxed);
        }
    }
}

/// Segment `k` starts at (2^k - 1) * 1024.
#[inline]
fn locate(index: u64) -> (usize, usize) {
    let level = (index / FIRST_SEGMENT_LEN + 1).ilog2() as usize;
    let offset = index - start(level);
    (level, usize::try_from(offset).expect("an existing segment fits into memory"))
}

#[inline]
fn start(level: usize) -> u64 {
    ((1 << level) - 1) * FIRST_SEGMENT_LEN
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[test]
    fn segments_follow_each_other_without_gap() {
        let mut expected = (0, 0);
        for index in 0..20_000 {
            assert_eq!(locate(index), expected, "{index}");
            expected.1 += 1;
            if expected.1 == 1024 << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        assert!(locate((1 << 48) - 1).0 < SEGMENT_COUNT);
    }

    #[test]
    fn entries_exist_only_once_made() {
        let segments = Segments::<Pair>::new();
        assert!(segments.get(0).is_none());
        assert!(segments.segment(0).is_none());
        segments.get_or_zero(5000)[0].store(7, Relaxed);
        assert_eq!(segments.get(5000).unwrap()[0].load(Relaxed), 7);
        assert!(segments.get(0).is_none(), "earlier segments are made on their own");
        assert!(segments.get(u64::MAX).is_none());
        assert!(segments.segment(u64::MAX).is_none());
        segments.make_ready(0, 1);
        assert!(segments.get(1023).is_some());
        let (range, segment) = segments.segment(5000).unwrap();
        assert_eq!((range, segment.len()), (3072..7168, 4096));
        assert_eq!(segment[5000 - 3072][0].load(Relaxed), 7);
    }

    #[test]
    fn making_ready_changes_nothing() {
        let segments = Segments::<Pair>::new();
        segments.make_ready(0, 1);
        assert_eq!(segments.get(0).unwrap().each_ref().map(|word| word.load(Relaxed)), [0, 0]);
        segments.make_ready(1, 1);
        segments.make_ready(3328, 2);
        segments.make_ready(3330, 2);
        assert!(segments.get(1024).is_none(), "only the first pair of a page has to be made ready");
        assert!(segments.get(3072).is_some(), "by each thread its own");
    }
}

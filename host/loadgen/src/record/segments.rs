//! Lists that grow without moving, so that any thread may read them while one appends.

use std::{
    ops::Range,
    sync::{OnceLock, atomic::Ordering::Relaxed},
};

use crate::time::sync::{AtomicU64, zeroed_pairs};

const FIRST_SEGMENT_LEN: u64 = 1024;
/// Enough doubling segments for 48-bit indices.
const SEGMENT_COUNT: usize = 39;
/// Number of pairs in a page of memory. A segment does not start at one, so they lie on up to two pages.
pub(crate) const PAIRS_PER_PAGE: u64 = 256;

/// Two words of a sample: 16 bytes.
pub(crate) type Pair = [AtomicU64; 2];

/// Segments of 1024, 2048, 4096, ... entries, each made when first needed.
///
/// One thread creates segments; any thread reads existing ones, without a lock.
#[derive(Debug)]
pub(crate) struct Segments<T> {
    segments: [OnceLock<Box<[T]>>; SEGMENT_COUNT],
}

impl<T> Segments<T> {
    pub(crate) fn new() -> Self {
        Self { segments: std::array::from_fn(|_| OnceLock::new()) }
    }

    /// Returns the entry at `index`, if its segment exists. [any thread, wait-free]
    #[inline]
    pub(crate) fn get(&self, index: u64) -> Option<&T> {
        let (level, offset) = locate(index);
        self.segments.get(level)?.get()?.get(offset)
    }

    /// Returns the segment of the entry at `index`, and which entries it has, if it exists. [any thread, wait-free]
    #[inline]
    pub(crate) fn segment(&self, index: u64) -> Option<(Range<u64>, &[T])> {
        let (level, _) = locate(index);
        let segment = self.segments.get(level)?.get()?;
        let start = start(level);
        Some((start..start + segment.len() as u64, segment))
    }

    /// Returns the entry at `index`; if it has no segment yet, `make` makes one of the length that it is given. [one
    /// thread]
    #[inline]
    fn get_or_make(&self, index: u64, make: impl FnOnce(usize) -> Box<[T]>) -> &T {
        let (level, offset) = locate(index);
        &self.segments[level].get_or_init(|| make((FIRST_SEGMENT_LEN as usize) << level))[offset]
    }
}

impl<T: Default> Segments<T> {
    /// Returns the entry at `index`, making its segment if needed. [one thread]
    pub(crate) fn get_or_default(&self, index: u64) -> &T {
        self.get_or_make(index, |len| (0..len).map(|_| T::default()).collect())
    }
}

impl Segments<Pair> {
    /// Returns the pair at `index`, making its segment of zeros if needed. [one thread]
    ///
    /// Zeros come from the system, which gives memory page by page as it is written: what lies behind the last pair in
    /// use costs nothing, however large its segment.
    #[inline]
    pub(crate) fn get_or_zero(&self, index: u64) -> &Pair {
        self.get_or_make(index, zeroed_pairs)
    }

    /// Prepares the pair at `index`, so that writing it costs only the write itself, for a thread that writes every
    /// `stride`th pair. [the thread that will use the pair, before that]
    #[inline]
    pub(crate) fn make_ready(&self, index: u64, stride: u64) {
        if index % PAIRS_PER_PAGE < stride {
            self.touch_pages(index);
        }
    }

    /// Writes to the pages of a pair and of the following ones, up to the next that [`make_ready`](Self::make_ready)
    /// reaches: the first write makes the system find a page and clear it.
    #[cold]
    fn touch_pages(&self, index: u64) {
        let last = index | (PAIRS_PER_PAGE - 1);
        // Both ends: at any address of the segment, there is no third page between them.
        for word in [&self.get_or_zero(index)[0], &self.get_or_zero(last)[1]] {
            // Writes and changes nothing: the last pair may be another thread's, and in use.
            let _ = word.compare_exchange(0, 0, Relaxed, Relaxed);
        }
    }
}

/// Locates an entry: segment `k` starts at (2^k - 1) * 1024.
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

    /// Returns the page faults of this thread so far that read nothing from a disk.
    #[cfg(target_os = "linux")]
    fn minor_fault_count(stat: &std::fs::File) -> u64 {
        use std::os::unix::fs::FileExt as _;

        // Without an allocation, which could fault, too.
        let mut text = [0; 1024];
        let len = stat.read_at(&mut text, 0).expect("the file can be read");
        // The name of the thread, in parentheses, may have spaces; the count is the eighth field behind it.
        let fields = text[..len].rsplit(|byte| *byte == b')').next().and_then(|it| str::from_utf8(it).ok());
        let count = fields.and_then(|fields| fields.split_whitespace().nth(7)?.parse().ok());
        count.expect("it is a number")
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn writing_a_pair_that_was_made_ready_takes_no_page_fault() {
        // Large enough to be memory fresh from the system.
        const BEGIN: u64 = 31 * FIRST_SEGMENT_LEN;
        const END: u64 = BEGIN + 16 * PAIRS_PER_PAGE;
        let stat = std::fs::File::open("/proc/thread-self/stat").unwrap();
        // Each thread by itself. All are kept to the end, so that no memory is used again.
        let threads = [(0, 1), (0, 3), (1, 3), (2, 3)].map(|thread| (thread, Segments::<Pair>::new()));
        for ((first, stride), segments) in &threads {
            // The first round finds the code and the stack.
            for round in [0..FIRST_SEGMENT_LEN, BEGIN..END] {
                let mut faulted = Vec::with_capacity(END as usize);
                for index in round.filter(|index| index % stride == *first) {
                    segments.make_ready(index, *stride);
                    let before = minor_fault_count(&stat);
                    segments.get_or_zero(index).iter().for_each(|word| word.store(1, Relaxed));
                    if minor_fault_count(&stat) > before {
                        faulted.push(index);
                    }
                }
                let is_first_round = segments.get(BEGIN).is_none();
                assert!(is_first_round || faulted.is_empty(), "pairs {faulted:?} of {first} in {stride}");
            }
        }
    }

    #[test]
    fn making_ready_changes_nothing() {
        let segments = Segments::<Pair>::new();
        segments.get_or_zero(255)[1].store(7, Relaxed);
        segments.make_ready(0, 1);
        assert_eq!(segments.get(0).unwrap().each_ref().map(|word| word.load(Relaxed)), [0, 0]);
        assert_eq!(segments.get(255).unwrap().each_ref().map(|word| word.load(Relaxed)), [0, 7]);
        segments.make_ready(1, 1);
        segments.make_ready(3328, 2);
        segments.make_ready(3330, 2);
        assert!(segments.get(1024).is_none(), "only the first pair of a page has to be made ready");
        assert!(segments.get(3072).is_some(), "by each thread its own");
    }
}

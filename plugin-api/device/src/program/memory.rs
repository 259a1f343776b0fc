//! Offsets of the buffers of a program in one piece of memory.

use std::ops::Range;

/// A buffer that lives for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lifetime {
    /// Size in bytes.
    pub bytes: usize,
    /// Numbers of the calls from the first that writes it to the last that reads it.
    pub calls: Range<usize>,
}

/// Offsets of buffers, by their numbers, and the size of the memory that holds them all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Offset of each buffer, in bytes.
    pub offsets: Vec<usize>,
    /// Size of the memory, in bytes.
    pub bytes: usize,
}

/// Every buffer begins at a multiple of this, in bytes: a page, the largest alignment that a device is known to ask for
/// in a part of its memory.
pub const ALIGNMENT: usize = 4096;

/// Lays out buffers so that simultaneously live ones do not overlap: the largest first, each as low as it
/// fits (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", greedy by size).
#[must_use]
pub fn lay_out(buffers: &[Lifetime]) -> Layout {
    let mut by_size: Vec<usize> = (0..buffers.len()).collect();
    by_size.sort_by_key(|number| std::cmp::Reverse(buffers[*number].bytes));
    let mut offsets = vec![0; buffers.len()];
    let mut placed: Vec<usize> = Vec::new();
    let mut bytes = 0;
    for number in by_size {
        let Lifetime { bytes: size, calls } = &buffers[number];
        let size = size.next_multiple_of(ALIGNMENT);
        let is_beside = |other: &&usize| {
            let other = &buffers[**other].calls;
            other.start < calls.end && calls.start < other.end
        };
        let mut beside: Vec<Range<usize>> = (placed.iter().filter(is_beside))
            .map(|other| offsets[*other]..offsets[*other] + buffers[*other].bytes.next_multiple_of(ALIGNMENT))
            .collect();
        beside.sort_by_key(|place| place.start);
        let mut offset = 0;
        for place in beside {
            if offset + size <= place.start {
                break;
            }
            offset = offset.max(place.end);
        }
        offsets[number] = offset;
        bytes = bytes.max(offset + size);
        placed.push(number);
    }
    Layout { offsets, bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lifetime(bytes: usize, calls: Range<usize>) -> Lifetime {
        Lifetime { bytes, calls }
    }

    #[test]
    fn buffers_that_never_live_together_share_their_place() {
        let chain = [lifetime(1000, 0..2), lifetime(1000, 1..3), lifetime(1000, 2..4), lifetime(1000, 3..5)];
        let layout = lay_out(&chain);
        assert_eq!(layout.bytes, 2 * ALIGNMENT);
        assert_eq!(layout.offsets, [0, ALIGNMENT, 0, ALIGNMENT]);
    }

    #[test]
    fn buffers_that_live_together_do_not_overlap() {
        // Linear congruential, from Knuth.
        let mut state = 1_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from((state >> 33) % below).unwrap()
        };
        for _ in 0..200 {
            let count = 1 + next(40);
            let buffers: Vec<_> = (0..count)
                .map(|_| {
                    let from = next(50);
                    lifetime(next(5000), from..from + 1 + next(10))
                })
                .collect();
            let layout = lay_out(&buffers);
            for (number, one) in buffers.iter().enumerate() {
                assert!(layout.offsets[number] + one.bytes <= layout.bytes);
                assert!(layout.offsets[number].is_multiple_of(ALIGNMENT));
                for (other_number, other) in buffers.iter().enumerate().take(number) {
                    let together = one.calls.start < other.calls.end && other.calls.start < one.calls.end;
                    let (here, there) = (layout.offsets[number], layout.offsets[other_number]);
                    let apart = here + one.bytes <= there || there + other.bytes <= here;
                    assert!(!together || apart || one.bytes == 0 || other.bytes == 0, "{one:?} {other:?}");
                }
            }
        }
    }
}

//! The order in which a kernel traverses rows and blocks.

use crate::args::Step;
use crate::vector::{ROWS_OF_WIDE, Vector};

/// Cuts rows into as few register tiles as possible, of nearly equal size: 7 rows are 4 and 3.
///
/// A tile has at most `V::ROWS` rows times all vectors of a block. An LSTM's step of exactly 8 or 10 rows is one wide
/// tile where registers are many: all rows times two vectors, in two passes. It reads the weights once, at the pace at
/// which it computes. Measured on an Intel Xeon with weights in the last-level cache, 10 rows take a tenth less time
/// so; 20 rows, and GRUs, are faster in narrow tiles. On Zen 4 both take the same, and 12 rows in one tile a tenth
/// more, with 64 units as with 1024.
#[derive(Clone, Copy)]
pub(crate) struct Tiles {
    size: usize,
    larger: usize,
    count: usize,
}

impl Tiles {
    /// Returns one wide tile if it fits, else narrow ones.
    #[inline(always)]
    pub(crate) fn wide_or_narrow<V: Vector>(rows: usize) -> Self {
        if V::ROWS >= ROWS_OF_WIDE && (rows == 8 || rows == 10) {
            return Self { size: rows, larger: 0, count: 1 };
        }
        Self::narrow::<V>(rows)
    }

    /// Creates tiles of at most `V::ROWS` rows.
    #[inline(always)]
    pub(crate) fn narrow<V: Vector>(rows: usize) -> Self {
        // The common case needs no division.
        if rows <= V::ROWS {
            return Self { size: rows, larger: 0, count: 1 };
        }
        let count = rows.div_ceil(V::ROWS);
        Self { size: rows / count, larger: rows % count, count }
    }

    #[inline(always)]
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of rows of tile `index`.
    #[inline(always)]
    pub(crate) fn rows(&self, index: usize) -> usize {
        self.size + usize::from(index < self.larger)
    }
}

/// Goes through a range of blocks in groups of at most 4, 2 or 1, upwards or downwards: in the same groups either way,
/// since the last bits of a sum may depend on how many vectors a tile has.
#[derive(Clone, Copy)]
pub(crate) struct Groups {
    first: usize,
    left: usize,
    descending: bool,
    most: usize,
}

impl Groups {
    #[inline(always)]
    pub(crate) fn new(step: &Step, most: usize) -> Self {
        let (first, end) = (step.blocks.start, step.blocks.end);
        Self { first, left: end.saturating_sub(first), descending: step.descending, most }
    }

    /// Returns the first block and number of blocks of the next group.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<(usize, usize)> {
        if self.left == 0 {
            return None;
        }
        let mut size = self.most;
        if self.descending {
            // The last of the groups upwards, whose sizes are powers of two: what is left is a multiple of it alone.
            while !self.left.is_multiple_of(size) {
                size /= 2;
            }
        } else {
            while size > self.left {
                size /= 2;
            }
        }
        self.left -= size;
        if self.descending {
            return Some((self.first + self.left, size));
        }
        self.first += size;
        Some((self.first - size, size))
    }

    /// Returns the first block of the next group, without taking it.
    #[inline(always)]
    pub(crate) fn peek(&self) -> Option<usize> {
        let mut copy = *self;
        match copy.next() {
            Some((block, _)) => Some(block),
            None => None,
        }
    }
}

/// Maximum number of blocks of one row whose cells are computed together.
///
/// A cell is a chain of a hundred dependent instructions. They fill the processor's scheduler, so that the products of
/// the next block behind them wait, too. After the products of several blocks their cells hide each other's latency.
pub(crate) const ONE_ROW_BLOCKS: usize = 4;

#[cfg(test)]
mod tests {
    use super::Groups;

    #[test]
    fn the_groups_are_the_same_upwards_and_downwards() {
        for (most, left) in [1, 2, 4].into_iter().flat_map(|most| (0..20).map(move |left| (most, left))) {
            let all = |descending| {
                let mut groups = Groups { first: 3, left, descending, most };
                std::iter::from_fn(|| groups.next()).collect::<Vec<_>>()
            };
            let (upwards, mut downwards) = (all(false), all(true));
            downwards.reverse();
            assert_eq!(upwards, downwards, "{left} blocks, {most} at most");
            assert_eq!(upwards.iter().map(|(_, size)| size).sum::<usize>(), left);
        }
    }
}

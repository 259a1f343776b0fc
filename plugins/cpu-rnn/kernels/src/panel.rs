//! The operands of a register tile: packed columns, the sums it starts from, and weights to prefetch meanwhile.

use crate::vector::Vector;

/// `N` vectors of packed columns: the places of their first groups, and the distance from group to group.
#[derive(Clone, Copy)]
pub(crate) struct Panel<const N: usize> {
    /// First group of each vector of columns.
    pub(crate) at: [*const u8; N],
    /// Number of bytes from group to group.
    pub(crate) stride: usize,
    /// int8: scales of the columns, one vector after the other.
    pub(crate) scales: *const f32,
    /// int8: minus the sum of each column, times the zero point; one vector after the other.
    pub(crate) corrections: *const i32,
    /// Weights to prefetch meanwhile.
    pub(crate) ahead: Ahead,
}

/// Layout of panels whose vectors may lie anywhere. Any other number means that vectors lie side by side, and is the
/// number of vectors from group to group: then addresses are constant offsets from a single pointer.
pub(crate) const ANYWHERE: usize = 0;

impl<const N: usize> Panel<N> {
    /// Returns the group `group` of vector `n`, of a panel in layout `L`.
    ///
    /// # Safety
    /// - The panel has this group and vector, and its layout is `L` or [`ANYWHERE`].
    #[inline(always)]
    pub(crate) unsafe fn group<V: Vector, const L: usize>(&self, n: usize, group: usize) -> *const u8 {
        // SAFETY: the caller promises that the panel has this group and vector, so the address lies in the packed
        // weights: from the vector's own start, or in layout `L` from the first one's, where vectors lie side by side.
        unsafe {
            match L {
                ANYWHERE => self.at[n].add(group * self.stride),
                _ => self.at[0].add((group * L + n) * 4 * V::LANES),
            }
        }
    }
}

/// A part of the next weights, to be prefetched while a tile is computed: a tile of several rows takes longer to
/// compute than its weights take to come from the last-level cache, so that their transfer costs next to nothing.
#[derive(Clone, Copy)]
pub(crate) struct Ahead {
    start: *const u8,
    stride: usize,
}

impl Ahead {
    /// Creates a panel without weights: one repeated address.
    #[inline(always)]
    pub(crate) fn nothing(any: *const u8) -> Self {
        Self { start: any, stride: 0 }
    }

    /// Returns the part for tile `tile` of `tiles`, of `size_bytes` bytes at `next` that are the work of `groups`
    /// groups.
    #[inline(always)]
    pub(crate) fn part(next: *const u8, size_bytes: usize, groups: usize, tile: usize, tiles: usize) -> Self {
        let stride = size_bytes / (groups * tiles).max(1);
        Self { start: next.wrapping_add(tile * groups * stride), stride }
    }

    /// Asks for `lines` cache lines, evenly among the weights that belong to a group.
    #[inline(always)]
    pub(crate) fn prefetch<V: Vector>(self, group: usize, lines: usize) {
        let address = self.start.wrapping_add(group * self.stride);
        for line in 0..lines {
            V::prefetch(address.wrapping_add(line * (self.stride / lines)));
        }
    }
}

/// Initial sums of a tile, such as biases or finished input products: vector `n` of row `r` is at `at[n] + r *
/// strides[n]`.
#[derive(Clone, Copy)]
pub(crate) struct Initial<const N: usize> {
    /// Each vector of the first row.
    pub(crate) at: [*const f32; N],
    /// Number of values from each vector to the next row's; 0 for a bias.
    pub(crate) strides: [usize; N],
}

impl<const N: usize> Initial<N> {
    /// Creates a panel of successive vectors from `first` on, in rows that are `stride` values apart.
    #[inline(always)]
    pub(crate) fn successive<V: Vector>(first: *const f32, stride: usize) -> Self {
        let mut at = [first; N];
        let mut n = 1;
        while n < N {
            at[n] = first.wrapping_add(n * V::LANES);
            n += 1;
        }
        Self { at, strides: [stride; N] }
    }
}

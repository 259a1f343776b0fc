//! Where the units of cells lie.

use crate::vector::Vector;

/// Places of the vectors of units whose cells are computed together: successive rows of one block, or blocks of one
/// row.
#[derive(Clone, Copy)]
pub(crate) struct At {
    row: usize,
    block: usize,
    next_row: usize,
    next_block: usize,
}

impl At {
    /// Returns the rows of a block, from `row` on.
    #[inline(always)]
    pub(crate) fn rows(row: usize, block: usize) -> Self {
        Self { row, block, next_row: 1, next_block: 0 }
    }

    /// Creates places in blocks of row 0, from `block` on.
    #[inline(always)]
    pub(crate) fn blocks(block: usize) -> Self {
        Self { row: 0, block, next_row: 0, next_block: 1 }
    }

    /// Returns the row and block of vector `index`.
    #[inline(always)]
    pub(crate) fn of(self, index: usize) -> (usize, usize) {
        (self.row + index * self.next_row, self.block + index * self.next_block)
    }
}

/// Loads a vector of units of a row that has `units` of them, from `unit` on; lanes beyond are 0.
///
/// # Safety
/// - `units` values can be read at `row`, and `unit < units`.
#[inline(always)]
pub(crate) unsafe fn load_units<V: Vector>(row: *const f32, unit: usize, units: usize) -> V {
    // SAFETY: the row has `units` values, more than `unit`: a whole vector of them, or the `units - unit` that are
    // left.
    unsafe {
        if unit + V::LANES <= units {
            V::load(row.add(unit))
        } else {
            V::load_first(row.add(unit), units - unit)
        }
    }
}

/// Stores a vector of units of a row that has `units` of them, from `unit` on, and nothing beyond.
///
/// # Safety
/// - `units` values can be written at `row`, and `unit < units`.
#[inline(always)]
pub(crate) unsafe fn store_units<V: Vector>(value: V, row: *mut f32, unit: usize, units: usize) {
    // SAFETY: the row has `units` values, more than `unit`: a whole vector of them, or the `units - unit` that are
    // left.
    unsafe {
        if unit + V::LANES <= units {
            value.store(row.add(unit));
        } else {
            value.store_first(row.add(unit), units - unit);
        }
    }
}

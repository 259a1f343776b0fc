//! The functions that several kernels share, compiled once for each instruction set instead of into every kernel.
//!
//! [`crate::table`] implements the traits: there each function becomes code with the target features of its vector.
//! They pass vectors through memory, so that callers with other features agree with them on how to call.

use super::quantise::Quantised;
use super::units::At;
use super::weights::Weights;
use crate::args::{Grid, Step};
use crate::matrix::Matrix;
use crate::packed::PackedWeights;
use crate::panel::{Ahead, Initial, Panel};
use crate::vector::Vector;

/// Functions that do not depend on the format of weights.
///
/// The processor has to have the instructions of `Self` for every one of them.
pub(crate) trait Shared: Vector {
    /// Works as [`quantise::rows`](super::quantise::rows).
    ///
    /// # Safety
    /// - As there.
    unsafe fn quantise(grid: &Grid, depth: usize, scratch: *mut u8) -> Quantised;

    /// Computes the cells of `H` vectors of units of an LSTM, from the sums of their gates.
    ///
    /// # Safety
    /// - `gates` has `H` vectors of all four gates; `at` are rows and blocks of the step, whose pointers are valid for
    ///   them.
    unsafe fn lstm_cells<const H: usize>(cell: &PackedWeights, step: &Step, gates: *const [Self; 4], at: At);

    /// Computes the cells of `H` vectors of units of a GRU with the reset gate after the product, from the sums of r, z
    /// and the hidden part of n, and from the input part of n, of which vectors are `stride` values apart.
    ///
    /// # Safety
    /// - `gates` and `inputs` have `H` vectors; `at` are rows and blocks of the step, whose pointers are valid for
    ///   them.
    unsafe fn gru_cells<const H: usize>(
        cell: &PackedWeights,
        step: &Step,
        gates: *const [Self; 3],
        inputs: (*const f32, usize),
        at: At,
    );

    /// Turns the sums of r and z of `N / 2` blocks into `r * h` and z, in `rows` rows from `row` on.
    ///
    /// # Safety
    /// - `sums` has these rows; rows and blocks are the step's, whose pointers are valid for them.
    unsafe fn reset_rows<const N: usize>(
        cell: &PackedWeights,
        step: &Step,
        sums: *const [Self; N],
        rows: (usize, usize),
        block: usize,
    );

    /// Turns the sums of n of `N` blocks into hidden states, in `rows` rows from `row` on.
    ///
    /// # Safety
    /// - As [`Self::reset_rows`], of which all rows are done.
    unsafe fn candidate_rows<const N: usize>(
        cell: &PackedWeights,
        step: &Step,
        sums: *const [Self; N],
        rows: (usize, usize),
        block: usize,
    );

    /// Turns the sums of `N` blocks of a vanilla RNN into hidden states, in `rows` rows from `row` on.
    ///
    /// # Safety
    /// - As [`Self::reset_rows`].
    unsafe fn rnn_rows<const N: usize>(
        cell: &PackedWeights,
        step: &Step,
        sums: *const [Self; N],
        rows: (usize, usize),
        block: usize,
    );
}

/// The products of a format of weights.
pub(crate) trait Products<W: Weights>: Shared {
    /// Works as [`tile::tile`](super::tile::tile).
    ///
    /// # Safety
    /// - As there; the processor has the instructions that the format asks for beside those of `Self`.
    unsafe fn tile<const R: usize, const N: usize, const L: usize>(
        panel: &Panel<N>,
        depth: usize,
        rows: &[W::Row; R],
        initial: &Initial<N>,
        to: &[*mut f32; R],
    );

    /// Works as [`tile::dense`](super::tile::dense).
    ///
    /// # Safety
    /// - As there, and as for [`Self::tile`].
    unsafe fn dense<const N: usize>(
        block: (&Matrix, usize),
        ahead: Ahead,
        rows: (*const W::Row, *const *mut f32),
        count: usize,
        initial: &Initial<N>,
    );
}

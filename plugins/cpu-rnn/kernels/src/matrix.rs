//! Weights in the order in which the kernels read them.
//!
//! Columns (gates of units) come in vectors of `lanes`, vectors in blocks. A block is `[group][vector][lane][row]`,
//! where a group holds the weights of 1 (f32), 2 (bf16) or 4 (int8) successive rows: `4 * lanes` bytes for each vector
//! in every format. So a sweep over a block reads memory in order, and one block has all gates of the same units.
//!
//! The last block may have few units. If its columns fill fewer vectors so, they lie side by side, gate after gate: the
//! four times four columns that 100 units leave to a block of 16 are one vector instead of four.

use proctor_rnn_layer::Precision;

use crate::body::quantise::LEVELS;
use crate::buffer::Buffer;
use crate::panel::{Ahead, Panel};
use crate::vector::Vector;

/// A packed matrix of `depth` rows with a bias, and for int8 the scale of each column.
#[derive(Debug, Clone)]
pub(crate) struct Matrix {
    data: Buffer,
    bias: Buffer,
    scales: Buffer,
    corrections: Buffer,
    /// Number of rows.
    pub(crate) depth: usize,
    /// Number of vectors of a block.
    pub(crate) vectors: usize,
    pub(crate) blocks: usize,
    /// Number of columns that products write.
    pub(crate) columns: usize,
    groups: usize,
    block_bytes: usize,
    dense: Option<Dense>,
}

/// The last block of a matrix, where its columns lie side by side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dense {
    /// Number of units of the block.
    pub(crate) units: usize,
    /// Number of vectors that its columns fill: fewer than other blocks have.
    pub(crate) vectors: usize,
}

impl Dense {
    /// `vectors * units` columns side by side, if they fill fewer than `vectors` vectors.
    fn new(vectors: usize, units: usize, lanes: usize) -> Option<Self> {
        let filled = (vectors * units).div_ceil(lanes);
        (filled < vectors).then_some(Self { units, vectors: filled })
    }
}

/// Sizes of a matrix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MatrixShape {
    /// Number of rows: values of an operand.
    pub(crate) depth: usize,
    /// Number of vectors of a block.
    pub(crate) vectors: usize,
    pub(crate) blocks: usize,
    /// Number of values of a vector.
    pub(crate) lanes: usize,
    /// Number of columns that products write, at most `blocks * vectors * lanes`.
    pub(crate) columns: usize,
    /// Number of units of the last block, if its columns may lie side by side.
    pub(crate) last_units: Option<usize>,
    /// Zero point of quantised activations: the number added to them.
    pub(crate) zero_point: i32,
}

/// Returns the number of rows of weights that a group interleaves: as many as fit 32 bits of a lane.
pub(crate) fn group_rows(precision: Precision) -> usize {
    4 / precision.weight_bytes()
}

impl Matrix {
    /// Packs a matrix. `column(block, vector, lane)` returns the weights and the bias of a column, `None` for padding.
    pub(crate) fn pack<'a>(
        precision: Precision,
        shape: MatrixShape,
        column: impl Fn(usize, usize, usize) -> Option<(&'a [f32], f32)>,
    ) -> Self {
        let MatrixShape { depth, vectors, blocks, lanes, columns, last_units, zero_point } = shape;
        let groups = depth.div_ceil(group_rows(precision));
        let block_bytes = groups * vectors * lanes * 4;
        let width = blocks * vectors * lanes;
        let dense = last_units.and_then(|units| Dense::new(vectors, units, lanes));
        let spared_bytes = dense.map_or(0, |dense| groups * (vectors - dense.vectors) * lanes * 4);
        let int8_width = if precision == Precision::Int8 { width } else { 0 };
        let mut matrix = Self {
            data: Buffer::zeroed_bytes(blocks * block_bytes - spared_bytes),
            bias: Buffer::zeroed(width),
            scales: Buffer::zeroed(int8_width),
            corrections: Buffer::zeroed(int8_width),
            depth,
            vectors,
            blocks,
            columns,
            groups,
            block_bytes,
            dense,
        };
        for index in 0..width {
            let (block, vector, lane) = (index / lanes / vectors, index / lanes % vectors, index % lanes);
            let Some((weights, bias)) = column(block, vector, lane) else { continue };
            matrix.bias.values_mut()[index] = bias;
            // The vectors of the block, and the place of the column among theirs.
            let (vectors, in_block) = match matrix.dense(block) {
                Some(dense) => (dense.vectors, vector * dense.units + lane),
                None => (vectors, vector * lanes + lane),
            };
            let first = block * block_bytes + in_block * 4;
            let (stride, data) = (vectors * lanes * 4, &mut matrix.data.bytes_mut()[first..]);
            match precision {
                Precision::F32 => {
                    for (k, weight) in weights.iter().enumerate() {
                        data[k * stride..][..4].copy_from_slice(&weight.to_ne_bytes());
                    }
                }
                Precision::Bf16 => {
                    for (k, weight) in weights.iter().enumerate() {
                        // The first of a pair is the lower half of the 32-bit word.
                        let place = k / 2 * stride
                            + if cfg!(target_endian = "little") { k % 2 } else { 1 - k % 2 } * 2;
                        data[place..][..2].copy_from_slice(&round_to_bf16(*weight).to_ne_bytes());
                    }
                }
                Precision::Int8 => {
                    let (scale, sum) = quantise_column(weights, |k, value| {
                        data[k / 4 * stride + k % 4] = value as u8;
                    });
                    let place = block * shape.vectors * lanes + in_block;
                    matrix.scales.values_mut()[place] = scale;
                    let correction = (-zero_point * sum).to_ne_bytes();
                    matrix.corrections.bytes_mut()[4 * place..][..4].copy_from_slice(&correction);
                }
            }
        }
        matrix
    }

    /// Returns all weights.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.data.bytes()
    }

    /// Returns the bias of the first column.
    #[inline(always)]
    pub(crate) fn bias(&self) -> *const f32 {
        self.bias.values().as_ptr()
    }

    /// Returns the part of blocks `next..next + count` to prefetch during tile `tile` of `tiles`; empty if there is no
    /// next block.
    #[inline(always)]
    pub(crate) fn ahead(&self, next: Option<usize>, count: usize, tile: usize, tiles: usize) -> Ahead {
        let start = self.data.bytes().as_ptr();
        match next {
            Some(next) => {
                let at = start.wrapping_add(next * self.block_bytes);
                Ahead::part(at, count * self.block_bytes, self.groups, tile, tiles)
            }
            None => self.nothing_ahead(),
        }
    }

    /// Returns a request for nothing.
    #[inline(always)]
    pub(crate) fn nothing_ahead(&self) -> Ahead {
        Ahead::nothing(self.data.bytes().as_ptr())
    }

    /// Returns the panel of a whole block of `N` vectors.
    #[inline(always)]
    pub(crate) fn panel<V: Vector, const N: usize>(&self, block: usize) -> Panel<N> {
        // Sizes known to the compiler, so that vectors are addressed by one pointer.
        let (bytes, stride) = (4 * V::LANES, 4 * V::LANES * N);
        self.panel_of::<V, N>(block * self.block_bytes, bytes, stride, block * N)
    }

    /// Returns how the columns of a block lie side by side, if they do.
    #[inline(always)]
    pub(crate) fn dense(&self, block: usize) -> Option<Dense> {
        if block + 1 == self.blocks { self.dense } else { None }
    }

    /// Returns the panel of the `N` vectors of a block whose columns lie side by side.
    #[inline(always)]
    pub(crate) fn dense_panel<V: Vector, const N: usize>(&self, block: usize) -> Panel<N> {
        let bytes = 4 * V::LANES;
        self.panel_of::<V, N>(block * self.block_bytes, bytes, bytes * N, block * self.vectors)
    }

    /// Returns the panel of `N` vectors, from `vector` on, of a block of `ALL`.
    #[inline(always)]
    pub(crate) fn part_panel<V: Vector, const N: usize, const ALL: usize>(
        &self,
        block: usize,
        vector: usize,
    ) -> Panel<N> {
        let bytes = 4 * V::LANES;
        self.panel_of::<V, N>(
            block * self.block_bytes + vector * bytes,
            bytes,
            ALL * bytes,
            block * ALL + vector,
        )
    }

    /// Returns the panel of the only vectors of blocks `block..block + N`.
    #[inline(always)]
    pub(crate) fn blocks_panel<V: Vector, const N: usize>(&self, block: usize) -> Panel<N> {
        self.panel_of::<V, N>(block * self.block_bytes, self.block_bytes, 4 * V::LANES, block)
    }

    /// Returns the panel of the two vectors of each of `N / 2` blocks from `block` on.
    #[inline(always)]
    pub(crate) fn pairs_panel<V: Vector, const N: usize>(&self, block: usize) -> Panel<N> {
        let bytes = 4 * V::LANES;
        let mut panel = self.panel_of::<V, N>(block * self.block_bytes, bytes, 2 * bytes, 2 * block);
        for n in 2..N {
            panel.at[n] = panel.at[n - 2].wrapping_add(self.block_bytes);
        }
        panel
    }

    /// Returns the panel of `N` vectors from byte `first` on, `step` bytes apart; `vector` is the number of the first.
    #[inline(always)]
    fn panel_of<V: Vector, const N: usize>(
        &self,
        first: usize,
        step: usize,
        stride: usize,
        vector: usize,
    ) -> Panel<N> {
        let start = self.data.bytes().as_ptr();
        let scales = self.scales.values().as_ptr();
        let corrections = self.corrections.bytes().as_ptr().cast::<i32>();
        let mut at = [start; N];
        for (n, place) in at.iter_mut().enumerate() {
            *place = start.wrapping_add(first + n * step);
        }
        // Wrapping: f32 and bf16 weights have neither, and their kernels read neither.
        let (scales, corrections) =
            (scales.wrapping_add(vector * V::LANES), corrections.wrapping_add(vector * V::LANES));
        Panel { at, stride, scales, corrections, ahead: Ahead::nothing(start) }
    }
}

/// Returns the nearest bf16, ties to even; a NaN stays one.
fn round_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

/// Hands each quantised weight to `store` and returns the column's scale and the sum of its quantised weights. A weight
/// that is not finite makes the scale NaN, and so every product.
fn quantise_column(weights: &[f32], mut store: impl FnMut(usize, i8)) -> (f32, i32) {
    let largest = weights.iter().fold(0.0_f32, |largest, weight| largest.max(weight.abs()));
    if weights.iter().any(|weight| !weight.is_finite()) {
        return (f32::NAN, 0);
    }
    let inverse = if largest > 1e-30 { LEVELS / largest } else { 0.0 };
    let mut sum = 0;
    for (k, weight) in weights.iter().enumerate() {
        let value = (weight * inverse).round_ties_even() as i8;
        store(k, value);
        sum += i32::from(value);
    }
    (largest / LEVELS, sum)
}

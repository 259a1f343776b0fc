//! Matrices of weights that stay in blocks of 32, as GGUF files have them: a scale, steps of 4 or 8 bits, and for 4
//! bits the least value.
//!
//! The engine has products of such matrices, but rounds the values to 8 bits for them, and has no vector code for
//! steps of 4 bits with a least value. Here values and sums are f32. A few rows of values are multiplied straight
//! from the blocks, which are a fifth of the memory that f32 would take; for more, some rows of weights at a time
//! become f32 for an ordinary product.

mod kernel;

use candle_core::{CpuStorage, Device, Result, Storage, Tensor, bail};
use gemm::f16;
use rayon::prelude::*;

use super::product::{Order, multiply_add};
use kernel::{BLOCK, Kernel};

/// Number of bytes of the steps of a block of 4 bits.
const HALVES: usize = BLOCK / 2;
/// Up to so many rows of values are multiplied straight from the blocks.
const FEW: usize = 4;
/// Rows of weights that one thread takes at a time.
const CHUNK: usize = 64;
/// Fewer multiplications than this are not worth waking other threads for: some 20 us of one core.
const ALONE_MOST: usize = 1 << 18;

/// A matrix `[rows, columns]` in blocks along its rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Blocks {
    rows: usize,
    columns: usize,
    /// Scale of each block.
    scales: Vec<f32>,
    steps: Steps,
}

/// The steps of all blocks.
#[derive(Debug, Clone, PartialEq)]
enum Steps {
    /// 4 bits: the lower halves of the bytes are the first 16 steps. Beside them the least value of each block.
    Halves(Vec<[u8; HALVES]>, Vec<f32>),
    /// 8 bits, signed.
    Bytes(Vec<[i8; BLOCK]>),
}

/// A row of a matrix.
#[derive(Debug, Clone, Copy)]
enum Row<'a> {
    Halves { scales: &'a [f32], steps: &'a [[u8; HALVES]], leasts: &'a [f32] },
    Bytes { scales: &'a [f32], steps: &'a [[i8; BLOCK]] },
}

/// Values to multiply with: some rows, and the sum of each of their blocks.
struct Values<'a> {
    rows: &'a [[f32; BLOCK]],
    sums: Vec<f32>,
}

impl Blocks {
    /// Takes the bytes of the kind Q4_1: for each block scale and least value in f16, then the steps. The matrix has
    /// the rows of the file in the order of `from`, which are numbers of whole rows.
    ///
    /// # Panics
    /// If there are too few bytes for a row, or rows are no whole blocks: the caller has checked.
    pub(crate) fn of_q4_1(bytes: &[u8], columns: usize, from: &[usize]) -> Self {
        let (mut scales, mut leasts, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        for block in blocks_of::<20>(bytes, columns, from) {
            let [low, high, least_low, least_high, rest @ ..] = block;
            scales.push(f16::from_le_bytes([*low, *high]).to_f32());
            leasts.push(f16::from_le_bytes([*least_low, *least_high]).to_f32());
            steps.push(*rest);
        }
        Self { rows: from.len(), columns, scales, steps: Steps::Halves(steps, leasts) }
    }

    /// Takes the bytes of the kind Q8_0: for each block a scale in f16, then the steps. Otherwise as
    /// [`of_q4_1`](Self::of_q4_1).
    ///
    /// # Panics
    /// As there.
    pub(crate) fn of_q8_0(bytes: &[u8], columns: usize, from: &[usize]) -> Self {
        let (mut scales, mut steps) = (Vec::new(), Vec::new());
        for block in blocks_of::<34>(bytes, columns, from) {
            let [low, high, rest @ ..] = block;
            scales.push(f16::from_le_bytes([*low, *high]).to_f32());
            steps.push(rest.map(u8::cast_signed));
        }
        Self { rows: from.len(), columns, scales, steps: Steps::Bytes(steps) }
    }

    /// Returns the extents, `[rows, columns]`.
    pub(crate) fn dims(&self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    /// Puts the rows of another matrix below; gives it back if it is not of the same kind and width.
    pub(crate) fn append(&mut self, mut below: Self) -> std::result::Result<(), Self> {
        match (&mut self.steps, &mut below.steps) {
            _ if self.columns != below.columns => return Err(below),
            (Steps::Halves(steps, leasts), Steps::Halves(more, more_leasts)) => {
                steps.append(more);
                leasts.append(more_leasts);
            }
            (Steps::Bytes(steps), Steps::Bytes(more)) => steps.append(more),
            _ => return Err(below),
        }
        self.scales.append(&mut below.scales);
        self.rows += below.rows;
        Ok(())
    }

    /// Returns rows as f32`[row, column]`.
    ///
    /// # Errors
    /// If the matrix has no row of a number.
    pub(crate) fn unpack(&self, numbers: &[usize]) -> Result<Tensor> {
        let kernel = Kernel::of_this_machine();
        let mut values = vec![[0.0; BLOCK]; numbers.len() * self.columns / BLOCK];
        for (number, values) in numbers.iter().zip(values.chunks_exact_mut(self.columns / BLOCK)) {
            if *number >= self.rows {
                bail!("row {number} of a matrix of {}", self.rows);
            }
            self.row(*number).unpack(kernel, values);
        }
        Tensor::from_vec(values.into_flattened(), (numbers.len(), self.columns), &Device::Cpu)
    }

    /// Computes `x weight^T`, to which `start` is added: x is f32`[row, input]` on the CPU, this `[output, input]`, the
    /// result and `start` f32`[row, output]`.
    pub(crate) fn product(&self, x: &Tensor, start: Option<&Tensor>) -> Result<Tensor> {
        let x = x.contiguous()?;
        let (storage, layout) = x.storage_and_layout();
        let count = match layout.dims() {
            &[count, columns] if columns == self.columns => count,
            dims => bail!("a product of {dims:?} with a weight of {:?}", self.dims()),
        };
        let products = self.products(slice(&storage, layout)?, count);
        let mut out = if count == 1 { products } else { transposed(&products, count) };
        if let Some(start) = start {
            let start = start.contiguous()?;
            if start.dims() != [count, self.rows] {
                bail!("a product of the shape {:?} is added to {:?}", [count, self.rows], start.dims());
            }
            let (storage, layout) = start.storage_and_layout();
            out.iter_mut().zip(slice(&storage, layout)?).for_each(|(out, start)| *out += start);
        }
        Tensor::from_vec(out, (count, self.rows), &Device::Cpu)
    }

    /// Returns the products of each row of weights with each of the `count` rows of x, `[output, row]`.
    fn products(&self, x: &[f32], count: usize) -> Vec<f32> {
        let kernel = Kernel::of_this_machine();
        let mut out = vec![0.0; self.rows * count];
        let few = (count <= FEW).then(|| Values::new(x));
        let one = |panel: &mut Vec<_>, (chunk, out): (usize, &mut [f32])| match &few {
            Some(values) => self.few(kernel, chunk * CHUNK, values, out, count),
            None => self.many(kernel, chunk * CHUNK, x, out, panel),
        };
        if self.rows * self.columns * count < ALONE_MOST || rayon::current_num_threads() == 1 {
            let mut panel = Vec::new();
            out.chunks_mut(CHUNK * count).enumerate().for_each(|chunk| one(&mut panel, chunk));
        } else {
            out.par_chunks_mut(CHUNK * count).enumerate().for_each_init(Vec::new, one);
        }
        out
    }

    fn few(&self, kernel: Kernel, first: usize, values: &Values<'_>, out: &mut [f32], count: usize) {
        let blocks = self.columns / BLOCK;
        for (number, out) in (first..).zip(out.chunks_exact_mut(count)) {
            let row = self.row(number);
            let values = values.rows.chunks_exact(blocks).zip(values.sums.chunks_exact(blocks));
            out.iter_mut().zip(values).for_each(|(out, (values, sums))| *out = row.dot(kernel, values, sums));
        }
    }

    fn many(&self, kernel: Kernel, first: usize, x: &[f32], out: &mut [f32], panel: &mut Vec<[f32; BLOCK]>) {
        let (count, blocks) = (x.len() / self.columns, self.columns / BLOCK);
        let rows = out.len() / count;
        panel.resize(rows * blocks, [0.0; BLOCK]);
        for (number, values) in (first..).zip(panel.chunks_exact_mut(blocks)) {
            self.row(number).unpack(kernel, values);
        }
        multiply_add((rows, count, self.columns), out, panel.as_flattened(), x, Order::Columns, 1);
    }

    fn row(&self, number: usize) -> Row<'_> {
        let blocks = self.columns / BLOCK;
        let part = number * blocks..(number + 1) * blocks;
        let scales = &self.scales[part.clone()];
        match &self.steps {
            Steps::Halves(steps, leasts) => {
                Row::Halves { scales, steps: &steps[part.clone()], leasts: &leasts[part] }
            }
            Steps::Bytes(steps) => Row::Bytes { scales, steps: &steps[part] },
        }
    }
}

impl Row<'_> {
    fn dot(&self, kernel: Kernel, values: &[[f32; BLOCK]], sums: &[f32]) -> f32 {
        match *self {
            Row::Halves { scales, steps, leasts } => {
                let of_leasts: f32 = leasts.iter().zip(sums).map(|(least, sum)| least * sum).sum();
                kernel.dot_halves(scales, steps, values) + of_leasts
            }
            Row::Bytes { scales, steps } => kernel.dot_bytes(scales, steps, values),
        }
    }

    fn unpack(&self, kernel: Kernel, values: &mut [[f32; BLOCK]]) {
        match *self {
            Row::Halves { scales, steps, leasts } => kernel.unpack_halves(scales, steps, leasts, values),
            Row::Bytes { scales, steps } => kernel.unpack_bytes(scales, steps, values),
        }
    }
}

impl<'a> Values<'a> {
    fn new(x: &'a [f32]) -> Self {
        let (rows, _) = x.as_chunks();
        Self { rows, sums: rows.iter().map(|block: &[f32; BLOCK]| block.iter().sum()).collect() }
    }
}

/// Returns the blocks of these rows, one row after the other, each of `SIZE` bytes.
fn blocks_of<'a, const SIZE: usize>(
    bytes: &'a [u8],
    columns: usize,
    from: &'a [usize],
) -> impl Iterator<Item = &'a [u8; SIZE]> {
    assert!(columns.is_multiple_of(BLOCK), "rows of {columns} are no whole blocks");
    let (blocks, each) = (bytes.as_chunks::<SIZE>().0, columns / BLOCK);
    from.iter().flat_map(move |row| &blocks[row * each..(row + 1) * each])
}

fn slice<'a>(storage: &'a Storage, layout: &candle_core::Layout) -> Result<&'a [f32]> {
    match (storage, layout.contiguous_offsets()) {
        (Storage::Cpu(CpuStorage::F32(values)), Some((start, end))) => Ok(&values[start..end]),
        _ => bail!("weights in blocks take f32 on the CPU"),
    }
}

/// Turns `[output, row]` into `[row, output]`.
fn transposed(products: &[f32], count: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(products.len());
    (0..count).for_each(|row| out.extend(products.iter().skip(row).step_by(count)));
    out
}

#[cfg(test)]
mod tests;

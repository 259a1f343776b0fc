//! Dense layers: a packed matrix with a bias.

use proctor_rnn_layer::Precision;

use crate::args::{Product, Rows};
use crate::body::quantise;
use crate::buffer::Buffer;
use crate::isa::Isa;
use crate::matrix::{Matrix, MatrixShape};
use crate::table::{Table, table};

/// The weights of a dense layer, `y = x W^T + b`, packed for one instruction set.
///
/// A block is one vector of columns. Kernels take up to four blocks at once, so ranges of a multiple of four blocks are
/// the fastest.
#[derive(Debug)]
pub struct PackedLinear {
    matrix: Matrix,
    precision: Precision,
    table: &'static Table,
}

impl PackedLinear {
    /// Packs `weights` `[outputs, inputs]`, row-major, with a bias of `outputs` values or an empty one.
    ///
    /// # Panics
    /// If a size does not fit or is 0, or if this processor lacks the instructions.
    #[must_use]
    pub fn new(isa: Isa, precision: Precision, weights: &[f32], bias: &[f32], inputs: usize) -> Self {
        assert!(
            inputs > 0 && !weights.is_empty(),
            "a dense layer of {inputs} inputs and {} weights",
            weights.len()
        );
        assert_eq!(weights.len() % inputs, 0, "weights of a dense layer of {inputs} inputs");
        let outputs = weights.len() / inputs;
        assert!(bias.is_empty() || bias.len() == outputs, "size of the bias");
        let isa = if precision == Precision::Int8 { isa.for_int8() } else { isa };
        let (table, lanes) = (table(isa, precision), isa.lanes());
        let blocks = outputs.div_ceil(lanes);
        let zero_point = table.zero_point;
        let (vectors, last_units) = (1, None);
        let shape =
            MatrixShape { depth: inputs, vectors, blocks, lanes, columns: outputs, last_units, zero_point };
        let matrix = Matrix::pack(precision, shape, |block, _, lane| {
            let row = block * lanes + lane;
            let bias = bias.get(row).copied().unwrap_or(0.0);
            (row < outputs).then(|| (&weights[row * inputs..][..inputs], bias))
        });
        Self { matrix, precision, table }
    }

    /// Returns the number of blocks of columns.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.matrix.blocks
    }

    /// Returns the width of an input row.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.matrix.depth
    }

    /// Returns the width of an output row.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.matrix.columns
    }

    /// Returns the number of bytes of the packed weights.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.matrix.bytes().len()
    }

    /// Returns the number of bytes of work space of [`product`](Self::product) for `rows` rows: 0 unless weights are
    /// int8.
    #[must_use]
    pub fn scratch_bytes(&self, rows: usize) -> usize {
        quantise::scratch_bytes_of(self.precision, rows, self.inputs())
    }

    /// Computes blocks of columns for many rows.
    ///
    /// # Safety
    /// - `args.blocks` lies within `0..self.blocks()`.
    /// - `args.rows.bases` has `args.samples` pointers; every row `(step, sample)` lies within one allocation with its
    ///   base and has [`inputs`](Self::inputs) readable values.
    /// - In each output row the columns of `args.blocks` below [`outputs`](Self::outputs) can be written, and nothing
    ///   else reads or writes them meanwhile.
    /// - `args.scratch` has [`scratch_bytes`](Self::scratch_bytes) bytes for `args.steps * args.samples` rows, aligned
    ///   for f32, that no other thread uses.
    pub unsafe fn product(&self, args: &Product) {
        debug_assert!(args.blocks.end <= self.blocks());
        // SAFETY: `new` packed the matrix for the vector and the format of this table, and `table` checked that the
        // processor has the instructions. Of the arguments the kernel demands what the caller promises.
        unsafe { (self.table.product)(&self.matrix, args) }
    }

    /// Computes `output = input W^T + b` for contiguous rows, on the calling thread. Allocates for int8 weights only.
    ///
    /// # Panics
    /// If `input` and `output` are not the same number of rows.
    pub fn apply(&self, input: &[f32], output: &mut [f32]) {
        let rows = input.len() / self.inputs();
        assert_eq!(input.len(), rows * self.inputs(), "rows of {} inputs", self.inputs());
        // Checked: a product that wraps around would fit an output that is far too small.
        let size = rows.checked_mul(self.outputs());
        assert_eq!(Some(output.len()), size, "rows of {} outputs", self.outputs());
        let mut scratch = Buffer::zeroed_bytes(self.scratch_bytes(rows));
        let args = Product {
            blocks: 0..self.blocks(),
            rows: Rows { bases: &input.as_ptr(), offset: 0 },
            samples: 1,
            steps: rows,
            step_stride: self.inputs().cast_signed(),
            output: output.as_mut_ptr(),
            output_step_stride: self.outputs(),
            output_row_stride: 0,
            scratch: scratch.bytes_mut().as_mut_ptr(),
        };
        // SAFETY: the blocks are all there are. The rows are the steps of the one sample whose base is `input`: `rows`
        // times `inputs` readable values, as was checked. `output` has `rows` rows of `outputs` values and is borrowed
        // mutably, so that nothing else uses them. The work space is made for `rows` rows.
        unsafe { self.product(&args) }
    }
}

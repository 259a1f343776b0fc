//! One direction of a recurrent layer: its packed weights, with the kernels of an instruction set.

use proctor_rnn_layer::{Cell, GruReset, Precision};

use crate::args::{Product, Rows, Start, Step};
use crate::body::quantise;
use crate::isa::Isa;
use crate::packed::{CellSpec, DirectionWeights, PackedWeights};
use crate::table::{Table, table};

/// The weights of one direction of a layer, packed for one instruction set.
///
/// Units come in blocks of [`lanes`](Self::lanes); the last block is padded with zeros. Kernels compute whole blocks,
/// and threads divide the blocks among themselves.
#[derive(Debug)]
pub struct PackedCell {
    weights: PackedWeights,
    precision: Precision,
    table: &'static Table,
}

impl PackedCell {
    /// Packs weights for an instruction set: AVX2 if int8 is requested on AVX-512 without VNNI.
    ///
    /// # Panics
    /// If a weight has another size than the spec says, if a size is 0, or if this processor lacks the instructions.
    #[must_use]
    pub fn new(isa: Isa, spec: &CellSpec, weights: &DirectionWeights<'_>) -> Self {
        let isa = if spec.precision == Precision::Int8 { isa.for_int8() } else { isa };
        let table = table(isa, spec.precision);
        let weights = PackedWeights::new(spec, weights, isa.lanes(), table.zero_point);
        Self { weights, precision: spec.precision, table }
    }

    /// Returns the kind of cell.
    #[must_use]
    pub fn kind(&self) -> Cell {
        self.weights.kind
    }

    /// Returns the number of units of a block.
    #[must_use]
    pub fn lanes(&self) -> usize {
        self.weights.lanes
    }

    /// Returns the number of blocks.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.weights.hidden.blocks
    }

    /// Returns the number of units.
    #[must_use]
    pub fn units(&self) -> usize {
        self.weights.hidden.depth
    }

    /// Returns the number of units with the padding of the last block: the length of a row of cell states.
    #[must_use]
    pub fn padded_hidden(&self) -> usize {
        self.blocks() * self.weights.lanes
    }

    /// Returns the number of values of a row of gates, `[block][gate][lane]`.
    #[must_use]
    pub fn gates_width(&self) -> usize {
        self.weights.input.columns
    }

    /// Returns whether a step takes two sweeps, [`step`](Self::step) and then [`step_candidate`](Self::step_candidate).
    #[must_use]
    pub fn has_two_sweeps(&self) -> bool {
        self.weights.kind.resets_before_product()
    }

    /// Returns the packed weights as bytes, block after block: the input weights, the hidden weights, and the weights
    /// of the second sweep (empty if there is none). For priming caches.
    #[must_use]
    pub fn weight_bytes(&self) -> [&[u8]; 3] {
        [self.weights.input.bytes(), self.weights.hidden.bytes(), self.weights.candidate.bytes()]
    }

    /// Returns the number of bytes of work space of [`product`](Self::product) for `rows` rows: 0 unless weights are
    /// int8.
    #[must_use]
    pub fn product_scratch_bytes(&self, rows: usize) -> usize {
        quantise::scratch_bytes_of(self.precision, rows, self.weights.input.depth)
    }

    /// Returns the number of bytes of work space of [`step`](Self::step) for `rows` rows: 0 unless weights are int8 or
    /// a step takes two sweeps.
    #[must_use]
    pub fn step_scratch_bytes(&self, rows: usize) -> usize {
        let quantised = quantise::scratch_bytes_of(self.precision, rows, self.weights.hidden.depth);
        let gates = if self.has_two_sweeps() { 4 * rows * self.gates_width() } else { 0 };
        gates + quantised + self.product_scratch_bytes(rows)
    }

    /// Computes start gates, the time-independent part: products of input rows plus biases.
    ///
    /// A GRU that resets after the product keeps the hidden bias of n out of them.
    ///
    /// # Safety
    /// - `args.blocks` lies within `0..self.blocks()`.
    /// - `args.rows.bases` has `args.samples` pointers; every row `(step, sample)` lies within one allocation with its
    ///   base and has as many readable values as the cell has inputs.
    /// - In each output row the values of `args.blocks` can be written, and nothing else reads or writes them
    ///   meanwhile.
    /// - `args.scratch` is as its documentation says.
    pub unsafe fn product(&self, args: &Product) {
        debug_assert!(args.blocks.end <= self.blocks());
        // SAFETY: `new` packed the weights for the vector and the format of this table, and `table` checked that the
        // processor has the instructions. Of the arguments the kernel demands what the caller promises.
        unsafe { (self.table.product)(&self.weights.input, args) }
    }

    /// Computes one step; for [`GruReset::BeforeProduct`] the first of its two sweeps, which leaves `args.hidden`
    /// alone.
    ///
    /// # Safety
    /// - `args.blocks` lies within `0..self.blocks()`.
    /// - `args.rows` is at least 1.
    /// - `args.start` has `args.rows` rows: of gates, with the values of `args.blocks` readable; or of inputs.
    /// - `args.previous` has `args.rows` rows of as many readable values as there are units.
    /// - `args.hidden` has `args.rows` rows, in which the units of `args.blocks` can be written.
    /// - LSTM: in `args.rows` rows of `args.cell` the [`padded_hidden`](Self::padded_hidden) values of `args.blocks`
    ///   can be read and written.
    /// - [`GruReset::BeforeProduct`]: `args.between` has `args.rows` rows: of `units` values each in `reset_hidden`, of
    ///   `padded_hidden` in `update`, writable in `args.blocks`.
    /// - Nothing else writes what is read, or reads or writes what is written, meanwhile. What is written does not
    ///   overlap with what is read; the cell states and `update` apart.
    /// - `args.scratch` is as its documentation says.
    pub unsafe fn step(&self, args: &Step) {
        debug_assert!(args.blocks.end <= self.blocks());
        // SAFETY: `new` packed the weights for the vector and the format of this table, and `table` checked that the
        // processor has the instructions. Each arm takes the kernel of its kind of cell, which demands of the arguments
        // what the caller promises. In a step of two sweeps from the input, the product reads the caller's rows of
        // inputs, and writes its `rows * gates_width` gates to the start of the work space, which has room for them
        // before that of the product and of the sweep (`step_scratch_bytes`): the gates from which the sweep starts.
        unsafe {
            match self.weights.kind {
                Cell::Lstm => (self.table.lstm)(&self.weights, args),
                Cell::Gru(GruReset::AfterProduct) => (self.table.gru)(&self.weights, args),
                Cell::Gru(GruReset::BeforeProduct) => {
                    if let Start::Input(rows) = args.start {
                        self.product(&self.start_gates(args, rows));
                    }
                    (self.table.gru_gates)(&self.weights, &self.started(args));
                }
                Cell::Rnn(_) => (self.table.rnn)(&self.weights, args),
            }
        }
    }

    /// Computes the second sweep of a step of [`GruReset::BeforeProduct`]; nothing for the other cells.
    ///
    /// # Safety
    /// - As [`step`](Self::step), and the first sweep over *all* blocks of this step has been done, by whichever
    ///   threads.
    /// - With [`Start::Input`] the first sweep over `args.blocks` had the same work space, which is as it was left.
    pub unsafe fn step_candidate(&self, args: &Step) {
        debug_assert!(args.blocks.end <= self.blocks());
        if self.has_two_sweeps() {
            // SAFETY: `new` packed the weights for the vector and the format of this table, and `table` checked that
            // the processor has the instructions. The caller promises what the kernel demands of the arguments, and
            // that the first sweep has left its results in `between` and, from the input, its gates in the work space.
            unsafe { (self.table.gru_candidate)(&self.weights, &self.started(args)) }
        }
    }

    /// Returns the product that makes a step's start gates in its work space. A step of two sweeps has no use for more
    /// fusion.
    fn start_gates(&self, step: &Step, rows: Rows) -> Product {
        let gates = step.scratch.cast::<f32>();
        Product {
            blocks: step.blocks.clone(),
            rows,
            samples: step.rows,
            steps: 1,
            step_stride: 0,
            output: gates,
            output_step_stride: 0,
            output_row_stride: self.gates_width(),
            scratch: gates.wrapping_add(step.rows * self.gates_width()).cast(),
        }
    }

    /// Returns the same step, started from the gates that [`start_gates`](Self::start_gates) made in its work space.
    fn started(&self, step: &Step) -> Step {
        let mut step = step.clone();
        if let Start::Input(_) = step.start {
            let (gates, row_stride) = (step.scratch.cast::<f32>(), self.gates_width());
            step.start = Start::Gates { gates, row_stride };
            step.scratch = gates.wrapping_add(step.rows * row_stride).cast();
        }
        step
    }
}

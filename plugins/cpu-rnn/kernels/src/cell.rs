//! The weights of one direction of a recurrent layer, packed, and the kernels on them.

use proctor_rnn_layer::{Cell, GruReset, Precision};

use crate::args::{Product, Rows, Start, Step};
use crate::body::quantise;
use crate::buffer::Buffer;
use crate::isa::Isa;
use crate::matrix::{Matrix, MatrixShape};
use crate::table::{Table, table};

/// Weights of one direction as models have them: row-major, gates one after the other.
#[derive(Debug, Clone, Copy)]
pub struct CellWeights<'a> {
    /// `[gate * hidden, input]`.
    pub input: &'a [f32],
    /// `[gate * hidden, hidden]`.
    pub hidden: &'a [f32],
    /// `[gate * hidden]`, added to the input product; empty for none.
    pub input_bias: &'a [f32],
    /// `[gate * hidden]`, added to the hidden product; empty for none.
    pub hidden_bias: &'a [f32],
    /// LSTM peepholes `[3 * hidden]` in the order i, f, o; empty for none.
    pub peepholes: &'a [f32],
}

/// Sizes and options of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellSpec {
    /// Kind of cell.
    pub kind: Cell,
    /// Width of the input.
    pub input: usize,
    /// Number of units.
    pub hidden: usize,
    /// Bound of the arguments of every activation, as ONNX's `clip`; positive.
    pub clip: Option<f32>,
    /// Number format of the weights.
    pub precision: Precision,
}

/// The weights of one direction of a layer, packed for one instruction set.
///
/// Units come in blocks of [`lanes`](Self::lanes); the last block is padded with zeros. A block is what kernels compute
/// and threads share out.
#[derive(Debug)]
pub struct PackedCell {
    pub(crate) kind: Cell,
    pub(crate) input: Matrix,
    /// All gates; r and z only for [`GruReset::BeforeProduct`].
    pub(crate) hidden: Matrix,
    /// [`GruReset::BeforeProduct`]: the hidden weights of n. Empty otherwise.
    pub(crate) candidate: Matrix,
    /// Infinity for none.
    pub(crate) clip: f32,
    /// [`GruReset::AfterProduct`]: hidden bias of n, `[block][lane]`.
    candidate_bias: Buffer,
    /// `[block][i, f, o][lane]`.
    peepholes: Option<Buffer>,
    isa: Isa,
    precision: Precision,
    lanes: usize,
    table: &'static Table,
}

impl PackedCell {
    /// Packs weights for an instruction set.
    ///
    /// # Panics
    /// If a weight has another size than the spec says, if a size is 0, or if this processor lacks the instructions.
    #[must_use]
    pub fn new(isa: Isa, spec: &CellSpec, weights: &CellWeights<'_>) -> Self {
        let isa = if spec.precision == Precision::Int8 { isa.for_int8() } else { isa };
        let (table, lanes) = (table(isa, spec.precision), isa.lanes());
        check_sizes(spec, weights);
        let packing = Packing { spec, weights, lanes, zero_point: table.zero_point };
        let (hidden, candidate) = match spec.kind {
            Cell::Gru(GruReset::BeforeProduct) => (packing.hidden(0, 2), packing.hidden(2, 1)),
            kind => (packing.hidden(0, kind.gate_count()), packing.hidden(0, 0)),
        };
        Self {
            kind: spec.kind,
            input: packing.input(),
            hidden,
            candidate,
            clip: spec.clip.unwrap_or(f32::INFINITY),
            candidate_bias: packing.candidate_bias(),
            peepholes: packing.peepholes(),
            isa,
            precision: spec.precision,
            lanes,
            table,
        }
    }

    /// The instruction set that computes. AVX2 where int8 was asked for on AVX-512 without VNNI.
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Number format of the weights.
    #[must_use]
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Kind of cell.
    #[must_use]
    pub fn kind(&self) -> Cell {
        self.kind
    }

    /// Units of a block.
    #[must_use]
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Number of blocks.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.hidden.blocks()
    }

    /// Number of units.
    #[must_use]
    pub fn units(&self) -> usize {
        self.hidden.depth()
    }

    /// Units with the padding of the last block: the length of a row of cell states.
    #[must_use]
    pub fn padded_hidden(&self) -> usize {
        self.blocks() * self.lanes
    }

    /// Values of a row of gates, `[block][gate][lane]`.
    #[must_use]
    pub fn gates_width(&self) -> usize {
        self.input.columns()
    }

    /// Whether a step takes two sweeps, [`step`](Self::step) and then [`step_candidate`](Self::step_candidate).
    #[must_use]
    pub fn has_two_sweeps(&self) -> bool {
        self.kind.resets_before_product()
    }

    /// Bytes of input weights and of hidden weights that one block takes.
    #[must_use]
    pub fn block_bytes(&self) -> (usize, usize) {
        (self.input.block_bytes(), self.hidden.block_bytes() + self.candidate.block_bytes())
    }

    /// The packed weights as bytes, block after block: those of the input, the hidden ones, and those of the second sweep
    /// (empty if there is none). For priming caches.
    #[must_use]
    pub fn weight_bytes(&self) -> [&[u8]; 3] {
        [self.input.bytes(), self.hidden.bytes(), self.candidate.bytes()]
    }

    /// Bytes of work space of [`product`](Self::product) for so many rows: 0 unless weights are int8.
    #[must_use]
    pub fn product_scratch_bytes(&self, rows: usize) -> usize {
        if self.precision == Precision::Int8 { quantise::scratch_bytes(rows, self.input.depth()) } else { 0 }
    }

    /// Bytes of work space of [`step`](Self::step) for so many rows: 0 unless weights are int8 or a step takes two sweeps.
    #[must_use]
    pub fn step_scratch_bytes(&self, rows: usize) -> usize {
        let quantised = match self.precision {
            Precision::Int8 => quantise::scratch_bytes(rows, self.hidden.depth()),
            Precision::F32 | Precision::Bf16 => 0,
        };
        let gates = if self.has_two_sweeps() { 4 * rows * self.gates_width() } else { 0 };
        gates + quantised + self.product_scratch_bytes(rows)
    }

    /// Computes start gates, the time-independent part: products of input rows plus biases.
    ///
    /// A GRU that resets after the product keeps the hidden bias of n out of them.
    ///
    /// # Safety
    /// - `args.blocks` lies within `0..self.blocks()`.
    /// - `args.rows.bases` has `args.samples` pointers; every row `(step, sample)` lies within one allocation with its base
    ///   and has as many readable values as the cell has inputs.
    /// - In each output row the values of `args.blocks` can be written, and nothing else reads or writes them meanwhile.
    /// - `args.scratch` is as its documentation says.
    pub unsafe fn product(&self, args: &Product) {
        debug_assert!(args.blocks.end <= self.blocks());
        // SAFETY: `table` checked that the processor has the instructions; the rest is the caller's duty.
        unsafe { (self.table.product)(&self.input, args) }
    }

    /// Computes one step; for [`GruReset::BeforeProduct`] the first of its two sweeps, which leaves `args.hidden` alone.
    ///
    /// # Safety
    /// - `args.blocks` lies within `0..self.blocks()`.
    /// - `args.start` has `args.rows` rows: of gates, with the values of `args.blocks` readable; or of inputs.
    /// - `args.previous` has `args.rows` rows of as many readable values as there are units.
    /// - `args.hidden` has `args.rows` rows, in which the units of `args.blocks` can be written.
    /// - LSTM: in `args.rows` rows of `args.cell` the [`padded_hidden`](Self::padded_hidden) values of `args.blocks` can be read
    ///   and written.
    /// - [`GruReset::BeforeProduct`]: `args.between` has `args.rows` rows: of `units` values each in `reset_hidden`, of
    ///   `padded_hidden` in `update`, writable in `args.blocks`.
    /// - Nothing else writes what is read, or reads or writes what is written, meanwhile. What is written does not overlap
    ///   with what is read; the cell states and `update` apart.
    /// - `args.scratch` is as its documentation says.
    pub unsafe fn step(&self, args: &Step) {
        debug_assert!(args.blocks.end <= self.blocks());
        // SAFETY: `table` checked that the processor has the instructions; the rest is the caller's duty.
        unsafe {
            match self.kind {
                Cell::Lstm => (self.table.lstm)(self, args),
                Cell::Gru(GruReset::AfterProduct) => (self.table.gru)(self, args),
                Cell::Gru(GruReset::BeforeProduct) => {
                    if let Start::Input(rows) = args.start {
                        self.product(&self.start_gates(args, rows));
                    }
                    (self.table.gru_gates)(self, &self.started(args));
                }
                Cell::Rnn(_) => (self.table.rnn)(self, args),
            }
        }
    }

    /// Computes the second sweep of a step of [`GruReset::BeforeProduct`]; nothing for the other cells.
    ///
    /// # Safety
    /// - As [`step`](Self::step), and the first sweep over *all* blocks of this step has been done, by whichever threads.
    /// - With [`Start::Input`] the first sweep over `args.blocks` had the same work space, which is as it was left.
    pub unsafe fn step_candidate(&self, args: &Step) {
        debug_assert!(args.blocks.end <= self.blocks());
        if self.has_two_sweeps() {
            // SAFETY: `table` checked that the processor has the instructions; the rest is the caller's duty.
            unsafe { (self.table.gru_candidate)(self, &self.started(args)) }
        }
    }

    /// The product that makes a step's start gates in its work space. A step of two sweeps has no use for more fusion.
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

    /// The same step, started from the gates that [`start_gates`](Self::start_gates) made in its work space.
    fn started(&self, step: &Step) -> Step {
        let mut step = step.clone();
        if let Start::Input(_) = step.start {
            let (gates, row_stride) = (step.scratch.cast::<f32>(), self.gates_width());
            step.start = Start::Gates { gates, row_stride };
            step.scratch = gates.wrapping_add(step.rows * row_stride).cast();
        }
        step
    }

    /// Hidden bias of n of a block's units.
    #[inline(always)]
    pub(crate) fn candidate_bias(&self, block: usize) -> *const f32 {
        self.candidate_bias.values().as_ptr().wrapping_add(block * self.lanes)
    }

    /// Whether the cell has peepholes.
    #[inline(always)]
    pub(crate) fn has_peepholes(&self) -> bool {
        self.peepholes.is_some()
    }

    /// Peepholes of a block, `[i, f, o][lane]`, if there are any.
    #[inline(always)]
    pub(crate) fn peepholes(&self, block: usize) -> Option<*const f32> {
        let all = self.peepholes.as_ref()?;
        Some(all.values().as_ptr().wrapping_add(block * 3 * self.lanes))
    }
}

fn check_sizes(spec: &CellSpec, weights: &CellWeights<'_>) {
    let CellSpec { kind, input, hidden, .. } = *spec;
    assert!(input > 0 && hidden > 0, "a cell of {input} inputs and {hidden} units");
    let rows = kind.gate_count() * hidden;
    assert_eq!(weights.input.len(), rows * input, "size of the input weights");
    assert_eq!(weights.hidden.len(), rows * hidden, "size of the hidden weights");
    for (name, bias) in [("input", weights.input_bias), ("hidden", weights.hidden_bias)] {
        assert!(bias.is_empty() || bias.len() == rows, "size of the {name} bias");
    }
    let peepholes = weights.peepholes.len();
    assert!(peepholes == 0 || (kind == Cell::Lstm && peepholes == 3 * hidden), "size of the peepholes");
    assert!(spec.clip.is_none_or(|clip| clip > 0.0), "a clip that is not positive");
}

/// What packing needs to know.
struct Packing<'a> {
    spec: &'a CellSpec,
    weights: &'a CellWeights<'a>,
    lanes: usize,
    zero_point: i32,
}

impl Packing<'_> {
    fn blocks(&self) -> usize {
        self.spec.hidden.div_ceil(self.lanes)
    }

    /// Row of the weights for a gate of a unit, unless the unit is padding.
    fn row(&self, block: usize, gate: usize, lane: usize) -> Option<usize> {
        let unit = block * self.lanes + lane;
        (unit < self.spec.hidden).then_some(gate * self.spec.hidden + unit)
    }

    fn input(&self) -> Matrix {
        let gates = self.spec.kind.gate_count();
        let shape = self.shape(self.spec.input, gates);
        Matrix::pack(self.spec.precision, shape, |block, gate, lane| {
            let row = self.row(block, gate, lane)?;
            let bias = value(self.weights.input_bias, row);
            // Both biases go here, except where the reset gate acts on the hidden one.
            let apart = self.spec.kind == Cell::Gru(GruReset::AfterProduct) && gate == 2;
            let bias = if apart { bias } else { bias + value(self.weights.hidden_bias, row) };
            Some((&self.weights.input[row * self.spec.input..][..self.spec.input], bias))
        })
    }

    /// Hidden weights of `gates` gates from `first` on.
    fn hidden(&self, first: usize, gates: usize) -> Matrix {
        let units = self.spec.hidden;
        Matrix::pack(self.spec.precision, self.shape(units, gates), |block, gate, lane| {
            let row = self.row(block, first + gate, lane)?;
            Some((&self.weights.hidden[row * units..][..units], 0.0))
        })
    }

    fn shape(&self, depth: usize, vectors: usize) -> MatrixShape {
        let (blocks, lanes) = (self.blocks(), self.lanes);
        let columns = blocks * vectors * lanes;
        MatrixShape { depth, vectors, blocks, lanes, columns, zero_point: self.zero_point }
    }

    fn candidate_bias(&self) -> Buffer {
        let mut bias = Buffer::zeroed(self.blocks() * self.lanes);
        if self.spec.kind == Cell::Gru(GruReset::AfterProduct) {
            for (unit, place) in bias.values_mut().iter_mut().enumerate().take(self.spec.hidden) {
                *place = value(self.weights.hidden_bias, 2 * self.spec.hidden + unit);
            }
        }
        bias
    }

    fn peepholes(&self) -> Option<Buffer> {
        if self.weights.peepholes.is_empty() {
            return None;
        }
        let mut packed = Buffer::zeroed(self.blocks() * 3 * self.lanes);
        for (index, place) in packed.values_mut().iter_mut().enumerate() {
            let (block, which, lane) = (index / self.lanes / 3, index / self.lanes % 3, index % self.lanes);
            if let Some(row) = self.row(block, which, lane) {
                *place = self.weights.peepholes[row];
            }
        }
        Some(packed)
    }
}

/// A value of a bias that may be empty.
fn value(bias: &[f32], row: usize) -> f32 {
    bias.get(row).copied().unwrap_or(0.0)
}

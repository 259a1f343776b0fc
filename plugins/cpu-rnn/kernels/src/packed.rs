//! The packed weights of a cell, as its kernels read them.

use proctor_rnn_layer::{Cell, GruReset, Precision};

use crate::buffer::Buffer;
use crate::matrix::{Matrix, MatrixShape};

/// Weights of one direction as in models: row-major, gates one after another in the order of [`Cell`].
#[derive(Debug, Clone, Copy)]
pub struct DirectionWeights<'a> {
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

/// The weights of one direction of a layer, in blocks of one vector of units; the last block is padded with zeros
/// or, where that spares vectors, has its columns side by side.
#[derive(Debug)]
pub(crate) struct PackedWeights {
    pub(crate) kind: Cell,
    pub(crate) input: Matrix,
    /// All gates; r and z only where the reset gate acts before the product.
    pub(crate) hidden: Matrix,
    /// [`GruReset::BeforeProduct`]: the hidden weights of n. Empty otherwise.
    pub(crate) candidate: Matrix,
    /// Infinity for none.
    pub(crate) clip: f32,
    /// [`GruReset::AfterProduct`]: hidden bias of n, `[block][lane]`. Zeros otherwise.
    candidate_bias: Buffer,
    /// `[block][i, f, o][lane]`.
    peepholes: Option<Buffer>,
    /// Number of units of a block.
    pub(crate) lanes: usize,
}

impl PackedWeights {
    /// Packs weights for vectors of `lanes` values; quantised activations are stored with `zero_point` added.
    ///
    /// # Panics
    /// If a weight has another size than the spec says, or if a size is 0.
    pub(crate) fn new(
        spec: &CellSpec,
        weights: &DirectionWeights<'_>,
        lanes: usize,
        zero_point: i32,
    ) -> Self {
        check_sizes(spec, weights);
        let packing = Packing { spec, weights, lanes, zero_point };
        let first_sweep = if spec.kind.resets_before_product() { 2 } else { spec.kind.gate_count() };
        Self {
            kind: spec.kind,
            input: packing.input(),
            hidden: packing.hidden(0, first_sweep),
            candidate: packing.hidden(first_sweep, spec.kind.gate_count() - first_sweep),
            clip: spec.clip.unwrap_or(f32::INFINITY),
            candidate_bias: packing.candidate_bias(),
            peepholes: packing.peepholes(),
            lanes,
        }
    }

    /// Returns the hidden bias of n of a block's units.
    #[inline(always)]
    pub(crate) fn candidate_bias(&self, block: usize) -> *const f32 {
        self.candidate_bias.values().as_ptr().wrapping_add(block * self.lanes)
    }

    /// Returns whether the cell has peepholes.
    #[inline(always)]
    pub(crate) fn has_peepholes(&self) -> bool {
        self.peepholes.is_some()
    }

    /// Returns the peepholes of a block, `[i, f, o][lane]`, if there are any.
    #[inline(always)]
    pub(crate) fn peepholes(&self, block: usize) -> Option<*const f32> {
        let all = self.peepholes.as_ref()?;
        Some(all.values().as_ptr().wrapping_add(block * 3 * self.lanes))
    }
}

fn check_sizes(spec: &CellSpec, weights: &DirectionWeights<'_>) {
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

/// The packing of a cell's weights.
struct Packing<'a> {
    spec: &'a CellSpec,
    weights: &'a DirectionWeights<'a>,
    lanes: usize,
    zero_point: i32,
}

impl Packing<'_> {
    fn blocks(&self) -> usize {
        self.spec.hidden.div_ceil(self.lanes)
    }

    /// Returns the row of the weights for a gate of a unit, unless the unit is padding.
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

    /// Returns the hidden weights of `gates` gates from `first` on.
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
        // The sweeps of a cell that has two take vectors of several blocks at once, which have to lie alike.
        let last_units = (vectors >= 3).then(|| self.spec.hidden - (blocks - 1) * lanes);
        MatrixShape { depth, vectors, blocks, lanes, columns, last_units, zero_point: self.zero_point }
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

/// Returns a value of a bias that may be empty.
fn value(bias: &[f32], row: usize) -> f32 {
    bias.get(row).copied().unwrap_or(0.0)
}

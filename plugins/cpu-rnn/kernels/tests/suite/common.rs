//! Shared by the kernel tests: numbers, a driver of one step, and the same step in plain f64 code.

use proctor_rnn_kernels::{
    Between, Buffer, CellSpec, DirectionWeights, Isa, PackedCell, Product, Rows, RowsMut, Start, Step,
};
use proctor_rnn_layer::{Cell, GruReset, Precision, RnnActivation};

/// Numbers that look random, the same in every run.
pub struct Numbers(pub u64);

impl Numbers {
    /// The next number, uniform in -1 .. 1.
    pub fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 40) as f32 / (1 << 23) as f32) - 1.0
    }

    pub fn vector(&mut self, count: usize, scale: f32) -> Vec<f32> {
        (0..count).map(|_| self.next() * scale).collect()
    }
}

/// The weights of a cell, owned.
#[derive(Clone)]
pub struct Model {
    pub spec: CellSpec,
    pub input: Vec<f32>,
    pub hidden: Vec<f32>,
    pub input_bias: Vec<f32>,
    pub hidden_bias: Vec<f32>,
    pub peepholes: Vec<f32>,
}

impl Model {
    pub fn new(spec: CellSpec, peepholes: bool, numbers: &mut Numbers) -> Self {
        let rows = spec.kind.gate_count() * spec.hidden;
        let scale = 1.0 / (spec.hidden.max(spec.input) as f32).sqrt();
        Self {
            spec,
            input: numbers.vector(rows * spec.input, scale),
            hidden: numbers.vector(rows * spec.hidden, scale),
            input_bias: numbers.vector(rows, 0.3),
            hidden_bias: numbers.vector(rows, 0.3),
            peepholes: if peepholes { numbers.vector(3 * spec.hidden, 0.5) } else { Vec::new() },
        }
    }

    pub fn pack(&self, isa: Isa) -> PackedCell {
        let weights = DirectionWeights {
            input: &self.input,
            hidden: &self.hidden,
            input_bias: &self.input_bias,
            hidden_bias: &self.hidden_bias,
            peepholes: &self.peepholes,
        };
        PackedCell::new(isa, &self.spec, &weights)
    }
}

/// Inputs and states of a batch before a step.
#[derive(Clone)]
pub struct State {
    /// `[row][input]`.
    pub input: Vec<Vec<f32>>,
    /// `[row][hidden]`; `None` for zeros.
    pub hidden: Option<Vec<Vec<f32>>>,
    /// `[row][hidden]`.
    pub cell: Vec<Vec<f32>>,
}

impl State {
    pub fn new(spec: &CellSpec, rows: usize, with_hidden: bool, numbers: &mut Numbers) -> Self {
        let mut rows_of =
            |count, scale| -> Vec<Vec<f32>> { (0..rows).map(|_| numbers.vector(count, scale)).collect() };
        Self {
            input: rows_of(spec.input, 1.0),
            hidden: with_hidden.then(|| rows_of(spec.hidden, 1.0)),
            cell: rows_of(spec.hidden, 1.5),
        }
    }
}

/// Hidden and cell states after a step, `[row][hidden]`.
pub struct After {
    pub hidden: Vec<Vec<f32>>,
    pub cell: Vec<Vec<f32>>,
}

/// How a step is driven.
#[derive(Clone, Copy)]
pub struct Manner {
    /// Both products in one sweep, instead of the input product first.
    pub fused: bool,
    pub descending: bool,
    /// The blocks in two calls, cut here.
    pub cut: usize,
}

/// Value on both sides of every written row, which must stay.
const GUARD: f32 = 77.25;

/// Runs one step of a packed cell.
pub fn run(cell: &PackedCell, state: &State, manner: Manner) -> After {
    let (rows, units, padded) = (state.input.len(), cell.units(), cell.padded_hidden());
    let width = cell.gates_width();
    let inputs: Vec<*const f32> = state.input.iter().map(|row| row.as_ptr()).collect();
    let before: Option<Vec<*const f32>> =
        state.hidden.as_ref().map(|all| all.iter().map(|row| row.as_ptr()).collect());
    let mut hidden = vec![vec![GUARD; units + 1]; rows];
    let after: Vec<*mut f32> = hidden.iter_mut().map(|row| row.as_mut_ptr()).collect();
    let mut reset = vec![vec![GUARD; units + 1]; rows];
    let resets: Vec<*mut f32> = reset.iter_mut().map(|row| row.as_mut_ptr()).collect();
    let mut update = Buffer::zeroed(rows * padded);
    let mut cells = Buffer::zeroed(rows * padded);
    for (row, values) in state.cell.iter().enumerate() {
        cells.values_mut()[row * padded..][..units].copy_from_slice(values);
    }
    let mut gates = Buffer::zeroed(rows * width);
    let mut scratch =
        Buffer::zeroed_bytes(cell.step_scratch_bytes(rows).max(cell.product_scratch_bytes(rows)));
    let scratch = scratch.bytes_mut().as_mut_ptr();
    let input = Rows { bases: inputs.as_ptr(), offset: 0 };
    let ranges = [0..manner.cut.min(cell.blocks()), manner.cut.min(cell.blocks())..cell.blocks()];
    let gates_start = gates.values_mut().as_mut_ptr();
    for blocks in ranges.clone() {
        let product = Product {
            blocks,
            rows: input,
            samples: rows,
            steps: 1,
            step_stride: 0,
            output: gates_start,
            output_step_stride: 0,
            output_row_stride: width,
            scratch,
        };
        // SAFETY: every pointer is that of a vector of the size which the cell wants, and nothing else runs.
        unsafe { cell.product(&product) };
    }
    let start = if manner.fused {
        Start::Input(input)
    } else {
        Start::Gates { gates: gates_start, row_stride: width }
    };
    let steps = ranges.map(|blocks| Step {
        blocks,
        descending: manner.descending,
        rows,
        start,
        previous: before.as_ref().map(|bases| Rows { bases: bases.as_ptr(), offset: 0 }),
        hidden: RowsMut { bases: after.as_ptr(), offset: 0 },
        cell: cells.values_mut().as_mut_ptr(),
        cell_stride: padded,
        between: Between {
            reset_hidden: RowsMut { bases: resets.as_ptr(), offset: 0 },
            update: update.values_mut().as_mut_ptr(),
            update_stride: padded,
        },
        scratch,
    });
    for step in &steps {
        // SAFETY: as above.
        unsafe { cell.step(step) };
    }
    for step in &steps {
        // SAFETY: as above; the first sweep of all blocks is done.
        unsafe { cell.step_candidate(step) };
    }
    for row in hidden.iter_mut().chain(&mut reset) {
        assert_eq!(row.pop(), Some(GUARD), "nothing beyond the last unit is written");
    }
    let cell_rows = (0..rows).map(|row| cells.values()[row * padded..][..units].to_vec()).collect();
    After { hidden, cell: cell_rows }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// `matrix * vector + bias`.
fn product(matrix: &[f32], vector: &[f64], bias: &[f32]) -> Vec<f64> {
    let rows = matrix.chunks_exact(vector.len()).zip(bias);
    rows.map(|(row, bias)| {
        row.iter().zip(vector).map(|(a, b)| f64::from(*a) * b).sum::<f64>() + f64::from(*bias)
    })
    .collect()
}

/// One step of one row in f64.
pub fn reference(model: &Model, state: &State, row: usize) -> (Vec<f64>, Vec<f64>) {
    let units = model.spec.hidden;
    let wide = |values: &[f32]| -> Vec<f64> { values.iter().copied().map(f64::from).collect() };
    let before = state.hidden.as_ref().map_or(vec![0.0; units], |all| wide(&all[row]));
    let mut cell = wide(&state.cell[row]);
    let clip = |x: f64| model.spec.clip.map_or(x, |bound| x.clamp(-f64::from(bound), f64::from(bound)));
    let from_input = product(&model.input, &wide(&state.input[row]), &model.input_bias);
    let from_hidden = product(&model.hidden, &before, &model.hidden_bias);
    let sum = |gate: usize, unit: usize| from_input[gate * units + unit] + from_hidden[gate * units + unit];
    let peephole =
        |which: usize, unit: usize| model.peepholes.get(which * units + unit).copied().map_or(0.0, f64::from);
    let reset: Vec<f64> = (0..units).map(|unit| sigmoid(clip(sum(0, unit)))).collect();
    let scaled: Vec<f64> = reset.iter().zip(&before).map(|(r, h)| r * h).collect();
    let hidden = (0..units).map(|unit| match model.spec.kind {
        Cell::Lstm => {
            let i = sigmoid(clip(sum(0, unit) + peephole(0, unit) * cell[unit]));
            let f = sigmoid(clip(sum(1, unit) + peephole(1, unit) * cell[unit]));
            let c = f * cell[unit] + i * clip(sum(2, unit)).tanh();
            cell[unit] = c;
            sigmoid(clip(sum(3, unit) + peephole(2, unit) * c)) * clip(c).tanh()
        }
        Cell::Gru(_) => {
            let at = 2 * units + unit;
            let candidate = if model.spec.kind == Cell::Gru(GruReset::AfterProduct) {
                reset[unit] * from_hidden[at]
            } else {
                let row = &model.hidden[at * units..][..units];
                product(row, &scaled, &model.hidden_bias[at..=at])[0]
            };
            let z = sigmoid(clip(sum(1, unit)));
            (1.0 - z) * clip(from_input[at] + candidate).tanh() + z * before[unit]
        }
        Cell::Rnn(RnnActivation::Tanh) => clip(sum(0, unit)).tanh(),
        Cell::Rnn(RnnActivation::Relu) => clip(sum(0, unit)).max(0.0),
    });
    (hidden.collect(), cell)
}

/// The largest difference of a step's states from the f64 reference.
pub fn error(model: &Model, state: &State, after: &After) -> f64 {
    let mut largest = 0.0_f64;
    for row in 0..state.input.len() {
        let (hidden, cell) = reference(model, state, row);
        let pairs = hidden.iter().zip(&after.hidden[row]).chain(cell.iter().zip(&after.cell[row]));
        for (expected, got) in pairs {
            let difference = (expected - f64::from(*got)).abs();
            // A NaN is the largest error of all.
            largest = if difference.is_nan() { f64::INFINITY } else { largest.max(difference) };
        }
    }
    largest
}

/// A spec without a clip.
pub fn spec(kind: Cell, input: usize, hidden: usize, precision: Precision) -> CellSpec {
    CellSpec { kind, input, hidden, clip: None, precision }
}

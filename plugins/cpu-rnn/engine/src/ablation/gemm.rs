//! The first two ways: parallel products, and an element-wise part on the calling thread.

use proctor_rnn_kernels::{Isa, PackedLinear, Product, Rows, activation};

use super::Sizes;
use crate::execution::split::part;
use crate::team::Team;

/// States and sums of a step.
#[derive(Debug)]
pub(super) struct GemmState {
    sizes: Sizes,
    /// Sums of the gates: `[gate][batch][hidden]` or, fused, `[batch][gate][hidden]`.
    sums: Vec<f32>,
    hidden_sums: Vec<f32>,
    /// `[batch][hidden]`.
    cell: Vec<f32>,
    hidden: Vec<f32>,
    /// `[batch][input + hidden]`: the operand of the fused product.
    operand: Vec<f32>,
}

/// First row of the input and of the output of a parallel product.
struct FirstRows {
    input: *const f32,
    output: *mut f32,
}

// SAFETY: all threads of a region read the input, which none of them writes, and each writes columns of the output that
// no other thread uses: see `product`.
unsafe impl Sync for FirstRows {}

impl GemmState {
    pub(super) fn new(sizes: Sizes) -> Self {
        let Sizes { input, hidden, batch, .. } = sizes;
        Self {
            sizes,
            sums: vec![0.0; 4 * batch * hidden],
            hidden_sums: vec![0.0; 4 * batch * hidden],
            cell: vec![0.0; batch * hidden],
            hidden: vec![0.0; batch * hidden],
            operand: vec![0.0; batch * (input + hidden)],
        }
    }

    /// Computes eight products for each step.
    pub(super) fn run_gates(
        &mut self,
        input_gates: &[PackedLinear],
        hidden_gates: &[PackedLinear],
        team: &mut Team,
        input: &[f32],
        output: &mut [f32],
    ) {
        let Sizes { input: width, hidden, batch, time } = self.sizes;
        let states = batch * hidden;
        self.clear();
        for step in 0..time {
            let rows = &input[step * batch * width..][..batch * width];
            for gate in 0..4 {
                product(team, &input_gates[gate], rows, &mut self.sums[gate * states..][..states]);
                let sums = &mut self.hidden_sums[gate * states..][..states];
                product(team, &hidden_gates[gate], &self.hidden, sums);
            }
            for (sum, more) in self.sums.iter_mut().zip(&self.hidden_sums) {
                *sum += more;
            }
            let (sums, cell) = (&mut self.sums, &mut self.cell);
            let [i, f, g, o] = gates(sums, states);
            advance([i, f, g, o], cell, &mut self.hidden);
            output[step * states..][..states].copy_from_slice(&self.hidden);
        }
    }

    /// Computes one product for each step.
    pub(super) fn run_fused(
        &mut self,
        fused: &PackedLinear,
        team: &mut Team,
        input: &[f32],
        output: &mut [f32],
    ) {
        let Sizes { input: width, hidden, batch, time } = self.sizes;
        let states = batch * hidden;
        self.clear();
        for step in 0..time {
            for (sample, operand) in self.operand.chunks_exact_mut(width + hidden).enumerate() {
                operand[..width].copy_from_slice(&input[(step * batch + sample) * width..][..width]);
                operand[width..].copy_from_slice(&self.hidden[sample * hidden..][..hidden]);
            }
            product(team, fused, &self.operand, &mut self.sums);
            for (sample, sums) in self.sums.chunks_exact_mut(4 * hidden).enumerate() {
                let own = sample * hidden..(sample + 1) * hidden;
                advance(gates(sums, hidden), &mut self.cell[own.clone()], &mut self.hidden[own]);
            }
            output[step * states..][..states].copy_from_slice(&self.hidden);
        }
    }

    fn clear(&mut self) {
        self.cell.fill(0.0);
        self.hidden.fill(0.0);
    }
}

/// Cuts four gates of the same size apart.
fn gates(sums: &mut [f32], size: usize) -> [&mut [f32]; 4] {
    let (i, rest) = sums.split_at_mut(size);
    let (f, rest) = rest.split_at_mut(size);
    let (g, o) = rest.split_at_mut(size);
    [i, f, g, o]
}

/// Computes the element-wise part of an LSTM.
fn advance([i, f, g, o]: [&mut [f32]; 4], cell: &mut [f32], hidden: &mut [f32]) {
    let isa = Isa::best();
    for gate in [&mut *i, &mut *f, &mut *o] {
        activation::sigmoid(isa, gate);
    }
    activation::tanh(isa, g);
    for (((c, i), f), g) in cell.iter_mut().zip(i).zip(f).zip(g) {
        *c = *f * *c + *i * *g;
    }
    hidden.copy_from_slice(cell);
    activation::tanh(isa, hidden);
    for (h, o) in hidden.iter_mut().zip(o) {
        *h *= *o;
    }
}

/// Computes a parallel product: a region in which each thread computes some columns of all rows.
fn product(team: &mut Team, weights: &PackedLinear, input: &[f32], output: &mut [f32]) {
    /// Kernels take four blocks at once.
    const PANEL: usize = 4;
    let rows = input.len() / weights.inputs();
    assert_eq!(output.len(), rows * weights.outputs(), "size of a product");
    let first = FirstRows { input: input.as_ptr(), output: output.as_mut_ptr() };
    team.run(|member| {
        // The whole, which threads may share; its fields they may not.
        let first = &first;
        let panels = part(weights.blocks().div_ceil(PANEL), member.threads(), member.index());
        let args = Product {
            blocks: (panels.start * PANEL).min(weights.blocks())..(panels.end * PANEL).min(weights.blocks()),
            // Contiguous rows are the steps of a single sample, so one base is enough.
            rows: Rows { bases: &raw const first.input, offset: 0 },
            samples: 1,
            steps: rows,
            step_stride: weights.inputs() as isize,
            output: first.output,
            output_step_stride: weights.outputs(),
            output_row_stride: weights.outputs(),
            scratch: std::ptr::null_mut(),
        };
        // SAFETY: the blocks are cut off at the last one. There is one base for the one sample, and its `rows` steps
        // lie within `input`, `inputs` values each. `output` has `rows` rows of `outputs` values, as was checked, and
        // is borrowed mutably; `part` gives each thread blocks of its own, so no other thread uses these columns. The
        // weights are f32 (see `Ablation::new`), which need no work space.
        unsafe { weights.product(&args) };
    });
}

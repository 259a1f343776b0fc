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

/// A place that the threads of a region write, each its own columns.
#[derive(Clone, Copy)]
struct Shared<T>(T);

// SAFETY: see `product`: each thread reads what no thread writes and writes columns of its own.
unsafe impl<T> Sync for Shared<T> {}

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

    /// Eight products for each step.
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

    /// One product for each step.
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

/// The element-wise part of an LSTM.
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

/// A parallel product: a region in which each thread computes some columns of all rows.
fn product(team: &mut Team, weights: &PackedLinear, input: &[f32], output: &mut [f32]) {
    /// Kernels take four blocks at once.
    const PANEL: usize = 4;
    let rows = input.len() / weights.inputs();
    assert_eq!(output.len(), rows * weights.outputs(), "size of a product");
    // One row at a time in the base list would not do: a product wants the bases of all samples. Contiguous rows are
    // steps of a single sample just as well.
    let base = Shared([input.as_ptr()]);
    let to = Shared(output.as_mut_ptr());
    team.run(|member| {
        let (base, to) = (&base, &to);
        let panels = part(weights.blocks().div_ceil(PANEL), member.threads(), member.index());
        let args = Product {
            blocks: (panels.start * PANEL).min(weights.blocks())..(panels.end * PANEL).min(weights.blocks()),
            rows: Rows { bases: base.0.as_ptr(), offset: 0 },
            samples: 1,
            steps: rows,
            step_stride: weights.inputs() as isize,
            output: to.0,
            output_step_stride: weights.outputs(),
            output_row_stride: weights.outputs(),
            scratch: std::ptr::null_mut(),
        };
        // SAFETY: the sizes were checked above; the threads' columns are disjoint, no thread writes the input, and f32
        // weights need no work space.
        unsafe { weights.product(&args) };
    });
}

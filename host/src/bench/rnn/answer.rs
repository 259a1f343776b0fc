//! What a layer should put out, in f64: what every system is judged by.
//!
//! Plain loops with sums in f64, written apart from every engine. Rows are taken four at a time, so that a row of weights
//! is read once for all of them.

use std::{ops::Range, thread};

use super::{
    cases::{Kind, LayerCase},
    problem::{DirectionWeights, Problem},
};

/// Largest absolute difference from the f64 answer at which an f32 answer counts as the same: what the systems reach that
/// compute in f32, with room for another order of sums.
pub(super) const TOLERANCE: f64 = 5e-6;

/// Rows of a product that share a pass over the weights.
const ROWS: usize = 4;
/// Columns of such a pass: their sums stay in the first level of cache.
const COLUMNS: usize = 256;

/// The output `[time, batch, direction * hidden]`.
pub(super) fn answer(problem: &Problem) -> Vec<f64> {
    let LayerCase { hidden, batch, time, .. } = problem.layer;
    let directions = problem.layer.direction_count();
    let halves = [0..batch.div_ceil(2), batch.div_ceil(2)..batch];
    let mut output = vec![0.0; time * batch * directions * hidden];
    for number in 0..directions {
        let weights = Weights::new(problem, number);
        // Sequences do not know of each other, so each half of them has a thread.
        let parts = thread::scope(|scope| {
            let run = |samples: &Range<usize>| {
                let (samples, weights) = (samples.clone(), &weights);
                scope.spawn(move || direction(problem, weights, number, samples))
            };
            let threads: Vec<_> = halves.iter().map(run).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("plain sums do not panic"))
                .collect::<Vec<_>>()
        });
        for (samples, part) in halves.iter().zip(parts) {
            for (row, states) in part.chunks_exact(hidden).enumerate() {
                let (step, sample) = (row / samples.len(), samples.start + row % samples.len());
                let place = ((step * batch + sample) * directions + number) * hidden;
                output[place..][..hidden].copy_from_slice(states);
            }
        }
    }
    output
}

/// Largest absolute difference. A value that is no number differs infinitely, and so does an output of another size.
pub(super) fn max_abs_error(output: &[f32], answer: &[f64]) -> f64 {
    if output.len() != answer.len() {
        return f64::INFINITY;
    }
    let difference = |(got, wanted): (&f32, &f64)| (f64::from(*got) - wanted).abs();
    let worst =
        |worst: f64, difference: f64| if difference.is_nan() { f64::INFINITY } else { worst.max(difference) };
    output.iter().zip(answer).map(difference).fold(0.0, worst)
}

/// Weights of one direction with the outputs of one input side by side: `[input, gate * hidden]`.
struct Weights {
    input: Vec<f64>,
    hidden: Vec<f64>,
    input_bias: Vec<f64>,
    hidden_bias: Vec<f64>,
}

impl Weights {
    fn new(problem: &Problem, number: usize) -> Self {
        let DirectionWeights { input, hidden, input_bias, hidden_bias } = &problem.directions[number];
        let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect();
        Self {
            input: transposed(input, problem.layer.input),
            hidden: transposed(hidden, problem.layer.hidden),
            input_bias: wide(input_bias),
            hidden_bias: wide(hidden_bias),
        }
    }
}

fn transposed(matrix: &[f32], columns: usize) -> Vec<f64> {
    let rows = matrix.len() / columns;
    let column = |column: usize| (0..rows).map(move |row| f64::from(matrix[row * columns + column]));
    (0..columns).flat_map(column).collect()
}

/// Some samples in one direction: `[time, sample, hidden]`.
fn direction(problem: &Problem, weights: &Weights, number: usize, samples: Range<usize>) -> Vec<f64> {
    let LayerCase { kind, input, hidden, batch, time, .. } = problem.layer;
    let count = samples.len();
    let width = kind.gate_count() * hidden;
    let state = |values: &[f32]| -> Vec<f64> {
        match values.is_empty() {
            true => vec![0.0; count * hidden],
            false => values[(number * batch + samples.start) * hidden..][..count * hidden]
                .iter()
                .copied()
                .map(f64::from)
                .collect(),
        }
    };
    let mut state = State { hidden: state(&problem.initial_hidden), cell: state(&problem.initial_cell) };
    let mut output = vec![0.0; time * count * hidden];
    let (mut from_input, mut from_hidden) = (vec![0.0; count * width], vec![0.0; count * width]);
    for position in 0..time {
        let step = if number == 0 { position } else { time - 1 - position };
        let rows = &problem.input[(step * batch + samples.start) * input..][..count * input];
        let rows: Vec<f64> = rows.iter().copied().map(f64::from).collect();
        product(&rows, &weights.input, &weights.input_bias, &mut from_input);
        product(&state.hidden, &weights.hidden, &weights.hidden_bias, &mut from_hidden);
        if kind == Kind::Gru0 {
            scale_candidate(&state.hidden, weights, &from_input, &mut from_hidden);
        }
        for sample in 0..count {
            let gates = [&from_input, &from_hidden].map(|gates| &gates[sample * width..][..width]);
            state.advance(kind, sample * hidden..(sample + 1) * hidden, gates);
        }
        output[step * count * hidden..][..count * hidden].copy_from_slice(&state.hidden);
    }
    output
}

struct State {
    hidden: Vec<f64>,
    cell: Vec<f64>,
}

impl State {
    /// One step of one sample, whose states lie at `place`.
    fn advance(&mut self, kind: Kind, place: Range<usize>, [input, recurrent]: [&[f64]; 2]) {
        let units = place.len();
        let sum = |gate: usize, unit: usize| input[gate * units + unit] + recurrent[gate * units + unit];
        for (unit, at) in place.enumerate() {
            if kind == Kind::Lstm {
                let (i, f, o) = (sigmoid(sum(0, unit)), sigmoid(sum(1, unit)), sigmoid(sum(3, unit)));
                self.cell[at] = f * self.cell[at] + i * sum(2, unit).tanh();
                self.hidden[at] = o * self.cell[at].tanh();
            } else {
                let candidate = match kind {
                    Kind::Gru => sigmoid(sum(0, unit)) * recurrent[2 * units + unit],
                    // The gate is in the product already.
                    _ => recurrent[2 * units + unit],
                };
                let (z, n) = (sigmoid(sum(1, unit)), (input[2 * units + unit] + candidate).tanh());
                self.hidden[at] = (1.0 - z) * n + z * self.hidden[at];
            }
        }
    }
}

/// Of a GRU whose reset gate acts on the state: the third product again, of the scaled state.
fn scale_candidate(state: &[f64], weights: &Weights, from_input: &[f64], from_hidden: &mut [f64]) {
    let width = weights.hidden_bias.len();
    let units = width / 3;
    let mut scaled = state.to_vec();
    for (sample, states) in scaled.chunks_exact_mut(units).enumerate() {
        for (unit, state) in states.iter_mut().enumerate() {
            *state *= sigmoid(from_input[sample * width + unit] + from_hidden[sample * width + unit]);
        }
    }
    let mut all = vec![0.0; from_hidden.len()];
    product(&scaled, &weights.hidden, &weights.hidden_bias, &mut all);
    for (kept, new) in from_hidden.chunks_exact_mut(width).zip(all.chunks_exact(width)) {
        kept[2 * units..].copy_from_slice(&new[2 * units..]);
    }
}

/// `rows * matrix + bias` for rows `[row, k]` and a matrix `[k, n]`.
fn product(rows: &[f64], matrix: &[f64], bias: &[f64], output: &mut [f64]) {
    let width = bias.len();
    let depth = matrix.len() / width;
    output.chunks_exact_mut(width).for_each(|sums| sums.copy_from_slice(bias));
    for (rows, sums) in rows.chunks(ROWS * depth).zip(output.chunks_mut(ROWS * width)) {
        for start in (0..width).step_by(COLUMNS) {
            let columns = start..width.min(start + COLUMNS);
            if rows.len() == ROWS * depth {
                four(rows, matrix, sums, columns);
                continue;
            }
            for (row, sums) in rows.chunks_exact(depth).zip(sums.chunks_exact_mut(width)) {
                for (value, weights) in row.iter().zip(matrix.chunks_exact(width)) {
                    let pairs = sums[columns.clone()].iter_mut().zip(&weights[columns.clone()]);
                    pairs.for_each(|(sum, weight)| *sum += value * weight);
                }
            }
        }
    }
}

/// Some columns of four rows at a time.
fn four(rows: &[f64], matrix: &[f64], sums: &mut [f64], columns: Range<usize>) {
    let (depth, width) = (rows.len() / ROWS, sums.len() / ROWS);
    let mut parts = sums.chunks_exact_mut(width).map(|sums| &mut sums[columns.clone()]);
    let mut part = || parts.next().expect("there are four rows");
    let (a, b, c, d) = (part(), part(), part(), part());
    for (k, weights) in matrix.chunks_exact(width).enumerate() {
        let [in_a, in_b, in_c, in_d] = [0, 1, 2, 3].map(|row| rows[row * depth + k]);
        let sums = a.iter_mut().zip(b.iter_mut()).zip(c.iter_mut()).zip(d.iter_mut());
        for ((((a, b), c), d), weight) in sums.zip(&weights[columns.clone()]) {
            *a += in_a * weight;
            *b += in_b * weight;
            *c += in_c * weight;
            *d += in_d * weight;
        }
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(kind: Kind, bidirectional: bool, time: usize) -> Problem {
        Problem::new(LayerCase { kind, bidirectional, input: 3, hidden: 5, batch: 6, time })
    }

    /// One step of one unit, term by term.
    #[test]
    fn one_step_of_an_lstm_is_its_equations() {
        let problem = problem(Kind::Lstm, false, 1);
        let weights = &problem.directions[0];
        let (sample, unit) = (4, 2);
        let gate = |number: usize| {
            let row = number * 5 + unit;
            let input = &weights.input[row * 3..][..3];
            let hidden = &weights.hidden[row * 5..][..5];
            let dot = |a: &[f32], b: &[f32]| -> f64 {
                a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
            };
            dot(input, &problem.input[sample * 3..][..3])
                + dot(hidden, &problem.initial_hidden[sample * 5..][..5])
                + f64::from(weights.input_bias[row])
                + f64::from(weights.hidden_bias[row])
        };
        let before = f64::from(problem.initial_cell[sample * 5 + unit]);
        let cell = sigmoid(gate(1)) * before + sigmoid(gate(0)) * gate(2).tanh();
        let expected = sigmoid(gate(3)) * cell.tanh();
        assert!((answer(&problem)[sample * 5 + unit] - expected).abs() < 1e-15);
    }

    #[test]
    fn the_answer_is_that_of_the_engine_s_reference() {
        for kind in [Kind::Lstm, Kind::Gru, Kind::Gru0] {
            for (bidirectional, time) in [(false, 1), (false, 7), (true, 1), (true, 4)] {
                let problem = problem(kind, bidirectional, time);
                let got: Vec<f32> = engine_answer(&problem);
                let error = max_abs_error(&got, &answer(&problem));
                // The reference rounds to f32 at its end.
                assert!(error < 1e-7, "{kind:?} {bidirectional} {time}: {error}");
            }
        }
    }

    fn engine_answer(problem: &Problem) -> Vec<f32> {
        use proctor_rnn_engine::{Call, DirectionWeights, LayerSpec, Sequences, SequencesMut, reference};
        let LayerCase { input, hidden, batch, time, .. } = problem.layer;
        let shape = problem.layer.shape(proctor_rnn_optimiser::Precision::F32);
        let (cell, directions, precision) = (shape.cell, shape.directions, shape.precision);
        let spec = LayerSpec { cell, directions, input, hidden, clip: None, precision };
        let width = problem.layer.direction_count() * hidden;
        let mut output = vec![0.0; time * batch * width];
        let given = |states: &'_ Vec<f32>| !states.is_empty();
        let mut call = Call {
            input: Sequences::time_major(&problem.input, time, batch, input),
            lengths: None,
            initial_hidden: given(&problem.initial_hidden).then_some(&problem.initial_hidden[..]),
            initial_cell: given(&problem.initial_cell).then_some(&problem.initial_cell[..]),
            output: SequencesMut::time_major(&mut output, time, batch, width),
            last_hidden: None,
            last_cell: None,
        };
        let weights: Vec<_> = problem
            .directions
            .iter()
            .map(|weights| DirectionWeights {
                input: &weights.input,
                hidden: &weights.hidden,
                input_bias: &weights.input_bias,
                hidden_bias: &weights.hidden_bias,
                peepholes: &[],
            })
            .collect();
        let weights: Vec<_> = weights.iter().map(reference::Weights::new).collect();
        reference::run(&spec, &weights, &mut call);
        output
    }

    #[test]
    fn an_output_that_is_no_number_differs_infinitely() {
        assert_eq!(max_abs_error(&[1.0, 2.5], &[1.0, 2.0]), 0.5);
        assert_eq!(max_abs_error(&[f32::NAN, 2.0], &[1.0, 2.0]), f64::INFINITY);
        assert_eq!(max_abs_error(&[1.0], &[1.0, 2.0]), f64::INFINITY);
    }
}

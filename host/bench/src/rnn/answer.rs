//! Computes the correct answer of a layer in f64, by which every system is judged.

use std::{ops::Range, thread};

use proctor_recurrent_layers::LayerState;

use super::{cases::LayerCase, problem::Problem};

/// Maximum absolute difference from the f64 answer at which an f32 answer counts as the same: the accuracy of
/// systems that compute in f32, with room for another order of sums.
pub(super) const TOLERANCE: f64 = 5e-6;

/// Returns the output `[time, batch, direction * hidden]`.
pub(super) fn answer(problem: &Problem) -> Vec<f64> {
    let LayerCase { hidden, batch, time, .. } = problem.layer;
    let directions = problem.layer.direction_count();
    let mut output = vec![0.0; time * batch * directions * hidden];
    for number in 0..directions {
        for (sample, states) in direction(problem, number).iter().enumerate() {
            for (step, states) in states.chunks_exact(hidden).enumerate() {
                let place = ((step * batch + sample) * directions + number) * hidden;
                output[place..][..hidden].copy_from_slice(states);
            }
        }
    }
    output
}

/// Returns all samples in one direction: `[time, hidden]` of each.
fn direction(problem: &Problem, number: usize) -> Vec<Vec<f64>> {
    let batch = problem.layer.batch;
    // Sequences are independent, so each half of them has a thread.
    let halves = [0..batch.div_ceil(2), batch.div_ceil(2)..batch];
    thread::scope(|scope| {
        let run = |samples: Range<usize>| {
            scope.spawn(|| samples.map(|sample| sequence(problem, number, sample)).collect::<Vec<_>>())
        };
        let threads = halves.map(run);
        threads.into_iter().flat_map(|thread| thread.join().expect("plain sums do not panic")).collect()
    })
}

/// Returns one sample in one direction: `[time, hidden]`.
fn sequence(problem: &Problem, number: usize, sample: usize) -> Vec<f64> {
    let LayerCase { kind, input, hidden, batch, time, .. } = problem.layer;
    let row = |step: usize| &problem.input[(step * batch + sample) * input..][..input];
    let x: Vec<f64> = (0..time).flat_map(row).copied().map(f64::from).collect();
    let state = |values: &[f32]| -> Vec<f64> {
        if values.is_empty() {
            return vec![0.0; hidden];
        }
        let values = &values[(number * batch + sample) * hidden..][..hidden];
        values.iter().copied().map(f64::from).collect()
    };
    let state = LayerState { hidden: state(&problem.initial_hidden), cell: state(&problem.initial_cell) };
    problem.directions[number].run(kind.cell(), &x, state, number == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{answers::distance, rnn::cases::Kind};

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
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
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
                let error = distance(&got, &answer(&problem));
                // The reference rounds to f32 at its end.
                assert!(error < 1e-7, "{kind:?} {bidirectional} {time}: {error}");
            }
        }
    }

    fn engine_answer(problem: &Problem) -> Vec<f32> {
        use proctor_rnn_engine::{LayerCall, Sequences, SequencesMut, reference};
        let LayerCase { input, hidden, batch, time, .. } = problem.layer;
        let width = problem.layer.direction_count() * hidden;
        let mut output = vec![0.0; time * batch * width];
        let given = |states: &'_ Vec<f32>| !states.is_empty();
        let mut call = LayerCall {
            input: Sequences::time_major(&problem.input, time, batch, input),
            lengths: None,
            initial_hidden: given(&problem.initial_hidden).then_some(&problem.initial_hidden[..]),
            initial_cell: given(&problem.initial_cell).then_some(&problem.initial_cell[..]),
            output: SequencesMut::time_major(&mut output, time, batch, width),
            last_hidden: None,
            last_cell: None,
        };
        reference::run(&problem.spec(), &problem.weights(), &mut call);
        output
    }
}

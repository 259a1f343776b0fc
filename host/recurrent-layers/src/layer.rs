//! Computes a recurrent layer by the plainest program that follows the equations, in f64: one step, one unit at a time.
//!
//! It shares no code with any plugin, and its answers are checked against another implementation's.

use proctor_recipes::RnnCell;

/// The parameters of one direction of a recurrent layer, with PyTorch's meaning and order of gates: LSTM i, f, g, o;
/// GRU r, z, n.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerDirection {
    /// `[gates * hidden, input]`, row-major.
    pub input: Vec<f32>,
    /// `[gates * hidden, hidden]`, row-major.
    pub hidden: Vec<f32>,
    /// `[gates * hidden]`.
    pub input_bias: Vec<f32>,
    /// `[gates * hidden]`.
    pub hidden_bias: Vec<f32>,
}

/// State of one sequence between two steps.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerState {
    /// `[hidden]`.
    pub hidden: Vec<f64>,
    /// `[hidden]`; only an LSTM has it.
    pub cell: Vec<f64>,
}

impl LayerState {
    /// Returns the state before a sequence that continues from nothing.
    #[must_use]
    pub fn zeros(hidden: usize) -> Self {
        Self { hidden: vec![0.0; hidden], cell: vec![0.0; hidden] }
    }
}

impl LayerDirection {
    /// Runs one sequence `x`, `[seq, input]`, from a state: the states after each step, `[seq, hidden]`. A reverse
    /// direction begins with the last step; each state is in the row of the step that led to it.
    ///
    /// # Panics
    /// If there are no inputs, or the sizes of weights and state do not fit each other.
    #[must_use]
    pub fn run(&self, cell: RnnCell, x: &[f64], mut state: LayerState, is_reverse: bool) -> Vec<f64> {
        let (rows, hidden) = (self.input_bias.len(), state.hidden.len());
        assert_eq!(rows, cell.gate_count() * hidden, "rows of the weights");
        assert_eq!(self.hidden.len(), rows * hidden, "weights of the state");
        let steps: Vec<_> = x.chunks_exact(self.input.len() / rows).collect();
        let mut y = vec![0.0; steps.len() * hidden];
        let mut outputs: Vec<_> = steps.into_iter().zip(y.chunks_exact_mut(hidden)).collect();
        if is_reverse {
            outputs.reverse();
        }
        for (x, y) in outputs {
            self.step(cell, x, &mut state);
            y.copy_from_slice(&state.hidden);
        }
        y
    }

    /// Returns the share of the input in each gate: `W x + b`, `[gates * hidden]`.
    fn of_input(&self, x: &[f64]) -> Vec<f64> {
        product(&self.input, x, &self.input_bias)
    }

    /// Returns the share of the state in each gate.
    fn of_state(&self, h: &[f64]) -> Vec<f64> {
        product(&self.hidden, h, &self.hidden_bias)
    }

    /// Runs one step: computes the next state and cell from the input and the last ones.
    fn step(&self, cell: RnnCell, x: &[f64], state: &mut LayerState) {
        let LayerState { hidden: h, cell: c } = state;
        let hidden = h.len();
        let (a, b) = (self.of_input(x), self.of_state(h));
        // Gate `gate` of unit `unit` without its non-linearity.
        let sum = |gate: usize, unit: usize| a[gate * hidden + unit] + b[gate * hidden + unit];
        let next: Vec<f64> = match cell {
            RnnCell::Lstm => {
                let mut next = Vec::with_capacity(hidden);
                for (unit, c) in c.iter_mut().enumerate() {
                    let [i, f, g, o] = [0, 1, 2, 3].map(|gate| sum(gate, unit));
                    *c = sigmoid(f) * *c + sigmoid(i) * g.tanh();
                    next.push(sigmoid(o) * c.tanh());
                }
                next
            }
            RnnCell::Gru | RnnCell::Gru0 => {
                let r: Vec<f64> = (0..hidden).map(|unit| sigmoid(sum(0, unit))).collect();
                // The third product is of the state, or of the part of it that the reset gate lets through.
                let reset_state: Vec<f64> = r.iter().zip(&*h).map(|(r, h)| r * h).collect();
                let third_of = |h: &[f64]| {
                    product(&self.hidden[2 * hidden * hidden..], h, &self.hidden_bias[2 * hidden..])
                };
                let of_reset = (cell == RnnCell::Gru0).then(|| third_of(&reset_state));
                let candidate = |unit: usize| {
                    let third = 2 * hidden + unit;
                    let of_state = of_reset.as_ref().map_or(r[unit] * b[third], |product| product[unit]);
                    (a[third] + of_state).tanh()
                };
                let blend = |unit: usize| {
                    let z = sigmoid(sum(1, unit));
                    (1.0 - z) * candidate(unit) + z * h[unit]
                };
                (0..hidden).map(blend).collect()
            }
            RnnCell::Rnn => (0..hidden).map(|unit| sum(0, unit).tanh()).collect(),
        };
        *h = next;
    }
}

/// Computes `weights vector + bias`; the rows of the weights are as long as the vector.
fn product(weights: &[f32], vector: &[f64], bias: &[f32]) -> Vec<f64> {
    let rows = weights.chunks_exact(vector.len());
    rows.zip(bias).map(|(row, bias)| dot(row, vector) + f64::from(*bias)).collect()
}

/// Returns the dot product, in eight sums that do not wait for each other.
fn dot(row: &[f32], vector: &[f64]) -> f64 {
    let ((rows, rest), (vectors, vector_rest)) = (row.as_chunks::<8>(), vector.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (row, vector) in rows.iter().zip(vectors) {
        for ((sum, weight), value) in sums.iter_mut().zip(row).zip(vector) {
            *sum += f64::from(*weight) * value;
        }
    }
    let rest: f64 = rest.iter().zip(vector_rest).map(|(weight, value)| f64::from(*weight) * value).sum();
    sums.iter().sum::<f64>() + rest
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One unit, two steps, and the equations written out.
    #[test]
    fn the_other_cells_follow_their_equations() {
        let one = |rows: usize| LayerDirection {
            input: (0..rows).map(|row| 0.5 - 0.25 * row as f32).collect(),
            hidden: (0..rows).map(|row| 0.75 - 0.5 * row as f32).collect(),
            input_bias: (0..rows).map(|row| 0.125 * row as f32).collect(),
            hidden_bias: (0..rows).map(|row| -0.25 + 0.125 * row as f32).collect(),
        };
        let x = [0.5, -1.0];
        let first = (0.5 * 0.5 - 0.25_f64).tanh();
        let second = (-0.5 + 0.75 * first - 0.25).tanh();
        assert_eq!(one(1).run(RnnCell::Rnn, &x, LayerState::zeros(1), false), [first, second]);

        let mut h = 0.0;
        let steps = x.map(|x: f64| {
            let r = sigmoid(0.5 * x + (0.75 * h - 0.25));
            let z = sigmoid(0.25 * x + 0.125 + (0.25 * h - 0.125));
            // The hidden product of the reset state: -0.25 (r h) + 0.
            let n = (0.0 * x + 0.25 + (-0.25 * (r * h))).tanh();
            h = (1.0 - z) * n + z * h;
            h
        });
        for (got, expected) in one(3).run(RnnCell::Gru0, &x, LayerState::zeros(1), false).iter().zip(steps) {
            assert!((got - expected).abs() < 1e-15, "{got} {expected}");
        }
    }

    #[test]
    fn the_reverse_direction_reads_from_the_end() {
        let identity = LayerDirection {
            input: vec![1.0],
            hidden: vec![1.0],
            input_bias: vec![0.0],
            hidden_bias: vec![0.0],
        };
        let run = |x: [f64; 3], is_reverse| identity.run(RnnCell::Rnn, &x, LayerState::zeros(1), is_reverse);
        let mut backwards = run([0.3, 0.2, 0.1], false);
        backwards.reverse();
        assert_eq!(run([0.1, 0.2, 0.3], true), backwards);
    }

    /// A state handed over between two parts of a sequence is the same as no break.
    #[test]
    fn a_sequence_goes_on_from_a_state() {
        let all = LayerDirection {
            input: vec![0.5, -0.25, 1.0, 0.75],
            hidden: vec![0.25, 0.5, -1.0, 0.125],
            input_bias: vec![0.0; 4],
            hidden_bias: vec![0.125; 4],
        };
        let mut state = LayerState::zeros(1);
        all.step(RnnCell::Lstm, &[0.5], &mut state);
        assert_ne!(state, LayerState::zeros(1));
        let whole = all.run(RnnCell::Lstm, &[0.5, -1.0], LayerState::zeros(1), false);
        assert_eq!(all.run(RnnCell::Lstm, &[-1.0], state, false), whole[1..]);
    }
}

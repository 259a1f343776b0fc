//! Layers of LSTM and GRU, one step of one sequence after the other.

use crate::{
    evaluate::{
        elementwise::sigmoid,
        operands::{Form, Operands, check_operand, check_same_type, check_shape},
    },
    op::{Cell, Direction, Recurrent},
    tensor::{Array, Values},
};

/// Returns the results Y, Y_h and Y_c that have a form. A sequence has as many steps as its length says, in
/// reverse the last of them comes first; after them Y is 0. Y_h and Y_c are the state after the last taken
/// step, or the initial state if there is none.
pub(super) fn recurrent(
    parameters: Recurrent,
    operands: &Operands<'_>,
    outputs: &[Option<Form<'_>>],
) -> Result<Vec<Array>, String> {
    let Recurrent { cell, hidden, direction, .. } = parameters;
    let ([x, w, r], [bias, lengths, initial_h, initial_c, peepholes]) = operands.take()?;
    let &[steps, batch, width] = x.shape.as_slice() else {
        return Err(format!("X of shape {:?}, not steps x batch x elements", x.shape));
    };
    if cell != Cell::Lstm && (initial_c.is_some() || peepholes.is_some()) {
        return Err("a GRU with an initial c or peepholes".to_owned());
    }
    let directions: &[bool] = match direction {
        Direction::Forward => &[false],
        Direction::Reverse => &[true],
        Direction::Bidirectional => &[false, true],
    };
    let count = directions.len();
    let rows = hidden.checked_mul(cell.gate_count()).ok_or_else(|| format!("{hidden} hidden units"))?;
    check_same_type(x, [bias, initial_h, initial_c, peepholes].into_iter().flatten().chain([w, r]))?;
    check_operand("W", w, &[count, rows, width])?;
    check_operand("R", r, &[count, rows, hidden])?;
    let optional = |name, operand: Option<&Array>, shape: &[usize]| match operand {
        None => Ok(vec![0.0; shape.iter().product()]),
        Some(operand) => check_operand(name, operand, shape).and_then(|()| Ok(operand.reals()?.to_vec())),
    };
    let (all, states) = ([steps, count, batch, hidden], [count, batch, hidden]);
    check_shape(&all)?;
    check_forms(cell, x, [&all, &states], outputs)?;
    let bias = optional("B", bias, &[count, 2 * rows])?;
    let peepholes = optional("P", peepholes, &[count, 3 * hidden])?;
    let mut h = optional("initial h", initial_h, &states)?;
    let mut c = optional("initial c", initial_c, &states)?;
    let lengths = sequence_lengths(lengths, steps, batch)?;
    let (x, w, r) = (x.reals()?, w.reals()?, r.reals()?);

    let mut y = vec![0.0; steps * count * batch * hidden];
    for (at, is_reverse) in directions.iter().enumerate() {
        let layer = Layer {
            parameters,
            w: &w[at * rows * width..][..rows * width],
            r: &r[at * rows * hidden..][..rows * hidden],
            bias: &bias[at * 2 * rows..][..2 * rows],
            peepholes: &peepholes[at * 3 * hidden..][..3 * hidden],
        };
        for (item, length) in lengths.iter().enumerate() {
            let state = (at * batch + item) * hidden..(at * batch + item + 1) * hidden;
            let (h, c) = (&mut h[state.clone()], &mut c[state]);
            for step in 0..*length {
                let step = if *is_reverse { length - 1 - step } else { step };
                layer.step(&x[(step * batch + item) * width..][..width], h, c);
                y[((step * count + at) * batch + item) * hidden..][..hidden].copy_from_slice(h);
            }
        }
    }
    let results = [y, h, c].into_iter().zip(outputs);
    Ok(results.filter_map(|(values, form)| Some(form.as_ref()?.array(Values::Real(values)))).collect())
}

/// Checks types and shapes of the results; the shapes of Y, Y_h and Y_c follow from the operands.
fn check_forms(
    cell: Cell,
    x: &Array,
    [steps, states]: [&[usize]; 2],
    outputs: &[Option<Form<'_>>],
) -> Result<(), String> {
    let most = cell.result_count_max();
    if outputs.len() > most {
        return Err(format!("{} results where there are {most} at most", outputs.len()));
    }
    for (at, form) in outputs.iter().enumerate() {
        if let Some(form) = form {
            form.check(x.element, if at == 0 { steps } else { states })?;
        }
    }
    Ok(())
}

/// Returns the length of each sequence of a batch.
fn sequence_lengths(lengths: Option<&Array>, steps: usize, batch: usize) -> Result<Vec<usize>, String> {
    let Some(lengths) = lengths else { return Ok(vec![steps; batch]) };
    check_operand("sequence lengths", lengths, &[batch])?;
    let length = |length: &i64| {
        let known = usize::try_from(*length).ok().filter(|length| *length <= steps);
        known.ok_or_else(|| format!("a sequence of {length} steps where there are {steps}"))
    };
    lengths.integers()?.iter().map(length).collect()
}

/// One direction of a layer.
struct Layer<'a> {
    parameters: Recurrent,
    /// Weights of the input: gates x width.
    w: &'a [f64],
    /// Gates x hidden units.
    r: &'a [f64],
    /// Bias added to W for each gate, then the one added to R.
    bias: &'a [f64],
    /// Peepholes of the gates i, o and f.
    peepholes: &'a [f64],
}

impl Layer<'_> {
    /// Advances the state by one step. A GRU leaves `c` alone.
    fn step(&self, x: &[f64], h: &mut [f64], c: &mut [f64]) {
        let from_x = affine(self.w, x, &self.bias[..self.bias.len() / 2]);
        match self.parameters.cell {
            Cell::Lstm => self.lstm_step(&from_x, h, c),
            Cell::Gru { resets_after } => self.gru_step(&from_x, resets_after, h),
        }
    }

    fn lstm_step(&self, from_x: &[f64], h: &mut [f64], c: &mut [f64]) {
        let hidden = h.len();
        let from_h = affine(self.r, h, &self.bias[self.bias.len() / 2..]);
        for unit in 0..hidden {
            let [i, o, f, g] =
                [0, 1, 2, 3].map(|gate| from_x[gate * hidden + unit] + from_h[gate * hidden + unit]);
            let [to_i, to_o, to_f] = [0, 1, 2].map(|gate| self.peepholes[gate * hidden + unit]);
            let input = sigmoid(self.clip(i + to_i * c[unit]));
            let forget = sigmoid(self.clip(f + to_f * c[unit]));
            c[unit] = forget * c[unit] + input * self.clip(g).tanh();
            // The output gate sees the new c.
            let output = sigmoid(self.clip(o + to_o * c[unit]));
            // c stays as it is; only the input of this activation is clipped, like the inputs of the others.
            h[unit] = output * self.clip(c[unit]).tanh();
        }
    }

    fn gru_step(&self, from_x: &[f64], resets_after: bool, h: &mut [f64]) {
        let hidden = h.len();
        let bias = &self.bias[self.bias.len() / 2..];
        let from_h = affine(self.r, h, bias);
        let gate = |at: usize| sigmoid(self.clip(from_x[at] + from_h[at]));
        let resets: Vec<f64> = (hidden..2 * hidden).map(gate).collect();
        let candidates = if resets_after {
            resets.iter().zip(&from_h[2 * hidden..]).map(|(reset, value)| reset * value).collect()
        } else {
            let left: Vec<f64> = resets.iter().zip(&*h).map(|(reset, value)| reset * value).collect();
            affine(&self.r[2 * hidden * hidden..], &left, &bias[2 * hidden..])
        };
        for unit in 0..hidden {
            let candidate = self.clip(from_x[2 * hidden + unit] + candidates[unit]).tanh();
            let update = gate(unit);
            h[unit] = (1.0 - update) * candidate + update * h[unit];
        }
    }

    /// Returns the value within the bound, if there is one.
    fn clip(&self, value: f64) -> f64 {
        match self.parameters.clip {
            Some(bound) => value.max(-bound).min(bound),
            None => value,
        }
    }
}

/// Returns the product of a matrix and a vector, plus a vector.
fn affine(matrix: &[f64], vector: &[f64], bias: &[f64]) -> Vec<f64> {
    let row = |(at, bias): (usize, &f64)| {
        let row = &matrix[at * vector.len()..][..vector.len()];
        bias + row.iter().zip(vector).map(|(weight, value)| weight * value).sum::<f64>()
    };
    bias.iter().enumerate().map(row).collect()
}

#[cfg(test)]
mod tests;

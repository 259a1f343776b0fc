//! Normalisation, softmax, reductions, and the index of the greatest value.

use proctor_vocabulary::ElementType;

use crate::{
    evaluate::{
        elementwise::{greater, wrap},
        operands::{Form, Operands, check_operand},
        walk::{Around, broadcast_strides, walk},
    },
    op::{Reduce, ReduceKind, reduced},
    tensor::{Array, Values, strides},
};

pub(super) fn batch_normalization(
    epsilon: f64,
    operands: &Operands<'_>,
    form: Form<'_>,
) -> Result<Array, String> {
    let ([x, scale, bias, mean, variance], []) = operands.take()?;
    form.check(x.element, &x.shape)?;
    let around = Around::new(&x.shape, 1)?;
    let channels = around.extent;
    let (scale, bias) = (vector("a scale", scale, channels)?, vector("a bias", bias, channels)?);
    let (mean, variance) = (vector("a mean", mean, channels)?, vector("a variance", variance, channels)?);
    let of_element = |(at, value): (usize, &f64)| {
        let channel = at / around.inner % channels;
        scale[channel] * (value - mean[channel]) / (variance[channel] + epsilon).sqrt() + bias[channel]
    };
    Ok(form.array(Values::Real(x.reals()?.iter().enumerate().map(of_element).collect())))
}

/// Returns the elements of an operand that has one for each channel.
fn vector<'a>(name: &str, operand: &'a Array, channels: usize) -> Result<&'a [f64], String> {
    check_operand(name, operand, &[channels])?;
    operand.reals()
}

pub(super) fn layer_normalization(
    axis: usize,
    epsilon: f64,
    operands: &Operands<'_>,
    form: Form<'_>,
) -> Result<Array, String> {
    let ([x, scale], [bias]) = operands.take()?;
    form.check(x.element, &x.shape)?;
    let dimensions =
        x.shape.get(axis..).ok_or_else(|| format!("shape {:?} has no dimension {axis}", x.shape))?;
    let width: usize = dimensions.iter().product();
    let mut values = x.reals()?.to_vec();
    for row in values.chunks_exact_mut(width.max(1)) {
        let mean = row.iter().sum::<f64>() / width as f64;
        let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / width as f64;
        for value in row {
            *value = (*value - mean) / (variance + epsilon).sqrt();
        }
    }
    let scales = walk(&x.shape, 0, broadcast_strides(&scale.shape, &x.shape)?);
    let scale = scale.reals()?;
    for (value, offset) in values.iter_mut().zip(scales) {
        *value *= scale[offset];
    }
    if let Some(bias) = bias {
        let biases = walk(&x.shape, 0, broadcast_strides(&bias.shape, &x.shape)?);
        let bias = bias.reals()?;
        for (value, offset) in values.iter_mut().zip(biases) {
            *value += bias[offset];
        }
    }
    Ok(form.array(Values::Real(values)))
}

pub(super) fn softmax(axis: usize, operands: &Operands<'_>, form: Form<'_>) -> Result<Array, String> {
    let ([x], []) = operands.take()?;
    form.check(x.element, &x.shape)?;
    let around = Around::new(&x.shape, axis)?;
    let mut values = x.reals()?.to_vec();
    for first in around.lines() {
        let line = around.line(first);
        // Powers of numbers of at most 0 do not overflow.
        let greatest = line.clone().map(|at| values[at]).fold(f64::NEG_INFINITY, f64::max);
        let mut sum = 0.0;
        for at in line.clone() {
            values[at] = (values[at] - greatest).exp();
            sum += values[at];
        }
        for at in line {
            values[at] /= sum;
        }
    }
    Ok(form.array(Values::Real(values)))
}

pub(super) fn reduce(parameters: &Reduce, operands: &Operands<'_>, form: Form<'_>) -> Result<Array, String> {
    let ([x], []) = operands.take()?;
    let (axes, rank) = (&parameters.axes, x.shape.len());
    if !axes.is_sorted_by(|one, next| one < next) || axes.last().is_some_and(|last| *last >= rank) {
        return Err(format!("dimensions {axes:?} of shape {:?}", x.shape));
    }
    if x.element == ElementType::Bool {
        return Err(format!("{:?} of truth values", parameters.kind));
    }
    let count: usize = axes.iter().map(|axis| x.shape[*axis]).product();
    form.check(x.element, &reduced(&x.shape, axes, parameters.keep))?;
    if count == 0 && form.count() > 0 && parameters.kind != ReduceKind::Sum {
        return Err(format!("{:?} of no element", parameters.kind));
    }
    let mut result_strides = strides(&reduced(&x.shape, axes, true));
    for axis in axes {
        result_strides[*axis] = 0;
    }
    let offsets = walk(&x.shape, 0, result_strides);
    let (is_max, is_mean) = (parameters.kind == ReduceKind::Max, parameters.kind == ReduceKind::Mean);
    let values = match &x.values {
        Values::Real(values) => {
            let mut results = vec![if is_max { f64::NEG_INFINITY } else { 0.0 }; form.count()];
            for (offset, value) in offsets.zip(values) {
                let result = &mut results[offset];
                *result = if is_max { greater(*result, *value) } else { *result + value };
            }
            let divisor = if is_mean { count as f64 } else { 1.0 };
            Values::Real(results.into_iter().map(|result| result / divisor).collect())
        }
        Values::Integer(values) => {
            let mut results = vec![if is_max { i64::MIN } else { 0 }; form.count()];
            for (offset, value) in offsets.zip(values) {
                let result = &mut results[offset];
                *result = if is_max { *value.max(result) } else { result.wrapping_add(*value) };
            }
            let divisor = if is_mean { count.cast_signed() as i64 } else { 1 };
            Values::Integer(results.into_iter().map(|result| wrap(x.element, result / divisor)).collect())
        }
    };
    Ok(form.array(values))
}

pub(super) fn arg_max(
    axis: usize,
    keep: bool,
    is_last: bool,
    operands: &Operands<'_>,
    form: Form<'_>,
) -> Result<Array, String> {
    let ([x], []) = operands.take()?;
    let around = Around::new(&x.shape, axis)?;
    form.check(ElementType::I64, &reduced(&x.shape, &[axis], keep))?;
    if around.extent == 0 && form.count() > 0 {
        return Err("the greatest of no element".to_owned());
    }
    let indices = match &x.values {
        Values::Real(values) => greatest_indices(values, around, is_last),
        Values::Integer(values) => greatest_indices(values, around, is_last),
    };
    Ok(form.array(Values::Integer(indices)))
}

/// Returns the index of the greatest value of each line; a NaN is never the greatest.
fn greatest_indices<T: PartialOrd>(values: &[T], around: Around, is_last: bool) -> Vec<i64> {
    let of_line = |first| {
        let mut greatest = first;
        let mut best = 0;
        for (index, at) in (0..).zip(around.line(first)) {
            if values[at] > values[greatest] || (is_last && values[at] == values[greatest]) {
                (greatest, best) = (at, index);
            }
        }
        best
    };
    around.lines().map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        evaluate::testing::{assert_close, f32s, i64s, numbers, result, values},
        op::Op,
    };

    #[test]
    fn a_batch_is_normalised_by_channel() {
        let x = f32s(&[2, 2, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        let channels: [&[f64]; 4] = [&[2.0, 1.0], &[0.5, 0.0], &[1.0, 3.0], &[3.75, 0.75]];
        let [scale, bias, mean, variance] = channels.map(|values| f32s(&[2], values));
        let op = Op::BatchNormalization { epsilon: 0.25 };
        let normalised = values(op.clone(), &[&x, &scale, &bias, &mean, &variance], &[2, 2, 2]);
        assert_eq!(normalised, [0.5, 1.5, 0.0, 1.0, 4.5, 5.5, 4.0, 5.0]);
        let scale = f32s(&[3], &[1.0; 3]);
        let error = result(op, &[&x, &scale, &bias, &mean, &variance], ElementType::F32, &[2, 2, 2]);
        assert_eq!(error.unwrap_err(), "a scale of shape [3], not [2]");
    }

    #[test]
    fn rows_are_normalised_by_their_own_mean() {
        // Means 2 and 0, variances 1 and 9.
        let x = f32s(&[2, 2], &[1.0, 3.0, -3.0, 3.0]);
        let (scale, bias) = (f32s(&[2], &[1.0, 2.0]), f32s(&[2], &[0.0, 10.0]));
        let op = Op::LayerNormalization { axis: 1, epsilon: 0.0 };
        assert_eq!(values(op.clone(), &[&x, &scale, &bias], &[2, 2]), [-1.0, 12.0, -1.0, 12.0]);
        assert_eq!(values(op, &[&x, &scale], &[2, 2]), [-1.0, 2.0, -1.0, 2.0]);
        // Over both dimensions the mean is 1 and the variance 6.
        let all = Op::LayerNormalization { axis: 0, epsilon: 3.0 };
        let normalised = values(all, &[&x, &f32s(&[2, 2], &[3.0; 4])], &[2, 2]);
        assert_eq!(normalised, [0.0, 2.0, -4.0, 2.0]);
    }

    #[test]
    fn exponentials_add_up_to_1_along_the_dimension() {
        let logarithms = f32s(&[2, 2], &[0.0, 3.0_f64.ln(), 1000.0, 1000.0 + 4.0_f64.ln()]);
        assert_close(&values(Op::Softmax { axis: 1 }, &[&logarithms], &[2, 2]), &[0.25, 0.75, 0.2, 0.8]);
        for axis in 0..3 {
            let shape = [2, 3, 4];
            let softmax = values(Op::Softmax { axis }, &[&numbers(&shape)], &shape);
            let around = Around::new(&shape, axis).unwrap();
            let sums: Vec<f64> =
                around.lines().map(|first| around.line(first).map(|at| softmax[at]).sum()).collect();
            assert_close(&sums, &vec![1.0; 24 / shape[axis]]);
        }
        assert!(result(Op::Softmax { axis: 2 }, &[&logarithms], ElementType::F32, &[2, 2]).is_err());
    }

    fn of(kind: ReduceKind, axes: &[usize], keep: bool) -> Op {
        Op::Reduce(Reduce { kind, axes: axes.to_vec(), keep })
    }

    #[test]
    fn dimensions_become_one_value() {
        let x = f32s(&[2, 2, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -8.0]);
        assert_eq!(values(of(ReduceKind::Sum, &[0], false), &[&x], &[2, 2]), [6.0, 8.0, 10.0, -4.0]);
        assert_eq!(values(of(ReduceKind::Sum, &[1], true), &[&x], &[2, 1, 2]), [4.0, 6.0, 12.0, -2.0]);
        assert_eq!(values(of(ReduceKind::Max, &[2], false), &[&x], &[2, 2]), [2.0, 4.0, 6.0, 7.0]);
        assert_eq!(values(of(ReduceKind::Mean, &[0, 2], true), &[&x], &[1, 2, 1]), [3.5, 1.5]);
        assert_eq!(values(of(ReduceKind::Mean, &[0, 1, 2], false), &[&x], &[]), [2.5]);
        assert_eq!(values(of(ReduceKind::Max, &[], false), &[&x], &[2, 2, 2]), x.reals().unwrap());
        let error = |op| result(op, &[&x], ElementType::F32, &[2, 2]).unwrap_err();
        assert_eq!(error(of(ReduceKind::Sum, &[3], false)), "dimensions [3] of shape [2, 2, 2]");
        assert!(error(of(ReduceKind::Sum, &[1, 0], false)).contains("[1, 0]"));
    }

    #[test]
    fn integers_and_nothing_are_reduced_too() {
        let x = i64s(&[2, 2], &[1, -4, 3, -3]);
        let integers = |kind| {
            let result = result(of(kind, &[0], false), &[&x], ElementType::I64, &[2]).unwrap();
            result.integers().unwrap().to_vec()
        };
        assert_eq!(integers(ReduceKind::Sum), [4, -7]);
        assert_eq!(integers(ReduceKind::Max), [3, -3]);
        assert_eq!(integers(ReduceKind::Mean), [2, -3]);
        let none = f32s(&[0, 2], &[]);
        assert_eq!(values(of(ReduceKind::Sum, &[0], false), &[&none], &[2]), [0.0, 0.0]);
        let error = result(of(ReduceKind::Max, &[0], false), &[&none], ElementType::F32, &[2]);
        assert_eq!(error.unwrap_err(), "Max of no element");
    }

    #[test]
    fn the_index_is_that_of_the_first_or_the_last_greatest() {
        let x = f32s(&[2, 3], &[1.0, 5.0, 5.0, -2.0, -2.0, -3.0]);
        let index = |axis, keep, is_last, shape: &[usize]| {
            let op = Op::ArgMax { axis, keep, is_last };
            result(op, &[&x], ElementType::I64, shape).unwrap().integers().unwrap().to_vec()
        };
        assert_eq!(index(1, false, false, &[2]), [1, 0]);
        assert_eq!(index(1, true, true, &[2, 1]), [2, 1]);
        assert_eq!(index(0, true, false, &[1, 3]), [0, 0, 0]);
        let integers = i64s(&[3], &[1, 3, 2]);
        let op = Op::ArgMax { axis: 0, keep: false, is_last: false };
        assert_eq!(result(op.clone(), &[&integers], ElementType::I64, &[]).unwrap().integers().unwrap(), [1]);
        assert!(result(op, &[&f32s(&[0], &[])], ElementType::I64, &[]).unwrap_err().contains("no element"));
    }
}

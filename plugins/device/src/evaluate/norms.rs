//! Normalisation and softmax.

use crate::{
    evaluate::{
        operands::{Form, Operands, check_operand},
        walk::{Around, broadcast_strides, walk},
    },
    tensor::{Array, Values},
};

pub(super) fn batch(epsilon: f64, operands: &Operands<'_>, form: Form<'_>) -> Result<Array, String> {
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

/// Elements of an operand that has one for each channel.
fn vector<'a>(name: &str, operand: &'a Array, channels: usize) -> Result<&'a [f64], String> {
    check_operand(name, operand, &[channels])?;
    operand.reals()
}

pub(super) fn layer(
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
        // Powers of what is at most 0 do not overflow.
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

#[cfg(test)]
mod tests {
    use proctor_vocabulary::ElementType;

    use super::*;
    use crate::{
        evaluate::testing::{assert_close, f32s, numbers, result, values},
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
}

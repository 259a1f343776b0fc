//! Layers as they lie in a file: weights by PyTorch's names and layouts, their sizes from their shapes.

use candle_nn::{BatchNorm, Conv2d, Conv2dConfig, Linear};

use crate::{LoadError, Weights};

/// A linear layer with a bias: `{name}.weight` `[output, input]` and `{name}.bias` `[output]`. `input` is what comes in.
pub(crate) fn linear(weights: &Weights, name: &str, input: usize) -> Result<Linear, LoadError> {
    let weight = format!("{name}.weight");
    let [output, width] = weights.dims(&weight)?;
    if width != input {
        return Err(weights.misshapen(&weight, format!("[any, {input}]")));
    }
    let bias = weights.tensor(&format!("{name}.bias"), &[output])?;
    Ok(Linear::new(weights.tensor(&weight, &[output, input])?, Some(bias)))
}

/// How many values come out of a linear layer.
pub(crate) fn width(linear: &Linear) -> usize {
    linear.weight().dims().first().copied().unwrap_or(0)
}

/// How many channels come out of a convolution.
pub(crate) fn channels(convolution: &Conv2d) -> usize {
    convolution.weight().dims().first().copied().unwrap_or(0)
}

/// A convolution with a bias: `{name}.weight` `[output, input / groups, kernel, kernel]` and `{name}.bias` `[output]`.
/// `input` is the number of channels that come in, `kernel` the width of the kernel.
pub(crate) fn conv2d(
    weights: &Weights,
    name: &str,
    (input, kernel): (usize, usize),
    config: Conv2dConfig,
) -> Result<Conv2d, LoadError> {
    let shape = kernel_shape(weights, name, (input, kernel), config)?;
    let bias = weights.tensor(&format!("{name}.bias"), &shape[..1])?;
    Ok(Conv2d::new(weights.tensor(&format!("{name}.weight"), &shape)?, Some(bias), config))
}

/// The batch norm after a convolution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Norm<'a> {
    /// Of its tensors `{name}.weight`, `bias`, `running_mean` and `running_var`, each `[output]`.
    pub name: &'a str,
    /// What is added to a variance before it is divided by its root.
    pub epsilon: f64,
}

/// A convolution without a bias and the batch norm after it, as one convolution: `{name}.weight` as for [`conv2d`]. They are
/// folded in f32, then rounded.
pub(crate) fn folded_conv2d(
    weights: &Weights,
    name: &str,
    norm: Norm<'_>,
    (input, kernel): (usize, usize),
    config: Conv2dConfig,
) -> Result<Conv2d, LoadError> {
    let shape = kernel_shape(weights, name, (input, kernel), config)?;
    let weight = weights.exact(&format!("{name}.weight"), &shape)?;
    let of_norm = |part: &str| weights.exact(&format!("{}.{part}", norm.name), &shape[..1]);
    let (mean, variance) = (of_norm("running_mean")?, of_norm("running_var")?);
    let (scale, shift) = (of_norm("weight")?, of_norm("bias")?);
    let folded = BatchNorm::new(shape[0], mean, variance, scale, shift, norm.epsilon)
        .and_then(|norm| Conv2d::new(weight, None, config).absorb_bn(&norm))
        .map_err(|error| weights.refused(error))?;
    let bias = folded.bias().map(|bias| weights.round(bias)).transpose()?;
    Ok(Conv2d::new(weights.round(folded.weight())?, bias, config))
}

/// The shape of a kernel, checked against what comes in.
fn kernel_shape(
    weights: &Weights,
    name: &str,
    (input, kernel): (usize, usize),
    config: Conv2dConfig,
) -> Result<[usize; 4], LoadError> {
    let name = format!("{name}.weight");
    let shape: [usize; 4] = weights.dims(&name)?;
    let expected = [shape[0], input / config.groups, kernel, kernel];
    if shape != expected || shape[0] % config.groups != 0 {
        return Err(weights.misshapen(&name, format!("[any, {}, {kernel}, {kernel}]", input / config.groups)));
    }
    Ok(shape)
}

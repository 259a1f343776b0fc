//! Layers as they lie in a file: weights by PyTorch's names and layouts, their sizes from their shapes.

use candle_core::Tensor;
use candle_nn::{BatchNorm, Conv2d, Conv2dConfig};

use crate::{
    error::LoadError,
    ops::{
        convolution::{After, Convolution, Padding},
        product::product,
    },
    weights::Weights,
};

/// A linear layer: `weight` `[output, input]`, `bias` `[output]`.
#[derive(Debug, Clone)]
pub(crate) struct Linear {
    weight: Tensor,
    bias: Tensor,
}

impl Linear {
    /// Reads `{name}.weight` and `{name}.bias`. `input` is the number of input values.
    pub(crate) fn load(weights: &Weights, name: &str, input: usize) -> Result<Self, LoadError> {
        let weight = format!("{name}.weight");
        let [output, width] = weights.dims(&weight)?;
        if width != input {
            return Err(weights.misshapen(&weight, &format!("[any, {input}]")));
        }
        let bias = weights.tensor(&format!("{name}.bias"), &[output])?;
        Ok(Self { weight: weights.tensor(&weight, &[output, input])?, bias })
    }

    /// Computes `[..., output]` from `[..., input]`.
    pub(crate) fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        product(x, &self.weight, &self.bias)
    }

    /// Returns the number of output values.
    pub(crate) fn width(&self) -> usize {
        self.weight.dims()[0]
    }
}

/// Properties of a convolution that the file does not state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Geometry {
    /// Number of input channels.
    pub input: usize,
    /// Rows and columns of the kernel.
    pub kernel: usize,
    pub stride: usize,
    pub padding: Padding,
    /// Whether each channel is convolved for itself.
    pub depthwise: bool,
    pub after: After,
}

impl Geometry {
    /// Returns the shape of the kernel in the file, checked.
    fn kernel_shape(&self, weights: &Weights, name: &str) -> Result<[usize; 4], LoadError> {
        let shape: [usize; 4] = weights.dims(name)?;
        let (output, input) = if self.depthwise { (self.input, 1) } else { (shape[0], self.input) };
        if shape == [output, input, self.kernel, self.kernel] {
            return Ok(shape);
        }
        let output = if self.depthwise { output.to_string() } else { "any".to_owned() };
        Err(weights
            .misshapen(name, &format!("[{output}, {input}, {kernel}, {kernel}]", kernel = self.kernel)))
    }

    fn convolution(self, weight: Tensor, bias: Tensor) -> Convolution {
        let Self { stride, padding, after, .. } = self;
        Convolution { weight, bias, stride, padding, after }
    }
}

/// Returns a convolution with a bias: `{name}.weight` `[output, input, kernel, kernel]` and `{name}.bias` `[output]`.
pub(crate) fn convolution(
    weights: &Weights,
    name: &str,
    geometry: Geometry,
) -> Result<Convolution, LoadError> {
    let weight = format!("{name}.weight");
    let shape = geometry.kernel_shape(weights, &weight)?;
    let bias = weights.tensor(&format!("{name}.bias"), &shape[..1])?;
    Ok(geometry.convolution(weights.tensor(&weight, &shape)?, bias))
}

/// Returns a convolution without a bias and the batch norm after it, as one convolution. They are folded in f32, then
/// rounded. The norm's tensors are `{norm}.weight`, `bias`, `running_mean` and `running_var`, each `[output]`;
/// `epsilon` is added to a variance before it is divided by its root.
pub(crate) fn folded_convolution(
    weights: &Weights,
    name: &str,
    norm: &str,
    epsilon: f64,
    geometry: Geometry,
) -> Result<Convolution, LoadError> {
    let name = format!("{name}.weight");
    let shape = geometry.kernel_shape(weights, &name)?;
    let of_norm = |part: &str| weights.exact(&format!("{norm}.{part}"), &shape[..1]);
    let (mean, variance) = (of_norm("running_mean")?, of_norm("running_var")?);
    let (scale, shift) = (of_norm("weight")?, of_norm("bias")?);
    let weight = weights.exact(&name, &shape)?;
    let folded = BatchNorm::new(shape[0], mean, variance, scale, shift, epsilon)
        .and_then(|norm| Conv2d::new(weight, None, Conv2dConfig::default()).absorb_bn(&norm))
        .map_err(|error| weights.refused(error))?;
    let bias = folded.bias().expect("folding a batch norm makes a bias");
    Ok(geometry.convolution(weights.round(folded.weight())?, weights.round(bias)?))
}

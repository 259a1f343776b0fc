//! MobileNet-v1 by the names of Hugging Face's `MobileNetV1ForImageClassification`, each batch norm folded into its convolution.
//!
//! Source: Howard et al. 2017, "MobileNets: Efficient Convolutional Neural Networks for Mobile Vision Applications".

use candle_core::{D, DType, Result, Tensor};
use candle_nn::{Conv2d, Conv2dConfig, Linear, Module};

use super::{
    layers::{Norm, channels, folded_conv2d, linear, width},
    planes::{Depthwise, same_padding},
    tensors::{Expected, fit_inputs, fit_outputs},
};
use crate::{Call, LoadError, LoadRequest, Network, Output, Weights};

/// Stride of each pair of convolutions; the widths are in the file.
const STRIDES: [usize; 13] = [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1];

/// What the batch norms add to a variance.
const EPSILON: f64 = 1e-3;

#[derive(Debug)]
struct MobileNet {
    stem: Conv2d,
    pairs: Vec<Pair>,
    classifier: Linear,
}

/// A convolution of each channel for itself, and one of all channels at each place.
#[derive(Debug)]
struct Pair {
    depthwise: Conv2d,
    pointwise: Conv2d,
    stride: usize,
}

/// Loads `mobilenet-v1` from `mobilenet_v1` and `classifier`.
pub(super) fn load(request: &LoadRequest<'_>) -> std::result::Result<Box<dyn Network>, LoadError> {
    let weights = request.weights;
    let plain = Conv2dConfig::default();
    let stem = convolution(weights, "conv_stem", (3, 3), Conv2dConfig { stride: 2, ..plain })?;
    let mut width_in = channels(&stem);
    let mut pairs = Vec::new();
    for (index, stride) in STRIDES.into_iter().enumerate() {
        let (first, second) = (format!("layer.{}", 2 * index), format!("layer.{}", 2 * index + 1));
        let grouped = Conv2dConfig { stride, groups: width_in, ..plain };
        let depthwise = on_the_cpu_in_f32(weights, convolution(weights, &first, (width_in, 3), grouped)?)?;
        let pointwise = convolution(weights, &second, (width_in, 1), plain)?;
        width_in = channels(&pointwise);
        pairs.push(Pair { depthwise, pointwise, stride });
    }
    let classifier = linear(weights, "classifier", width_in)?;
    fit_inputs(request.inputs, [Expected::image()])?;
    fit_outputs(request.outputs, [Expected::f32("logits", &[width(&classifier)])])?;
    Ok(Box::new(MobileNet { stem, pairs, classifier }))
}

impl Pair {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = match self.depthwise.bias() {
            Some(biases) if x.device().is_cpu() => {
                let depthwise = Depthwise { stride: self.stride };
                let y = depthwise.forward(&x.to_dtype(DType::F32)?, self.depthwise.weight(), biases)?;
                y.to_dtype(x.dtype())?
            }
            _ => relu6(&self.depthwise.forward(&padded(x, self.stride)?)?)?,
        };
        relu6(&self.pointwise.forward(&y)?)
    }
}

impl Network for MobileNet {
    fn run(&self, call: &Call) -> Result<Vec<Output>> {
        let mut x = relu6(&self.stem.forward(&padded(&call.input(0)?, 2)?)?)?;
        for pair in &self.pairs {
            x = pair.forward(&x)?;
        }
        let x = x.flatten_from(2)?.mean(D::Minus1)?;
        Ok(vec![Output::Tensor(self.classifier.forward(&x)?)])
    }

    fn summary(&self) -> String {
        let (first, classes) = (channels(&self.stem), width(&self.classifier));
        format!(
            "MobileNet v1 of {} pairs of convolutions, {first} channels at first, linear {classes}, batch norms folded",
            self.pairs.len()
        )
    }
}

fn relu6(x: &Tensor) -> Result<Tensor> {
    x.clamp(0f32, 6f32)
}

/// Zeros around the places, as TensorFlow adds them for a window of 3x3.
fn padded(x: &Tensor, stride: usize) -> Result<Tensor> {
    let (_, _, rows, columns) = x.dims4()?;
    let (top, bottom) = same_padding(rows, stride);
    let (left, right) = same_padding(columns, stride);
    x.pad_with_zeros(D::Minus2, top, bottom)?.pad_with_zeros(D::Minus1, left, right)
}

fn convolution(
    weights: &Weights,
    name: &str,
    shape: (usize, usize),
    config: Conv2dConfig,
) -> std::result::Result<Conv2d, LoadError> {
    let (name, norm) =
        (format!("mobilenet_v1.{name}.convolution"), format!("mobilenet_v1.{name}.normalization"));
    folded_conv2d(weights, &name, Norm { name: &norm, epsilon: EPSILON }, shape, config)
}

/// Widens what [`Depthwise`] takes, after it was rounded to the precision.
fn on_the_cpu_in_f32(weights: &Weights, convolution: Conv2d) -> std::result::Result<Conv2d, LoadError> {
    if !weights.device().is_cpu() {
        return Ok(convolution);
    }
    let widen = |tensor: &Tensor| tensor.to_dtype(DType::F32).map_err(|error| weights.refused(error));
    let bias = convolution.bias().map(widen).transpose()?;
    Ok(Conv2d::new(widen(convolution.weight())?, bias, *convolution.config()))
}

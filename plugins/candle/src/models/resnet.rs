//! ResNet-50 v1.5 by torchvision's names, each batch norm folded into its convolution.
//!
//! candle-transformers has the network, too, but keeps the batch norms apart, which costs a pass over each result.
//!
//! Source: He et al. 2015, "Deep Residual Learning for Image Recognition"; torchvision for the stride of v1.5.

use candle_core::{D, Result, Tensor};

use super::{
    layers::{Geometry, Linear, folded_convolution},
    tensors::{Expected, fit_inputs, fit_outputs},
};
use crate::{
    error::LoadError,
    network::{LoadRequest, Network, NetworkCall, Output},
    ops::convolution::{After, Convolution, Padding},
    weights::Weights,
};

/// Number of stages; each one after the first halves rows and columns.
const STAGES: usize = 4;

/// Addition of torchvision's batch norms to a variance.
const EPSILON: f64 = 1e-5;

#[derive(Debug)]
struct ResNet {
    stem: Convolution,
    stages: Vec<Vec<Bottleneck>>,
    classifier: Linear,
}

/// 1x1 to fewer channels, 3x3, 1x1 to more channels, and a way around them.
#[derive(Debug)]
struct Bottleneck {
    narrow: Convolution,
    middle: Convolution,
    wide: Convolution,
    shortcut: Option<Convolution>,
}

/// Loads `resnet50` from `conv1`, `bn1`, `layer1` to `layer4` and `fc`.
pub(super) fn load(request: &LoadRequest<'_>) -> std::result::Result<Box<dyn Network>, LoadError> {
    let weights = request.weights;
    let stem = convolution(weights, "conv1", "bn1", (3, 7), 2, After::Relu)?;
    let mut width_in = stem.channels();
    let mut stages = Vec::new();
    for stage in 1..=STAGES {
        let mut blocks = Vec::new();
        while blocks.is_empty() || weights.contains(&format!("layer{stage}.{}.conv1.weight", blocks.len())) {
            let stride = if stage > 1 && blocks.is_empty() { 2 } else { 1 };
            let block =
                Bottleneck::load(weights, &format!("layer{stage}.{}", blocks.len()), width_in, stride)?;
            width_in = block.wide.channels();
            blocks.push(block);
        }
        stages.push(blocks);
    }
    let classifier = Linear::load(weights, "fc", width_in)?;
    fit_inputs(request.inputs, [Expected::image()])?;
    fit_outputs(request.outputs, [Expected::f32("logits", &[classifier.width()])])?;
    Ok(Box::new(ResNet { stem, stages, classifier }))
}

impl Bottleneck {
    fn load(
        weights: &Weights,
        name: &str,
        width_in: usize,
        stride: usize,
    ) -> std::result::Result<Self, LoadError> {
        let part = |part: &str| format!("{name}.{part}");
        let relu = After::Relu;
        let narrow = convolution(weights, &part("conv1"), &part("bn1"), (width_in, 1), 1, relu)?;
        let middle =
            convolution(weights, &part("conv2"), &part("bn2"), (narrow.channels(), 3), stride, relu)?;
        let wide = convolution(weights, &part("conv3"), &part("bn3"), (middle.channels(), 1), 1, relu)?;
        // Without one, what goes around is added as it is.
        let shortcut = (stride != 1 || width_in != wide.channels())
            .then(|| {
                let (name, norm) = (part("downsample.0"), part("downsample.1"));
                let shortcut = convolution(weights, &name, &norm, (width_in, 1), stride, After::Nothing)?;
                if shortcut.channels() == wide.channels() {
                    return Ok(shortcut);
                }
                let expected = format!("[{}, {width_in}, 1, 1]", wide.channels());
                Err(weights.misshapen(&format!("{name}.weight"), &expected))
            })
            .transpose()?;
        Ok(Self { narrow, middle, wide, shortcut })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = self.middle.forward(&self.narrow.forward(x)?)?;
        match &self.shortcut {
            Some(shortcut) => self.wide.forward_and_add(&y, &shortcut.forward(x)?),
            None => self.wide.forward_and_add(&y, x),
        }
    }
}

impl Network for ResNet {
    fn run(&self, call: &NetworkCall) -> Result<Vec<Output>> {
        let x = self.stem.forward(&call.input(0)?)?;
        // Values repeated at an edge are in the window already, so the maximum stays the window's.
        let x = x.pad_with_same(D::Minus1, 1, 1)?.pad_with_same(D::Minus2, 1, 1)?;
        let mut x = x.max_pool2d_with_stride(3, 2)?;
        for block in self.stages.iter().flatten() {
            x = block.forward(&x)?;
        }
        let x = x.flatten_from(2)?.mean(D::Minus1)?;
        Ok(vec![Output::Tensor(self.classifier.forward(&x)?)])
    }

    fn summary(&self) -> String {
        let blocks: Vec<String> = self.stages.iter().map(|blocks| blocks.len().to_string()).collect();
        let classes = self.classifier.width();
        format!("ResNet v1.5 of {} bottlenecks, linear {classes}, batch norms folded", blocks.join(" + "))
    }
}

/// Returns a convolution and its batch norm, with zeros around the image so that the kernel's middle comes to every
/// place.
fn convolution(
    weights: &Weights,
    name: &str,
    norm: &str,
    (input, kernel): (usize, usize),
    stride: usize,
    after: After,
) -> std::result::Result<Convolution, LoadError> {
    let padding = Padding::Each(kernel / 2);
    let geometry = Geometry { input, kernel, stride, padding, depthwise: false, after };
    folded_convolution(weights, name, norm, EPSILON, geometry)
}

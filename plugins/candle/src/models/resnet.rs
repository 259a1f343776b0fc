//! ResNet-50 v1.5 by torchvision's names, each batch norm folded into its convolution.
//!
//! candle-transformers has the network, too, but keeps the batch norms apart, which costs a pass over each result.
//!
//! Source: He et al. 2015, "Deep Residual Learning for Image Recognition"; torchvision for the stride of v1.5.

use candle_core::{D, Result, Tensor};
use candle_nn::{Conv2d, Conv2dConfig, Linear, Module};

use super::{
    layers::{Norm, channels, folded_conv2d, linear, width},
    tensors::{Expected, fit_inputs, fit_outputs},
};
use crate::{Call, LoadError, LoadRequest, Network, Output, Weights};

/// Stages, each of which but the first halves rows and columns.
const STAGES: usize = 4;

/// What torchvision's batch norms add to a variance.
const EPSILON: f64 = 1e-5;

#[derive(Debug)]
struct ResNet {
    stem: Conv2d,
    stages: Vec<Vec<Bottleneck>>,
    classifier: Linear,
}

/// 1x1 to fewer channels, 3x3, 1x1 to more channels, and a way around them.
#[derive(Debug)]
struct Bottleneck {
    narrow: Conv2d,
    middle: Conv2d,
    wide: Conv2d,
    shortcut: Option<Conv2d>,
}

/// Loads `resnet50` from `conv1`, `bn1`, `layer1` to `layer4` and `fc`.
pub(super) fn load(request: &LoadRequest<'_>) -> std::result::Result<Box<dyn Network>, LoadError> {
    let weights = request.weights;
    let stem = convolution(weights, "conv1", "bn1", (3, 7), (2, 3))?;
    let mut width_in = channels(&stem);
    let mut stages = Vec::new();
    for stage in 1..=STAGES {
        let mut blocks = Vec::new();
        while blocks.is_empty() || weights.contains(&format!("layer{stage}.{}.conv1.weight", blocks.len())) {
            let stride = if stage > 1 && blocks.is_empty() { 2 } else { 1 };
            let block = Bottleneck::load(weights, &format!("layer{stage}.{}", blocks.len()), width_in, stride)?;
            width_in = channels(&block.wide);
            blocks.push(block);
        }
        stages.push(blocks);
    }
    let classifier = linear(weights, "fc", width_in)?;
    fit_inputs(request.inputs, [Expected::image()])?;
    fit_outputs(request.outputs, [Expected::f32("logits", &[width(&classifier)])])?;
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
        let narrow = convolution(weights, &part("conv1"), &part("bn1"), (width_in, 1), (1, 0))?;
        let middle = convolution(weights, &part("conv2"), &part("bn2"), (channels(&narrow), 3), (stride, 1))?;
        let wide = convolution(weights, &part("conv3"), &part("bn3"), (channels(&middle), 1), (1, 0))?;
        // Without one, what goes around is added as it is.
        let shortcut = (stride != 1 || width_in != channels(&wide))
            .then(|| {
                let (name, norm) = (part("downsample.0"), part("downsample.1"));
                let shortcut = convolution(weights, &name, &norm, (width_in, 1), (stride, 0))?;
                if channels(&shortcut) == channels(&wide) {
                    return Ok(shortcut);
                }
                Err(weights.misshapen(&format!("{name}.weight"), format!("[{}, {width_in}, 1, 1]", channels(&wide))))
            })
            .transpose()?;
        Ok(Self { narrow, middle, wide, shortcut })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = self.narrow.forward(x)?.relu()?;
        let y = self.middle.forward(&y)?.relu()?;
        let y = self.wide.forward(&y)?;
        match &self.shortcut {
            Some(shortcut) => y + shortcut.forward(x)?,
            None => y + x,
        }?
        .relu()
    }
}

impl Network for ResNet {
    fn run(&self, call: &Call) -> Result<Vec<Output>> {
        let x = self.stem.forward(&call.input(0)?)?.relu()?;
        // What is repeated at an edge was in the window already, so the maximum is that of the window alone.
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
        let classes = width(&self.classifier);
        format!("ResNet v1.5 of {} bottlenecks, linear {classes}, batch norms folded", blocks.join(" + "))
    }
}

fn convolution(
    weights: &Weights,
    name: &str,
    norm: &str,
    shape: (usize, usize),
    (stride, padding): (usize, usize),
) -> std::result::Result<Conv2d, LoadError> {
    let config = Conv2dConfig { stride, padding, ..Conv2dConfig::default() };
    folded_conv2d(weights, name, Norm { name: norm, epsilon: EPSILON }, shape, config)
}

//! EfficientNet-Lite0 (Google, 2020): EfficientNet-B0 without attention, with ReLU6 and TensorFlow's padding. Its
//! tensors have the names that `efficientnet-lite-pytorch` gives them.

use proctor_onnx_file::{Dim, GraphBuilder};
use proctor_vocabulary::ElementType;

use crate::{
    convolution::{BatchNorm, Convolution, Kind, same_pads},
    error::ConvertError,
    torch::Checkpoint,
};

const IMAGE: usize = 224;
const CLASSES: usize = 1000;
const EPSILON: f32 = 1e-3;

/// A row of blocks that are the same but for the stride of the first one.
struct Stage {
    blocks: usize,
    window: usize,
    stride: usize,
    /// Factor by which a block widens its input.
    expansion: usize,
    inputs: usize,
    outputs: usize,
}

const STAGES: [Stage; 7] = [
    Stage { blocks: 1, window: 3, stride: 1, expansion: 1, inputs: 32, outputs: 16 },
    Stage { blocks: 2, window: 3, stride: 2, expansion: 6, inputs: 16, outputs: 24 },
    Stage { blocks: 2, window: 5, stride: 2, expansion: 6, inputs: 24, outputs: 40 },
    Stage { blocks: 3, window: 3, stride: 2, expansion: 6, inputs: 40, outputs: 80 },
    Stage { blocks: 3, window: 5, stride: 1, expansion: 6, inputs: 80, outputs: 112 },
    Stage { blocks: 4, window: 5, stride: 2, expansion: 6, inputs: 112, outputs: 192 },
    Stage { blocks: 1, window: 3, stride: 1, expansion: 6, inputs: 192, outputs: 320 },
];

/// Output channels of the first and of the last convolution.
const STEM: usize = 32;
const HEAD: usize = 1280;

/// Converts a checkpoint of EfficientNet-Lite0, as `efficientnet-lite-pytorch` has it, to an ONNX file.
///
/// Its input `image` is f32`[batch, 3, 224, 224]`, red first, each value (pixel - 127) / 128; its output `logits` is
/// f32`[batch, 1000]`. Batch norms are part of the weights.
///
/// # Errors
/// Returns a [`ConvertError::Checkpoint`] if the checkpoint cannot be read, or is one of another network.
pub fn efficientnet_lite0(checkpoint: &[u8]) -> Result<Vec<u8>, ConvertError> {
    let checkpoint = Checkpoint::parse(checkpoint)?;
    let mut graph = GraphBuilder::new("efficientnet-lite0");
    graph.input("image", ElementType::F32, &Dim::batch_of(&[3, IMAGE, IMAGE]));
    let mut net = Net { checkpoint: &checkpoint, graph, extent: IMAGE, six: [String::new(), String::new()] };
    net.six = [net.graph.float(0.0), net.graph.float(6.0)];
    let features = net.features()?;
    let weights = checkpoint.reals("_fc.weight", &[CLASSES, HEAD])?;
    let bias = checkpoint.reals("_fc.bias", &[CLASSES])?;
    let Net { mut graph, .. } = net;
    let weights = graph.constant("_fc.weight", &[CLASSES, HEAD], &weights);
    let bias = graph.constant("_fc.bias", &[CLASSES], &bias);
    let pooled = graph.node("GlobalAveragePool", "pooled", &[&features], &[]);
    let flat = graph.node("Flatten", "flat", &[&pooled], &[("axis", 1.into())]);
    let logits = graph.node("Gemm", "logits", &[&flat, &weights, &bias], &[("transB", 1.into())]);
    graph.output(&logits, ElementType::F32, &Dim::batch_of(&[CLASSES]));
    Ok(graph.into_bytes())
}

/// The graph as far as it is written.
struct Net<'a> {
    checkpoint: &'a Checkpoint<'a>,
    graph: GraphBuilder,
    /// Rows and columns of the last result.
    extent: usize,
    /// Names of the bounds of ReLU6.
    six: [String; 2],
}

/// A convolution without a bias of its own.
struct Layer<'a> {
    name: &'a str,
    norm: &'a str,
    inputs: usize,
    outputs: usize,
    window: usize,
    stride: usize,
    groups: usize,
}

impl Net<'_> {
    fn features(&mut self) -> Result<String, ConvertError> {
        let stem =
            Layer { inputs: 3, outputs: STEM, window: 3, stride: 2, ..pointwise("_conv_stem", "_bn0") };
        let mut x = self.activated("image", &stem)?;
        let mut block = 0;
        for stage in &STAGES {
            for index in 0..stage.blocks {
                let (inputs, stride) =
                    if index == 0 { (stage.inputs, stage.stride) } else { (stage.outputs, 1) };
                x = self.block(&x, block, &Stage { inputs, stride, ..*stage })?;
                block += 1;
            }
        }
        let [inputs, outputs] = [STAGES[STAGES.len() - 1].outputs, HEAD];
        self.activated(&x, &Layer { inputs, outputs, ..pointwise("_conv_head", "_bn1") })
    }

    fn block(&mut self, input: &str, number: usize, stage: &Stage) -> Result<String, ConvertError> {
        let name = |part: &str| format!("_blocks.{number}.{part}");
        let wide = stage.inputs * stage.expansion;
        let mut x = input.to_owned();
        if stage.expansion != 1 {
            let (convolution, norm) = (name("_expand_conv"), name("_bn0"));
            x = self.activated(
                &x,
                &Layer { inputs: stage.inputs, outputs: wide, ..pointwise(&convolution, &norm) },
            )?;
        }
        let (convolution, norm) = (name("_depthwise_conv"), name("_bn1"));
        let &Stage { window, stride, inputs, outputs, .. } = stage;
        let spatial = Layer {
            inputs: wide,
            outputs: wide,
            window,
            stride,
            groups: wide,
            ..pointwise(&convolution, &norm)
        };
        x = self.activated(&x, &spatial)?;
        let (convolution, norm) = (name("_project_conv"), name("_bn2"));
        x = self.convolution(&x, &Layer { inputs: wide, outputs, ..pointwise(&convolution, &norm) })?;
        if stride == 1 && inputs == outputs {
            x = self.graph.node("Add", &name("add"), &[&x, input], &[]);
        }
        Ok(x)
    }

    fn activated(&mut self, input: &str, layer: &Layer<'_>) -> Result<String, ConvertError> {
        let x = self.convolution(input, layer)?;
        let [low, high] = &self.six;
        Ok(self.graph.node("Clip", &format!("{}.relu6", layer.name), &[&x, low, high], &[]))
    }

    fn convolution(&mut self, input: &str, layer: &Layer<'_>) -> Result<String, ConvertError> {
        let &Layer { name, norm, inputs, outputs, window, stride, groups } = layer;
        let shape = vec![outputs, inputs / groups, window, window];
        let weights = self.checkpoint.reals(&format!("{name}.weight"), &shape)?;
        let of_norm = |part: &str| self.checkpoint.reals(&format!("{norm}.{part}"), &[outputs]);
        let (scale, offset) = (of_norm("weight")?, of_norm("bias")?);
        let (mean, variance) = (of_norm("running_mean")?, of_norm("running_var")?);
        let norm =
            BatchNorm { scale: &scale, offset: &offset, mean: &mean, variance: &variance, epsilon: EPSILON };
        let (before, behind) = same_pads(self.extent, window, stride);
        let mut convolution = Convolution {
            kind: Kind::Forward,
            weights,
            shape,
            bias: None,
            strides: vec![stride; 2],
            dilations: vec![1; 2],
            pads: vec![before, before, behind, behind],
            groups,
        };
        let (factors, terms) = norm.factors_and_terms();
        convolution.scale(&factors);
        convolution.shift(&terms);
        self.extent = self.extent.div_ceil(stride);
        Ok(convolution.write(&mut self.graph, name, input))
    }
}

/// Returns a convolution of single places, whose channels are still to be said.
fn pointwise<'a>(name: &'a str, norm: &'a str) -> Layer<'a> {
    Layer { name, norm, inputs: 1, outputs: 1, window: 1, stride: 1, groups: 1 }
}

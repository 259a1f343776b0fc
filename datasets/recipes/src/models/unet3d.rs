//! 3D-UNet: volumes in, a score of each class for each voxel out; names follow MLPerf Training's program.
//!
//! - KiTS19's is that program: convolutions without bias, instance norm, ReLU; `[32, 64, 128, 256, 320, 320]` channels.
//! - BraTS 2019's is nnU-Net's: the same blocks, leaky ReLU, one level less. nnU-Net's convolutions have a bias, which
//!   the norm behind them takes away again, and its transposed convolutions and its last one have none.

use proctor_vocabulary::ElementType::F32;

use super::{
    Model,
    net::{BEFORE_RELU, Net, steady},
};
use crate::{
    inputs::{InputTensor, InputValues},
    weights::ModelRecipe,
};

/// Sizes of a network.
pub(super) struct Sizes {
    name: &'static str,
    /// Number of channels of the input.
    inputs: usize,
    /// Voxels of the input along each axis, multiples of 2 to the power of the levels less one.
    extents: [usize; 3],
    /// Channels of each level. A level has half of the extents of the previous one.
    channels: &'static [usize],
    classes: usize,
    /// Factor of negative values behind each norm; 0 for ReLU.
    slope: f32,
}

pub(super) const KITS19: Sizes = Sizes {
    name: "3d-unet-kits19",
    inputs: 1,
    extents: [128; 3],
    channels: &[32, 64, 128, 256, 320, 320],
    classes: 3,
    slope: 0.0,
};
/// The same inputs and outputs at a hundredth of the cost.
pub(super) const KITS19_NARROW: Sizes = Sizes { name: "3d-unet-kits19-narrow", channels: &[4, 8], ..KITS19 };
pub(super) const KITS19_TINY: Sizes =
    Sizes { name: "3d-unet-kits19-tiny", extents: [16; 3], channels: &[4, 6, 8], ..KITS19 };

pub(super) const BRATS: Sizes = Sizes {
    name: "3d-unet-brats",
    inputs: 4,
    extents: [224, 224, 160],
    channels: &[32, 64, 128, 256, 320],
    classes: 4,
    slope: 0.01,
};
/// The same inputs and outputs at a thousandth of the cost.
pub(super) const BRATS_NARROW: Sizes = Sizes { name: "3d-unet-brats-narrow", channels: &[2, 4], ..BRATS };
pub(super) const BRATS_TINY: Sizes =
    Sizes { name: "3d-unet-brats-tiny", extents: [12, 16, 8], channels: &[4, 6, 8], ..BRATS };

const EPSILON: f32 = 1e-5;

/// Gain of the last convolution: differences between classes are as large as the values.
const OF_SCORES: f32 = 2.0;

/// Two convolutions, each with its norm.
struct Block {
    name: String,
    inputs: usize,
    outputs: usize,
    /// Step of the first convolution.
    stride: i64,
}

/// The path from a level to the one above it: extents doubled, the upper level's values appended, two convolutions.
struct Rise {
    /// Transposed convolution.
    name: String,
    inputs: usize,
    outputs: usize,
    block: Block,
}

impl Sizes {
    /// Returns the way down, from the input to the last level.
    fn falls(&self) -> impl Iterator<Item = Block> {
        let last = self.channels.len() - 1;
        self.channels.iter().enumerate().map(move |(level, outputs)| Block {
            name: match level {
                0 => "input_block".to_owned(),
                _ if level == last => "bottleneck".to_owned(),
                _ => format!("downsample.{}", level - 1),
            },
            inputs: if level == 0 { self.inputs } else { self.channels[level - 1] },
            outputs: *outputs,
            stride: if level == 0 { 1 } else { 2 },
        })
    }

    /// Returns the path upwards, from the last level but one.
    fn rises(&self) -> impl Iterator<Item = Rise> {
        let pairs = self.channels.windows(2).rev().enumerate();
        pairs.map(|(index, pair)| {
            let (outputs, inputs) = (pair[0], pair[1]);
            let block = format!("upsample.{index}");
            Rise {
                name: format!("{block}.upsample_conv.0"),
                inputs,
                outputs,
                block: Block { name: block, inputs: 2 * outputs, outputs, stride: 1 },
            }
        })
    }
}

impl Model for Sizes {
    fn weights(&self) -> ModelRecipe {
        let mut recipe = ModelRecipe::new(self.name);
        self.falls().for_each(|block| block.add_to(&mut recipe));
        for Rise { name, inputs, outputs, block } in self.rises() {
            // Each voxel of the output is made of one voxel of the input.
            recipe.add(&format!("{name}.weight"), &[inputs, outputs, 2, 2, 2], steady(inputs));
            recipe.add(&format!("{name}.bias"), &[outputs], 0.125);
            block.add_to(&mut recipe);
        }
        recipe.add_convolution("output.conv.0", [self.classes, self.channels[0], 1, 1, 1], OF_SCORES);
        recipe.add("output.conv.0.bias", &[self.classes], 0.125);
        recipe
    }

    fn inputs(&self) -> Vec<InputTensor> {
        let [depth, height, width] = self.extents;
        let (shape, values) =
            (vec![self.inputs, depth, height, width], InputValues::Uniform { scale: 2, lengths: None });
        vec![InputTensor { name: "input", element_type: F32, shape, values }]
    }

    fn compute(&self, net: &mut Net) {
        let mut x = "input".to_owned();
        let mut levels = Vec::new();
        for block in self.falls() {
            x = block.compute(net, &x, self.slope);
            levels.push(x.clone());
        }
        // The last level goes up; the others are concatenated with the upsampled input.
        levels.pop();
        for (Rise { name, block, .. }, level) in self.rises().zip(levels.into_iter().rev()) {
            let [weight, bias] = ["weight", "bias"].map(|part| net.weight(&format!("{name}.{part}")));
            let doubled = [("kernel_shape", [2; 3].into()), ("strides", [2; 3].into())];
            x = net.node("ConvTranspose", &name, &[&x, &weight, &bias], &doubled);
            x = net.node("Concat", &format!("{}.concat", block.name), &[&x, &level], &[("axis", 1.into())]);
            x = block.compute(net, &x, self.slope);
        }
        let [weight, bias] = ["weight", "bias"].map(|part| net.weight(&format!("output.conv.0.{part}")));
        net.node("Conv", "output", &[&x, &weight, &bias], &[("kernel_shape", [1; 3].into())]);
        let [depth, height, width] = self.extents;
        net.output("output", &[self.classes, depth, height, width]);
    }
}

impl Block {
    fn add_to(&self, recipe: &mut ModelRecipe) {
        let Self { name, inputs, outputs, .. } = self;
        for (conv, inputs) in [("conv1", *inputs), ("conv2", *outputs)] {
            recipe.add_convolution(&format!("{name}.{conv}.0"), [*outputs, inputs, 3, 3, 3], BEFORE_RELU);
            recipe.add_around(&format!("{name}.{conv}.1.weight"), &[*outputs], 1.0, 0.25);
            recipe.add(&format!("{name}.{conv}.1.bias"), &[*outputs], 0.25);
        }
    }

    fn compute(&self, net: &mut Net, x: &str, slope: f32) -> String {
        let mut x = x.to_owned();
        for (conv, stride) in [("conv1", self.stride), ("conv2", 1)] {
            let name = format!("{}.{conv}", self.name);
            let weight = net.weight(&format!("{name}.0.weight"));
            let window =
                [("kernel_shape", [3; 3].into()), ("pads", [1; 6].into()), ("strides", [stride; 3].into())];
            x = net.node("Conv", &format!("{name}.0"), &[&x, &weight], &window);
            let [gain, bias] = ["weight", "bias"].map(|part| net.weight(&format!("{name}.1.{part}")));
            let norm = [("epsilon", EPSILON.into())];
            x = net.node("InstanceNormalization", &format!("{name}.1"), &[&x, &gain, &bias], &norm);
            let name = format!("{name}.2");
            x = if slope == 0.0 {
                net.node("Relu", &name, &[&x], &[])
            } else {
                net.node("LeakyRelu", &name, &[&x], &[("alpha", slope.into())])
            };
        }
        x
    }
}

//! ResNet-50 v1.5 (He et al. 2016; the stride is in the 3x3 convolutions), with torchvision's names, and the networks
//! that have its bottlenecks.

use proctor_onnx_file::Dim;
use proctor_vocabulary::ElementType;

use super::{
    Model, image,
    net::{BEFORE_RELU, Net, Window},
};
use crate::{inputs::InputTensor, weights::ModelRecipe};

/// Sizes of a residual network of bottlenecks, and a classifier.
pub(super) struct Sizes {
    name: &'static str,
    /// Rows and columns of the image.
    image: usize,
    features: Features,
    classes: usize,
    answer: Answer,
}

/// The outputs of a classifier.
enum Answer {
    /// One for each class.
    Logits,
    /// The outputs of MLPerf's `resnet50_v1.onnx`: shares of 1, and the position of the largest.
    Classes,
}

/// The convolutions alone.
pub(super) struct Features {
    /// Prefix of the names of all tensors.
    pub(super) prefix: &'static str,
    /// Number of channels of the first convolution; a stage of blocks has a multiple.
    pub(super) width: usize,
    /// Blocks of each stage.
    pub(super) blocks: [usize; 4],
    /// Number of groups of channels in the 3x3 convolutions.
    pub(super) groups: usize,
    /// Number of channels of the 3x3 convolutions, as a multiple of the stage's width.
    pub(super) inner: usize,
}

pub(super) const RESNET50: Sizes = Sizes {
    name: "resnet50",
    image: 224,
    features: Features::plain(64, [3, 4, 6, 3]),
    classes: 1000,
    answer: Answer::Logits,
};
pub(super) const TINY: Sizes = Sizes {
    name: "resnet50-tiny",
    image: 64,
    features: Features::plain(8, [1, 2, 1, 1]),
    classes: 10,
    answer: Answer::Logits,
};
pub(super) const MLPERF: Sizes =
    Sizes { name: "resnet50-mlperf", classes: 1001, answer: Answer::Classes, ..RESNET50 };
pub(super) const MLPERF_NARROW: Sizes =
    Sizes { name: "resnet50-mlperf-narrow", features: Features::plain(8, [1, 1, 1, 1]), ..MLPERF };

const EPSILON: f32 = 1e-5;

/// Number of output channels of a block, as a multiple of its width.
const EXPANSION: usize = 4;

/// The gain of a block's last batch norm. At 1 each of the 16 blocks would double the variance.
pub(super) const BRANCH_GAIN: f32 = 0.25;

struct Block {
    name: String,
    inputs: usize,
    width: usize,
    inner: usize,
    groups: usize,
    stride: i64,
    /// Whether the input goes through its own convolution, as in the first block of a stage.
    is_first: bool,
}

impl Features {
    const fn plain(width: usize, blocks: [usize; 4]) -> Self {
        Self { prefix: "", width, blocks, groups: 1, inner: 1 }
    }

    fn blocks(&self, stage: usize) -> impl Iterator<Item = Block> {
        let width = self.width << stage;
        (0..self.blocks[stage]).map(move |index| Block {
            name: format!("{}layer{}.{index}", self.prefix, stage + 1),
            inputs: match (stage, index) {
                (0, 0) => self.width,
                (_, 0) => EXPANSION * width / 2,
                _ => EXPANSION * width,
            },
            width,
            inner: self.inner * width,
            groups: self.groups,
            stride: if stage > 0 && index == 0 { 2 } else { 1 },
            is_first: index == 0,
        })
    }

    /// Returns the number of output channels of a stage.
    pub(super) fn channels(&self, stage: usize) -> usize {
        (EXPANSION * self.width) << stage
    }

    pub(super) fn add_to(&self, recipe: &mut ModelRecipe) {
        let Self { prefix, width, .. } = *self;
        recipe.add_convolution(&format!("{prefix}conv1"), [width, 3, 7, 7], BEFORE_RELU);
        recipe.add_batch_norm(&format!("{prefix}bn1"), width, 1.0);
        for block in (0..self.blocks.len()).flat_map(|stage| self.blocks(stage)) {
            block.add_to(recipe);
        }
    }

    /// Adds the nodes; returns the output of each stage.
    pub(super) fn compute(&self, net: &mut Net, image: &str) -> [String; 4] {
        let prefix = self.prefix;
        let x = net.convolution(&format!("{prefix}conv1"), image, &Window::even(7, 2, 3));
        let x = net.batch_norm(&format!("{prefix}bn1"), &x, EPSILON);
        let x = net.relu(&format!("{prefix}relu"), &x);
        let mut x = net.halve(&format!("{prefix}maxpool"), &x);
        [0, 1, 2, 3].map(|stage| {
            for block in self.blocks(stage) {
                x = block.compute(net, &x);
            }
            x.clone()
        })
    }
}

impl Model for Sizes {
    fn weights(&self) -> ModelRecipe {
        let mut recipe = ModelRecipe::new(self.name);
        self.features.add_to(&mut recipe);
        recipe.add_linear("fc", self.classes, self.features.channels(3), 1.0);
        recipe
    }

    fn inputs(&self) -> Vec<InputTensor> {
        vec![image(self.image)]
    }

    fn compute(&self, net: &mut Net) {
        let [.., last] = self.features.compute(net, "image");
        match self.answer {
            Answer::Logits => {
                net.classify("fc", &last, "logits");
                net.output("logits", &[self.classes]);
            }
            Answer::Classes => {
                net.classify("fc", &last, "logits");
                let axis = ("axis", 1.into());
                net.node("ArgMax", "ArgMax:0", &["logits"], &[axis.clone(), ("keepdims", 0.into())]);
                net.node("Softmax", "softmax_tensor:0", &["logits"], &[axis]);
                net.output_of("ArgMax:0", ElementType::I64, &Dim::batch_of(&[]));
                net.output("softmax_tensor:0", &[self.classes]);
            }
        }
    }
}

impl Block {
    fn add_to(&self, recipe: &mut ModelRecipe) {
        let Self { name, inputs, width, inner, groups, is_first, .. } = self;
        let (inputs, inner, outputs) = (*inputs, *inner, EXPANSION * width);
        recipe.add_convolution(&format!("{name}.conv1"), [inner, inputs, 1, 1], BEFORE_RELU);
        recipe.add_batch_norm(&format!("{name}.bn1"), inner, 1.0);
        recipe.add_convolution(&format!("{name}.conv2"), [inner, inner / groups, 3, 3], BEFORE_RELU);
        recipe.add_batch_norm(&format!("{name}.bn2"), inner, 1.0);
        recipe.add_convolution(&format!("{name}.conv3"), [outputs, inner, 1, 1], BEFORE_RELU);
        recipe.add_batch_norm(&format!("{name}.bn3"), outputs, BRANCH_GAIN);
        if *is_first {
            recipe.add_convolution(&format!("{name}.downsample.0"), [outputs, inputs, 1, 1], 1.0);
            recipe.add_batch_norm(&format!("{name}.downsample.1"), outputs, 1.0);
        }
    }

    fn compute(&self, net: &mut Net, input: &str) -> String {
        let Self { name, stride, groups, .. } = self;
        let mut x = input.to_owned();
        let windows = [(1, Window::even(1, 1, 0)), (2, Window::even(3, *stride, 1).in_groups(*groups))];
        for (index, window) in windows {
            x = net.convolution(&format!("{name}.conv{index}"), &x, &window);
            x = net.batch_norm(&format!("{name}.bn{index}"), &x, EPSILON);
            x = net.relu(&format!("{name}.relu{index}"), &x);
        }
        x = net.convolution(&format!("{name}.conv3"), &x, &Window::even(1, 1, 0));
        x = net.batch_norm(&format!("{name}.bn3"), &x, EPSILON);
        let shortcut = if self.is_first {
            let y = net.convolution(&format!("{name}.downsample.0"), input, &Window::even(1, *stride, 0));
            net.batch_norm(&format!("{name}.downsample.1"), &y, EPSILON)
        } else {
            input.to_owned()
        };
        let sum = net.node("Add", &format!("{name}.add"), &[&x, &shortcut], &[]);
        net.relu(&format!("{name}.relu3"), &sum)
    }
}

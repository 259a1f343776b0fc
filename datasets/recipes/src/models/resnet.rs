//! ResNet-50 v1.5 (He et al. 2016; the stride is in the 3x3 convolutions), with torchvision's names.

use super::{
    Model, image,
    net::{BEFORE_RELU, Net, Window},
};
use crate::{inputs::InputTensor, weights::ModelRecipe};

/// Sizes of a residual network of bottlenecks.
pub(super) struct Sizes {
    name: &'static str,
    /// Rows and columns of the image.
    image: usize,
    /// Channels of the first convolution and of the first stage's 3x3 convolutions.
    width: usize,
    /// Blocks of each stage.
    blocks: [usize; 4],
    classes: usize,
}

pub(super) const RESNET50: Sizes =
    Sizes { name: "resnet50", image: 224, width: 64, blocks: [3, 4, 6, 3], classes: 1000 };
pub(super) const TINY: Sizes =
    Sizes { name: "resnet50-tiny", image: 64, width: 8, blocks: [1, 2, 1, 1], classes: 10 };

const EPSILON: f32 = 1e-5;

/// Channels that a block puts out, as a multiple of its width.
const EXPANSION: usize = 4;

/// The gain of a block's last batch norm. At 1 each of the 16 blocks would double the variance.
const BRANCH_GAIN: f32 = 0.25;

/// One block.
struct Block {
    name: String,
    inputs: usize,
    width: usize,
    stride: i64,
    /// Whether the input goes through a convolution of its own, as in the first block of a stage.
    is_first: bool,
}

impl Sizes {
    fn blocks(&self) -> impl Iterator<Item = Block> {
        self.blocks.iter().enumerate().flat_map(move |(stage, count)| {
            let width = self.width << stage;
            (0..*count).map(move |index| Block {
                name: format!("layer{}.{index}", stage + 1),
                inputs: match (stage, index) {
                    (0, 0) => self.width,
                    (_, 0) => EXPANSION * width / 2,
                    _ => EXPANSION * width,
                },
                width,
                stride: if stage > 0 && index == 0 { 2 } else { 1 },
                is_first: index == 0,
            })
        })
    }

    fn features(&self) -> usize {
        (EXPANSION * self.width) << 3
    }
}

impl Model for Sizes {
    fn weights(&self) -> ModelRecipe {
        let mut recipe = ModelRecipe::new(self.name);
        recipe.add_convolution("conv1", [self.width, 3, 7, 7], BEFORE_RELU);
        recipe.add_batch_norm("bn1", self.width, 1.0);
        for Block { name, inputs, width, is_first, .. } in self.blocks() {
            let outputs = EXPANSION * width;
            recipe.add_convolution(&format!("{name}.conv1"), [width, inputs, 1, 1], BEFORE_RELU);
            recipe.add_batch_norm(&format!("{name}.bn1"), width, 1.0);
            recipe.add_convolution(&format!("{name}.conv2"), [width, width, 3, 3], BEFORE_RELU);
            recipe.add_batch_norm(&format!("{name}.bn2"), width, 1.0);
            recipe.add_convolution(&format!("{name}.conv3"), [outputs, width, 1, 1], BEFORE_RELU);
            recipe.add_batch_norm(&format!("{name}.bn3"), outputs, BRANCH_GAIN);
            if is_first {
                recipe.add_convolution(&format!("{name}.downsample.0"), [outputs, inputs, 1, 1], 1.0);
                recipe.add_batch_norm(&format!("{name}.downsample.1"), outputs, 1.0);
            }
        }
        recipe.add_linear("fc", self.classes, self.features(), 1.0);
        recipe
    }

    fn inputs(&self) -> Vec<InputTensor> {
        vec![image(self.image)]
    }

    fn compute(&self, net: &mut Net) {
        let x = net.convolution("conv1", "image", &Window::even(7, 2, 3));
        let x = net.batch_norm("bn1", &x, EPSILON);
        let x = net.node("Relu", "relu", &[&x], &[]);
        let window = [("kernel_shape", [3, 3].into()), ("pads", [1; 4].into()), ("strides", [2, 2].into())];
        let mut x = net.node("MaxPool", "maxpool", &[&x], &window);
        for block in self.blocks() {
            x = block.compute(net, &x);
        }
        net.classify("fc", &x, "logits");
        net.output("logits", &[self.classes]);
    }
}

impl Block {
    fn compute(&self, net: &mut Net, input: &str) -> String {
        let Self { name, stride, .. } = self;
        let mut x = input.to_owned();
        for (index, window) in [(1, Window::even(1, 1, 0)), (2, Window::even(3, *stride, 1))] {
            x = net.convolution(&format!("{name}.conv{index}"), &x, &window);
            x = net.batch_norm(&format!("{name}.bn{index}"), &x, EPSILON);
            x = net.node("Relu", &format!("{name}.relu{index}"), &[&x], &[]);
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
        net.node("Relu", &format!("{name}.relu3"), &[&sum], &[])
    }
}

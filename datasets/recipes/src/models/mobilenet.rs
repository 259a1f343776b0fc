//! MobileNet-v1 (Howard et al. 2017) as MLPerf has it: 1001 classes, TensorFlow's padding; the names are Hugging
//! Face's.

use super::{
    Model, image,
    net::{BEFORE_RELU, Net, Window},
};
use crate::{inputs::InputTensor, weights::ModelRecipe};

/// Sizes of a network of depthwise and pointwise convolutions.
pub(super) struct Sizes {
    name: &'static str,
    /// Rows and columns of the image.
    image: usize,
    /// Channels of the first convolution; all others are multiples.
    width: usize,
    classes: usize,
}

pub(super) const MOBILENET_V1: Sizes = Sizes { name: "mobilenet-v1", image: 224, width: 32, classes: 1001 };
pub(super) const TINY: Sizes = Sizes { name: "mobilenet-v1-tiny", image: 64, width: 8, classes: 11 };

/// For each pair of convolutions: the depthwise stride, and the pointwise channels as multiples of the first ones.
const PAIRS: [(i64, usize); 13] = [
    (1, 2),
    (2, 4),
    (1, 4),
    (2, 8),
    (1, 8),
    (2, 16),
    (1, 16),
    (1, 16),
    (1, 16),
    (1, 16),
    (1, 16),
    (2, 32),
    (1, 32),
];

const EPSILON: f32 = 1e-3;

/// One convolution with its batch norm.
struct Convolution {
    name: String,
    outputs: usize,
    inputs: usize,
    window: Window,
}

impl Sizes {
    fn convolutions(&self) -> Vec<Convolution> {
        let stem = "mobilenet_v1.conv_stem".to_owned();
        let mut all = vec![Convolution { name: stem, outputs: self.width, inputs: 3, window: window(2, 1) }];
        let mut inputs = self.width;
        for (index, (stride, multiple)) in PAIRS.into_iter().enumerate() {
            let outputs = multiple * self.width;
            let name = |index: usize| format!("mobilenet_v1.layer.{index}");
            let depthwise = window(stride, inputs);
            all.push(Convolution { name: name(2 * index), outputs: inputs, inputs, window: depthwise });
            let pointwise = Window::even(1, 1, 0);
            all.push(Convolution { name: name(2 * index + 1), outputs, inputs, window: pointwise });
            inputs = outputs;
        }
        all
    }
}

/// A 3x3 convolution with as many places as the input divided by the stride: TensorFlow pads the end first.
fn window(stride: i64, groups: usize) -> Window {
    let before = if stride == 1 { 1 } else { 0 };
    Window { kernel: 3, stride, pads: [before, before, 1, 1], groups }
}

impl Model for Sizes {
    fn weights(&self) -> ModelRecipe {
        let mut recipe = ModelRecipe::new(self.name);
        for Convolution { name, outputs, inputs, window } in self.convolutions() {
            let shape = [outputs, inputs / window.groups, window.kernel, window.kernel];
            recipe.add_convolution(&format!("{name}.convolution"), shape, BEFORE_RELU);
            recipe.add_batch_norm(&format!("{name}.normalization"), outputs, 1.0);
        }
        recipe.add_linear("classifier", self.classes, PAIRS[12].1 * self.width, 1.0);
        recipe
    }

    fn inputs(&self) -> Vec<InputTensor> {
        vec![image(self.image)]
    }

    fn compute(&self, net: &mut Net) {
        let mut x = "image".to_owned();
        for Convolution { name, window, .. } in self.convolutions() {
            x = net.convolution(&format!("{name}.convolution"), &x, &window);
            x = net.batch_norm(&format!("{name}.normalization"), &x, EPSILON);
            let (low, high) = (net.float(0.0), net.float(6.0));
            x = net.node("Clip", &format!("{name}.relu6"), &[&x, &low, &high], &[]);
        }
        net.classify("classifier", &x, "logits");
        net.output("logits", &[self.classes]);
    }
}

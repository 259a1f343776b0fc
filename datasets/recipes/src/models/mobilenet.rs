//! MobileNet-v1 (Howard et al. 2017) as in MLPerf: 1001 classes, TensorFlow's padding; the names are Hugging Face's.

use super::{
    Model, image,
    net::{BEFORE_RELU, Net, Window},
};
use crate::{inputs::InputTensor, weights::ModelRecipe};

/// Sizes of a network of depthwise and pointwise convolutions, and a classifier.
pub(super) struct Sizes {
    name: &'static str,
    features: Features,
    classes: usize,
}

/// The convolutions alone.
#[derive(Clone, Copy)]
pub(super) struct Features {
    /// Rows and columns of the image.
    pub(super) image: usize,
    /// Number of channels of the first convolution; all others are multiples.
    pub(super) width: usize,
}

pub(super) const MOBILENET_V1: Sizes =
    Sizes { name: "mobilenet-v1", features: Features { image: 224, width: 32 }, classes: 1001 };
pub(super) const TINY: Sizes =
    Sizes { name: "mobilenet-v1-tiny", features: Features { image: 64, width: 8 }, classes: 11 };

/// For each pair of convolutions: the depthwise stride, and the pointwise channels as multiples of the first ones.
const PAIRS: [(usize, usize); 13] = [
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

pub(super) const EPSILON: f32 = 1e-3;

/// One convolution with its batch norm.
struct Convolution {
    name: String,
    outputs: usize,
    inputs: usize,
    window: Window,
}

impl Features {
    fn convolutions(&self) -> Vec<Convolution> {
        let stem = "mobilenet_v1.conv_stem".to_owned();
        let window = Window::same(3, 2, self.image);
        let mut all = vec![Convolution { name: stem, outputs: self.width, inputs: 3, window }];
        let (mut inputs, mut extent) = (self.width, self.image.div_ceil(2));
        for (index, (stride, multiple)) in PAIRS.into_iter().enumerate() {
            let outputs = multiple * self.width;
            let name = |index: usize| format!("mobilenet_v1.layer.{index}");
            let depthwise = Window::same(3, stride, extent).in_groups(inputs);
            all.push(Convolution { name: name(2 * index), outputs: inputs, inputs, window: depthwise });
            let pointwise = Window::even(1, 1, 0);
            all.push(Convolution { name: name(2 * index + 1), outputs, inputs, window: pointwise });
            (inputs, extent) = (outputs, extent.div_ceil(stride));
        }
        all
    }

    /// Returns the number of output channels of a pair of convolutions.
    pub(super) fn channels(&self, pair: usize) -> usize {
        PAIRS[pair].1 * self.width
    }

    pub(super) fn add_to(&self, recipe: &mut ModelRecipe) {
        for Convolution { name, outputs, inputs, window } in self.convolutions() {
            let shape = [outputs, inputs / window.groups, window.kernel, window.kernel];
            recipe.add_convolution(&format!("{name}.convolution"), shape, BEFORE_RELU);
            recipe.add_batch_norm(&format!("{name}.normalization"), outputs, 1.0);
        }
    }

    /// Adds the nodes; returns the output of each pair of convolutions.
    pub(super) fn compute(&self, net: &mut Net, image: &str) -> Vec<String> {
        let mut x = image.to_owned();
        let mut all = Vec::new();
        for Convolution { name, window, .. } in self.convolutions() {
            x = net.convolution(&format!("{name}.convolution"), &x, &window);
            x = net.batch_norm(&format!("{name}.normalization"), &x, EPSILON);
            x = net.relu6(&format!("{name}.relu6"), &x);
            all.push(x.clone());
        }
        // The stem has no partner.
        all.into_iter().skip(2).step_by(2).collect()
    }
}

impl Model for Sizes {
    fn weights(&self) -> ModelRecipe {
        let mut recipe = ModelRecipe::new(self.name);
        self.features.add_to(&mut recipe);
        recipe.add_linear("classifier", self.classes, self.features.channels(PAIRS.len() - 1), 1.0);
        recipe
    }

    fn inputs(&self) -> Vec<InputTensor> {
        vec![image(self.features.image)]
    }

    fn compute(&self, net: &mut Net) {
        let features = self.features.compute(net, "image");
        net.classify("classifier", &features[PAIRS.len() - 1], "logits");
        net.output("logits", &[self.classes]);
    }
}

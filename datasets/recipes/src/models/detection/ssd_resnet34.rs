//! SSD-ResNet34 at 1200 x 1200 (MLPerf v0.5 and v0.7), with the names of its reference in PyTorch: ResNet-34 up to its
//! third stage, which keeps the places of the second, five further convolutions, and heads of stride 3 on all six.

use proctor_onnx_file::Dim;
use proctor_timed_steps::boxes::{Coder, SSD_RESNET34 as SELECTION, ssd_resnet34_priors};
use proctor_vocabulary::ElementType;

use super::{Priors, found, in_batch, one_image, select};
use crate::{
    inputs::InputTensor,
    models::{
        Model,
        net::{BEFORE_RELU, Net, Window},
        resnet::BRANCH_GAIN,
    },
    weights::ModelRecipe,
};

/// Sizes of the network.
pub(in super::super) struct Sizes {
    name: &'static str,
    /// Number of channels of the first convolution; all others are multiples.
    width: usize,
}

pub(in super::super) const SSD_RESNET34: Sizes = Sizes { name: "ssd-resnet34", width: 64 };
pub(in super::super) const NARROW: Sizes = Sizes { name: "ssd-resnet34-narrow", width: 4 };

const IMAGE: usize = 1200;
const EPSILON: f32 = 1e-5;
/// Names of the stages, their blocks, their channels as multiples of the width, and the stride of the first block.
const STAGES: [(&str, usize, usize, i64); 3] =
    [("model.layer1.4", 3, 1, 1), ("model.layer1.5", 4, 2, 2), ("model.layer2.0", 6, 4, 1)];
/// Channels of the features that feed the heads, as multiples of the width.
const FEATURES: [usize; 6] = [4, 8, 8, 4, 4, 4];
/// For each further pair of convolutions the channels between them, as multiples of the width, and the movement of the
/// second one.
const FURTHER: [(usize, i64, i64); 5] = [(4, 2, 1), (4, 2, 1), (2, 2, 1), (2, 2, 0), (2, 1, 0)];
/// Prior boxes of a place in each of the features.
const SHAPES: [usize; 6] = [4, 6, 6, 6, 4, 4];
/// Number of classes, including the background, which comes first.
const CLASSES: usize = SELECTION.class_count;
/// Number of priors of all features.
const BOXES: usize = 15_130;
/// Spread of the logits, so that the greatest of 81 random ones is often more than half of the sum.
const CONFIDENCE: f32 = 4.0;
/// Lead of the background, so that most boxes have no class, as in a trained model.
const BACKGROUND: f32 = 20.0;

/// One block of two 3x3 convolutions.
struct Block {
    name: String,
    inputs: usize,
    outputs: usize,
    stride: i64,
}

impl Sizes {
    fn blocks(&self) -> Vec<Block> {
        let mut inputs = self.width;
        let mut all = Vec::new();
        for (stage, count, multiple, first_stride) in STAGES {
            let outputs = multiple * self.width;
            for index in 0..count {
                let stride = if index == 0 { first_stride } else { 1 };
                all.push(Block { name: format!("{stage}.{index}"), inputs, outputs, stride });
                inputs = outputs;
            }
        }
        all
    }

    fn heads(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let channels = FEATURES.into_iter().map(|multiple| multiple * self.width);
        channels.zip(SHAPES).enumerate().map(|(feature, (channels, shapes))| (feature, channels, shapes))
    }

    /// Returns the features that feed the heads.
    fn features(&self, net: &mut Net) -> Vec<String> {
        let x = net.convolution("model.layer1.0", "image", &Window::even(7, 2, 3));
        let x = net.batch_norm("model.layer1.1", &x, EPSILON);
        let x = net.relu("model.layer1.2", &x);
        let mut x = net.halve("model.layer1.3", &x);
        for block in self.blocks() {
            x = block.compute(net, &x);
        }
        let mut all = vec![x.clone()];
        for (index, (_, stride, pad)) in FURTHER.into_iter().enumerate() {
            for (part, window) in [(0, Window::even(1, 1, 0)), (2, Window::even(3, stride, pad))] {
                x = net.biased_convolution(&format!("additional_blocks.{index}.{part}"), &x, &window);
                x = net.relu(&format!("additional_blocks.{index}.{}", part + 1), &x);
            }
            all.push(x.clone());
        }
        all
    }

    /// Returns the outputs of one kind of heads, f32`[values, box]`: for each feature its shapes, for each shape the
    /// places.
    fn head_outputs(&self, net: &mut Net, kind: &str, features: &[String], values: usize) -> String {
        let flat = net.ints(&[values as i64, -1]);
        let all: Vec<String> = (0..)
            .zip(features)
            .map(|(index, feature)| {
                let name = format!("{kind}.{index}");
                let x = net.biased_convolution(&name, feature, &Window::even(3, 3, 1));
                net.node("Reshape", &format!("{name}.flat"), &[&x, &flat], &[])
            })
            .collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        net.node("Concat", kind, &all, &[("axis", 1.into())])
    }
}

impl Model for Sizes {
    fn weights(&self) -> ModelRecipe {
        let width = self.width;
        let mut recipe = ModelRecipe::new(self.name);
        recipe.add_convolution("model.layer1.0", [width, 3, 7, 7], BEFORE_RELU);
        recipe.add_batch_norm("model.layer1.1", width, 1.0);
        self.blocks().iter().for_each(|block| block.add_to(&mut recipe));
        for (index, (between, ..)) in FURTHER.into_iter().enumerate() {
            let [inputs, outputs] = [0, 1].map(|step| FEATURES[index + step] * width);
            let (name, between) = (format!("additional_blocks.{index}"), between * width);
            recipe.add_biased_convolution(&format!("{name}.0"), [between, inputs, 1, 1], BEFORE_RELU);
            recipe.add_biased_convolution(&format!("{name}.2"), [outputs, between, 3, 3], BEFORE_RELU);
        }
        for (feature, channels, shapes) in self.heads() {
            let (loc, conf) = (format!("loc.{feature}"), format!("conf.{feature}"));
            recipe.add_biased_convolution(&loc, [4 * shapes, channels, 3, 3], 1.0);
            recipe.add_biased_convolution(&conf, [CLASSES * shapes, channels, 3, 3], CONFIDENCE);
            recipe.fill(&format!("{conf}.bias"), 0, shapes, BACKGROUND);
        }
        recipe
    }

    fn inputs(&self) -> Vec<InputTensor> {
        Vec::new()
    }

    fn compute(&self, net: &mut Net) {
        net.input_of("image", ElementType::F32, &one_image(IMAGE));
        let features = self.features(net);
        let offsets = self.head_outputs(net, "loc", &features, 4);
        let offsets = net.node("Transpose", "loc.boxes", &[&offsets], &[("perm", [1, 0].into())]);
        let priors = Priors::new(net, &ssd_resnet34_priors(), &Coder::SSD_RESNET34);
        let corners = priors.decode(net, &offsets, &Coder::SSD_RESNET34);

        let logits = self.head_outputs(net, "conf", &features, CLASSES);
        let shares = net.node("Softmax", "shares", &[&logits], &[("axis", 0.into())]);
        let first = SELECTION.first_class as i64;
        let scores = net.split("shares.parts", &shares, 0, &[first, CLASSES as i64 - first]);
        let selected = select(net, &corners, &scores[1], BOXES, &SELECTION);
        let first = net.ints(&[first]);
        let labels = net.node("Add", "best.labels", &[&selected.classes, &first], &[]);
        let boxes = net.node("Gather", "best.corners", &[&corners, &selected.places], &[]);
        in_batch(net, "bboxes", &boxes);
        in_batch(net, "labels", &labels);
        in_batch(net, "scores", &selected.scores);
        let one = Dim::Fixed(1);
        net.output_of("bboxes", ElementType::F32, &[one.clone(), found(), Dim::Fixed(4)]);
        net.output_of("labels", ElementType::I64, &[one.clone(), found()]);
        net.output_of("scores", ElementType::F32, &[one, found()]);
    }
}

impl Block {
    fn is_widening(&self) -> bool {
        self.inputs != self.outputs
    }

    fn add_to(&self, recipe: &mut ModelRecipe) {
        let Self { name, inputs, outputs, .. } = self;
        recipe.add_convolution(&format!("{name}.conv1"), [*outputs, *inputs, 3, 3], BEFORE_RELU);
        recipe.add_batch_norm(&format!("{name}.bn1"), *outputs, 1.0);
        recipe.add_convolution(&format!("{name}.conv2"), [*outputs, *outputs, 3, 3], BEFORE_RELU);
        recipe.add_batch_norm(&format!("{name}.bn2"), *outputs, BRANCH_GAIN);
        if self.is_widening() {
            recipe.add_convolution(&format!("{name}.downsample.0"), [*outputs, *inputs, 1, 1], 1.0);
            recipe.add_batch_norm(&format!("{name}.downsample.1"), *outputs, 1.0);
        }
    }

    fn compute(&self, net: &mut Net, input: &str) -> String {
        let Self { name, stride, .. } = self;
        let x = net.convolution(&format!("{name}.conv1"), input, &Window::even(3, *stride, 1));
        let x = net.batch_norm(&format!("{name}.bn1"), &x, EPSILON);
        let x = net.relu(&format!("{name}.relu1"), &x);
        let x = net.convolution(&format!("{name}.conv2"), &x, &Window::even(3, 1, 1));
        let x = net.batch_norm(&format!("{name}.bn2"), &x, EPSILON);
        let shortcut = if self.is_widening() {
            let y = net.convolution(&format!("{name}.downsample.0"), input, &Window::even(1, *stride, 0));
            net.batch_norm(&format!("{name}.downsample.1"), &y, EPSILON)
        } else {
            input.to_owned()
        };
        let sum = net.node("Add", &format!("{name}.add"), &[&x, &shortcut], &[]);
        net.relu(&format!("{name}.relu2"), &sum)
    }
}

//! RetinaNet on ResNeXt-50 32x4d at 800 x 800 (MLPerf v2.1 and later), with torchvision's names: a pyramid of five
//! features, and heads of four convolutions that all of them share.

use proctor_onnx_file::Dim;
use proctor_timed_steps::boxes::{
    Coder, RETINANET as SELECTION, Selection, retinanet_anchors, retinanet_levels,
};
use proctor_vocabulary::ElementType;

use super::{Priors, found, one_image, select};
use crate::{
    inputs::InputTensor,
    models::{
        Model,
        net::{BEFORE_RELU, Net, Window},
        resnet::Features,
    },
    weights::ModelRecipe,
};

/// Sizes of the network.
pub(in super::super) struct Sizes {
    name: &'static str,
    features: Features,
    /// Number of channels of the pyramid.
    width: usize,
}

const BODY: &str = "backbone.body.";

pub(in super::super) const RETINANET: Sizes = Sizes {
    name: "retinanet",
    features: Features { prefix: BODY, width: 64, blocks: [3, 4, 6, 3], groups: 32, inner: 2 },
    width: 256,
};
pub(in super::super) const NARROW: Sizes = Sizes {
    name: "retinanet-narrow",
    features: Features { prefix: BODY, width: 4, blocks: [1, 1, 1, 1], groups: 4, inner: 2 },
    width: 8,
};

const IMAGE: usize = 800;
/// Means and deviations of red, green and blue.
const NORMAL: [[f32; 3]; 2] = [[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]];
const CLASSES: usize = SELECTION.class_count;
/// Number of anchors of a place.
const SHAPES: usize = 9;
/// Number of convolutions of a head before its last one.
const HEAD_DEPTH: usize = 4;
/// The best scores of each level that are considered.
const PER_LEVEL_MAX: i64 = 1000;
/// Middle of the logits: one place of a hundred has a class, as the heads of RetinaNet begin.
const PRIOR: f32 = -4.6;

/// The two kinds of heads: name, name of the last convolution, and values for each box.
const HEADS: [(&str, &str, usize); 2] =
    [("head.classification_head", "cls_logits", CLASSES), ("head.regression_head", "bbox_reg", 4)];

impl Sizes {
    /// Returns the five features.
    fn pyramid(&self, net: &mut Net, image: &str) -> Vec<String> {
        let stages = self.features.compute(net, image);
        let mut merged: Vec<String> = Vec::new();
        // From the coarsest of three stages to the finest, each with the one before it.
        for level in [2, 1, 0] {
            let inner = format!("backbone.fpn.inner_blocks.{level}");
            let own = net.biased_convolution(&inner, &stages[level + 1], &Window::even(1, 1, 0));
            merged.push(match merged.last() {
                None => own,
                Some(above) => {
                    let twice = net.constant("twice", &[4], &[1.0, 1.0, 2.0, 2.0]);
                    let attributes = [
                        ("mode", "nearest".into()),
                        ("coordinate_transformation_mode", "asymmetric".into()),
                        ("nearest_mode", "floor".into()),
                    ];
                    let name = format!("{inner}.above");
                    let above = net.node("Resize", &name, &[above, "", &twice], &attributes);
                    net.node("Add", &format!("{inner}.sum"), &[&own, &above], &[])
                }
            });
        }
        merged.reverse();
        let mut all: Vec<String> = (0..)
            .zip(&merged)
            .map(|(level, x)| {
                let name = format!("backbone.fpn.layer_blocks.{level}");
                net.biased_convolution(&name, x, &Window::even(3, 1, 1))
            })
            .collect();
        let p6 = net.biased_convolution("backbone.fpn.extra_blocks.p6", &all[2], &Window::even(3, 2, 1));
        let positive = net.relu("backbone.fpn.extra_blocks.relu", &p6);
        let p7 = net.biased_convolution("backbone.fpn.extra_blocks.p7", &positive, &Window::even(3, 2, 1));
        all.extend([p6, p7]);
        all
    }

    /// Returns the output of a head on one level, with the places first: f32`[place, shape, value]`, flat.
    fn head(
        &self,
        net: &mut Net,
        (head, last, _): (&str, &str, usize),
        level: usize,
        feature: &str,
    ) -> String {
        let mut x = feature.to_owned();
        for depth in 0..HEAD_DEPTH {
            let name = format!("{head}.conv.{}", 2 * depth);
            x = net.shared_convolution(&name, &format!("{name}.{level}"), &x, &Window::even(3, 1, 1));
            x = net.relu(&format!("{head}.conv.{}.{level}", 2 * depth + 1), &x);
        }
        let name = format!("{head}.{last}");
        let x = net.shared_convolution(&name, &format!("{name}.{level}"), &x, &Window::even(3, 1, 1));
        let perm = [("perm", [0, 2, 3, 1].into())];
        net.node("Transpose", &format!("{name}.{level}.places"), &[&x], &perm)
    }
}

impl Model for Sizes {
    fn weights(&self) -> ModelRecipe {
        let width = self.width;
        let mut recipe = ModelRecipe::new(self.name);
        self.features.add_to(&mut recipe);
        for level in 0..3 {
            let inputs = self.features.channels(level + 1);
            let (inner, layer) = ("backbone.fpn.inner_blocks", "backbone.fpn.layer_blocks");
            recipe.add_biased_convolution(&format!("{inner}.{level}"), [width, inputs, 1, 1], 1.0);
            recipe.add_biased_convolution(&format!("{layer}.{level}"), [width, width, 3, 3], 1.0);
        }
        for name in ["p6", "p7"] {
            let name = format!("backbone.fpn.extra_blocks.{name}");
            recipe.add_biased_convolution(&name, [width, width, 3, 3], BEFORE_RELU);
        }
        for (head, last, values) in HEADS {
            for depth in 0..HEAD_DEPTH {
                let name = format!("{head}.conv.{}", 2 * depth);
                recipe.add_biased_convolution(&name, [width, width, 3, 3], BEFORE_RELU);
            }
            let (name, outputs) = (format!("{head}.{last}"), SHAPES * values);
            recipe.add_convolution(&name, [outputs, width, 3, 3], if values == 4 { 0.25 } else { 1.0 });
            let middle = if values == 4 { 0.0 } else { PRIOR };
            recipe.add_around(&format!("{name}.bias"), &[outputs], middle, 0.125);
        }
        recipe
    }

    fn inputs(&self) -> Vec<InputTensor> {
        Vec::new()
    }

    fn compute(&self, net: &mut Net) {
        let image = net.input_of("images", ElementType::F32, &one_image(IMAGE));
        let [means, deviations] = [("means", NORMAL[0]), ("deviations", NORMAL[1])]
            .map(|(name, values)| net.constant(name, &[1, 3, 1, 1], &values));
        let image = net.node("Sub", "images.centered", &[&image, &means], &[]);
        let image = net.node("Div", "images.normal", &[&image, &deviations], &[]);
        let features = self.pyramid(net, &image);

        // The best scores of each level, of any class.
        let (flat, rows) = (net.ints(&[-1]), net.ints(&[-1, 4]));
        let (best, classes) = (net.ints(&[PER_LEVEL_MAX]), net.ints(&[CLASSES as i64]));
        let [mut logits, mut labels, mut boxes, mut offsets] = [const { Vec::new() }; 4];
        for ((level, feature), range) in features.iter().enumerate().zip(retinanet_levels()) {
            let scores = self.head(net, HEADS[0], level, feature);
            let scores = net.node("Reshape", &format!("logits.{level}"), &[&scores, &flat], &[]);
            let top = net.many("TopK", &format!("top.{level}"), &[&scores, &best], 2, &[]);
            let modulo = net.node("Mod", &format!("labels.{level}"), &[&top[1], &classes], &[]);
            let own = net.node("Div", &format!("own.{level}"), &[&top[1], &classes], &[]);
            let start = net.ints(&[range.start as i64]);
            let place = net.node("Add", &format!("boxes.{level}"), &[&own, &start], &[]);
            let moves = self.head(net, HEADS[1], level, feature);
            let moves = net.node("Reshape", &format!("moves.{level}"), &[&moves, &rows], &[]);
            offsets.push(net.node("Gather", &format!("moves.taken.{level}"), &[&moves, &own], &[]));
            logits.push(top[0].clone());
            labels.push(modulo);
            boxes.push(place);
        }
        let mut joined = |name: &str, parts: &[String]| {
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            net.node("Concat", name, &parts, &[("axis", 0.into())])
        };
        let (logits, labels) = (joined("top.logits", &logits), joined("top.labels", &labels));
        let (boxes, offsets) = (joined("top.boxes", &boxes), joined("top.offsets", &offsets));
        let scores = net.node("Sigmoid", "top.scores", &[&logits], &[]);

        let anchors = Priors::new(net, &retinanet_anchors(), &Coder::RETINANET).at(net, &boxes);
        let corners = anchors.decode(net, &offsets, &Coder::RETINANET);
        let (low, high) = (net.float(0.0), net.float(IMAGE as f32));
        let corners = net.node("Clip", "corners.inside", &[&corners, &low, &high], &[]);
        // Classes apart from each other by more than an image, so that one selection is one for each class.
        let numbers = net.node("Cast", "top.numbers", &[&labels], &[("to", 1.into())]);
        let apart = net.float(IMAGE as f32 + 1.0);
        let apart = net.node("Mul", "apart.by", &[&numbers, &apart], &[]);
        let second = net.ints(&[1]);
        let apart = net.node("Unsqueeze", "apart.rows", &[&apart, &second], &[]);
        let moved = net.node("Add", "corners.apart", &[&corners, &apart], &[]);
        let first = net.ints(&[0]);
        let scores = net.node("Unsqueeze", "top.scores.row", &[&scores, &first], &[]);
        let bounds = Selection { per_class_max: SELECTION.detection_max, ..SELECTION };
        let selected = select(net, &moved, &scores, features.len() * PER_LEVEL_MAX as usize, &bounds);
        net.node("Gather", "boxes", &[&corners, &selected.places], &[]);
        net.node("Gather", "labels", &[&labels, &selected.places], &[]);
        net.node("Identity", "scores", &[&selected.scores], &[]);
        net.output_of("boxes", ElementType::F32, &[found(), Dim::Fixed(4)]);
        net.output_of("labels", ElementType::I64, &[found()]);
        net.output_of("scores", ElementType::F32, &[found()]);
    }
}

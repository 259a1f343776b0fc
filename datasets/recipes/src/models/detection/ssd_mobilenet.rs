//! SSD-MobileNet-v1 at 300 x 300 (MLPerf v0.5 and v0.7), in the form of the file that TensorFlow's export becomes:
//! MobileNet-v1, four further pairs of convolutions, and 1x1 heads on six features.

use proctor_onnx_file::Dim;
use proctor_timed_steps::boxes::{Coder, SSD_MOBILENET as SELECTION, ssd_mobilenet_priors};
use proctor_vocabulary::ElementType;

use super::{Priors, in_batch, select};
use crate::{
    inputs::InputTensor,
    models::{
        Model,
        mobilenet::{EPSILON, Features},
        net::{BEFORE_RELU, Net, Window},
    },
    weights::ModelRecipe,
};

/// Sizes of the network.
pub(in super::super) struct Sizes {
    name: &'static str,
    features: Features,
    /// Mean of the logits, so that the scores of some boxes are above the threshold.
    middle: f32,
}

pub(in super::super) const SSD_MOBILENET: Sizes =
    Sizes { name: "ssd-mobilenet", features: Features { image: IMAGE, width: 32 }, middle: -5.0 };
pub(in super::super) const NARROW: Sizes =
    Sizes { name: "ssd-mobilenet-narrow", features: Features { image: IMAGE, width: 4 }, middle: -7.0 };

const IMAGE: usize = 300;
/// The pairs of MobileNet's convolutions that feed the heads.
const PAIRS: [usize; 2] = [10, 12];
/// For each further pair of convolutions its extent, and its channels, as multiples of the first ones.
const FURTHER: [(usize, usize, usize); 4] = [(10, 8, 16), (5, 4, 8), (3, 4, 8), (2, 2, 4)];
/// Prior boxes of a place in each of the features.
const SHAPES: [usize; 6] = [3, 6, 6, 6, 6, 6];
/// Number of classes, including the background, which comes first.
const CLASSES: usize = SELECTION.class_count;
/// Number of priors of all features.
const BOXES: usize = 1917;
/// Spread of the logits.
const CONFIDENCE: f32 = 1.5;

impl Sizes {
    /// Returns the channels of the features that feed the heads.
    fn channels(&self) -> impl Iterator<Item = usize> {
        let further = FURTHER.map(|(.., multiple)| multiple * self.features.width);
        PAIRS.map(|pair| self.features.channels(pair)).into_iter().chain(further)
    }

    /// Returns the convolutions behind MobileNet's: name, window, and numbers of input and output channels.
    fn further(&self) -> impl Iterator<Item = (String, Window, [usize; 2])> {
        let mut inputs = self.features.channels(PAIRS[1]);
        (0..).zip(FURTHER).flat_map(move |(index, (extent, between, outputs))| {
            let [between, outputs] = [between, outputs].map(|multiple| multiple * self.features.width);
            let pair = [
                (format!("extras.{index}.0"), Window::even(1, 1, 0), [inputs, between]),
                (format!("extras.{index}.1"), Window::same(3, 2, extent), [between, outputs]),
            ];
            inputs = outputs;
            pair
        })
    }

    fn features(&self, net: &mut Net, image: &str) -> Vec<String> {
        let of_mobilenet = self.features.compute(net, image);
        let mut all = PAIRS.map(|pair| of_mobilenet[pair].clone()).to_vec();
        let mut x = all[1].clone();
        for (name, window, _) in self.further() {
            x = net.convolution(&format!("{name}.convolution"), &x, &window);
            x = net.batch_norm(&format!("{name}.normalization"), &x, EPSILON);
            x = net.relu6(&format!("{name}.relu6"), &x);
            if name.ends_with(".1") {
                all.push(x.clone());
            }
        }
        all
    }

    /// Returns the outputs of one kind of heads, f32`[box, values]`: places, and for each place its shapes.
    fn head_outputs(&self, net: &mut Net, kind: &str, features: &[String], values: usize) -> String {
        let flat = net.ints(&[-1, values as i64]);
        let all: Vec<String> = (0..)
            .zip(features)
            .map(|(index, feature)| {
                let name = format!("predictors.{index}.{kind}");
                let x = net.biased_convolution(&name, feature, &Window::even(1, 1, 0));
                let perm = [("perm", [0, 2, 3, 1].into())];
                let x = net.node("Transpose", &format!("{name}.places"), &[&x], &perm);
                net.node("Reshape", &format!("{name}.flat"), &[&x, &flat], &[])
            })
            .collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        net.node("Concat", kind, &all, &[("axis", 0.into())])
    }
}

impl Model for Sizes {
    fn weights(&self) -> ModelRecipe {
        let mut recipe = ModelRecipe::new(self.name);
        self.features.add_to(&mut recipe);
        for (name, window, [inputs, outputs]) in self.further() {
            let shape = [outputs, inputs, window.kernel, window.kernel];
            recipe.add_convolution(&format!("{name}.convolution"), shape, BEFORE_RELU);
            recipe.add_batch_norm(&format!("{name}.normalization"), outputs, 1.0);
        }
        for (index, (inputs, shapes)) in self.channels().zip(SHAPES).enumerate() {
            let (regression, classes) =
                (format!("predictors.{index}.regression"), format!("predictors.{index}.classification"));
            recipe.add_biased_convolution(&regression, [4 * shapes, inputs, 1, 1], 1.0);
            recipe.add_convolution(&classes, [CLASSES * shapes, inputs, 1, 1], CONFIDENCE);
            recipe.add_around(&format!("{classes}.bias"), &[CLASSES * shapes], self.middle, 0.125);
        }
        recipe
    }

    fn inputs(&self) -> Vec<InputTensor> {
        Vec::new()
    }

    fn compute(&self, net: &mut Net) {
        let image = net.input_of("image_tensor:0", ElementType::U8, &Dim::fixed(&[1, IMAGE, IMAGE, 3]));
        // From 0 .. 255 to -1 .. 1; 1 is ONNX's number of f32.
        let image = net.node("Cast", "image.f32", &[&image], &[("to", 1.into())]);
        let image = net.node("Transpose", "image.channels", &[&image], &[("perm", [0, 3, 1, 2].into())]);
        let (factor, one) = (net.float(2.0 / 255.0), net.float(1.0));
        let image = net.node("Mul", "image.scaled", &[&image, &factor], &[]);
        let image = net.node("Sub", "image", &[&image, &one], &[]);
        let features = self.features(net, &image);

        let offsets = self.head_outputs(net, "regression", &features, 4);
        let priors = Priors::new(net, &ssd_mobilenet_priors(), &Coder::SSD_MOBILENET);
        let corners = priors.decode(net, &offsets, &Coder::SSD_MOBILENET);
        let logits = self.head_outputs(net, "classification", &features, CLASSES);
        let scores = net.node("Sigmoid", "scores", &[&logits], &[]);
        let scores = net.node("Transpose", "scores.classes", &[&scores], &[("perm", [1, 0].into())]);
        let first = SELECTION.first_class as i64;
        let scores = net.split("scores.parts", &scores, 0, &[first, CLASSES as i64 - first]);
        let selected = select(net, &corners, &scores[1], BOXES, &SELECTION);

        let first = net.float(SELECTION.first_class as f32);
        let classes = net.node("Cast", "best.numbers", &[&selected.classes], &[("to", 1.into())]);
        let classes = net.node("Add", "best.labels", &[&classes, &first], &[]);
        let boxes = net.node("Gather", "best.corners", &[&corners, &selected.places], &[]);
        // Rows of zeros behind the boxes.
        let (most, none) = (net.ints(&[SELECTION.detection_max as i64]), net.ints(&[0]));
        let count = net.node("Shape", "found", &[&selected.scores], &[]);
        let missing = net.node("Sub", "missing", &[&most, &count], &[]);
        let along = [("axis", 0.into())];
        let of_list = net.node("Concat", "missing.of.list", &[&none, &missing], &along);
        let of_rows = net.node("Concat", "missing.of.rows", &[&none, &none, &missing, &none], &along);
        let boxes = net.node("Pad", "padded.boxes", &[&boxes, &of_rows], &[]);
        let scores = net.node("Pad", "padded.scores", &[&selected.scores, &of_list], &[]);
        let classes = net.node("Pad", "padded.classes", &[&classes, &of_list], &[]);
        net.node("Cast", "num_detections:0", &[&count], &[("to", 1.into())]);
        in_batch(net, "detection_boxes:0", &boxes);
        in_batch(net, "detection_scores:0", &scores);
        in_batch(net, "detection_classes:0", &classes);
        let most = SELECTION.detection_max;
        net.output_of("num_detections:0", ElementType::F32, &Dim::fixed(&[1]));
        net.output_of("detection_boxes:0", ElementType::F32, &Dim::fixed(&[1, most, 4]));
        net.output_of("detection_scores:0", ElementType::F32, &Dim::fixed(&[1, most]));
        net.output_of("detection_classes:0", ElementType::F32, &Dim::fixed(&[1, most]));
    }
}

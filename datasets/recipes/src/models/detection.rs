//! Networks that find boxes. They select boxes in the graph and answer as MLPerf's reference files do, one image at a
//! time. Heads, coders and selections follow `proctor_timed_steps::boxes`.

mod retinanet;
mod ssd_mobilenet;
mod ssd_resnet34;

use proctor_onnx_file::Dim;
use proctor_timed_steps::boxes::{Coder, Overlap, Selection};

pub(super) use self::{
    retinanet::{NARROW as RETINANET_NARROW, RETINANET},
    ssd_mobilenet::{NARROW as SSD_MOBILENET_NARROW, SSD_MOBILENET},
    ssd_resnet34::{NARROW as SSD_RESNET34_NARROW, SSD_RESNET34},
};
use super::net::Net;

/// Prior boxes in a graph: middles and sizes, f32`[box, 2]` each, in the order of the coder.
struct Priors {
    middles: String,
    sizes: String,
}

impl Priors {
    /// Creates the constants in a graph.
    fn new(net: &mut Net, priors: &[[f32; 4]], coder: &Coder) -> Self {
        let in_order = |[x, y]: [f32; 2]| if coder.is_y_first { [y, x] } else { [x, y] };
        let mut constant = |name: &str, part: fn(&[f32; 4]) -> [f32; 2]| {
            let values: Vec<f32> = priors.iter().flat_map(|prior| in_order(part(prior))).collect();
            net.constant(name, &[priors.len(), 2], &values)
        };
        Self {
            middles: constant("priors.middles", |[x, y, ..]| [*x, *y]),
            sizes: constant("priors.sizes", |[.., width, height]| [*width, *height]),
        }
    }

    /// Returns the priors at these places, i64`[n]`.
    fn at(&self, net: &mut Net, places: &str) -> Self {
        Self {
            middles: net.node("Gather", "priors.middles.taken", &[&self.middles, places], &[]),
            sizes: net.node("Gather", "priors.sizes.taken", &[&self.sizes, places], &[]),
        }
    }

    /// Returns the corners f32`[box, 4]` of offsets of the same shape, both in the order of the coder.
    fn decode(&self, net: &mut Net, offsets: &str, coder: &Coder) -> String {
        let parts = net.split("offsets", offsets, 1, &[2, 2]);
        let middle = net.float(coder.middle);
        let moved = net.node("Mul", "moved.by", &[&parts[0], &middle], &[]);
        let moved = net.node("Mul", "moved.sizes", &[&moved, &self.sizes], &[]);
        let middles = net.node("Add", "middles", &[&moved, &self.middles], &[]);

        let (factor, most) = (net.float(coder.size), net.float(coder.size_max));
        let logarithms = net.node("Mul", "logarithms", &[&parts[1], &factor], &[]);
        let logarithms = net.node("Min", "logarithms.bounded", &[&logarithms, &most], &[]);
        let stretched = net.node("Exp", "stretched.by", &[&logarithms], &[]);
        let stretched = net.node("Mul", "stretched", &[&stretched, &self.sizes], &[]);
        let half = net.float(0.5);
        let halves = net.node("Mul", "halves", &[&stretched, &half], &[]);

        let first = net.node("Sub", "corners.first", &[&middles, &halves], &[]);
        let last = net.node("Add", "corners.last", &[&middles, &halves], &[]);
        net.node("Concat", "corners", &[&first, &last], &[("axis", 1.into())])
    }
}

/// Boxes that were selected, the greatest score first.
struct Selected {
    /// Numbers among all, i64`[n]`.
    places: String,
    /// i64`[n]`, from 0 on.
    classes: String,
    /// f32`[n]`.
    scores: String,
}

/// Selects among corners f32`[box, 4]` with scores f32`[class, box]`, without one for the background.
fn select(net: &mut Net, corners: &str, scores: &str, box_count: usize, selection: &Selection) -> Selected {
    let (Overlap::Above(overlap) | Overlap::AtLeast(overlap)) = selection.overlap;
    let first = net.ints(&[0]);
    let batch_of_corners = net.node("Unsqueeze", "corners.batch", &[corners, &first], &[]);
    let batch_of_scores = net.node("Unsqueeze", "scores.batch", &[scores, &first], &[]);
    let per_class = net.ints(&[selection.per_class_max.min(box_count) as i64]);
    let (overlap, least) = (net.float(overlap), net.float(selection.score_min));
    let inputs = [&batch_of_corners, &batch_of_scores, &per_class, &overlap, &least].map(String::as_str);
    let kept = net.node("NonMaxSuppression", "kept", &inputs, &[]);
    // Batch, class and box of each.
    let columns = net.split("kept.columns", &kept, 1, &[1, 1, 1]);
    let second = net.ints(&[1]);
    let classes = net.node("Squeeze", "kept.classes", &[&columns[1], &second], &[]);
    let boxes = net.node("Squeeze", "kept.boxes", &[&columns[2], &second], &[]);

    let places = net.node("Concat", "kept.places", &[&columns[1], &columns[2]], &[("axis", 1.into())]);
    let scores = net.node("GatherND", "kept.scores", &[scores, &places], &[]);
    let count = net.node("Shape", "kept.count", &[&scores], &[]);
    let most = net.ints(&[selection.detection_max as i64]);
    let count = net.node("Min", "best.count", &[&count, &most], &[]);
    let best = net.many("TopK", "best", &[&scores, &count], 2, &[("axis", 0.into())]);
    Selected {
        places: net.node("Gather", "best.boxes", &[&boxes, &best[1]], &[]),
        classes: net.node("Gather", "best.classes", &[&classes, &best[1]], &[]),
        scores: best[0].clone(),
    }
}

/// Adds a batch dimension of one to a value, under the name of an output.
fn in_batch(net: &mut Net, output: &str, value: &str) {
    let first = net.ints(&[0]);
    net.node("Unsqueeze", output, &[value, &first], &[]);
}

/// Returns a batch of one image, `[channel, row, column]`.
fn one_image(extent: usize) -> Vec<Dim> {
    Dim::fixed(&[1, 3, extent, extent])
}

/// Returns a dimension that is known when the boxes are.
fn found() -> Dim {
    Dim::Free("found".to_owned())
}

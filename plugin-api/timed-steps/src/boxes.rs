//! Turns the raw outputs of SSD and RetinaNet into boxes: priors, decoding, non-maximum suppression, and the records of
//! the response.
//!
//! ```
//! use proctor_timed_steps::boxes::{Coder, SSD_MOBILENET, append_records, ssd_mobilenet_priors};
//!
//! let priors = ssd_mobilenet_priors();
//! let (offsets, mut scores) = (vec![[0.0; 4]; priors.len()], vec![0.0; priors.len() * 91]);
//! scores[500 * 91 + 7] = 0.9;
//! let boxes = Coder::SSD_MOBILENET.decode(&offsets, &priors);
//! let detections = SSD_MOBILENET.select(&boxes, &scores);
//! let mut response = Vec::new();
//! append_records(3, &detections, [1.0, 1.0], 0.3, &mut response);
//! assert_eq!((detections[0].class, response.len()), (7, 28));
//! ```

mod categories;
mod coder;
mod priors;
mod records;
mod select;

pub use categories::coco_category;
pub use coder::Coder;
pub use priors::{retinanet_anchors, retinanet_levels, ssd_mobilenet_priors, ssd_resnet34_priors};
pub use records::append_records;
pub use select::{
    Corners, Detection, Overlap, RETINANET, SSD_MOBILENET, SSD_RESNET34, Selection, sigmoid, softmax,
};

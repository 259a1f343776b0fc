//! Selects the boxes to keep: scores above a bound, the best of overlapping ones, the best of all.

use std::ops::Range;

/// Left, upper, right and lower border.
pub type Corners = [f32; 4];

/// A box that was kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Detection {
    /// Borders, in the unit of the boxes that it was selected from.
    pub corners: Corners,
    /// Score of the box.
    pub score: f32,
    /// Class: the column of its score.
    pub class: usize,
}

/// Intersection over union above which the lower of two boxes of a class is left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Overlap {
    /// Left out above this overlap.
    Above(f32),
    /// Left out at this overlap, or above.
    AtLeast(f32),
}

/// Bounds for keeping boxes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Selection {
    /// Number of columns of scores.
    pub class_count: usize,
    /// First column that is a class; before it is the background.
    pub first_class: usize,
    /// A box is kept with a score above this.
    pub score_min: f32,
    /// Maximum number of candidates of a class, the best by score; the others are left out at once.
    pub per_class_max: usize,
    /// Overlap above which boxes are left out.
    pub overlap: Overlap,
    /// Maximum number of boxes that are kept in all.
    pub detection_max: usize,
}

/// SSD-MobileNet: scores by [`sigmoid`], the background in column 0, classes of COCO.
///
/// Source: MLPerf Inference, `ssd_mobilenet_v1.py`, and the export of TensorFlow for the bounds on numbers.
pub const SSD_MOBILENET: Selection = Selection {
    class_count: 91,
    first_class: 1,
    score_min: 0.3,
    per_class_max: 100,
    overlap: Overlap::Above(0.6),
    detection_max: 100,
};

/// SSD-ResNet34: scores by [`softmax`], the background in column 0, classes by their place in the list.
///
/// Source: MLPerf Inference, the decoder of ssd-resnet34.
pub const SSD_RESNET34: Selection = Selection {
    class_count: 81,
    first_class: 1,
    score_min: 0.05,
    per_class_max: 200,
    overlap: Overlap::AtLeast(0.5),
    detection_max: 200,
};

/// RetinaNet: scores by [`sigmoid`], no background, 1000 candidates of each level; see [`Selection::select_levels`].
///
/// Source: MLPerf Inference, `retinanet.py`.
pub const RETINANET: Selection = Selection {
    class_count: 264,
    first_class: 0,
    score_min: 0.05,
    per_class_max: usize::MAX,
    overlap: Overlap::Above(0.5),
    detection_max: 300,
};

/// A score of a box for a class.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    score: f32,
    class: usize,
    index: usize,
}

impl Selection {
    /// Selects from boxes with their scores, `[box, class]`, row-major. The result is by score, the greatest first;
    /// equal ones by class, then by index.
    ///
    /// # Panics
    /// If there are not as many scores as boxes and classes.
    #[must_use]
    pub fn select(&self, boxes: &[Corners], scores: &[f32]) -> Vec<Detection> {
        self.keep(boxes, self.candidates(0..boxes.len(), boxes, scores))
    }

    /// Selects as [`Selection::select`], but first takes the `per_level_max` best scores of each level, of any class.
    ///
    /// # Panics
    /// If there are not as many scores as boxes and classes, or a level has a box that is not there.
    #[must_use]
    pub fn select_levels(
        &self,
        boxes: &[Corners],
        scores: &[f32],
        levels: &[Range<usize>],
        per_level_max: usize,
    ) -> Vec<Detection> {
        let mut candidates = Vec::new();
        for level in levels {
            let mut found = self.candidates(level.clone(), boxes, scores);
            truncate_to_best(&mut found, per_level_max, |a, b| {
                b.score.total_cmp(&a.score).then((a.index, a.class).cmp(&(b.index, b.class)))
            });
            candidates.append(&mut found);
        }
        self.keep(boxes, candidates)
    }

    fn candidates(&self, range: Range<usize>, boxes: &[Corners], scores: &[f32]) -> Vec<Candidate> {
        assert_eq!(scores.len(), boxes.len() * self.class_count, "scores of the boxes");
        let mut candidates = Vec::new();
        let rows =
            scores[range.start * self.class_count..range.end * self.class_count].chunks(self.class_count);
        for (index, row) in range.zip(rows) {
            for (class, score) in row.iter().copied().enumerate().skip(self.first_class) {
                if score > self.score_min {
                    candidates.push(Candidate { score, class, index });
                }
            }
        }
        candidates
    }

    fn keep(&self, boxes: &[Corners], mut candidates: Vec<Candidate>) -> Vec<Detection> {
        let by_score = |a: &Candidate, b: &Candidate| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index));
        candidates.sort_unstable_by(|a, b| a.class.cmp(&b.class).then_with(|| by_score(a, b)));
        let mut kept = Vec::new();
        for class in candidates.chunk_by(|a, b| a.class == b.class) {
            let best = &class[..class.len().min(self.per_class_max)];
            self.suppress(boxes, best, &mut kept);
        }
        truncate_to_best(&mut kept, self.detection_max, |a, b| {
            b.score.total_cmp(&a.score).then((a.class, a.index).cmp(&(b.class, b.index)))
        });
        let detection =
            |kept: Candidate| Detection { corners: boxes[kept.index], score: kept.score, class: kept.class };
        kept.into_iter().map(detection).collect()
    }

    /// Appends the candidates of a class that no better one overlaps. They come with the best first.
    fn suppress(&self, boxes: &[Corners], candidates: &[Candidate], kept: &mut Vec<Candidate>) {
        let start = kept.len();
        for candidate in candidates {
            let corners = boxes[candidate.index];
            let is_covered =
                kept[start..].iter().any(|better| self.overlap.is_reached(boxes[better.index], corners));
            if !is_covered {
                kept.push(*candidate);
            }
        }
    }
}

impl Overlap {
    /// Returns whether two boxes overlap so much. Boxes without an area have no overlap.
    fn is_reached(self, a: Corners, b: Corners) -> bool {
        let width = (a[2].min(b[2]) - a[0].max(b[0])).max(0.0);
        let height = (a[3].min(b[3]) - a[1].max(b[1])).max(0.0);
        let both = width * height;
        let area = |corners: Corners| (corners[2] - corners[0]) * (corners[3] - corners[1]);
        let ratio = both / (area(a) + area(b) - both);
        match self {
            Self::Above(bound) => ratio > bound,
            Self::AtLeast(bound) => ratio >= bound,
        }
    }
}

/// Keeps the first `count_max` of an order, sorted.
fn truncate_to_best<T>(list: &mut Vec<T>, count_max: usize, order: impl Fn(&T, &T) -> std::cmp::Ordering) {
    if list.len() > count_max {
        if count_max > 0 {
            list.select_nth_unstable_by(count_max - 1, &order);
        }
        list.truncate(count_max);
    }
    list.sort_unstable_by(order);
}

/// Turns logits into scores from 0 to 1, each independently.
pub fn sigmoid(logits: &mut [f32]) {
    for logit in logits {
        *logit = 1.0 / (1.0 + (-*logit).exp());
    }
}

/// Turns the logits of each box into scores from 0 to 1, which add up to 1.
///
/// # Panics
/// If there is no class, or a row that is not whole.
pub fn softmax(logits: &mut [f32], class_count: usize) {
    assert!(logits.len().is_multiple_of(class_count), "rows of {class_count} logits");
    for row in logits.chunks_exact_mut(class_count) {
        let greatest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut sum = 0.0;
        for logit in row.iter_mut() {
            *logit = (*logit - greatest).exp();
            sum += *logit;
        }
        row.iter_mut().for_each(|score| *score /= sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: Selection = Selection {
        class_count: 3,
        first_class: 1,
        score_min: 0.3,
        per_class_max: 10,
        overlap: Overlap::Above(0.5),
        detection_max: 10,
    };

    fn found(selection: &Selection, boxes: &[Corners], scores: &[f32]) -> Vec<(usize, f32)> {
        selection.select(boxes, scores).iter().map(|detection| (detection.class, detection.score)).collect()
    }

    #[test]
    fn the_lower_of_two_overlapping_boxes_of_a_class_is_left_out() {
        let boxes = [[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.9], [5.0, 5.0, 6.0, 6.0]];
        #[rustfmt::skip]
        let scores = [
            0.9, 0.5, 0.31,
            0.9, 0.6, 0.3,
            0.9, 0.4, 0.4,
        ];
        assert_eq!(found(&TWO, &boxes, &scores), [(1, 0.6), (1, 0.4), (2, 0.4), (2, 0.31)]);
        let fewer = Selection { per_class_max: 1, ..TWO };
        assert_eq!(found(&fewer, &boxes, &scores), [(1, 0.6), (2, 0.4)]);
        let one = Selection { detection_max: 1, ..TWO };
        assert_eq!(found(&one, &boxes, &scores), [(1, 0.6)]);
        let none = Selection { detection_max: 0, ..TWO };
        assert!(found(&none, &boxes, &scores).is_empty());
    }

    #[test]
    fn a_bound_counts_or_does_not() {
        // Half of the union.
        let boxes = [[0.0, 0.0, 2.0, 1.0], [0.0, 0.0, 1.0, 1.0]];
        let scores = [0.0, 0.9, 0.0, 0.0, 0.8, 0.0];
        assert_eq!(found(&TWO, &boxes, &scores).len(), 2);
        let closed = Selection { overlap: Overlap::AtLeast(0.5), ..TWO };
        assert_eq!(found(&closed, &boxes, &scores).len(), 1);
        // Without an area nothing overlaps, and no number is no score.
        let flat = [[1.0; 4], [1.0; 4]];
        assert_eq!(found(&closed, &flat, &scores).len(), 2);
        assert_eq!(found(&closed, &flat, &[0.0, f32::NAN, 0.4, 0.0, 0.0, 0.0]), [(2, 0.4)]);
    }

    #[test]
    fn each_level_gives_its_best_scores() {
        let boxes: Vec<Corners> = (0..4).map(|at| [at as f32, 0.0, at as f32 + 0.5, 1.0]).collect();
        #[rustfmt::skip]
        let scores = [
            0.0, 0.9, 0.8,
            0.0, 0.7, 0.6,
            0.0, 0.5, 0.4,
            0.0, 0.4, 0.5,
        ];
        let found = TWO.select_levels(&boxes, &scores, &[0..2, 2..4], 2);
        let found: Vec<_> = found.iter().map(|detection| (detection.class, detection.corners[0])).collect();
        assert_eq!(found, [(1, 0.0), (2, 0.0), (1, 2.0), (2, 3.0)]);
    }

    #[test]
    fn scores_are_parts_of_one() {
        let mut logits = [0.0, 100.0, -100.0];
        sigmoid(&mut logits);
        assert_eq!(logits[..2], [0.5, 1.0]);
        let mut logits = [1000.0, 1000.0, -1000.0, 3.0, 3.0, 3.0];
        softmax(&mut logits, 3);
        assert_eq!(logits[..3], [0.5, 0.5, 0.0]);
        assert!((logits[3] - 1.0 / 3.0).abs() < 1e-6);
    }
}

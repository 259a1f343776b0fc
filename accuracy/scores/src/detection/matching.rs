//! Decides which boxes of an image and a category are right, at every threshold and for every range of areas.

use crate::detection::{Annotation, Bbox, Detection, Placed};

/// Number of thresholds of the IoU.
pub(super) const THRESHOLD_COUNT: usize = 10;

/// Number of ranges of areas.
pub(super) const RANGE_COUNT: usize = 4;

/// Maximum number of boxes counted per image and category; the ones with the highest scores count.
pub(super) const DETECTION_COUNT_MAX: usize = 100;

/// Areas in square pixels, both ends included: all, small, medium, large.
const RANGES: [(f64, f64); RANGE_COUNT] = [(0.0, 1e10), (0.0, 1024.0), (1024.0, 9216.0), (9216.0, 1e10)];

/// A set of thresholds, one bit for each.
pub(super) type Thresholds = u16;

const ALL: Thresholds = (1 << THRESHOLD_COUNT) - 1;

/// Returns the IoU from which a box and an annotation match, by threshold: 0.5 to 0.95 in steps of 0.05, as NumPy's
/// `linspace` makes them.
pub(super) fn thresholds() -> [f64; THRESHOLD_COUNT] {
    let (first, last) = (0.5, 0.95);
    let step = (last - first) / 9.0;
    let mut thresholds = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0].map(|count| count * step + first);
    thresholds[THRESHOLD_COUNT - 1] = last;
    thresholds
}

/// The judgement of a box, by range of areas.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judged {
    pub(super) score: f64,
    /// Position among the boxes of its image and category, in descending order of scores.
    pub(super) rank: usize,
    /// Thresholds at which it matches.
    pub(super) matched: [Thresholds; RANGE_COUNT],
    /// Thresholds at which it counts neither as right nor as wrong.
    pub(super) ignored: [Thresholds; RANGE_COUNT],
}

/// The boxes of a category in all images, and the number of annotations to find.
#[derive(Debug, Default)]
pub(super) struct Category {
    /// Sorted by descending score; boxes with equal scores keep the order of their images.
    pub(super) judged: Vec<Judged>,
    /// Number of annotations that count, by range of areas.
    pub(super) annotation_counts: [usize; RANGE_COUNT],
}

/// Matches boxes with annotations; keeps its memory from one image to the next.
#[derive(Debug)]
pub(super) struct Matcher {
    thresholds: [f64; THRESHOLD_COUNT],
    category: Category,
    /// IoU with each annotation of an image, box by box.
    overlaps: Vec<f64>,
    /// The order in which annotations are tried, and the thresholds at which each is matched.
    order: Vec<usize>,
    taken: Vec<Thresholds>,
}

impl Default for Matcher {
    fn default() -> Self {
        Self {
            // An IoU of 1 has to match even if rounding takes its last bit away.
            thresholds: thresholds().map(|threshold| threshold.min(1.0 - 1e-10)),
            category: Category::default(),
            overlaps: Vec::new(),
            order: Vec::new(),
            taken: Vec::new(),
        }
    }
}

impl Matcher {
    /// Judges the boxes of one category; both lists are in the order of images.
    pub(super) fn judge(
        &mut self,
        annotations: &[Placed<'_, Annotation>],
        detections: &[Placed<'_, Detection>],
    ) -> &Category {
        self.category.judged.clear();
        self.category.annotation_counts = [0; RANGE_COUNT];
        let mut right = annotations.chunk_by(|a, b| a.image == b.image).peekable();
        for found in detections.chunk_by(|a, b| a.image == b.image) {
            while let Some(right) = right.next_if(|right| right[0].image < found[0].image) {
                self.judge_image(right, &[]);
            }
            let right = right.next_if(|right| right[0].image == found[0].image).unwrap_or_default();
            self.judge_image(right, found);
        }
        for right in right {
            self.judge_image(right, &[]);
        }
        // Stable, as is the order within an image: scores are no NaN.
        self.category.judged.sort_by(|a, b| descending(a.score, b.score));
        &self.category
    }

    fn judge_image(&mut self, annotations: &[Placed<'_, Annotation>], detections: &[Placed<'_, Detection>]) {
        let right: Vec<_> = annotations.iter().map(|it| it.item).collect();
        let mut found: Vec<_> = detections.iter().map(|it| it.item).collect();
        found.sort_by(|a, b| descending(a.score, b.score));
        found.truncate(DETECTION_COUNT_MAX);
        let first = self.category.judged.len();
        self.category.judged.extend(found.iter().enumerate().map(|(rank, it)| Judged {
            score: it.score,
            rank,
            matched: [0; RANGE_COUNT],
            ignored: [0; RANGE_COUNT],
        }));
        self.overlaps.clear();
        let pairs = found.iter().flat_map(|found| right.iter().map(|right| overlap(&found.bbox, right)));
        self.overlaps.extend(pairs);

        for (range, (area_min, area_max)) in RANGES.iter().enumerate() {
            let is_outside = |area: f64| area < *area_min || area > *area_max;
            let is_ignored = |index: usize| right[index].is_crowd || is_outside(right[index].area);
            self.order.clear();
            self.order.extend((0..right.len()).filter(|index| !is_ignored(*index)));
            let counted = self.order.len();
            self.category.annotation_counts[range] += counted;
            self.order.extend((0..right.len()).filter(|index| is_ignored(*index)));
            self.taken.clear();
            self.taken.resize(right.len(), 0);
            for (position, found) in found.iter().enumerate() {
                let judged = &mut self.category.judged[first + position];
                let overlaps = &self.overlaps[position * right.len()..][..right.len()];
                let reaches = |overlap: &f64| *overlap >= self.thresholds[0];
                if overlaps.iter().any(reaches) {
                    let (thresholds, order) = (&self.thresholds, Order { order: &self.order, counted });
                    for (threshold, overlap_min) in thresholds.iter().enumerate() {
                        let bit = 1 << threshold;
                        let Some(place) = order.best(&right, overlaps, &self.taken, bit, *overlap_min) else {
                            // Nothing reaches a higher threshold either, but what was taken at this one may be free.
                            continue;
                        };
                        let index = self.order[place];
                        self.taken[index] |= bit;
                        judged.matched[range] |= if right[index].id == 0 { 0 } else { bit };
                        judged.ignored[range] |= if place < counted { 0 } else { bit };
                    }
                }
                if is_outside(found.bbox.area()) {
                    judged.ignored[range] |= ALL & !judged.matched[range];
                }
            }
        }
    }
}

/// The annotations of an image in the order in which they are tried; the first `counted` of them are not ignored.
struct Order<'a> {
    order: &'a [usize],
    counted: usize,
}

impl Order<'_> {
    /// Returns the index of the annotation that a box matches: the one with the highest IoU, the last if several are
    /// equal. An ignored one is returned only if no other matches.
    fn best(
        &self,
        right: &[&Annotation],
        overlaps: &[f64],
        taken: &[Thresholds],
        bit: Thresholds,
        overlap_min: f64,
    ) -> Option<usize> {
        let (mut best, mut most) = (None, overlap_min);
        for (place, index) in self.order.iter().enumerate() {
            if taken[*index] & bit != 0 && !right[*index].is_crowd {
                continue;
            }
            if place >= self.counted && best.is_some_and(|best| best < self.counted) {
                break;
            }
            if overlaps[*index] >= most {
                (best, most) = (Some(place), overlaps[*index]);
            }
        }
        best
    }
}

/// Returns the IoU of a box with an annotation; with a crowd, the share of the box that lies in it.
fn overlap(found: &Bbox, annotation: &Annotation) -> f64 {
    let right = &annotation.bbox;
    let width = (found.width + found.x).min(right.width + right.x) - found.x.max(right.x);
    if width <= 0.0 {
        return 0.0;
    }
    let height = (found.height + found.y).min(right.height + right.y) - found.y.max(right.y);
    if height <= 0.0 {
        return 0.0;
    }
    let both = width * height;
    let either = if annotation.is_crowd { found.area() } else { found.area() + right.area() - both };
    both / either
}

fn descending(a: f64, b: f64) -> std::cmp::Ordering {
    b.partial_cmp(&a).unwrap_or(std::cmp::Ordering::Equal)
}

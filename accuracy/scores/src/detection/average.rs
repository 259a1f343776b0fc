//! Turns judged boxes into precision and recall, and their means over categories.

use crate::detection::{
    figures::DetectionFigures,
    matching::{Category, RANGE_COUNT, THRESHOLD_COUNT},
};

/// Number of recalls at which the precision is read: 0 to 1 in steps of 0.01.
const RECALL_COUNT: usize = 101;

/// Numbers of boxes of an image and a category at which the recall is read.
const DETECTION_COUNTS: [usize; 3] = [1, 10, 100];

/// Index of the range of all areas.
const ANY_AREA: usize = 0;

/// Positions of the IoU 0.5 and 0.75 among the thresholds.
const HALF: usize = 0;
const THREE_QUARTERS: usize = 5;

/// Precision and recall of the categories that have annotations, by range of areas. The categories come one after
/// another, in ascending order of their ids.
#[derive(Debug, Default)]
pub(super) struct CategoryCurves {
    /// `[category][threshold][recall]` with 100 boxes.
    precisions: [Vec<[[f64; RECALL_COUNT]; THRESHOLD_COUNT]>; RANGE_COUNT],
    /// `[category][threshold]` with 100 boxes.
    recalls: [Vec<[f64; THRESHOLD_COUNT]>; RANGE_COUNT],
    /// `[category][threshold]` for any area, by number of boxes.
    limited_recalls: [Vec<[f64; THRESHOLD_COUNT]>; DETECTION_COUNTS.len() - 1],
}

impl CategoryCurves {
    pub(super) fn add(&mut self, category: &Category) {
        for range in 0..RANGE_COUNT {
            // Without annotations in this range the category has no figures for it.
            if category.annotation_counts[range] > 0 {
                let (precisions, recalls) = curves(category, range);
                self.precisions[range].push(precisions);
                self.recalls[range].push(recalls);
            }
        }
        if category.annotation_counts[ANY_AREA] > 0 {
            for (count_max, recalls) in DETECTION_COUNTS.iter().zip(&mut self.limited_recalls) {
                recalls.push(recalls_of_first(category, *count_max));
            }
        }
    }

    pub(super) fn figures(&self) -> DetectionFigures {
        let thresholds = 0..THRESHOLD_COUNT;
        let precision = |range: usize, thresholds: std::ops::Range<usize>| {
            let curves = &self.precisions[range];
            let at = |threshold: usize, recall: usize| curves.iter().map(move |it| it[threshold][recall]);
            mean(
                thresholds
                    .flat_map(|threshold| (0..RECALL_COUNT).flat_map(move |recall| at(threshold, recall))),
            )
        };
        let recall = |curves: &[[f64; THRESHOLD_COUNT]]| {
            mean((0..THRESHOLD_COUNT).flat_map(|threshold| curves.iter().map(move |it| it[threshold])))
        };
        DetectionFigures {
            precision: precision(ANY_AREA, thresholds.clone()),
            precision_50: precision(ANY_AREA, HALF..HALF + 1),
            precision_75: precision(ANY_AREA, THREE_QUARTERS..THREE_QUARTERS + 1),
            precision_small: precision(1, thresholds.clone()),
            precision_medium: precision(2, thresholds.clone()),
            precision_large: precision(3, thresholds),
            recall_1: recall(&self.limited_recalls[0]),
            recall_10: recall(&self.limited_recalls[1]),
            recall_100: recall(&self.recalls[ANY_AREA]),
            recall_small: recall(&self.recalls[1]),
            recall_medium: recall(&self.recalls[2]),
            recall_large: recall(&self.recalls[3]),
        }
    }
}

/// Returns the precision by threshold and recall, and recall by threshold, of all boxes.
fn curves(
    category: &Category,
    range: usize,
) -> ([[f64; RECALL_COUNT]; THRESHOLD_COUNT], [f64; THRESHOLD_COUNT]) {
    // The precision at each right box: between two of them it only falls.
    let mut at_right: [Vec<f64>; THRESHOLD_COUNT] = Default::default();
    let mut wrong_counts = [0_usize; THRESHOLD_COUNT];
    for judged in &category.judged {
        let (matched, ignored) = (judged.matched[range], judged.ignored[range]);
        for threshold in 0..THRESHOLD_COUNT {
            let bit = 1 << threshold;
            if ignored & bit != 0 {
                continue;
            }
            if matched & bit == 0 {
                wrong_counts[threshold] += 1;
            } else {
                let right = (at_right[threshold].len() + 1) as f64;
                let wrong = wrong_counts[threshold] as f64;
                at_right[threshold].push(right / (wrong + right + f64::EPSILON));
            }
        }
    }
    let annotation_count = category.annotation_counts[range] as f64;
    let mut recalls = [0.0; THRESHOLD_COUNT];
    let mut precisions = [[0.0; RECALL_COUNT]; THRESHOLD_COUNT];
    for (threshold, at_right) in at_right.iter_mut().enumerate() {
        recalls[threshold] = at_right.len() as f64 / annotation_count;
        // At each recall the highest precision at this recall or a higher one.
        let mut highest = 0.0_f64;
        for precision in at_right.iter_mut().rev() {
            highest = highest.max(*precision);
            *precision = highest;
        }
        let mut position = 0;
        for (step, precision) in precisions[threshold].iter_mut().enumerate() {
            // As NumPy's `linspace` makes them.
            let wanted = if step == RECALL_COUNT - 1 { 1.0 } else { step as f64 * 0.01 };
            while position < at_right.len() && ((position + 1) as f64) / annotation_count < wanted {
                position += 1;
            }
            *precision = at_right.get(position).copied().unwrap_or(0.0);
        }
    }
    (precisions, recalls)
}

/// Returns the recall by threshold of the first boxes of each image.
fn recalls_of_first(category: &Category, count_max: usize) -> [f64; THRESHOLD_COUNT] {
    let mut right_counts = [0_usize; THRESHOLD_COUNT];
    for judged in category.judged.iter().filter(|judged| judged.rank < count_max) {
        let right = judged.matched[ANY_AREA] & !judged.ignored[ANY_AREA];
        for (threshold, count) in right_counts.iter_mut().enumerate() {
            *count += usize::from(right & 1 << threshold != 0);
        }
    }
    right_counts.map(|count| count as f64 / category.annotation_counts[ANY_AREA] as f64)
}

/// Returns the mean as NumPy computes it; `None` without values.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<_> = values.collect();
    (!values.is_empty()).then(|| pairwise_sum(&values) / values.len() as f64)
}

/// Returns the sum in the order of NumPy's `add.reduce`: halves of a multiple of eight values, and in blocks of at most
/// 128 eight sums side by side.
fn pairwise_sum(values: &[f64]) -> f64 {
    const LANE_COUNT: usize = 8;
    const BLOCK_LEN: usize = 128;
    if values.len() < LANE_COUNT {
        return values.iter().fold(-0.0, |sum, value| sum + value);
    }
    if values.len() > BLOCK_LEN {
        let half = values.len() / 2;
        let (left, right) = values.split_at(half - half % LANE_COUNT);
        return pairwise_sum(left) + pairwise_sum(right);
    }
    let (rows, rest) = values.as_chunks::<LANE_COUNT>();
    let lanes = rows[1..].iter().fold(rows[0], |mut lanes, row| {
        lanes.iter_mut().zip(row).for_each(|(lane, value)| *lane += value);
        lanes
    });
    let [a, b, c, d, e, f, g, h] = lanes;
    rest.iter().fold(((a + b) + (c + d)) + ((e + f) + (g + h)), |sum, value| sum + value)
}

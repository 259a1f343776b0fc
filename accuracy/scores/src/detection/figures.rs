//! The twelve figures and their lines.

use crate::python::fixed;

/// The figures of COCO, in `[0, 1]`. `None` if no annotation counts, for which pycocotools has -1.
///
/// Precision and recall are means over categories; over the IoU thresholds 0.5 to 0.95 too, unless the name has one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DetectionFigures {
    /// Average precision, the measure of detection (mAP).
    pub precision: Option<f64>,
    /// Average precision at IoU 0.5.
    pub precision_50: Option<f64>,
    /// Average precision at IoU 0.75.
    pub precision_75: Option<f64>,
    /// Average precision of areas up to 32 squared.
    pub precision_small: Option<f64>,
    /// Average precision of areas from 32 to 96 squared.
    pub precision_medium: Option<f64>,
    /// Average precision of areas from 96 squared.
    pub precision_large: Option<f64>,
    /// Recall with one box for each image and category.
    pub recall_1: Option<f64>,
    /// Recall with 10 boxes for each image and category.
    pub recall_10: Option<f64>,
    /// Recall with 100 boxes for each image and category.
    pub recall_100: Option<f64>,
    /// Recall of areas up to 32 squared.
    pub recall_small: Option<f64>,
    /// Recall of areas from 32 to 96 squared.
    pub recall_medium: Option<f64>,
    /// Recall of areas from 96 squared.
    pub recall_large: Option<f64>,
}

/// Name, IoU, area and number of boxes of each figure in pycocotools' page.
const ROWS: [(bool, &str, &str, u32); 12] = [
    (true, "0.50:0.95", "all", 100),
    (true, "0.50", "all", 100),
    (true, "0.75", "all", 100),
    (true, "0.50:0.95", "small", 100),
    (true, "0.50:0.95", "medium", 100),
    (true, "0.50:0.95", "large", 100),
    (false, "0.50:0.95", "all", 1),
    (false, "0.50:0.95", "all", 10),
    (false, "0.50:0.95", "all", 100),
    (false, "0.50:0.95", "small", 100),
    (false, "0.50:0.95", "medium", 100),
    (false, "0.50:0.95", "large", 100),
];

impl DetectionFigures {
    /// Returns the figures with their names, in the order of pycocotools' `stats`.
    #[must_use]
    pub fn named(&self) -> [(&'static str, Option<f64>); 12] {
        [
            ("precision", self.precision),
            ("precision_50", self.precision_50),
            ("precision_75", self.precision_75),
            ("precision_small", self.precision_small),
            ("precision_medium", self.precision_medium),
            ("precision_large", self.precision_large),
            ("recall_1", self.recall_1),
            ("recall_10", self.recall_10),
            ("recall_100", self.recall_100),
            ("recall_small", self.recall_small),
            ("recall_medium", self.recall_medium),
            ("recall_large", self.recall_large),
        ]
    }

    /// Returns the page that pycocotools prints, a line for each figure.
    #[must_use]
    pub fn page(&self) -> String {
        let lines = ROWS.iter().zip(self.named()).map(|((is_precision, iou, area, count), (_, value))| {
            let (title, sign) =
                if *is_precision { ("Average Precision", "(AP)") } else { ("Average Recall", "(AR)") };
            let value = fixed(value.unwrap_or(-1.0), 3);
            format!(" {title:<18} {sign} @[ IoU={iou:<9} | area={area:>6} | maxDets={count:>3} ] = {value}\n")
        });
        lines.collect()
    }

    /// Returns the line of the reference's accuracy script: `mAP=20.002%`.
    #[must_use]
    pub fn line(&self) -> String {
        format!("mAP={}%", fixed(100.0 * self.precision.unwrap_or(-1.0), 3))
    }
}

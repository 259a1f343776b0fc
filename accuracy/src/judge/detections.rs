//! Boxes of COCO and Open Images: records of seven f32.

use proctor_scores::{
    ScoreError,
    detection::{Annotation, Bbox, Detection, DetectionFigures, Scope, evaluate},
};

use crate::{
    error::AccuracyError,
    judge::{
        Judge, Judgement,
        defect::{Defects, Faulty, ResponseDefect},
        numbers,
    },
};

/// Number of values of a record: sample, upper, left, lower and right edge as shares of the image, score, class.
const RECORD_LEN: usize = 7;

/// An image by its place among the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JudgedImage {
    /// The image in the annotations.
    pub id: u64,
    /// Height in pixels, as in the annotations.
    pub height: u64,
    /// Width in pixels.
    pub width: u64,
}

/// Meaning of the class in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassNames {
    /// The id of a category.
    Ids,
    /// The position of a category in ascending order of ids, from 1.
    Positions,
}

impl ClassNames {
    fn other(self) -> Self {
        match self {
            Self::Ids => Self::Positions,
            Self::Positions => Self::Ids,
        }
    }
}

/// Scores boxes by the average precision of COCO, over the images that the log has a record of.
///
/// A record is taken as the reference takes it: numbers of f32 times the size of the image, in f64; the class without
/// its fraction.
#[derive(Debug)]
pub struct DetectionJudge {
    images: Vec<JudgedImage>,
    annotations: Vec<Annotation>,
    /// Ascending.
    categories: Vec<u64>,
    class_names: ClassNames,
    detections: Vec<Detection>,
    answered: Vec<u64>,
}

impl DetectionJudge {
    /// Creates a judge of the images of a data set, in the order of its samples.
    #[must_use]
    pub fn new(
        images: Vec<JudgedImage>,
        annotations: Vec<Annotation>,
        mut categories: Vec<u64>,
        class_names: ClassNames,
    ) -> Self {
        categories.sort_unstable();
        Self { images, annotations, categories, class_names, detections: Vec::new(), answered: Vec::new() }
    }

    /// Returns all twelve figures.
    ///
    /// # Errors
    /// [`ScoreError::NotFinite`] or [`ScoreError::DuplicateAnnotation`] for annotations.
    pub fn figures(&self) -> Result<DetectionFigures, ScoreError> {
        let scope = Scope { images: &self.answered, categories: &self.categories };
        evaluate(&self.annotations, &self.detections, &scope)
    }

    /// Returns the category of a class, by the meaning of class numbers.
    fn category(&self, class_names: ClassNames, class: f32) -> Option<u64> {
        // Whole numbers up to 2^24 are exact, and no data set has as many classes.
        let class = (0.0..16_777_216.0).contains(&class).then_some(class as u64)?;
        match class_names {
            ClassNames::Ids => self.categories.binary_search(&class).is_ok().then_some(class),
            ClassNames::Positions => {
                self.categories.get(usize::try_from(class.checked_sub(1)?).ok()?).copied()
            }
        }
    }
}

impl Judge for DetectionJudge {
    fn sample_count(&self) -> usize {
        self.images.len()
    }

    fn take(&mut self, sample: usize, response: &[u8], defects: &mut Defects) -> Result<(), AccuracyError> {
        let JudgedImage { id, height, width } = self.images[sample];
        self.answered.push(id);
        let (mut not_finite, mut other, mut no_class) =
            (Faulty::default(), Faulty::default(), Faulty::default());
        let mut is_of_other_names = false;
        let records = numbers::<4>(response, RECORD_LEN, defects).as_chunks::<RECORD_LEN>().0;
        for (position, record) in records.iter().enumerate() {
            let record = record.map(f32::from_le_bytes);
            let [index, top, left, bottom, right, score, class] = record;
            if !record.iter().all(|number| number.is_finite()) {
                not_finite.add(position);
                continue;
            }
            if index.trunc() != sample as f32 {
                other.add(position);
            }
            let Some(category) = self.category(self.class_names, class) else {
                no_class.add(position);
                is_of_other_names |= self.category(self.class_names.other(), class).is_some();
                continue;
            };
            let pixels = |share: f32, size: u64| f64::from(share) * size as f64;
            let (x, y) = (pixels(left, width), pixels(top, height));
            let bbox = Bbox { x, y, width: pixels(right, width) - x, height: pixels(bottom, height) - y };
            self.detections.push(Detection { image: id, category, bbox, score: score.into() });
        }
        not_finite.list(defects, |position, count| ResponseDefect::NotFinite { position, count });
        other.list(defects, |position, count| ResponseDefect::OtherSample { position, count });
        no_class.list(defects, |position, count| ResponseDefect::Class {
            position,
            count,
            is_of_other_names,
        });
        Ok(())
    }

    /// Returns the mAP in `[0, 1]` as the value.
    fn judgement(self: Box<Self>) -> Result<Judgement, ScoreError> {
        let figures = self.figures()?;
        let value = figures.precision.ok_or(ScoreError::Empty { what: "annotations of answered images" })?;
        let details = figures.named().into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        Ok(Judgement { value, line: Some(figures.line()), details, ..Judgement::default() })
    }
}

//! Average precision and recall of boxes, as COCO defines them and pycocotools computes them; Open Images, too.
//!
//! Boxes of an image and a category are matched with its annotations in descending order of their scores, at ten
//! thresholds of the intersection over union (IoU) and for four ranges of areas. Precision and recall of a category
//! come from its boxes in all images, in one order of scores.
//!
//! # Numerics
//! Every operation follows pycocotools 2.0 with NumPy, in the same order, so the figures agree to the last bit.
//!
//! # Cost
//! Boxes and annotations are sorted by category and image once. Only pairs within an image and a category meet, all
//! thresholds in one pass, and those without an overlap of one half are done with at once.

mod average;
mod figures;
mod matching;

use std::collections::HashSet;

use crate::{
    detection::{average::CategoryCurves, matching::Matcher},
    error::ScoreError,
};

pub use figures::DetectionFigures;

/// A box in pixels. Its sides may be zero or less, as in answers of models, and then it overlaps nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bbox {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Distance from the left edge to the right.
    pub width: f64,
    /// Distance from the upper edge to the lower.
    pub height: f64,
}

impl Bbox {
    /// Returns the product of the sides.
    #[must_use]
    pub fn area(&self) -> f64 {
        self.width * self.height
    }

    fn values(&self) -> [f64; 4] {
        [self.x, self.y, self.width, self.height]
    }
}

/// A box that a model found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Detection {
    /// Id of the image.
    pub image: u64,
    /// Id of the category.
    pub category: u64,
    /// Place of the box in the image.
    pub bbox: Bbox,
    /// Confidence of the model; only the order counts.
    pub score: f64,
}

/// A box to be found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Annotation {
    /// Identity, unlike any other's. pycocotools notes matches by it and takes 0 for none, so a box that matches an
    /// annotation of id 0 counts as wrong.
    pub id: u64,
    /// Id of the image.
    pub image: u64,
    /// Id of the category.
    pub category: u64,
    /// Place of the box in the image.
    pub bbox: Bbox,
    /// Area that decides which range the box falls into: in COCO, the area of its outline.
    pub area: f64,
    /// Whether it is a crowd: boxes within it count neither as right nor as wrong.
    pub is_crowd: bool,
}

/// The images and categories that are judged. Order and repetition do not matter.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// Images that were answered, including those without a box. Boxes and annotations of other images are ignored.
    pub images: &'a [u64],
    /// Categories of the data set. Boxes of others are left out.
    pub categories: &'a [u64],
}

/// Scores `detections` against `annotations`, restricted to `scope`.
///
/// # Errors
/// [`ScoreError::NotFinite`] if a coordinate is not finite or a score is NaN, [`ScoreError::DuplicateAnnotation`].
pub fn evaluate(
    annotations: &[Annotation],
    detections: &[Detection],
    scope: &Scope<'_>,
) -> Result<DetectionFigures, ScoreError> {
    check_detections(detections)?;
    check_annotations(annotations)?;
    let (images, categories) = (distinct(scope.images), distinct(scope.categories));
    let places = Places { images: &images, categories: &categories };
    let annotations = places.sorted(annotations, |it| (it.category, it.image));
    let detections = places.sorted(detections, |it| (it.category, it.image));

    let mut matcher = Matcher::default();
    let mut curves = CategoryCurves::default();
    let by_category = |a: &Placed<'_, _>, b: &Placed<'_, _>| a.category == b.category;
    let mut found = detections.chunk_by(by_category).peekable();
    for right in annotations.chunk_by(|a, b| a.category == b.category) {
        // A category without annotations has no figures, so its boxes need no look.
        while found.next_if(|boxes| boxes[0].category < right[0].category).is_some() {}
        let found = found.next_if(|boxes| boxes[0].category == right[0].category).unwrap_or_default();
        curves.add(matcher.judge(right, found));
    }
    Ok(curves.figures())
}

fn check_detections(detections: &[Detection]) -> Result<(), ScoreError> {
    check_boxes("detection", detections.iter().map(|it| it.bbox))?;
    check_numbers("score of detection", detections.iter().map(|it| it.score))
}

/// Checks the annotations on their own, so that no answer is blamed for their faults.
///
/// # Errors
/// [`ScoreError::NotFinite`] if a coordinate is not finite or an area is NaN, [`ScoreError::DuplicateAnnotation`].
pub fn check_annotations(annotations: &[Annotation]) -> Result<(), ScoreError> {
    check_boxes("annotation", annotations.iter().map(|it| it.bbox))?;
    check_numbers("area of annotation", annotations.iter().map(|it| it.area))?;
    let mut ids = HashSet::with_capacity(annotations.len());
    match annotations.iter().find(|it| !ids.insert(it.id)) {
        Some(Annotation { id, .. }) => Err(ScoreError::DuplicateAnnotation { id: *id }),
        None => Ok(()),
    }
}

fn check_boxes(what: &'static str, boxes: impl Iterator<Item = Bbox>) -> Result<(), ScoreError> {
    for (position, bbox) in boxes.enumerate() {
        if let Some(value) = bbox.values().into_iter().find(|value| !value.is_finite()) {
            return Err(ScoreError::NotFinite { what, position, value });
        }
    }
    Ok(())
}

fn check_numbers(what: &'static str, values: impl Iterator<Item = f64>) -> Result<(), ScoreError> {
    match values.enumerate().find(|(_, value)| value.is_nan()) {
        Some((position, value)) => Err(ScoreError::NotFinite { what, position, value }),
        None => Ok(()),
    }
}

fn distinct(ids: &[u64]) -> Vec<u64> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The judged images and categories, ascending.
struct Places<'a> {
    images: &'a [u64],
    categories: &'a [u64],
}

/// An item with the positions of its category and its image.
struct Placed<'a, T> {
    category: usize,
    image: usize,
    item: &'a T,
}

impl Places<'_> {
    /// Groups the items within the scope by category and image, keeping their order otherwise.
    fn sorted<'a, T>(&self, items: &'a [T], place: impl Fn(&T) -> (u64, u64)) -> Vec<Placed<'a, T>> {
        let mut placed: Vec<_> = items
            .iter()
            .filter_map(|item| {
                let (category, image) = place(item);
                let category = self.categories.binary_search(&category).ok()?;
                let image = self.images.binary_search(&image).ok()?;
                Some(Placed { category, image, item })
            })
            .collect();
        placed.sort_by_key(|it| (it.category, it.image));
        placed
    }
}

#[cfg(test)]
mod tests;

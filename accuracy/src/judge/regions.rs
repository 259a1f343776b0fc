//! Scores of classes for each voxel of BraTS, as f16, or rounded to that.

use std::fmt;

use proctor_scores::{ScoreError, segmentation::BratsDice};
use proctor_vocabulary::ElementType;

use crate::{
    element::bits_of_f16,
    error::AccuracyError,
    judge::{
        Judge, Judgement,
        defect::{Defects, Faulty, ResponseDefect},
        elements,
    },
};

/// The right classes of a case, within the padding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RightRegions {
    /// Extents of the case.
    pub size: [usize; 3],
    /// A class for each voxel, as many as the extents say.
    pub classes: Vec<u8>,
}

/// Reads the right classes of a sample, when its response is judged: all of them may be too large for memory.
pub type ReadRegions<'a> = Box<dyn FnMut(usize) -> Result<RightRegions, AccuracyError> + 'a>;

/// Number of classes that a response has a score for, the background first.
const CLASS_COUNT: usize = 4;

/// Scores the regions of BraTS by their Dice, over the cases that the log has.
///
/// A response is `[class, z, y, x]` over the padded volume. Scores of other types are rounded to f16, as by the
/// reference. The padding, whose smaller half is in front, is removed; each voxel gets the class with the highest
/// score, the first one of equals. A case that cannot be scored has a Dice of 0.
///
/// The reference's script resamples these classes to the size of the scan with nnU-Net and judges the result. This step
/// is left out: the right volumes are those of the prepared cases.
pub struct RegionJudge<'a> {
    padded: [usize; 3],
    sample_count: usize,
    element_type: ElementType,
    read: ReadRegions<'a>,
    cases: Vec<BratsDice>,
}

impl<'a> RegionJudge<'a> {
    /// Creates a judge of this number of cases, whose responses are scores of this type over the padded extents.
    #[must_use]
    pub fn new(
        padded: [usize; 3],
        sample_count: usize,
        element_type: ElementType,
        read: ReadRegions<'a>,
    ) -> Self {
        Self { padded, sample_count, element_type, read, cases: Vec::new() }
    }

    /// # Errors
    /// [`ScoreError::Lengths`] if a case is larger than the padded volume, or has not a class for each voxel;
    /// [`ScoreError::Empty`], or [`ScoreError::Class`] for one that there is not.
    fn check_right(&self, RightRegions { size, classes }: &RightRegions) -> Result<(), ScoreError> {
        BratsDice::check_right(classes)?;
        let voxel_count: usize = size.iter().product();
        if classes.len() != voxel_count {
            return Err(ScoreError::Lengths {
                given: "voxels of a case",
                given_count: voxel_count,
                right: "classes of its labels",
                right_count: classes.len(),
            });
        }
        let too_long = size.iter().zip(&self.padded).find(|(side, padded)| side > padded);
        too_long.map_or(Ok(()), |(side, padded)| {
            Err(ScoreError::Lengths {
                given: "voxels along a side of a case",
                given_count: *side,
                right: "voxels of the padded volume",
                right_count: *padded,
            })
        })
    }

    /// Returns the class of each voxel of a case.
    fn classes(&self, scores: &[u8], size: [usize; 3], not_finite: &mut Faulty) -> Vec<u8> {
        let size_bytes = self.element_type.unit_bytes();
        let [_, rows, columns] = self.padded;
        let voxel_count = self.padded.iter().product::<usize>();
        let before = |axis: usize| (self.padded[axis] - size[axis]) / 2;
        let mut classes = Vec::with_capacity(size.iter().product());
        for z in before(0)..before(0) + size[0] {
            for y in before(1)..before(1) + size[1] {
                for x in before(2)..before(2) + size[2] {
                    let voxel = (z * rows + y) * columns + x;
                    let (mut best, mut most) = (0, i32::MIN);
                    for class in 0..CLASS_COUNT {
                        let position = class * voxel_count + voxel;
                        let score = &scores[position * size_bytes..][..size_bytes];
                        match order_of_f16(bits_of_f16(self.element_type, score)) {
                            None => not_finite.add(position),
                            Some(order) if order > most => (best, most) = (class as u8, order),
                            Some(_) => {}
                        }
                    }
                    classes.push(best);
                }
            }
        }
        classes
    }
}

/// Returns a number by which numbers in f16 are in order; `None` for a NaN. Both zeros have the same.
fn order_of_f16(bits: u16) -> Option<i32> {
    let magnitude = i32::from(bits & 0x7fff);
    (magnitude <= 0x7c00).then_some(if bits & 0x8000 == 0 { magnitude } else { -magnitude })
}

impl fmt::Debug for RegionJudge<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegionJudge").field("cases", &self.cases).finish_non_exhaustive()
    }
}

impl Judge for RegionJudge<'_> {
    fn sample_count(&self) -> usize {
        self.sample_count
    }

    fn take(&mut self, sample: usize, response: &[u8], defects: &mut Defects) -> Result<(), AccuracyError> {
        let right = (self.read)(sample)?;
        self.check_right(&right).map_err(|source| AccuracyError::RightAnswer { sample, source })?;
        let RightRegions { size, classes: right } = right;
        let scores = elements(response, self.element_type, CLASS_COUNT, defects);
        let (given, wanted) = (scores.len() / CLASS_COUNT, self.padded.iter().product());
        let mut dice =
            BratsDice { whole_tumor: Some(0.0), tumor_core: Some(0.0), enhancing_tumor: Some(0.0) };
        if given == wanted {
            let mut not_finite = Faulty::default();
            let answer = self.classes(response, size, &mut not_finite);
            not_finite.list(defects, |position, count| ResponseDefect::NotFinite { position, count });
            match BratsDice::of(&answer, &right) {
                Ok(of_case) if defects.is_empty() => dice = of_case,
                Ok(_) => {}
                Err(error) => defects.push(ResponseDefect::Refused(error)),
            }
        } else if defects.is_empty() {
            defects.push(ResponseDefect::RecordCount { given, wanted });
        }
        self.cases.push(dice);
        Ok(())
    }

    /// Returns the mean Dice of the regions, in `[0, 1]`, as the value.
    fn judgement(self: Box<Self>) -> Result<Judgement, ScoreError> {
        let mean = BratsDice::mean(&self.cases)?;
        let value = mean.composite().ok_or(ScoreError::Empty { what: "voxels of a region in any case" })?;
        let regions = [
            ("whole_tumor", mean.whole_tumor),
            ("tumor_core", mean.tumor_core),
            ("enhancing_tumor", mean.enhancing_tumor),
        ];
        let details = regions.into_iter().filter_map(|(name, dice)| Some((name, dice?))).collect();
        Ok(Judgement { value, line: Some(mean.line()), details, ..Judgement::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_f16_keep_their_order() {
        // Minus infinity, -2, -1, the smallest below 0, 0, the smallest above, 1, 2, infinity.
        let ascending = [0xfc00, 0xc000, 0xbc00, 0x8001, 0x0000, 0x0001, 0x3c00, 0x4000, 0x7c00];
        assert!(ascending.map(order_of_f16).is_sorted_by(|a, b| a < b));
        assert_eq!(order_of_f16(0x8000), order_of_f16(0));
        assert_eq!([0x7c01, 0xffff].map(order_of_f16), [None; 2]);
    }
}

//! Label volumes of KiTS19: a class for each voxel.

use std::{borrow::Cow, fmt};

use proctor_scores::{ScoreError, segmentation::KitsDice};
use proctor_vocabulary::ElementType;

use crate::{
    element::whole,
    error::AccuracyError,
    judge::{
        Judge, Judgement,
        defect::{Defects, ResponseDefect},
        elements,
    },
};

/// Reads the right volume of a sample, when its response is judged: all of them may be too large for memory.
pub type ReadVolume<'a> = Box<dyn FnMut(usize) -> Result<Vec<u8>, AccuracyError> + 'a>;

/// Scores label volumes by the Dice of kidney and tumor, over the cases that the log has. A case that cannot be scored
/// has none.
pub struct VolumeJudge<'a> {
    sample_count: usize,
    element_type: ElementType,
    read: ReadVolume<'a>,
    cases: Vec<KitsDice>,
}

impl<'a> VolumeJudge<'a> {
    /// Creates a judge of `sample_count` cases, whose responses are classes of this type.
    #[must_use]
    pub fn new(sample_count: usize, element_type: ElementType, read: ReadVolume<'a>) -> Self {
        Self { sample_count, element_type, read, cases: Vec::new() }
    }

    /// Returns the class of each voxel of a response, which for u8 are its bytes; `None` with a defect.
    fn classes<'r>(&self, response: &'r [u8], defects: &mut Defects) -> Option<Cow<'r, [u8]>> {
        if self.element_type == ElementType::U8 {
            return Some(Cow::Borrowed(response));
        }
        let voxels = elements(response, self.element_type, 1, defects);
        let class = |(position, bytes): (usize, &[u8])| {
            let class = whole(self.element_type, bytes);
            let class = class.ok_or(ResponseDefect::NotWhole { position, count: 1 })?;
            let none = ScoreError::Class { what: "voxel of the answer", position, class, class_max: 2 };
            u8::try_from(class).map_err(|_| ResponseDefect::Refused(none))
        };
        match voxels.enumerate().map(class).collect::<Result<Vec<_>, _>>() {
            Ok(classes) => defects.is_empty().then_some(Cow::Owned(classes)),
            Err(defect) => {
                defects.push(defect);
                None
            }
        }
    }
}

impl fmt::Debug for VolumeJudge<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VolumeJudge").field("cases", &self.cases).finish_non_exhaustive()
    }
}

impl Judge for VolumeJudge<'_> {
    fn sample_count(&self) -> usize {
        self.sample_count
    }

    fn take(&mut self, sample: usize, response: &[u8], defects: &mut Defects) -> Result<(), AccuracyError> {
        let right = (self.read)(sample)?;
        KitsDice::check_right(&right).map_err(|source| AccuracyError::RightAnswer { sample, source })?;
        let mut dice = KitsDice { kidney: 0.0, tumor: 0.0, composite: 0.0 };
        if let Some(classes) = self.classes(response, defects) {
            match KitsDice::of(&classes, &right) {
                Ok(of_case) => dice = of_case,
                Err(error) => defects.push(ResponseDefect::Refused(error)),
            }
        }
        self.cases.push(dice);
        Ok(())
    }

    /// Returns the mean Dice of both classes, in `[0, 1]`, as the value.
    fn judgement(self: Box<Self>) -> Result<Judgement, ScoreError> {
        let mean = KitsDice::mean(&self.cases)?;
        let details = [("kidney", mean.kidney), ("tumor", mean.tumor)].into();
        Ok(Judgement { value: mean.composite, line: Some(mean.line()), details, ..Judgement::default() })
    }
}

//! Label volumes of KiTS19: a u8 for each voxel.

use std::fmt;

use proctor_scores::{ScoreError, segmentation::KitsDice};

use crate::{
    error::AccuracyError,
    judge::{Judge, Judgement, defect::ResponseDefect},
};

/// Reads the right volume of a sample, when its response is judged: all of them may be too large for memory.
pub type ReadVolume<'a> = Box<dyn FnMut(usize) -> Result<Vec<u8>, AccuracyError> + 'a>;

/// Scores label volumes by the Dice of kidney and tumor, over the cases that the log has. A case that cannot be scored
/// has none.
pub struct VolumeJudge<'a> {
    sample_count: usize,
    read: ReadVolume<'a>,
    cases: Vec<KitsDice>,
}

impl<'a> VolumeJudge<'a> {
    /// A judge of `sample_count` cases.
    #[must_use]
    pub fn new(sample_count: usize, read: ReadVolume<'a>) -> Self {
        Self { sample_count, read, cases: Vec::new() }
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

    fn take(
        &mut self,
        sample: usize,
        response: &[u8],
        defects: &mut Vec<ResponseDefect>,
    ) -> Result<(), AccuracyError> {
        let right = (self.read)(sample)?;
        let dice = KitsDice::of(response, &right).unwrap_or_else(|error| {
            defects.push(ResponseDefect::Refused(error));
            KitsDice { kidney: 0.0, tumor: 0.0, composite: 0.0 }
        });
        self.cases.push(dice);
        Ok(())
    }

    /// The value is the mean Dice of both classes, in `[0, 1]`.
    fn judgement(self: Box<Self>) -> Result<Judgement, ScoreError> {
        let mean = KitsDice::mean(&self.cases)?;
        let details = [("kidney", mean.kidney), ("tumor", mean.tumor)].into();
        Ok(Judgement { value: mean.composite, line: mean.line(), details })
    }
}

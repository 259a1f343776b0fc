//! Dice of label volumes: the share that an answer and the right one have in common, KiTS19 and BraTS.
//!
//! A volume holds a class for each voxel, 0 for the background, in any order that both volumes share.

use crate::{
    error::{ScoreError, same_length},
    python::fixed,
};

/// Maximum number of classes of a task, including the background.
const CLASS_COUNT_MAX: usize = 4;
/// The last classes of the tasks.
const KITS_CLASS_MAX: u8 = 2;
const BRATS_CLASS_MAX: u8 = 3;

/// Keeps the Dice of a class that neither volume has at 1.
const SMOOTHING: f64 = 1e-6;

/// Voxels by class in the answer and class in the right volume.
struct Overlap([[u64; CLASS_COUNT_MAX]; CLASS_COUNT_MAX]);

impl Overlap {
    /// # Errors
    /// [`ScoreError::Lengths`]; [`ScoreError::Empty`] without voxels; [`ScoreError::Class`] for one above `class_max`.
    fn new(answer: &[u8], right: &[u8], class_max: u8) -> Result<Self, ScoreError> {
        same_length(("voxels of the answer", answer.len()), ("voxels of the label volume", right.len()))?;
        if answer.is_empty() {
            return Err(ScoreError::Empty { what: "voxels" });
        }
        check_right(right, class_max)?;
        check_classes("voxel of the answer", answer, class_max)?;
        let mut counts = [[0; CLASS_COUNT_MAX]; CLASS_COUNT_MAX];
        for (answer, right) in answer.iter().zip(right) {
            counts[usize::from(*answer)][usize::from(*right)] += 1;
        }
        Ok(Self(counts))
    }

    /// Returns the voxels of these classes: in both volumes, in the answer, in the right volume.
    fn of(&self, classes: std::ops::Range<usize>) -> [f64; 3] {
        let sum = |answer: std::ops::Range<usize>, right: std::ops::Range<usize>| {
            self.0[answer].iter().map(|row| row[right.clone()].iter().sum::<u64>()).sum::<u64>() as f64
        };
        let all = 0..CLASS_COUNT_MAX;
        [sum(classes.clone(), classes.clone()), sum(classes.clone(), all.clone()), sum(all, classes)]
    }
}

/// # Errors
/// [`ScoreError::Empty`] without voxels; [`ScoreError::Class`] for one above `class_max`.
fn check_right(right: &[u8], class_max: u8) -> Result<(), ScoreError> {
    if right.is_empty() {
        return Err(ScoreError::Empty { what: "voxels of the label volume" });
    }
    check_classes("voxel of the label volume", right, class_max)
}

fn check_classes(what: &'static str, volume: &[u8], class_max: u8) -> Result<(), ScoreError> {
    match volume.iter().enumerate().find(|(_, class)| **class > class_max) {
        None => Ok(()),
        Some((position, class)) => {
            let (class, class_max) = (i64::from(*class), i64::from(class_max));
            Err(ScoreError::Class { what, position, class, class_max })
        }
    }
}

/// Dice of a case of KiTS19, each in `[0, 1]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KitsDice {
    /// Class 1.
    pub kidney: f64,
    /// Class 2.
    pub tumor: f64,
    /// The mean of both.
    pub composite: f64,
}

impl KitsDice {
    /// Checks the right volume of a case on its own, so that no answer is blamed for its faults.
    ///
    /// # Errors
    /// [`ScoreError::Empty`], or [`ScoreError::Class`] for a class other than 0, 1 and 2.
    pub fn check_right(right: &[u8]) -> Result<(), ScoreError> {
        check_right(right, KITS_CLASS_MAX)
    }

    /// Returns the Dice of a case.
    ///
    /// # Errors
    /// [`ScoreError::Lengths`], [`ScoreError::Empty`], or [`ScoreError::Class`] for a class other than 0, 1 and 2.
    pub fn of(answer: &[u8], right: &[u8]) -> Result<Self, ScoreError> {
        let overlap = Overlap::new(answer, right, KITS_CLASS_MAX)?;
        let dice = |class: usize| {
            let [both, answer, right] = overlap.of(class..class + 1);
            (2.0 * both + SMOOTHING) / (right + answer + SMOOTHING)
        };
        let (kidney, tumor) = (dice(1), dice(2));
        Ok(Self { kidney, tumor, composite: (kidney + tumor) / 2.0 })
    }

    /// Returns the mean over cases.
    ///
    /// # Errors
    /// [`ScoreError::Empty`] without cases.
    pub fn mean(cases: &[Self]) -> Result<Self, ScoreError> {
        if cases.is_empty() {
            return Err(ScoreError::Empty { what: "cases" });
        }
        let mean = |figure: fn(&Self) -> f64| cases.iter().map(figure).sum::<f64>() / cases.len() as f64;
        Ok(Self {
            kidney: mean(|case| case.kidney),
            tumor: mean(|case| case.tumor),
            composite: mean(|case| case.composite),
        })
    }

    /// Returns the line that the reference's script prints.
    #[must_use]
    pub fn line(&self) -> String {
        let (mean, kidney, tumor) = (fixed(self.composite, 5), fixed(self.kidney, 4), fixed(self.tumor, 4));
        format!("Accuracy: mean = {mean}, kidney = {kidney}, tumor = {tumor}")
    }
}

/// Dice of the regions of a case of BraTS, or the mean over cases; `None` where neither volume has the region.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BratsDice {
    /// Classes 1, 2 and 3.
    pub whole_tumor: Option<f64>,
    /// Classes 2 and 3.
    pub tumor_core: Option<f64>,
    /// Class 3.
    pub enhancing_tumor: Option<f64>,
}

impl BratsDice {
    /// Checks the right volume of a case on its own, so that no answer is blamed for its faults.
    ///
    /// # Errors
    /// [`ScoreError::Empty`], or [`ScoreError::Class`] for a class above 3.
    pub fn check_right(right: &[u8]) -> Result<(), ScoreError> {
        check_right(right, BRATS_CLASS_MAX)
    }

    /// Returns the Dice of a case, in the classes of nnU-Net: 1 edema, 2 core, 3 enhancing.
    ///
    /// # Errors
    /// [`ScoreError::Lengths`], [`ScoreError::Empty`], or [`ScoreError::Class`] for a class above 3.
    pub fn of(answer: &[u8], right: &[u8]) -> Result<Self, ScoreError> {
        let overlap = Overlap::new(answer, right, BRATS_CLASS_MAX)?;
        let dice = |first: usize| {
            let [both, answer, right] = overlap.of(first..CLASS_COUNT_MAX);
            (answer + right > 0.0).then(|| 2.0 * both / (answer + right))
        };
        Ok(Self { whole_tumor: dice(1), tumor_core: dice(2), enhancing_tumor: dice(3) })
    }

    /// Returns the mean over the cases that have a region, rounded to four decimals: the reference's script reads them
    /// from a table of that width.
    ///
    /// # Errors
    /// [`ScoreError::Empty`] without cases.
    pub fn mean(cases: &[Self]) -> Result<Self, ScoreError> {
        if cases.is_empty() {
            return Err(ScoreError::Empty { what: "cases" });
        }
        let mean = |region: fn(&Self) -> Option<f64>| {
            let dice: Vec<_> = cases.iter().filter_map(region).collect();
            let mean = (!dice.is_empty()).then(|| dice.iter().sum::<f64>() / dice.len() as f64);
            mean.and_then(|mean| fixed(mean, 4).parse().ok())
        };
        Ok(Self {
            whole_tumor: mean(|case| case.whole_tumor),
            tumor_core: mean(|case| case.tumor_core),
            enhancing_tumor: mean(|case| case.enhancing_tumor),
        })
    }

    /// Returns the mean of the regions, by which BraTS is judged; `None` if one has no Dice.
    #[must_use]
    pub fn composite(&self) -> Option<f64> {
        Some((self.whole_tumor? + self.tumor_core? + self.enhancing_tumor?) / 3.0)
    }

    /// Returns the line of the reference's script, with `nan` if there is no Dice.
    #[must_use]
    pub fn line(&self) -> String {
        let number = |value: Option<f64>, decimals| fixed(value.unwrap_or(f64::NAN), decimals);
        format!(
            "Accuracy: mean = {}, whole tumor = {}, tumor core = {}, enhancing tumor = {}",
            number(self.composite(), 5),
            number(self.whole_tumor, 4),
            number(self.tumor_core, 4),
            number(self.enhancing_tumor, 4),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_of_kits_has_its_own_dice() {
        let dice = KitsDice::of(&[0, 1, 1, 2, 0, 0], &[0, 1, 0, 2, 2, 2]).unwrap();
        // One kidney voxel of two and one; one tumor voxel of one and three.
        assert!((dice.kidney - 2.0 / 3.0).abs() < 1e-6 && (dice.tumor - 0.5).abs() < 1e-6);
        assert_eq!(dice.composite, (dice.kidney + dice.tumor) / 2.0);
        assert_eq!(dice.line(), "Accuracy: mean = 0.58333, kidney = 0.6667, tumor = 0.5000");
    }

    #[test]
    fn a_class_that_neither_volume_has_counts_as_found() {
        let dice = KitsDice::of(&[0, 1], &[0, 1]).unwrap();
        assert_eq!((dice.kidney, dice.tumor), (1.0, 1.0));
        let invented = KitsDice::of(&[0, 2], &[0, 1]).unwrap();
        assert!(invented.composite > 0.0 && invented.composite < 1e-5);
    }

    #[test]
    fn regions_of_brats_hold_each_other() {
        let dice = BratsDice::of(&[1, 2, 3, 0], &[1, 3, 3, 3]).unwrap();
        assert_eq!(dice.whole_tumor, Some(6.0 / 7.0));
        assert_eq!(dice.tumor_core, Some(4.0 / 5.0));
        assert_eq!(dice.enhancing_tumor, Some(2.0 / 4.0));
        let rounded = BratsDice::mean(&[dice]).unwrap();
        assert_eq!(
            rounded.line(),
            "Accuracy: mean = 0.71903, whole tumor = 0.8571, tumor core = 0.8000, enhancing tumor = 0.5000"
        );
    }

    #[test]
    fn a_region_that_no_volume_has_is_left_out_of_the_mean() {
        let without = BratsDice::of(&[1, 0], &[1, 1]).unwrap();
        assert_eq!((without.whole_tumor, without.enhancing_tumor), (Some(2.0 / 3.0), None));
        let with = BratsDice::of(&[3, 3], &[3, 3]).unwrap();
        let mean = BratsDice::mean(&[without, with]).unwrap();
        assert_eq!((mean.whole_tumor, mean.enhancing_tumor), (Some(0.8333), Some(1.0)));
        let none = BratsDice::mean(&[without]).unwrap();
        assert_eq!(none.composite(), None);
        assert!(none.line().starts_with("Accuracy: mean = nan, whole tumor = 0.6667, tumor core = nan"));
    }

    #[test]
    fn volumes_that_do_not_fit_are_refused() {
        let error = KitsDice::of(&[0, 3], &[0, 1]).unwrap_err().to_string();
        assert_eq!(error, "voxel of the answer 1 has class 3, but the classes are 0 to 2");
        let error = BratsDice::of(&[0, 1], &[4, 1]).unwrap_err().to_string();
        assert_eq!(error, "voxel of the label volume 0 has class 4, but the classes are 0 to 3");
        assert!(KitsDice::of(&[0], &[0, 1]).unwrap_err().to_string().starts_with("1 voxels of the answer"));
        assert_eq!(KitsDice::check_right(&[0, 3]), KitsDice::of(&[0, 5], &[0, 3]).map(drop));
        assert_eq!(BratsDice::check_right(&[3, 4]), BratsDice::of(&[0, 5], &[3, 4]).map(drop));
        assert_eq!((KitsDice::check_right(&[2]), BratsDice::check_right(&[3])), (Ok(()), Ok(())));
        assert!(matches!(KitsDice::check_right(&[]), Err(ScoreError::Empty { .. })));
        assert_eq!(KitsDice::of(&[], &[]), Err(ScoreError::Empty { what: "voxels" }));
        assert_eq!(KitsDice::mean(&[]), Err(ScoreError::Empty { what: "cases" }));
        assert_eq!(BratsDice::mean(&[]), Err(ScoreError::Empty { what: "cases" }));
    }
}

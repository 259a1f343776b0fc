//! The values of each side of a comparison, and their evaluation.

use std::cell::Cell;

use proctor_display::Spread;
use serde::Serialize;

use super::flags::Part;

/// Unit of the values of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum Unit {
    #[serde(rename = "images/s")]
    ImagesPerSecond,
    #[serde(rename = "MB/s")]
    MegabytesPerSecond,
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "ms")]
    Milliseconds,
    #[serde(rename = "MB")]
    Megabytes,
}

impl Unit {
    /// Returns a value with its unit.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            Self::ImagesPerSecond => format!("{value:.0} images/s"),
            Self::MegabytesPerSecond => format!("{value:.0} MB/s"),
            Self::Seconds => format!("{value:.3} s"),
            Self::Milliseconds => format!("{value:.2} ms"),
            Self::Megabytes => format!("{value:.0} MB"),
        }
    }

    /// Returns how many times better one value is than another.
    fn better(self, value: f64, than: f64) -> f64 {
        match self {
            Self::ImagesPerSecond | Self::MegabytesPerSecond => value / than,
            Self::Seconds | Self::Milliseconds | Self::Megabytes => than / value,
        }
    }
}

/// Runs a side once and returns its value.
pub(super) type Turn<'a> = Box<dyn FnMut() -> Result<f64, String> + 'a>;

/// A side of a comparison, which takes its turns.
pub(super) struct Side<'a> {
    pub(super) name: String,
    /// Turn of the side, or why it has none.
    pub(super) turn: Result<Turn<'a>, String>,
    pub(super) check: Option<Check<'a>>,
    /// Required speed of ours relative to the others.
    pub(super) target: Option<f64>,
}

/// Difference of the results of a side from ours.
#[derive(Clone, Copy)]
pub(super) struct Check<'a> {
    /// Largest difference seen.
    pub(super) difference: &'a Cell<f64>,
    /// Maximum difference of equal results.
    pub(super) most: f64,
}

impl<'a> Side<'a> {
    /// Returns the side of this project, against which the others are held.
    pub(super) fn ours(turn: impl FnMut() -> Result<f64, String> + 'a) -> Self {
        Self { name: "proctor".to_owned(), turn: Ok(Box::new(turn)), check: None, target: None }
    }
}

/// Everything of one kind of work.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Row {
    pub(super) part: Part,
    pub(super) what: String,
    pub(super) unit: Unit,
    /// Ours, then the others.
    pub(super) entries: Vec<Entry>,
}

/// Everything of one side.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Entry {
    pub(super) side: String,
    /// Values, one of each round.
    pub(super) values: Vec<f64>,
    /// Ratio by which ours is better, round by round; only of the others.
    pub(super) ratio: Option<Spread>,
    pub(super) target: Option<f64>,
    /// Largest difference of its results from ours, and the maximum for equal results.
    pub(super) difference: Option<[f64; 2]>,
    pub(super) skipped: Option<String>,
    pub(super) failed: Option<String>,
}

impl Entry {
    /// Creates a side without values so far.
    pub(super) fn of(side: &Side<'_>) -> Self {
        let skipped = side.turn.as_ref().err().cloned();
        Self { side: side.name.clone(), target: side.target, skipped, ..Self::default() }
    }

    pub(super) fn is_same(&self) -> bool {
        self.difference.is_none_or(|[difference, most]| difference <= most)
    }

    /// Returns whether ours is as many times better as it has to be, if it has to be.
    pub(super) fn is_target_met(&self) -> Option<bool> {
        Some(self.ratio?.median >= self.target?)
    }
}

impl Row {
    /// Compares the others with ours, once all turns are over.
    pub(super) fn conclude(&mut self) {
        let Some((ours, others)) = self.entries.split_first_mut() else { return };
        for entry in others {
            let pairs = ours.values.iter().zip(&entry.values);
            let ratios: Vec<_> = pairs.map(|(ours, theirs)| self.unit.better(*ours, *theirs)).collect();
            entry.ratio = (!ratios.is_empty()).then(|| Spread::of(&ratios));
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns a row of two sides.
    pub(in crate::data) fn row(unit: Unit, ours: &[f64], theirs: &[f64], target: f64) -> Row {
        let entry = |side: &str, values: &[f64], target| Entry {
            side: side.to_owned(),
            values: values.to_vec(),
            target,
            ..Entry::default()
        };
        let entries = vec![entry("proctor", ours, None), entry("OpenCV", theirs, Some(target))];
        let mut row = Row { part: Part::Pictures, what: "imagenet-vgg".to_owned(), unit, entries };
        row.conclude();
        row
    }

    #[test]
    fn sides_are_compared_round_by_round() {
        let rates = row(Unit::ImagesPerSecond, &[30.0, 60.0, 80.0], &[10.0, 10.0, 40.0], 3.0);
        let entry = &rates.entries[1];
        assert_eq!(entry.ratio, Some(Spread { median: 3.0, least: 2.0, greatest: 6.0 }));
        assert_eq!(entry.is_target_met(), Some(true));
        let times = row(Unit::Seconds, &[2.0, 2.0], &[4.0], 3.0);
        assert_eq!(times.entries[1].ratio.map(|ratio| ratio.median), Some(2.0));
        assert_eq!(times.entries[1].is_target_met(), Some(false));
        let none = row(Unit::Seconds, &[], &[1.0], 3.0);
        assert_eq!((none.entries[1].ratio, none.entries[1].is_target_met()), (None, None));
    }
}

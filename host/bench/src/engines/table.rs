//! Measurements, round by round, and their figures.

use serde::Serialize;

use super::{
    case::{Case, LIMITED_PLUGIN, Limit, Standing},
    estimate::{Estimate, Paired},
    request::{Figures, Way},
};
use crate::{timing::Times, worker::Measurement};
use proctor_display::Spread;

/// Outputs that differ by more than this share of the largest value are marked: another sum of the same products in f32
/// differs by less.
pub(super) const DIFFERENCE_MAX: f64 = 1e-3;

/// One case with all its measurements.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Row {
    #[serde(flatten)]
    pub(super) case: Case,
    pub(super) entries: Vec<Entry>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Entry {
    pub(super) system: System,
    /// Name and version, if reported.
    pub(super) version: Option<String>,
    #[serde(flatten)]
    pub(super) outcome: Outcome,
    /// Compared with the package called with everything bound ahead; set when all rounds are over.
    pub(super) beside_binding: Option<Paired>,
    /// Compared with the package called by `session.run`.
    pub(super) beside_run: Option<Paired>,
    /// Limit of its additional time over the former.
    pub(super) limit: Option<Limit>,
    pub(super) limit_standing: Option<Standing>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum System {
    /// A plugin, as the user calls it.
    Plugin(String),
    Package(Way),
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Measured(Box<Measured>),
    /// Reason why it could not begin.
    Skipped(String),
    /// Reason why it did not continue.
    Failed(String),
}

#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Measured {
    /// Times over the queries of all rounds.
    pub(super) times: Option<Times>,
    pub(super) load_ms: f64,
    /// Name of the plugin, as it reports it.
    pub(super) plugin: Option<String>,
    /// Largest difference of its outputs from the package's, as a share of the largest value.
    pub(super) difference: Option<f64>,
    pub(super) rounds: Vec<Round>,
    #[serde(skip)]
    times_ns: Vec<u64>,
}

/// One turn of a system.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Round {
    pub(super) number: u32,
    pub(super) times: Times,
    #[serde(flatten)]
    pub(super) figures: Figures,
    /// Share of the processors that others used meanwhile.
    pub(super) foreign_share: Option<f64>,
}

impl System {
    /// Returns the display name.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Plugin(name) => name,
            Self::Package(Way::Run) => "Python, run",
            Self::Package(_) => "Python, run_with_iobinding",
        }
    }
}

impl Row {
    pub(super) fn new(case: Case) -> Self {
        Self { case, entries: Vec::new() }
    }

    /// Compares everything with the package.
    pub(super) fn conclude(&mut self) {
        let package = |way: Way| {
            let entry = self.entries.iter().find(|entry| entry.system == System::Package(way));
            entry.and_then(Entry::measured).map(|measured| measured.rounds.clone())
        };
        let (binding, run) = (package(Way::Binding), package(Way::Run));
        for entry in &mut self.entries {
            entry.conclude(&self.case, binding.as_deref(), run.as_deref());
        }
    }
}

impl Entry {
    pub(super) fn new(system: System, version: Option<String>, outcome: Outcome) -> Self {
        Self {
            system,
            version,
            outcome,
            beside_binding: None,
            beside_run: None,
            limit: None,
            limit_standing: None,
        }
    }

    pub(super) fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            Outcome::Measured(measured) => Some(measured),
            Outcome::Skipped(_) | Outcome::Failed(_) => None,
        }
    }

    fn conclude(&mut self, case: &Case, binding: Option<&[Round]>, run: Option<&[Round]>) {
        let Outcome::Measured(measured) = &mut self.outcome else { return };
        measured.times = Times::of(measured.times_ns.clone());
        if !matches!(self.system, System::Plugin(_)) {
            return;
        }
        let beside = |other: Option<&[Round]>| Paired::of(&measured.rounds, other?);
        (self.beside_binding, self.beside_run) = (beside(binding), beside(run));
        let is_limited = measured.plugin.as_deref() == Some(LIMITED_PLUGIN);
        self.limit = case.limit().filter(|_| is_limited);
        self.limit_standing =
            self.limit.zip(self.beside_binding).map(|(limit, paired)| limit.standing(&paired));
    }
}

impl Measured {
    /// Creates the empty record of a system that took `load_ms` to load.
    pub(super) fn new(load_ms: f64, plugin: Option<String>, difference: Option<f64>) -> Self {
        Self { load_ms, plugin, difference, ..Self::default() }
    }

    /// Adds a turn, unless it has no call.
    pub(super) fn add(&mut self, number: u32, measurement: Measurement<Figures>) {
        let Measurement { reply, times_ns, foreign_share } = measurement;
        self.times_ns.extend_from_slice(&times_ns);
        let Some(times) = Times::of(times_ns) else { return };
        self.rounds.push(Round { number, times, figures: reply, foreign_share });
    }

    /// Returns the median over the rounds of each round's figure for a query, if all have one.
    pub(super) fn figure(&self, of: fn(&Figures) -> Option<f64>) -> Option<f64> {
        let values: Option<Vec<_>> = self.rounds.iter().map(|round| of(&round.figures)).collect();
        median(values?)
    }

    /// Returns the smallest and the largest median of a round.
    pub(super) fn medians_ns(&self) -> Spread {
        Spread::of(&self.rounds.iter().map(|round| round.times.median_ns).collect::<Vec<_>>())
    }
}

impl Paired {
    /// Returns `None` if there is no round that both have.
    fn of(ours: &[Round], other: &[Round]) -> Option<Self> {
        let pair = |ours: &Round| {
            let other = other.iter().find(|other| other.number == ours.number)?;
            Some((ours.times.median_ns, other.times.median_ns))
        };
        let pairs: Vec<_> = ours.iter().filter_map(pair).collect();
        let estimate = |of: fn(f64, f64) -> f64| {
            Estimate::of(&pairs.iter().map(|(ours, other)| of(*ours, *other)).collect::<Vec<_>>())
        };
        (!pairs.is_empty()).then(|| Self {
            rounds: pairs.len(),
            added_ns: estimate(|ours, other| ours - other),
            ratio: estimate(|ours, other| ours / other),
        })
    }
}

/// Returns the median; of an even number, the mean of the two in the middle. `None` of none.
pub(super) fn median(values: Vec<f64>) -> Option<f64> {
    (!values.is_empty()).then(|| Spread::of(&values).median)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::engines::case::tests::case;

    fn measured(medians_us: &[f64], plugin: Option<&str>) -> Measured {
        let mut measured = Measured { plugin: plugin.map(str::to_owned), ..Measured::default() };
        for (number, median_us) in (0..).zip(medians_us) {
            let times_ns = vec![(median_us * 1e3) as u64; 3];
            let reply = Figures { outside_ns: Some(1e3 * f64::from(number)), ..Figures::default() };
            measured.add(number, Measurement { reply, times_ns, foreign_share: Some(0.01) });
        }
        measured
    }

    /// Returns a row of a case, with these medians of the rounds in us: of the plugin onnx, of candle, of the
    /// package bound ahead.
    pub(in crate::engines) fn row(model: &str, onnx: &[f64], candle: &[f64], binding: &[f64]) -> Row {
        let mut row = Row::new(case(model, 1, 1));
        for (name, medians) in [("onnx", onnx), ("candle", candle)] {
            let outcome = Outcome::Measured(Box::new(measured(medians, Some(name))));
            row.entries.push(Entry::new(
                System::Plugin(name.to_owned()),
                Some(format!("{name} 0.1.0")),
                outcome,
            ));
        }
        let outcome = Outcome::Measured(Box::new(measured(binding, None)));
        row.entries.push(Entry::new(
            System::Package(Way::Binding),
            Some("onnxruntime 1.31.1".to_owned()),
            outcome,
        ));
        row.conclude();
        row
    }

    #[test]
    fn rounds_are_compared_one_by_one() {
        // The third round was disturbed, for both alike.
        let row =
            row("resnet50", &[1010.0, 1012.0, 5050.0], &[4000.0, 4000.0, 4000.0], &[1000.0, 1000.0, 5000.0]);
        let paired = row.entries[0].beside_binding.unwrap();
        assert_eq!((paired.rounds, paired.added_ns.median, paired.ratio.median), (3, 12_000.0, 1.01));
        assert_eq!((paired.ratio.low, paired.ratio.high), (1.01, 1.012));
        assert_eq!(
            (row.entries[0].limit, row.entries[0].limit_standing),
            (Some(Limit::Share(0.02)), Some(Standing::Met))
        );
        // Another engine is shown for comparison and has no limit.
        assert_eq!(row.entries[1].beside_binding.unwrap().ratio.median, 4.0);
        assert_eq!((row.entries[1].limit, row.entries[2].beside_binding), (None, None));
        assert_eq!(row.entries[0].beside_run, None);
    }

    #[test]
    fn a_round_that_only_one_has_is_left_out() {
        let row = row("resnet50", &[1000.0, 1000.0], &[], &[500.0]);
        assert_eq!(row.entries[0].beside_binding.unwrap().rounds, 1);
        assert_eq!(row.entries[1].beside_binding, None);
        let digits = self::row("digits-cnn", &[17.0], &[17.0], &[11.0]);
        assert_eq!(digits.entries[0].limit_standing, Some(Standing::Missed));
    }

    #[test]
    fn figures_are_over_all_rounds() {
        let measured = measured(&[5.0, 1.0, 3.0], None);
        assert_eq!(measured.figure(|figures| figures.outside_ns), Some(1_000.0));
        assert_eq!(measured.figure(|figures| figures.engine_ns), None);
        let medians = measured.medians_ns();
        assert_eq!((medians.median, medians.least, medians.greatest), (3_000.0, 1_000.0, 5_000.0));
        let mut row = Row::new(case("bert-base", 1, 1));
        let outcome = Outcome::Measured(Box::new(measured));
        row.entries.push(Entry::new(System::Package(Way::Run), None, outcome));
        row.conclude();
        let times = row.entries[0].measured().unwrap().times.unwrap();
        assert_eq!((times.calls, times.median_ns, times.p99_ns), (9, 3_000.0, 5_000.0));
    }

    #[test]
    fn a_median_of_nothing_is_none() {
        assert_eq!((median(vec![3.0, 1.0]), median(Vec::new())), (Some(2.0), None));
    }
}

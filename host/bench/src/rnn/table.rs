//! Measurements, and how ours compares.

use proctor_rnn_layer::Precision;
use proctor_rnn_limits::LayerLimit;
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{ablation::stage_name, answer::TOLERANCE, cases::Case, flags::precision_name};
use crate::timing::Times;

/// Name in files and notes.
const STREAMED: &str = "ours streamed";

/// One layer with all its measurements.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Row {
    /// Name in tables.
    pub(super) name: String,
    #[serde(rename = "case")]
    pub(super) facts: Facts,
    pub(super) limits: Vec<Limit>,
    pub(super) entries: Vec<Entry>,
}

/// A case and the facts that follow from its sizes.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Facts {
    #[serde(flatten)]
    pub(super) case: Case,
    pub(super) flops: f64,
}

/// Minimum time on a number of cores.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Limit {
    pub(super) threads: usize,
    #[serde(flatten)]
    pub(super) of_layer: LayerLimit,
}

/// One system with one number of threads.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Entry {
    #[serde(flatten)]
    pub(super) system: System,
    pub(super) version: String,
    pub(super) threads: usize,
    #[serde(flatten)]
    pub(super) outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum System {
    Ours(Precision),
    Peer(&'static str),
    /// One of the ways of the paper's figure 4.
    Stage(usize),
    /// Ours, one step after the other with carried states.
    Streamed,
}

impl System {
    /// Returns the display name.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Ours(precision) => format!("ours in {}", precision_name(*precision)),
            Self::Peer(name) => (*name).to_owned(),
            Self::Stage(stage) => stage_name(*stage).to_owned(),
            Self::Streamed => STREAMED.to_owned(),
        }
    }
}

impl Serialize for System {
    /// `system`, and `precision`, which is f32 for every peer.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (name, precision) = match self {
            Self::Ours(precision) => ("ours", *precision),
            Self::Peer(name) => (*name, Precision::F32),
            Self::Stage(stage) => (stage_name(*stage), Precision::F32),
            Self::Streamed => (STREAMED, Precision::F32),
        };
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("system", name)?;
        map.serialize_entry("precision", &precision)?;
        map.end()
    }
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Measured(Measured),
    /// Reason for the missing result.
    Error(String),
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Measured {
    #[serde(flatten)]
    pub(super) times: Times,
    /// Share of the processors that others used meanwhile.
    pub(super) foreign_share: Option<f64>,
    /// Multiply-adds per second of its processors around the measurement (`Attempt::gflops` of grid.rs), as a
    /// share of the maximum in the run so far.
    pub(super) pace: f64,
    /// Share of its processor that a competitor used, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) competitor_share: Option<f64>,
    /// Share of the possible time for which its threads had a processor; of ours only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) busy_share: Option<f64>,
    /// Largest difference of its output from the f64 answer.
    pub(super) max_abs_error: f64,
    pub(super) load_ms: Option<f64>,
    pub(super) first_load_ms: Option<f64>,
    /// Number of weight bytes that one call of a stage brings into private caches, by the formula of section 5.2.3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) weight_bytes: Option<u64>,
}

/// Figure of their calls by which systems are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    Median,
    P99,
}

/// The entry of a system that is best by a figure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Best<'a> {
    pub(super) entry: &'a Entry,
    pub(super) measured: &'a Measured,
    /// The figure, in ns.
    pub(super) ns: f64,
}

impl Figure {
    pub(super) const ALL: [Self; 2] = [Self::Median, Self::P99];

    fn ns(self, times: &Times) -> f64 {
        match self {
            Self::Median => times.median_ns,
            Self::P99 => times.p99_ns,
        }
    }
}

impl Row {
    pub(super) fn new(case: Case, limits: Vec<Limit>) -> Self {
        let facts = Facts { case, flops: case.layer.flops() };
        Self { name: case.to_string(), facts, limits, entries: Vec::new() }
    }

    /// Adds a measurement. For a system that was measured before, the faster median stays, with the greater
    /// error of its answers and the longer of its first loads, which determined how to run the layer. A
    /// failure of a peer gives way to a measurement; one of ours replaces any, since it counts.
    pub(super) fn add(&mut self, entry: Entry) {
        let is_same = |other: &&mut Entry| {
            (&other.system, &other.version, other.threads) == (&entry.system, &entry.version, entry.threads)
        };
        let Some(before) = self.entries.iter_mut().find(is_same) else {
            return self.entries.push(entry);
        };
        let stays = !matches!(entry.system, System::Peer(_));
        let (old, new) = match (&mut before.outcome, entry.outcome) {
            (Outcome::Measured(old), Outcome::Measured(new)) => (old, new),
            (Outcome::Error(_), Outcome::Measured(_)) if stays => return,
            (Outcome::Measured(_), Outcome::Error(_)) if !stays => return,
            (old, new) => return *old = new,
        };
        let max_abs_error = old.max_abs_error.max(new.max_abs_error);
        let first_load_ms = [old.first_load_ms, new.first_load_ms].into_iter().flatten().reduce(f64::max);
        let faster = if new.times.median_ns < old.times.median_ns { new } else { *old };
        *old = Measured { max_abs_error, first_load_ms, ..faster };
    }

    /// Returns the fastest of the entries of a system, over the numbers of threads.
    pub(super) fn best(&self, figure: Figure, is_wanted: impl Fn(&System) -> bool) -> Option<Best<'_>> {
        let all = self.entries.iter().filter(|entry| is_wanted(&entry.system));
        let best = |entry| {
            let measured = Entry::measured(entry)?;
            Some(Best { entry, measured, ns: figure.ns(&measured.times) })
        };
        all.filter_map(best).min_by(|left, right| left.ns.total_cmp(&right.ns))
    }

    pub(super) fn ours(&self, figure: Figure, precision: Precision) -> Option<Best<'_>> {
        self.best(figure, |system| *system == System::Ours(precision))
    }

    pub(super) fn best_peer(&self, figure: Figure) -> Option<Best<'_>> {
        self.best(figure, |system| matches!(system, System::Peer(_)))
    }

    /// Returns a step of a stream.
    pub(super) fn streamed(&self, figure: Figure) -> Option<Best<'_>> {
        self.best(figure, |system| *system == System::Streamed)
    }

    /// Returns a system on this number of threads.
    pub(super) fn on(&self, system: &System, threads: usize) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.system == *system && entry.threads == threads)
    }

    /// Returns the ratio of our speed to the best peer's, each at the number of threads where this figure is best.
    pub(super) fn ratio(&self, figure: Figure) -> Option<f64> {
        self.ratio_of(figure, self.ours(figure, Precision::F32)?)
    }

    /// Returns the ratio of the speed of another way to run it to the best peer's.
    pub(super) fn ratio_of(&self, figure: Figure, best: Best<'_>) -> Option<f64> {
        Some(self.best_peer(figure)?.ns / best.ns)
    }

    /// Returns whether ours is slower than the best peer by one of the figures; `None` without peers.
    pub(super) fn is_lost(&self) -> Option<bool> {
        let ratios = Figure::ALL.map(|figure| self.ratio(figure));
        let least = ratios.into_iter().flatten().min_by(f64::total_cmp)?;
        Some(least < 1.0)
    }

    /// Returns the lowest limit over the numbers of cores.
    pub(super) fn limit(&self) -> Option<&Limit> {
        let ns = |limit: &&Limit| limit.of_layer.least_time_ns;
        self.limits.iter().min_by(|left, right| ns(left).total_cmp(&ns(right)))
    }

    /// Returns the time of the limit.
    pub(super) fn limit_ns(&self) -> Option<f64> {
        Some(self.limit()?.of_layer.least_time_ns)
    }

    /// Returns the limit divided by our time: 1 means the maximum that the machine can do.
    pub(super) fn share_of_limit(&self) -> Option<f64> {
        Some(self.limit_ns()? / self.ours(Figure::Median, Precision::F32)?.ns)
    }

    /// Returns matrix products per second at ours' best, in 1e9 operations.
    pub(super) fn gflops(&self) -> Option<f64> {
        Some(self.facts.flops / self.ours(Figure::Median, Precision::F32)?.ns)
    }
}

impl Entry {
    pub(super) fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            Outcome::Measured(measured) => Some(measured),
            Outcome::Error(_) => None,
        }
    }
}

impl Measured {
    /// Returns whether its answer is right, within the precision of f32.
    pub(super) fn is_same_answer(&self) -> bool {
        self.max_abs_error <= TOLERANCE
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proctor_rnn_limits::Reads;

    use super::*;
    use crate::rnn::cases::{Group, Kind, LayerCase};

    /// Returns a row with these medians in ms: of ours on 1 and 2 threads, and of peers.
    pub(in crate::rnn) fn row(ours: [f64; 2], peers: &[(&'static str, usize, f64)]) -> Row {
        let layer =
            LayerCase { kind: Kind::Lstm, bidirectional: false, input: 64, hidden: 64, batch: 1, time: 100 };
        let limits = [(1, 40_000.0), (2, 20_000.0)];
        let limits = limits.map(|(threads, least_time_ns)| {
            let reads = [3.2e6, 1.6e6, 0.0].map(|bytes| Reads { bytes, ns: bytes / 160.0 / threads as f64 });
            let of_layer = LayerLimit { least_time_ns, multiply_adds_ns: 0.75 * least_time_ns, reads };
            Limit { threads, of_layer }
        });
        let mut row = Row::new(Case { group: Group::Table1, role: "", layer }, limits.to_vec());
        for (position, median_ms) in ours.into_iter().enumerate() {
            row.add(entry(System::Ours(Precision::F32), "cpu-rnn 0.1.0", position + 1, median_ms));
        }
        for (name, threads, median_ms) in peers {
            row.add(entry(System::Peer(name), "1.2", *threads, *median_ms));
        }
        row
    }

    pub(in crate::rnn) fn entry(system: System, version: &str, threads: usize, median_ms: f64) -> Entry {
        let median_ns = median_ms * 1e6;
        let times = Times { median_ns, p99_ns: 1.5 * median_ns, least_ns: 0.9 * median_ns, calls: 1000 };
        let measured = Measured {
            times,
            foreign_share: Some(0.01),
            pace: 0.99,
            competitor_share: None,
            busy_share: Some(0.98),
            max_abs_error: 5e-7,
            load_ms: Some(2.0),
            first_load_ms: Some(100.0),
            weight_bytes: None,
        };
        Entry { system, version: version.to_owned(), threads, outcome: Outcome::Measured(measured) }
    }

    #[test]
    fn the_best_of_both_sides_are_compared() {
        let row =
            row([0.1, 0.05], &[("onnxruntime", 1, 0.12), ("onnxruntime", 2, 0.13), ("openvino", 1, 0.11)]);
        assert!((row.ratio(Figure::Median).unwrap() - 2.2).abs() < 1e-9);
        assert_eq!(row.best_peer(Figure::Median).unwrap().entry.system, System::Peer("openvino"));
        assert_eq!(row.ours(Figure::Median, Precision::F32).unwrap().entry.threads, 2);
        assert!((row.share_of_limit().unwrap() - 0.4).abs() < 1e-9);
        assert!((row.gflops().unwrap() - 131.072).abs() < 1e-6);
        assert!(row.ours(Figure::Median, Precision::Int8).is_none());
        assert_eq!(row.is_lost(), Some(false));
    }

    #[test]
    fn each_figure_has_its_best_number_of_threads_and_its_best_peer() {
        let mut row = row([0.1, 0.05], &[("onnxruntime", 1, 0.12), ("openvino", 1, 0.11)]);
        let mut set_p99 = |entry: usize, p99_ms: f64| {
            let Outcome::Measured(measured) = &mut row.entries[entry].outcome else {
                panic!("it is measured")
            };
            measured.times.p99_ns = p99_ms * 1e6;
        };
        // Two threads are faster, but meet others more often; and so does one of the peers.
        set_p99(1, 0.8);
        set_p99(3, 0.9);
        assert_eq!(row.ours(Figure::P99, Precision::F32).unwrap().entry.threads, 1);
        assert_eq!(row.best_peer(Figure::P99).unwrap().entry.system, System::Peer("onnxruntime"));
        assert!((row.ratio(Figure::P99).unwrap() - 0.18 / 0.15).abs() < 1e-9);
        assert_eq!(row.is_lost(), Some(false));
        let Outcome::Measured(measured) = &mut row.entries[0].outcome else { panic!("it is measured") };
        measured.times.p99_ns = 0.2e6;
        assert!(row.ratio(Figure::Median).unwrap() > 1.0);
        assert_eq!(row.is_lost(), Some(true));
    }

    #[test]
    fn the_faster_of_two_measurements_stays_with_the_greater_error() {
        let mut row = row([0.1, 0.05], &[]);
        let ours = |threads, median_ms, max_abs_error, first_load_ms| {
            let mut entry = entry(System::Ours(Precision::F32), "cpu-rnn 0.1.0", threads, median_ms);
            let Outcome::Measured(measured) = &mut entry.outcome else { panic!("it is measured") };
            measured.max_abs_error = max_abs_error;
            measured.first_load_ms = Some(first_load_ms);
            entry
        };
        row.add(ours(1, 0.09, 0.0, 90.0));
        row.add(ours(2, 0.06, 0.5, 120.0));
        assert_eq!(row.entries.len(), 2);
        let kept = |row: &Row, threads| {
            let entry = row.on(&System::Ours(Precision::F32), threads).unwrap();
            entry.measured().map(|measured| (measured.times.median_ns, measured.is_same_answer()))
        };
        assert_eq!((kept(&row, 1), kept(&row, 2)), (Some((0.09e6, true)), Some((0.05e6, false))));
        // Nor does a faster one that is right hide it.
        row.add(ours(2, 0.04, 0.0, 110.0));
        assert_eq!(kept(&row, 2), Some((0.04e6, false)));
        let first_load_ms = |threads| {
            row.on(&System::Ours(Precision::F32), threads).unwrap().measured().unwrap().first_load_ms
        };
        assert_eq!([first_load_ms(1), first_load_ms(2)], [Some(100.0), Some(120.0)]);
        assert_eq!((row.ratio(Figure::Median), row.is_lost()), (None, None));
    }

    #[test]
    fn a_failure_of_ours_stays_and_one_of_a_peer_gives_way() {
        for (system, version, stays) in
            [(System::Ours(Precision::F32), "cpu-rnn 0.1.0", true), (System::Peer("torch"), "1", false)]
        {
            let measured = || entry(system.clone(), version, 1, 0.09);
            let failed = || Entry { outcome: Outcome::Error("no".to_owned()), ..measured() };
            for entries in [[measured(), failed()], [failed(), measured()]] {
                let mut row = Row::new(row([0.1, 0.05], &[]).facts.case, Vec::new());
                entries.into_iter().for_each(|entry| row.add(entry));
                assert_eq!((row.entries.len(), row.entries[0].measured().is_none()), (1, stays));
            }
        }
    }
}

//! The comparison of two sides.

use proctor_vocabulary::Scenario;
use serde::Serialize;

use crate::{
    accuracy::{accuracies, half_width, have_same_answers, mean},
    condition::Condition,
    differences::{Difference, differences},
    error::CompareError,
    figure::{Figure, SHIFTS},
    remark::Remark,
    side::Side,
    statistics::interval::{self, Method},
};

/// Repeats below which the variance between them is a guess.
const FEW_REPEATS: usize = 4;

/// A comparison of B with the baseline A.
#[derive(Debug)]
pub struct Comparison {
    /// Name of the folder of A, and number of its runs.
    pub a: (String, usize),
    /// Name of the folder of B, and number of its runs.
    pub b: (String, usize),
    /// All other differences.
    pub differences: Vec<Difference>,
    /// Compared figures.
    pub rows: Vec<Row>,
    /// The latencies from fast to slow.
    pub shifts: Vec<Row>,
    /// Remarks about the comparison.
    pub remarks: Vec<Remark>,
    /// Method of the intervals.
    pub method: Method,
}

/// A figure of both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Compared figure.
    pub figure: Figure,
    /// Value of A, in ns, per second, or of the metric.
    pub a: f64,
    /// Value of B.
    pub b: f64,
    /// B over A, less 1.
    pub change: f64,
    /// Interval of the change; `None` if the samples do not support one.
    pub interval: Option<(f64, f64)>,
    /// The harness's own floor of such a latency in ns, the greater of both sides.
    pub floor_ns: Option<f64>,
    /// The verdict on it.
    pub verdict: Verdict,
}

/// Verdict of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Both sides have the same value in every resample.
    Same,
    /// The interval holds 0.
    NoDifference,
    /// The difference is not greater than the harness's own floor.
    UnderFloor,
    /// B is better.
    Better,
    /// B is worse.
    Worse,
    /// The figure has no interval.
    Unknown,
}

impl Row {
    fn of(figure: Figure, found: interval::Difference, floor_ns: Option<f64>) -> Self {
        let share = |log: f64| log.exp_m1();
        let mut row = Self {
            figure,
            a: found.value_a,
            b: found.value_b,
            change: share(found.log_ratio),
            interval: found.interval.map(|(low, high)| (share(low), share(high))),
            floor_ns: floor_ns.filter(|_| figure.is_latency()),
            verdict: Verdict::Unknown,
        };
        row.verdict = row.judged();
        row
    }

    /// Returns the row of the accuracy: means of both sides, and half the width of the interval of their difference.
    fn of_accuracy(a: f64, b: f64, half: Option<f64>) -> Self {
        let share = |difference: f64| if difference == 0.0 { 0.0 } else { difference / a };
        let mut row = Self {
            figure: Figure::Accuracy,
            a,
            b,
            change: share(b - a),
            interval: half.map(|half| (share(b - a - half), share(b - a + half))),
            floor_ns: None,
            verdict: Verdict::Unknown,
        };
        row.verdict = row.judged();
        row
    }

    fn judged(&self) -> Verdict {
        let Some((low, high)) = self.interval else { return Verdict::Unknown };
        if low == 0.0 && high == 0.0 {
            return Verdict::Same;
        }
        if low <= 0.0 && high >= 0.0 {
            return Verdict::NoDifference;
        }
        if self.floor_ns.is_some_and(|floor_ns| (self.b - self.a).abs() <= floor_ns) {
            return Verdict::UnderFloor;
        }
        let is_greater = low > 0.0;
        if is_greater == self.figure.is_latency() { Verdict::Worse } else { Verdict::Better }
    }
}

impl Comparison {
    /// Compares two sides.
    ///
    /// # Errors
    /// [`CompareError::Unlike`].
    pub fn of(a: &Side, b: &Side, method: Method) -> Result<Self, CompareError> {
        let (first_a, first_b) = (&a.runs[0], &b.runs[0]);
        let unlike = |key, of_a: &str, of_b: &str| CompareError::Unlike {
            path_a: a.folder.clone(),
            path_b: b.folder.clone(),
            key,
            a: of_a.to_owned(),
            b: of_b.to_owned(),
        };
        if first_a.scenario != first_b.scenario {
            return Err(unlike("scenario", first_a.scenario.name(), first_b.scenario.name()));
        }
        let (id_a, id_b) = (&first_a.result.benchmark.id, &first_b.result.benchmark.id);
        if id_a != id_b {
            return Err(unlike("benchmark", id_a, id_b));
        }
        let mut remarks: Vec<_> = a.remarks.iter().chain(&b.remarks).cloned().collect();
        match (a.runs.len(), b.runs.len()) {
            (1, 1) => remarks.push(Remark::OneRunEach),
            (1, _) | (_, 1) => remarks.push(Remark::OneRun),
            (more, fewer) if more.min(fewer) < FEW_REPEATS => {
                remarks.push(Remark::FewRepeats { count: more.min(fewer) });
            }
            _ => {}
        }
        let (of_a, of_b) = (a.measured(), b.measured());
        let scenario = first_a.scenario.loadgen();
        if scenario == Scenario::Server && interval::have_same_arrivals(&of_a, &of_b) {
            remarks.push(Remark::SameSchedule);
        }
        let mut reaching = Vec::new();
        let mut row = |figure: Figure| {
            let found = interval::difference(&of_a, &of_b, figure, method)?;
            if found.reaches_too_far {
                reaching.push(figure);
            }
            Some(Row::of(figure, found, floor_ns(a, b, figure)))
        };
        let shifts: Vec<_> = SHIFTS.map(Figure::Percentile).into_iter().filter_map(&mut row).collect();
        let found = |figure| shifts.iter().find(|row| row.figure == figure).copied();
        let figures = Figure::of(scenario).into_iter();
        let mut rows: Vec<_> = figures.filter_map(|figure| found(figure).or_else(|| row(figure))).collect();
        if scenario == Scenario::Offline {
            remarks.push(Remark::OfflineLatencies);
        }
        remarks.extend(unanswered(a, b, &rows));
        match (accuracies(a), accuracies(b)) {
            (Some((metric, of_a)), Some((other, of_b))) if metric == other => {
                let exact = || have_same_answers(a, b).then_some(0.0);
                let half = half_width(&of_a, &of_b, method.confidence).or_else(exact);
                rows.push(Row::of_accuracy(mean(&of_a), mean(&of_b), half));
            }
            (Some(_), Some(_)) => remarks.push(Remark::OtherMetric),
            _ => {}
        }
        let without = rows.iter().filter(|row| row.interval.is_none() && row.figure != Figure::Accuracy);
        let without: Vec<_> = without.map(|row| row.figure).collect();
        if !without.is_empty() {
            remarks.push(Remark::TooFewSamples { figures: without });
        }
        reaching.retain(|figure| rows.iter().any(|row| row.figure == *figure && row.interval.is_some()));
        reaching.dedup();
        if !reaching.is_empty() {
            remarks.push(Remark::LongCorrelation { figures: reaching });
        }
        remarks.extend(deviations(a, b));
        let name = |side: &Side| (side.folder.display().to_string(), side.runs.len());
        Ok(Self {
            a: name(a),
            b: name(b),
            differences: differences(&a.json(), &b.json()),
            rows,
            shifts,
            remarks,
            method,
        })
    }

    /// Returns the row of a figure.
    #[must_use]
    pub fn row(&self, figure: Figure) -> Option<&Row> {
        self.rows.iter().find(|row| row.figure == figure)
    }

    /// Returns whether a condition fails against B, as all of them do if there is an
    /// [`obstacle`](Self::obstacle); `None` if the samples do not decide.
    ///
    /// # Errors
    /// [`CompareError::NoSuchFigure`].
    pub fn fails(&self, condition: &Condition) -> Result<Option<bool>, CompareError> {
        let withholds = |remark: &Remark| matches!(remark, Remark::Withheld { figures } if figures.contains(&condition.figure));
        let row = self.row(condition.figure);
        if row.is_none() && !self.remarks.iter().any(withholds) {
            return Err(CompareError::NoSuchFigure {
                condition: condition.to_string(),
                figure: condition.figure,
                has: self.rows.iter().map(|row| row.figure.to_string()).collect::<Vec<_>>().join(", "),
            });
        }
        if self.obstacle().is_some() {
            return Ok(Some(true));
        }
        Ok(condition.fails(row.and_then(|row| row.interval)))
    }

    /// Returns the reason why no condition passes, regardless of the figures: the first remark that disqualifies a run,
    /// such as that it is INVALID. `None` if the figures decide.
    #[must_use]
    pub fn obstacle(&self) -> Option<String> {
        let mut obstacles = self.remarks.iter().filter(|remark| remark.is_obstacle());
        let first = obstacles.next()?;
        Some(match obstacles.count() {
            0 => first.to_string(),
            more => format!("{first}; and {more} more, in the notes"),
        })
    }
}

/// Returns a remark on the runs' deviations from their rounds, each once for a side.
fn deviations(a: &Side, b: &Side) -> Option<Remark> {
    let texts = |side: &Side| {
        let mut texts: Vec<String> = Vec::new();
        for deviation in side.runs.iter().flat_map(|run| run.result.all_deviations()) {
            if !texts.contains(&deviation.text) {
                texts.push(deviation.text);
            }
        }
        texts
    };
    let (a, b) = (texts(a), texts(b));
    (!a.is_empty() || !b.is_empty()).then_some(Remark::Deviates { a, b })
}

/// Returns the remarks on samples without an answer: that B has more of them, and the figures that they leave without a
/// meaning.
fn unanswered(a: &Side, b: &Side, rows: &[Row]) -> Vec<Remark> {
    let (of_a, of_b) = (a.unanswered(), b.unanswered());
    let mut remarks = Vec::new();
    if u128::from(of_b.0) * u128::from(of_a.1) > u128::from(of_a.0) * u128::from(of_b.1) {
        remarks.push(Remark::AnswersLess { a: of_a, b: of_b });
    }
    if of_a.0 + of_b.0 > 0 {
        let is_missing = |figure: &Figure| rows.iter().all(|row| row.figure != *figure);
        let figures: Vec<_> =
            Figure::of(a.runs[0].scenario.loadgen()).into_iter().filter(is_missing).collect();
        if !figures.is_empty() {
            remarks.push(Remark::Withheld { figures });
        }
    }
    remarks
}

/// Returns the larger floor of the runs of both sides, to compare a latency with.
fn floor_ns(a: &Side, b: &Side, figure: Figure) -> Option<f64> {
    let floors = a.runs.iter().chain(&b.runs).filter_map(|run| run.result.harness_floor.as_ref());
    let of_tail = matches!(figure, Figure::Percentile(tenths) if tenths >= 950);
    floors
        .map(|floor| if of_tail { floor.latency_p99_ns } else { floor.latency_p50_ns })
        .max()
        .map(|ns| ns as f64)
}

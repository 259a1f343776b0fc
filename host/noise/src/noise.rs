//! How quiet the machine was.

use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    interval::Interval,
    judgement::{Cause, Scale, State, causes},
    quantity::{Quantities, Values},
};

/// Noise of the machine while a test ran, in the form of a result. Instants are in ns from the start of issuing.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Noise {
    /// Quiet, noisy, or not known.
    pub state: State,
    /// Reason why the noise is unknown, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown_reason: Option<String>,
    /// Time that was observed, from the start of issuing.
    pub observed_ns: u64,
    /// Number of intervals.
    pub interval_count: u64,
    /// Number of intervals that were not quiet.
    pub noisy_interval_count: u64,
    /// Total length of the noisy intervals.
    pub noisy_ns: u64,
    /// Number of processors that the process may use.
    pub processor_count: u64,
    /// Number of issuing threads whose switches were counted.
    pub issuing_thread_count: u64,
    /// Time by which the system may delay the timers of the issuing thread; null if it does not report it.
    pub timer_slack_ns: Option<u64>,
    /// Each quantity over the whole time.
    pub totals: Values,
    /// The intervals that were not quiet, ascending.
    pub noisy_intervals: Vec<NoisyInterval>,
    /// The guard's own share.
    pub cost: Cost,
    /// Each quantity interval by interval.
    pub series: Series,
}

/// An interval that was not quiet.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct NoisyInterval {
    /// Begin of the interval, in ns from the start of issuing.
    pub begin_ns: u64,
    /// End of the interval, in ns from the start of issuing.
    pub end_ns: u64,
    /// Causes, one of each kind at most. One of a later version is left out.
    #[serde(deserialize_with = "known_causes")]
    pub causes: Vec<Cause>,
}

fn known_causes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Cause>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Known(Cause),
        Later {},
    }
    let known = |written| match written {
        Written::Known(cause) => Some(cause),
        Written::Later {} => None,
    };
    Ok(Vec::<Written>::deserialize(deserializer)?.into_iter().filter_map(known).collect())
}

/// Processor time of the guard's own thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Cost {
    /// Total time of the guard's thread.
    pub thread_ns: u64,
    /// Share of one processor over the observed time.
    pub share_of_processor: f64,
    /// Number of readings; the test's thread takes the first and the last outside of the timed part.
    pub reading_count: u64,
}

/// Quantities by interval, in columns. Each interval ends where the next one begins, and the first begins at 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Series {
    /// Nominal length of an interval. The last one has from a half to one and a half of it, if there are several.
    pub interval_ns: u64,
    /// End of each interval.
    pub end_ns: Vec<u64>,
    /// True for those that were noisy.
    pub is_noisy: Vec<bool>,
    /// Values of each; `None` in place of a column without any value.
    #[serde(flatten)]
    pub columns: Quantities<Option<Vec<Option<u64>>>>,
}

impl Noise {
    /// Sums up intervals on any clock, on which issuing began at `start_ns`.
    pub(crate) fn of(intervals: &[Interval], interval_ns: u64, start_ns: u64, about: About) -> Self {
        let About { obstacle, processor_count, issuing_thread_count, timer_slack_ns, mut cost } = about;
        let scale = scale(intervals, processor_count, issuing_thread_count);
        let from_start = |ns: u64| ns.saturating_sub(start_ns);
        let mut noisy_intervals = Vec::new();
        let (mut ends_ns, mut is_noisy) = (Vec::new(), Vec::new());
        for interval in intervals {
            let causes = causes(interval, scale);
            let (begin_ns, end_ns) = (from_start(interval.begin_ns), from_start(interval.end_ns));
            ends_ns.push(end_ns);
            is_noisy.push(!causes.is_empty());
            if !causes.is_empty() {
                noisy_intervals.push(NoisyInterval { begin_ns, end_ns, causes });
            }
        }
        let column = |of: fn(&Values) -> Option<u64>| {
            let column: Vec<_> = intervals.iter().map(|it| of(&it.values)).collect();
            Some(column).filter(|column| column.iter().any(Option::is_some))
        };
        let observed_ns = ends_ns.last().copied().unwrap_or(0);
        let noisy_ns = noisy_intervals.iter().map(|it| it.end_ns - it.begin_ns).sum::<u64>();
        let totals = intervals.iter().fold(Values::default(), |sum, interval| sum.and(interval.values));
        let is_known = totals.foreign_ns.is_some();
        let unknown_reason = (!is_known).then(|| match obstacle {
            Some(obstacle) => obstacle,
            None if intervals.is_empty() => "the test ended before it was observed".to_owned(),
            None => "/proc/stat does not tell the times of the processors".to_owned(),
        });
        let state = match unknown_reason {
            Some(_) => State::Unknown,
            None if noisy_ns > observed_ns / 100 => State::Noisy,
            None => State::Quiet,
        };
        cost.share_of_processor = cost.thread_ns as f64 / observed_ns.max(1) as f64;
        Self {
            state,
            unknown_reason,
            observed_ns,
            interval_count: intervals.len() as u64,
            noisy_interval_count: noisy_intervals.len() as u64,
            noisy_ns,
            processor_count,
            issuing_thread_count,
            timer_slack_ns,
            totals,
            noisy_intervals,
            cost,
            series: Series { interval_ns, end_ns: ends_ns, is_noisy, columns: Quantities::each(column) },
        }
    }
}

/// Knowledge of a guard beyond the intervals.
pub(crate) struct About {
    /// Apparent reason why the times of the processors cannot be read.
    pub(crate) obstacle: Option<String>,
    pub(crate) processor_count: u64,
    pub(crate) issuing_thread_count: u64,
    pub(crate) timer_slack_ns: Option<u64>,
    pub(crate) cost: Cost,
}

/// Returns the circumstances that the limits of these intervals depend on.
pub(crate) fn scale(intervals: &[Interval], processor_count: u64, issuing_thread_count: u64) -> Scale {
    let of = |interval: &Interval| interval.values.frequency_greatest_khz;
    let mut khz: Vec<_> = intervals.iter().filter_map(of).collect();
    khz.sort_unstable();
    let at = |place: usize| khz.get(place).copied();
    let middle = at(khz.len().saturating_sub(1) / 2).zip(at(khz.len() / 2));
    let usual_khz = middle.map(|(low, high)| u64::midpoint(low, high));
    Scale { processor_count, issuing_thread_count, usual_khz }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::CauseKind;

    const SECOND_NS: u64 = 1_000_000_000;

    fn interval(second: u64, foreign_ms: Option<u64>) -> Interval {
        let values = Values { foreign_ns: foreign_ms.map(|ms| ms * 1_000_000), ..Values::default() };
        // Read 5 us before issuing began.
        let at = |second: u64| 7 * SECOND_NS - 5000 + second * SECOND_NS;
        Interval { begin_ns: at(second), end_ns: at(second + 1), values }
    }

    fn noise(foreign_ms: &[Option<u64>], obstacle: Option<String>) -> Noise {
        let intervals: Vec<_> = (0..).zip(foreign_ms).map(|(second, ms)| interval(second, *ms)).collect();
        let cost = Cost { thread_ns: 200_000, reading_count: 3, ..Cost::default() };
        let about =
            About { obstacle, processor_count: 2, issuing_thread_count: 1, timer_slack_ns: None, cost };
        Noise::of(&intervals, SECOND_NS, 7 * SECOND_NS, about)
    }

    #[test]
    fn seconds_that_were_not_quiet_are_listed_from_the_start_of_issuing() {
        let noise = noise(&[Some(0), Some(400), Some(10)], None);
        assert_eq!((noise.state, noise.interval_count, noise.noisy_interval_count), (State::Noisy, 3, 1));
        let second = &noise.noisy_intervals[0];
        assert_eq!((second.begin_ns, second.end_ns), (SECOND_NS - 5000, 2 * SECOND_NS - 5000));
        assert_eq!(second.causes[0].kind, CauseKind::ForeignLoad);
        assert_eq!(noise.totals.foreign_ns, Some(410_000_000));
        let Series { is_noisy, columns, .. } = noise.series;
        assert_eq!(is_noisy, [false, true, false]);
        assert_eq!(columns.foreign_ns, Some([0, 400_000_000, 10_000_000].map(Some).to_vec()));
        assert_eq!(columns.steal_ns, None);
        assert!((noise.cost.share_of_processor - 200_000.0 / 3e9).abs() < 1e-9);
    }

    #[test]
    fn the_usual_frequency_is_a_median() {
        let usual_khz = |khz: &[u64]| {
            let values = |khz: &u64| Values { frequency_greatest_khz: Some(*khz), ..Values::default() };
            let of = |khz| Interval { values: values(khz), ..interval(0, None) };
            scale(&khz.iter().map(of).collect::<Vec<_>>(), 2, 1).usual_khz
        };
        assert_eq!([usual_khz(&[]), usual_khz(&[3])], [None, Some(3)]);
        assert_eq!([usual_khz(&[9, 3]), usual_khz(&[9, 1, 3])], [Some(6), Some(3)]);
    }

    #[test]
    fn one_second_of_a_hundred_is_too_little_to_show_in_a_99th_percentile() {
        let mut seconds = vec![Some(0); 101];
        seconds[50] = Some(900);
        assert_eq!(noise(&seconds, None).state, State::Quiet);
        seconds[51] = Some(900);
        assert_eq!(noise(&seconds, None).state, State::Noisy);
    }

    #[test]
    fn what_cannot_be_read_is_never_quiet() {
        let unread = noise(&[None, None], None);
        assert_eq!(unread.state, State::Unknown);
        let told = noise(&[None], Some("cannot read it".to_owned()));
        assert_eq!(told.unknown_reason.as_deref(), Some("cannot read it"));
        let none = noise(&[], None);
        assert_eq!((none.state, none.observed_ns), (State::Unknown, 0));
    }
}

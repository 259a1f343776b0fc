//! Limits above which an interval was not quiet.
//!
//! They rest on two facts: an event that takes more than one hundredth of the time can move a 99th percentile, and the
//! system counts in ticks of 10 ms, where one more or less is chance. docs/noise.md has the reason for each.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{interval::Interval, quantity::Values};

/// Quietness of a test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// At most 1 % of the time was in noisy intervals, too little for a 99th percentile to show.
    Quiet,
    /// More of the time was in such intervals.
    Noisy,
    /// The times of the processors could not be read.
    #[default]
    Unknown,
}

/// Kind of disturbance of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CauseKind {
    /// The hypervisor gave the processors to others.
    Steal,
    /// Other processes, or the kernel, had the processors.
    ForeignLoad,
    /// Issuing threads were interrupted.
    InvoluntarySwitches,
    /// This process waited for pages from a disk.
    MajorFaults,
    /// The processors were slower than usual.
    Frequency,
    /// The processors were too hot.
    ThermalThrottling,
    /// The quota of the cgroup was used up.
    QuotaThrottling,
}

/// Disturbance of an interval, and the limit that it broke.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Cause {
    /// Kind of the cause.
    pub kind: CauseKind,
    /// Measured over the interval.
    pub value: u64,
    /// Threshold from which the value counts; a frequency counts below it.
    pub threshold: u64,
    /// Unit of both: `ns`, `count` or `kHz`.
    pub unit: Cow<'static, str>,
}

/// Circumstances that the limits depend on besides the interval.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) processor_count: u64,
    pub(crate) issuing_thread_count: u64,
    /// Median over the run of the fastest processor.
    pub(crate) usual_khz: Option<u64>,
}

const MS: u64 = 1_000_000;

/// Maximum number of switches of an issuing thread in a second.
const SWITCHES_A_SECOND: u64 = 20;

/// Share of the usual frequency that is still usual, in percent.
const USUAL_PERCENT: u64 = 90;

impl CauseKind {
    const ALL: [Self; 7] = [
        Self::Steal,
        Self::ForeignLoad,
        Self::InvoluntarySwitches,
        Self::MajorFaults,
        Self::Frequency,
        Self::ThermalThrottling,
        Self::QuotaThrottling,
    ];

    /// Returns the name in a result.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Steal => "steal",
            Self::ForeignLoad => "foreign_load",
            Self::InvoluntarySwitches => "involuntary_switches",
            Self::MajorFaults => "major_faults",
            Self::Frequency => "frequency",
            Self::ThermalThrottling => "thermal_throttling",
            Self::QuotaThrottling => "quota_throttling",
        }
    }

    fn value(self, values: &Values) -> Option<u64> {
        match self {
            Self::Steal => values.steal_ns,
            Self::ForeignLoad => values.foreign_ns,
            Self::InvoluntarySwitches => values.involuntary_switches,
            Self::MajorFaults => values.major_faults,
            Self::Frequency => values.frequency_greatest_khz,
            Self::ThermalThrottling => values.thermal_throttle_events,
            Self::QuotaThrottling => values.quota_throttled_ns,
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Steal | Self::ForeignLoad | Self::QuotaThrottling => "ns",
            Self::InvoluntarySwitches | Self::MajorFaults | Self::ThermalThrottling => "count",
            Self::Frequency => "kHz",
        }
    }

    /// Returns the limit for an interval of this length; `None` if it is unknown.
    fn threshold(self, lasted_ns: u64, scale: Scale) -> Option<u64> {
        let hundredth = (lasted_ns / 100).saturating_mul(scale.processor_count);
        Some(match self {
            Self::Steal => hundredth.max(20 * MS),
            Self::ForeignLoad => hundredth.max(lasted_ns / 20).max(50 * MS),
            Self::InvoluntarySwitches => {
                let threads = scale.issuing_thread_count.max(1);
                // A fraction of a second allows as many as a whole one: a burst is not a reason.
                let ms = (lasted_ns / MS).max(1000);
                threads.saturating_mul(SWITCHES_A_SECOND).saturating_mul(ms) / 1000
            }
            Self::MajorFaults | Self::ThermalThrottling => 1,
            Self::Frequency => scale.usual_khz?.saturating_mul(USUAL_PERCENT) / 100,
            Self::QuotaThrottling => MS,
        })
    }

    fn of(self, values: &Values, lasted_ns: u64, scale: Scale) -> Option<Cause> {
        let (value, threshold) = (self.value(values)?, self.threshold(lasted_ns, scale)?);
        let is_broken = match self {
            Self::Frequency => value < threshold,
            _ => value >= threshold,
        };
        // Threads of the run itself also interrupt each other if they share a processor.
        let is_of_others = match self {
            Self::InvoluntarySwitches => values.foreign_ns? >= foreign_trace_ns(lasted_ns, scale),
            _ => true,
        };
        (is_broken && is_of_others).then(|| Cause { kind: self, value, threshold, unit: self.unit().into() })
    }
}

/// Returns the foreign load above which others may have interrupted an issuing thread: half of the load that counts on
/// its own, and above the resolution of the ticks.
fn foreign_trace_ns(lasted_ns: u64, scale: Scale) -> u64 {
    CauseKind::ForeignLoad.threshold(lasted_ns, scale).map_or(u64::MAX, |limit_ns| limit_ns / 2)
}

/// Returns everything that disturbed an interval.
pub(crate) fn causes(interval: &Interval, scale: Scale) -> Vec<Cause> {
    let lasted_ns = interval.lasted_ns();
    CauseKind::ALL.into_iter().filter_map(|kind| kind.of(&interval.values, lasted_ns, scale)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Place of a quantity.
    type Place = fn(&mut Values) -> &mut Option<u64>;

    const SCALE: Scale = Scale { processor_count: 2, issuing_thread_count: 1, usual_khz: Some(3_000_000) };

    fn kinds(lasted_ns: u64, values: Values, scale: Scale) -> Vec<CauseKind> {
        let found = causes(&Interval { begin_ns: 5, end_ns: 5 + lasted_ns, values }, scale);
        found.iter().map(|cause| cause.kind).collect()
    }

    #[test]
    fn each_limit_is_broken_at_its_value_and_not_below() {
        let second = 1000 * MS;
        let rows: [(Place, u64, u64, CauseKind); 6] = [
            (|it| &mut it.steal_ns, 20 * MS - 1, 20 * MS, CauseKind::Steal),
            (|it| &mut it.foreign_ns, 50 * MS - 1, 50 * MS, CauseKind::ForeignLoad),
            (|it| &mut it.major_faults, 0, 1, CauseKind::MajorFaults),
            (|it| &mut it.frequency_greatest_khz, 2_700_000, 2_699_999, CauseKind::Frequency),
            (|it| &mut it.thermal_throttle_events, 0, 1, CauseKind::ThermalThrottling),
            (|it| &mut it.quota_throttled_ns, MS - 1, MS, CauseKind::QuotaThrottling),
        ];
        for (place, below, at, kind) in rows {
            let with = |value: u64| {
                let mut values = Values::default();
                *place(&mut values) = Some(value);
                values
            };
            assert_eq!(kinds(second, with(below), SCALE), [], "{kind:?}");
            assert_eq!(kinds(second, with(at), SCALE), [kind]);
        }
        // The doings of the plugin are no noise.
        let own = Values { own_ns: Some(u64::MAX), minor_faults: Some(u64::MAX), ..Values::default() };
        assert_eq!(kinds(second, own, SCALE), []);
    }

    #[test]
    fn limits_grow_with_the_machine_and_the_interval_and_not_below_the_ticks() {
        let many = Scale { processor_count: 64, issuing_thread_count: 4, usual_khz: None };
        let foreign = |ms: u64| Values { foreign_ns: Some(ms * MS), ..Values::default() };
        assert_eq!(kinds(1000 * MS, foreign(639), many), []);
        assert_eq!(kinds(1000 * MS, foreign(640), many), [CauseKind::ForeignLoad]);
        assert_eq!(kinds(4000 * MS, foreign(199), SCALE), []);
        assert_eq!(kinds(4000 * MS, foreign(200), SCALE), [CauseKind::ForeignLoad]);
        // 10 ms of 10 ms may be one tick.
        assert_eq!(kinds(10 * MS, foreign(10), SCALE), []);
    }

    #[test]
    fn issuing_threads_are_interrupted_by_others_only_where_there_are_others() {
        let switches = |count| Values { involuntary_switches: Some(count), ..Values::default() };
        let of = |lasted_ms: u64, count, foreign_ms: u64, scale| {
            let values = Values { foreign_ns: Some(foreign_ms * MS), ..switches(count) };
            kinds(lasted_ms * MS, values, scale)
        };
        assert_eq!(of(1000, 19, 25, SCALE), []);
        assert_eq!(of(1000, 20, 25, SCALE), [CauseKind::InvoluntarySwitches]);
        // Threads of the run that share a processor.
        assert_eq!(of(1000, 2000, 24, SCALE), []);
        assert_eq!(kinds(1000 * MS, switches(2000), SCALE), []);
        let many = Scale { processor_count: 64, issuing_thread_count: 4, usual_khz: None };
        assert_eq!(of(2000, 159, 640, many), []);
        assert_eq!(of(2000, 160, 640, many), [CauseKind::InvoluntarySwitches]);
        assert_eq!(of(1, 19, 25, SCALE), []);
    }
}

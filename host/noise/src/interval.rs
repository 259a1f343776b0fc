//! An interval between two readings.

use crate::{quantity::Values, sources::Counters};

/// Time after which the system's own account of the processors must have gone on.
const ACCOUNTED_AFTER_NS: u64 = 100_000_000;

/// Values of an interval.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interval {
    pub(crate) begin_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) values: Values,
}

impl Interval {
    /// Takes the changes from one reading to the next. `processor_count` processors were examined, and a tick of the
    /// system has `tick_ns`.
    pub(crate) fn between(before: &Counters, after: &Counters, processor_count: usize, tick_ns: u64) -> Self {
        let grown = |of: fn(&Counters) -> Option<u64>| Some(of(after)?.saturating_sub(of(before)?));
        let lasted_ns = after.at_ns.saturating_sub(before.at_ns);
        let all_ns = lasted_ns.saturating_mul(processor_count as u64);
        let accounted_ns = grown(|it| Some(it.processors?.all)).map(|ticks| ticks.saturating_mul(tick_ns));
        // There are systems that have the file, and nothing in it goes on.
        let is_accounted = accounted_ns.is_some_and(|ns| lasted_ns < ACCOUNTED_AFTER_NS || ns >= all_ns / 2);
        let ticks_ns =
            |of: fn(&Counters) -> Option<u64>| grown(of).map(|ticks| ticks.saturating_mul(tick_ns));
        let steal = ticks_ns(|it| Some(it.processors?.steal)).filter(|_| is_accounted);
        let idle = ticks_ns(|it| Some(it.processors?.idle)).filter(|_| is_accounted);
        let own = ticks_ns(|it| it.own_ticks);
        // Two accounts of the time that others took; each can be too high: the remaining time includes the
        // changes between idle and awake, which a thread that sleeps and wakes very often causes itself; the
        // time that ticks saw busy depends on their chance instants. Time that others really took is in both.
        let foreign = (|| {
            let (idle, steal, own) = (idle?, steal?, own?);
            let left = all_ns.saturating_sub(idle.saturating_add(steal).saturating_add(own));
            let busy = accounted_ns?.saturating_sub(idle.saturating_add(steal));
            Some(left.min(busy.saturating_sub(own)))
        })();
        let values = Values {
            steal_ns: steal,
            foreign_ns: foreign,
            own_ns: own,
            involuntary_switches: grown(|it| it.involuntary_switches),
            minor_faults: grown(|it| it.minor_faults),
            major_faults: grown(|it| it.major_faults),
            frequency_least_khz: after.least_khz,
            frequency_greatest_khz: after.greatest_khz,
            thermal_throttle_events: grown(|it| it.thermal_throttles),
            quota_throttled_ns: grown(|it| it.quota_throttled_ns),
        };
        Self { begin_ns: before.at_ns, end_ns: after.at_ns, values }
    }

    /// Joins this interval with the one after it.
    pub(crate) fn and(self, next: Self) -> Self {
        Self { begin_ns: self.begin_ns, end_ns: next.end_ns, values: self.values.and(next.values) }
    }

    /// Returns the part from an instant on, with as large a share of what adds up; `None` if it ended before. An engine
    /// prepares for seconds between the load of its samples and the first query.
    pub(crate) fn since(self, start_ns: u64) -> Option<Self> {
        let early_ns = start_ns.saturating_sub(self.begin_ns);
        match self.lasted_ns() {
            lasted_ns if early_ns >= lasted_ns && early_ns > 0 => None,
            // The host itself begins to observe right before.
            lasted_ns if early_ns <= lasted_ns / 100 => Some(self),
            lasted_ns => {
                let values = self.values.share(lasted_ns - early_ns, lasted_ns);
                Some(Self { begin_ns: start_ns, values, ..self })
            }
        }
    }

    pub(crate) fn lasted_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::proc_text::ProcessorTicks;

    const TICK_NS: u64 = 10_000_000;
    const SECOND_NS: u64 = 1_000_000_000;

    fn counters(at_ns: u64, idle: u64, steal: u64, all: u64, own: u64) -> Counters {
        let processors = Some(ProcessorTicks { idle, steal, all });
        Counters { at_ns, processors, own_ticks: Some(own), ..Counters::default() }
    }

    fn values(before: Counters, after: Counters) -> [Option<u64>; 3] {
        let values = Interval::between(&before, &after, 2, TICK_NS).values;
        [values.steal_ns, values.foreign_ns, values.own_ns]
    }

    #[test]
    fn what_is_neither_idle_nor_stolen_nor_own_is_foreign() {
        let begin = counters(0, 1000, 10, 5000, 300);
        // Of two processors for a second: 100 ticks idle, 20 stolen, 50 own.
        let end = counters(SECOND_NS, 1100, 30, 5200, 350);
        let ms = |ms: u64| Some(ms * 1_000_000);
        assert_eq!(values(begin, end), [ms(200), ms(300), ms(500)]);
        // A thread that sleeps and wakes very often: 30 ticks of the time are neither; the ticks saw 5 of them busy.
        assert_eq!(values(begin, counters(SECOND_NS, 1120, 10, 5175, 350))[1], ms(50));
        // Ticks that saw own work more often than it was there.
        assert_eq!(values(begin, counters(SECOND_NS, 1149, 10, 5209, 350))[1], ms(10));
        // Ticks are rounded: a little more than there was counts as none.
        assert_eq!(values(begin, counters(SECOND_NS, 1190, 10, 5200, 312))[1], Some(0));
    }

    #[test]
    fn an_interval_before_the_start_does_not_count() {
        let values = Values { foreign_ns: Some(1000), frequency_least_khz: Some(8), ..Values::default() };
        let interval = Interval { begin_ns: 1000, end_ns: 2000, values };
        let since = |start_ns| {
            let part = interval.since(start_ns)?;
            let Values { foreign_ns, frequency_least_khz, .. } = part.values;
            Some((part.begin_ns, foreign_ns.unwrap(), frequency_least_khz.unwrap()))
        };
        assert_eq!([since(2000), since(9000)], [None, None]);
        assert_eq!(since(1750), Some((1750, 250, 8)));
        assert_eq!([since(0), since(1000), since(1010)], [Some((1000, 1000, 8)); 3]);
    }

    #[test]
    fn times_that_stand_still_are_not_known() {
        let begin = counters(0, 1000, 10, 5000, 300);
        assert_eq!(values(begin, counters(SECOND_NS, 1000, 10, 5000, 350)), [None, None, Some(500_000_000)]);
        let unread = Counters { at_ns: SECOND_NS, ..Counters::default() };
        assert_eq!(values(begin, unread), [None; 3]);
    }

    proptest! {
        #[test]
        fn counters_that_run_backwards_or_over_are_harmless(
            before in proptest::array::uniform5(any::<u64>()),
            after in proptest::array::uniform5(any::<u64>()),
        ) {
            let of = |[at, idle, steal, all, own]: [u64; 5]| counters(at, idle, steal, all, own);
            let interval = Interval::between(&of(before), &of(after), 64, TICK_NS);
            prop_assert_eq!(interval.lasted_ns(), after[0].saturating_sub(before[0]));
        }
    }
}

//! The guard: readings once a second while a test runs.

use std::{num::NonZeroU64, path::Path, time::Duration};

use rustix::{
    param::clock_ticks_per_second,
    thread::{current_timer_slack, gettid},
    time::{ClockId, clock_gettime},
};

use crate::{
    interval::Interval,
    judgement::causes,
    noise::{About, Cost, Noise, scale},
    sources::{Counters, Issuers, Sources},
};

/// Time between two readings at first.
const INTERVAL_NS: u64 = 1_000_000_000;

/// Maximum number of intervals kept: as many as a picture has room for.
const INTERVAL_COUNT_MAX: usize = 600;

/// Inverse share of an interval that a reading may take: half of the guard's total allowance.
const READING_SHARE: u64 = 2000;

/// Reads the system's counters during a test. Instants use the clock that its owner chooses.
#[derive(Debug)]
pub struct Guard {
    sources: Sources,
    tick_ns: u64,
    interval_ns: u64,
    intervals: Vec<Interval>,
    /// The latest reading while the test runs.
    last: Option<Counters>,
    timer_slack_ns: Option<u64>,
    cost: Cost,
}

/// Quietness until now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SoFar {
    /// Time that was observed.
    pub observed_ns: u64,
    /// Length of the intervals that were not quiet.
    pub noisy_ns: u64,
}

impl Guard {
    /// Creates a guard of these processors, which the process may use, ascending.
    #[must_use]
    pub fn new(processors: Vec<u32>, issuers: Issuers) -> Self {
        Self::below(Path::new("/"), processors, issuers)
    }

    /// Creates a guard that reads below another root.
    fn below(root: &Path, processors: Vec<u32>, issuers: Issuers) -> Self {
        Self {
            sources: Sources::open(root, processors, issuers),
            tick_ns: 1_000_000_000 / clock_ticks_per_second().max(1),
            interval_ns: INTERVAL_NS,
            intervals: Vec::new(),
            last: None,
            timer_slack_ns: None,
            cost: Cost::default(),
        }
    }

    /// Begins to observe. [the first issuing thread, right before the timed part]
    pub fn begin(&mut self, now_ns: u64) {
        self.intervals.clear();
        self.interval_ns = INTERVAL_NS;
        self.cost.reading_count = 1;
        self.timer_slack_ns = current_timer_slack().ok().and_then(NonZeroU64::new).map(NonZeroU64::get);
        self.sources.begin(gettid().as_raw_pid().unsigned_abs());
        self.last = Some(self.sources.read(now_ns));
    }

    /// Reads if it is time to, and returns how long to wait until the next look. [the guard's thread]
    pub fn look(&mut self, now_ns: u64) -> Duration {
        let until_due_ns =
            self.last.map(|last| last.at_ns.saturating_add(self.interval_ns).saturating_sub(now_ns));
        match until_due_ns {
            Some(0) => {
                let before_ns = thread_ns();
                self.read(now_ns);
                self.cost.thread_ns = thread_ns();
                if (self.cost.thread_ns - before_ns).saturating_mul(READING_SHARE) > self.interval_ns {
                    self.coarsen();
                }
                Duration::from_nanos(self.interval_ns)
            }
            Some(ns) => Duration::from_nanos(ns),
            None => {
                self.cost.thread_ns = thread_ns();
                Duration::from_nanos(INTERVAL_NS)
            }
        }
    }

    /// Reads for the last time, and stops observing. [after the timed part]
    pub fn end(&mut self, now_ns: u64) {
        if self.last.is_some() {
            self.read(now_ns);
            self.last = None;
            // A short rest would be judged by ticks that are longer than itself.
            if let [.., _, rest] = self.intervals[..]
                && rest.lasted_ns() < self.interval_ns / 2
            {
                self.intervals.pop();
                let before = self.intervals.pop();
                self.intervals.extend(before.map(|before| before.and(rest)));
            }
        }
    }

    /// Returns how quiet it was until now.
    #[must_use]
    pub fn so_far(&self) -> SoFar {
        let (processors, threads) = (self.sources.processor_count(), self.sources.issuing_thread_count());
        let scale = scale(&self.intervals, processors as u64, threads as u64);
        let noisy = self.intervals.iter().filter(|interval| !causes(interval, scale).is_empty());
        SoFar {
            observed_ns: self.intervals.iter().map(Interval::lasted_ns).sum(),
            noisy_ns: noisy.map(Interval::lasted_ns).sum(),
        }
    }

    /// Returns how quiet it was, from `start_ns`, when issuing began.
    #[must_use]
    pub fn noise(&self, start_ns: u64) -> Noise {
        let about = About {
            obstacle: self.sources.obstacle(),
            processor_count: self.sources.processor_count() as u64,
            issuing_thread_count: self.sources.issuing_thread_count() as u64,
            timer_slack_ns: self.timer_slack_ns,
            cost: self.cost,
        };
        let intervals: Vec<_> =
            self.intervals.iter().filter_map(|interval| interval.since(start_ns)).collect();
        Noise::of(&intervals, self.interval_ns, start_ns, about)
    }

    fn read(&mut self, now_ns: u64) {
        let Some(last) = self.last else { return };
        let counters = self.sources.read(now_ns);
        self.cost.reading_count += 1;
        let processor_count = self.sources.processor_count();
        self.intervals.push(Interval::between(&last, &counters, processor_count, self.tick_ns));
        self.last = Some(counters);
        if self.intervals.len() > INTERVAL_COUNT_MAX {
            self.coarsen();
        }
    }

    /// Merges each two intervals into one.
    fn coarsen(&mut self) {
        let both = |pair: &[Interval]| pair.iter().copied().reduce(Interval::and);
        self.intervals = self.intervals.chunks(2).filter_map(both).collect();
        self.interval_ns = self.interval_ns.saturating_mul(2);
    }
}

/// Returns the processor time of the calling thread.
fn thread_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::judgement::State;

    const ISSUERS: Issuers = Issuers { count: 1, name: "issuer-" };

    /// A machine of one processor that has been idle and busy for some ticks.
    fn set(root: &TempDir, idle: u64, busy: u64) {
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        fs::write(root.path().join("proc/stat"), format!("cpu0 {busy} 0 0 {idle} 0 0 0 0 0 0\n")).unwrap();
        let own = "1 (host) R 1 1 1 0 -1 0 10 0 0 0 7 3 0 0\n";
        fs::write(root.path().join("proc/self/stat"), own).unwrap();
    }

    #[test]
    fn the_guard_reads_once_a_second_from_its_beginning() {
        let root = tempfile::tempdir().unwrap();
        set(&root, 1000, 50);
        let mut guard = Guard::below(root.path(), vec![0], ISSUERS);
        assert_eq!(guard.look(3), Duration::from_secs(1));
        guard.begin(500);
        assert_eq!(guard.look(300_000_500), Duration::from_millis(700));
        set(&root, 1020, 130);
        assert_eq!(guard.look(1_000_000_600), Duration::from_secs(1));
        assert_eq!(guard.so_far(), SoFar { observed_ns: 1_000_000_100, noisy_ns: 1_000_000_100 });
        set(&root, 1120, 130);
        guard.look(2_000_000_600);
        // A rest of a moment belongs to the second before it.
        guard.end(2_000_900_600);
        assert_eq!(guard.look(9_000_000_000), Duration::from_secs(1));
        let noise = guard.noise(600);
        assert_eq!((noise.state, noise.interval_count, noise.cost.reading_count), (State::Noisy, 2, 4));
        assert_eq!(noise.observed_ns, 2_000_900_000);
        // Of the two accounts the one by ticks is the smaller: the rest of a moment has no ticks.
        assert_eq!(noise.series.columns.foreign_ns, Some(vec![Some(800_000_000), Some(0)]));
        assert_eq!(noise.noisy_intervals.len(), 1);
    }

    #[test]
    fn a_long_run_has_longer_intervals_and_not_more_of_them() {
        let root = tempfile::tempdir().unwrap();
        let mut guard = Guard::below(root.path(), vec![0], ISSUERS);
        guard.begin(0);
        let mut now_ns = 0;
        for second in 1..=3000_u64 {
            now_ns = second * INTERVAL_NS;
            guard.look(now_ns);
        }
        guard.end(now_ns);
        let noise = guard.noise(0);
        let ends_ns = noise.series.end_ns;
        assert!((300..=INTERVAL_COUNT_MAX).contains(&ends_ns.len()), "{}", ends_ns.len());
        assert_eq!((noise.series.interval_ns, noise.observed_ns), (8 * INTERVAL_NS, now_ns));
        assert!(ends_ns.is_sorted());
    }

    #[test]
    fn without_files_nothing_is_known() {
        let root = tempfile::tempdir().unwrap();
        let mut guard = Guard::below(root.path(), vec![0], ISSUERS);
        guard.end(1);
        guard.begin(0);
        guard.end(2_000_000_000);
        let noise = guard.noise(0);
        assert_eq!(noise.state, State::Unknown);
        assert!(noise.unknown_reason.unwrap().starts_with("cannot read /proc/stat: "));
        assert_eq!(noise.totals, crate::quantity::Values::default());
    }
}

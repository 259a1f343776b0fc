//! Share of some processors that other processes used meanwhile: a disturbance of a measurement.

use std::{fs, time::Instant};

/// Share of the processors that others may use; above it, a measurement is made again.
pub(crate) const FOREIGN_SHARE_MAX: f64 = 0.03;
/// Of the counters in `/proc`.
const TICKS_PER_SECOND: f64 = 100.0;

/// The counters at one instant.
pub(crate) struct Watch {
    start: Instant,
    counters: Option<Counters>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Counters {
    /// Ticks in which the processors did anything, or another guest had them.
    busy: u64,
    /// Ticks of the processes that are measured.
    own: u64,
}

impl Watch {
    /// Reads the counters of these processors and of these processes.
    pub(crate) fn start(cpus: &[usize], processes: &[u32]) -> Self {
        Self { start: Instant::now(), counters: counters(cpus, processes) }
    }

    /// The share of the processors' time since the start that others used, from 0 to 1; `None` if the system does not
    /// tell, or the time was too short for its ticks.
    pub(crate) fn share(&self, cpus: &[usize], processes: &[u32]) -> Option<f64> {
        let elapsed_s = self.start.elapsed().as_secs_f64();
        let (before, after) = (self.counters?, counters(cpus, processes)?);
        (elapsed_s >= 0.3).then(|| share(before, after, elapsed_s * cpus.len() as f64))
    }
}

fn share(before: Counters, after: Counters, processor_s: f64) -> f64 {
    let ticks = |after: u64, before: u64| after.saturating_sub(before) as f64;
    let foreign = ticks(after.busy, before.busy) - ticks(after.own, before.own);
    (foreign / TICKS_PER_SECOND / processor_s).clamp(0.0, 1.0)
}

fn counters(cpus: &[usize], processes: &[u32]) -> Option<Counters> {
    let busy = busy_ticks(&fs::read_to_string("/proc/stat").ok()?, cpus);
    let own = processes.iter().map(|process| fs::read_to_string(format!("/proc/{process}/stat")).ok());
    let own = own.map(|text| own_ticks(&text?)).sum::<Option<u64>>()?;
    Some(Counters { busy, own })
}

/// Of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal; all but idle and iowait.
fn busy_ticks(text: &str, cpus: &[usize]) -> u64 {
    let is_ours = |name: &str| {
        name.strip_prefix("cpu").and_then(|number| number.parse().ok()).is_some_and(|cpu| cpus.contains(&cpu))
    };
    let busy = |line: &str| -> u64 {
        let counts = line.split_whitespace().skip(1).take(8).map(|count| count.parse().unwrap_or(0));
        counts
            .enumerate()
            .filter(|(field, _)| ![3, 4].contains(field))
            .map(|(_, count): (_, u64)| count)
            .sum()
    };
    text.lines().filter(|line| line.split_whitespace().next().is_some_and(is_ours)).map(busy).sum()
}

/// Of `/proc/PID/stat`: fields 14 and 15, user and system time. The name, field 2, may have spaces.
fn own_ticks(text: &str) -> Option<u64> {
    let mut fields =
        text.rsplit_once(')')?.1.split_whitespace().skip(11).map(|field| field.parse::<u64>().ok());
    Some(fields.next()?? + fields.next()??)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str =
        "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 100 50 4 5 6 7 8\ncpu1 10 0 0 200 0 0 0 1 0 0\nintr 5\n";

    #[test]
    fn idle_time_is_not_counted() {
        assert_eq!(busy_ticks(STAT, &[0]), 1 + 2 + 3 + 4 + 5 + 6);
        assert_eq!(busy_ticks(STAT, &[0, 1]), 21 + 11);
        assert_eq!(busy_ticks(STAT, &[7]), 0);
    }

    #[test]
    fn the_time_of_a_process_is_found_behind_a_name_with_spaces() {
        let text = "42 (a (b) c) S 1 1 1 0 -1 4194304 100 0 0 0 123 45 0 0 20 0 1 0 7";
        assert_eq!(own_ticks(text), Some(168));
        assert_eq!(own_ticks("42 (a) S 1"), None);
    }

    #[test]
    fn what_is_not_ours_is_foreign() {
        let counters = |busy, own| Counters { busy, own };
        assert_eq!(share(counters(100, 50), counters(200, 140), 1.0), 0.1);
        assert_eq!(share(counters(100, 50), counters(200, 155), 1.0), 0.0);
    }
}

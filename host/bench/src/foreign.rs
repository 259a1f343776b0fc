//! Share of some processors that other processes used meanwhile: a disturbance of a measurement.

use std::{collections::BTreeSet, fs, time::Instant};

use proctor_noise::{busy_ticks, process_ticks};

/// Share of the processors that others may use; above it, a measurement is made again.
pub(crate) const FOREIGN_SHARE_MAX: f64 = 0.03;
/// Resolution of the counters in `/proc`.
const TICKS_PER_SECOND: f64 = 100.0;

/// Counters at one instant.
pub(crate) struct Watch {
    start: Instant,
    counters: Option<Counters>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Counters {
    /// Number of ticks in which the processors were busy, or another guest used them.
    busy: u64,
    /// Number of ticks of the measured processes.
    own: u64,
}

impl Watch {
    /// Reads the counters of these processors and of these processes.
    pub(crate) fn start(cpus: &[usize], processes: &[u32]) -> Self {
        Self { start: Instant::now(), counters: counters(cpus, processes) }
    }

    /// Returns the share of the processors' time since the start that others used, from 0 to 1; `None` if the
    /// system does not report it, or the time was too short for its ticks.
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
    // In the order of the file, and each once.
    let cpus = cpus.iter().map(|cpu| u32::try_from(*cpu).ok()).collect::<Option<BTreeSet<_>>>()?;
    let cpus: Vec<_> = cpus.into_iter().collect();
    let busy = busy_ticks(&fs::read_to_string("/proc/stat").ok()?, &cpus)?;
    let own = processes.iter().map(|process| fs::read_to_string(format!("/proc/{process}/stat")).ok());
    let own = own.map(|text| process_ticks(&text?)).sum::<Option<u64>>()?;
    Some(Counters { busy, own })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_ours_is_foreign() {
        let counters = |busy, own| Counters { busy, own };
        assert_eq!(share(counters(100, 50), counters(200, 140), 1.0), 0.1);
        assert_eq!(share(counters(100, 50), counters(200, 155), 1.0), 0.0);
    }
}

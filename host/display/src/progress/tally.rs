//! Latencies of a phase so far.

use proctor_loadgen::{Histogram, Progress, SampleRecord, percentile_rank};

/// Maximum number of samples read in one look; of more, the latest are read.
const READ_MAX: u64 = 1 << 16;
/// Maximum number of samples that are waited for while later ones are read.
const LATE_MAX: usize = 1024;

/// Latencies of the completed samples of a phase, each counted once. Reading them takes a bounded time, so of very many
/// samples in a short time some are left out.
#[derive(Debug, Default)]
pub(super) struct Tally {
    phase_number: u64,
    /// Number of the first sample that is not yet counted, left out or late.
    next: u64,
    late: Vec<u64>,
    latencies: Histogram,
    read: Vec<SampleRecord>,
}

impl Tally {
    /// Counts completions since the last look.
    pub(super) fn look(&mut self, progress: &Progress, phase_number: u64, issued_count: u64) {
        if self.phase_number != phase_number {
            *self = Self { phase_number, ..Self::default() };
        }
        let Self { next, late, latencies, read, .. } = self;
        let read_from = |from: u64, count: u64, samples: &mut Vec<SampleRecord>| {
            samples.clear();
            progress.read_samples(from..from.saturating_add(count), samples);
        };
        late.retain(|sequence| {
            read_from(*sequence, 1, read);
            !count(read.first(), latencies)
        });
        // Too far behind to read all of them.
        *next = (*next).max(issued_count.saturating_sub(READ_MAX));
        read_from(*next, READ_MAX, read);
        for sample in read.iter() {
            if !count(Some(sample), latencies) {
                if late.len() == LATE_MAX {
                    break;
                }
                late.push(*next);
            }
            *next += 1;
        }
    }

    /// Returns the latency at a quantile, rounded up by at most 3.2 %; `None` before the first.
    pub(super) fn at(&self, quantile: f64) -> Option<u64> {
        let count = self.latencies.count();
        (count > 0).then(|| self.latencies.at(percentile_rank(count, quantile)))
    }
}

/// Counts the latency of a sample that was answered, and returns whether it is complete.
fn count(sample: Option<&SampleRecord>, latencies: &mut Histogram) -> bool {
    let Some(sample) = sample.filter(|sample| sample.completed_latency_ns().is_some()) else { return false };
    if let Some(latency_ns) = sample.answered_latency_ns() {
        latencies.add(latency_ns);
    }
    true
}

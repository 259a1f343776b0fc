//! Keeps the slowest batches of a test and an even selection of all, to show where a latency comes from.
//!
//! Each batch is listed with its first sample, which has waited longest. The number of kept batches is bounded, however
//! long the test is, and each is noted after its samples have been completed.

use std::{cmp::Reverse, sync::Arc};

use parking_lot::Mutex;
use proctor_loadgen::{Progress, TestOutcome};
use proctor_plugin_host::Stage;
use proctor_results::{Batch, BatchStage, Batches, SCHEMA_VERSION};
use proctor_vocabulary::QuerySample;
use proctor_words::spans::TARGET;
use tracing::{Span, error_span};

/// Maximum number of slowest batches that an instance keeps.
const SLOWEST_MAX: usize = 128;
/// Number of evenly selected batches per instance at which every second one is dropped.
const EVEN_MAX: usize = 256;

/// The batches of a test. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct BatchLog(Arc<Mutex<Vec<Arc<Mutex<Kept>>>>>);

/// The batches of one instance, which notes them on its thread.
pub(crate) struct InstanceBatches {
    kept: Arc<Mutex<Kept>>,
    instance: u32,
    progress: Progress,
    /// The clock that the plugin reads.
    clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// Since when the instance is free.
    free_ns: Option<u64>,
    started_ns: u64,
}

/// Batches that an instance keeps.
#[derive(Debug, Default)]
struct Kept {
    /// Number of batches, including batches with failed samples.
    count: u64,
    slowest: Vec<Batch>,
    /// Smallest latency among the slowest batches, once the list is full.
    threshold_ns: u64,
    /// Kept batches with their numbers, from 0.
    even: Vec<(u64, Batch)>,
    /// Every batch whose number is a multiple of this is among the evenly chosen, unless a sample of it failed.
    stride: u64,
}

impl BatchLog {
    /// Returns the part of the log for an instance of a test that is about to begin.
    pub(crate) fn of_instance(
        &self,
        instance: u32,
        progress: Progress,
        clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    ) -> InstanceBatches {
        let kept = Arc::new(Mutex::new(Kept { stride: 1, ..Kept::default() }));
        self.0.lock().push(Arc::clone(&kept));
        InstanceBatches { kept, instance, progress, clock, free_ns: None, started_ns: 0 }
    }

    /// Returns the file of the log; `None` if there were no batches, or several phases, whose instants begin again.
    pub(crate) fn file(&self, outcome: &TestOutcome) -> Option<Batches> {
        let instances = self.0.lock();
        let all: Vec<_> = instances.iter().map(|kept| kept.lock()).collect();
        let batch_count = all.iter().map(|kept| kept.count).sum();
        if batch_count == 0 || outcome.only_phase().is_none() {
            return None;
        }
        let mut slowest: Vec<_> = all.iter().flat_map(|kept| &kept.slowest).cloned().collect();
        slowest.sort_by_key(|batch| (Reverse(batch.latency_ns()), batch.sequence));
        // Strides are powers of two, larger for busier instances; bring all to the same stride.
        let even_stride = all.iter().map(|kept| kept.stride).max().unwrap_or(1);
        let even = all.iter().flat_map(|kept| &kept.even);
        let even = even.filter(|(number, _)| number.is_multiple_of(even_stride));
        let mut even: Vec<_> = even.map(|(_, batch)| batch.clone()).collect();
        even.sort_by_key(|batch| (batch.started_ns, batch.sequence));
        Some(Batches { schema_version: SCHEMA_VERSION, batch_count, even_stride, slowest, even })
    }
}

/// Emits each batch, and the stages of the plugin's work on it, as spans within `timed_part`, which began
/// at `begun_ns`.
pub(crate) fn tell(batches: &Batches, begun_ns: u64, timed_part: &Span) {
    let mut all: Vec<_> = batches.slowest.iter().chain(&batches.even).collect();
    all.sort_by_key(|batch| (batch.instance, batch.started_ns, batch.sequence));
    all.dedup_by_key(|batch| (batch.instance, batch.sequence));
    for batch in all {
        let Batch { sequence, instance, started_ns, completed_ns, .. } = *batch;
        let told = error_span!(
            target: TARGET,
            parent: timed_part,
            "batch",
            begin_ns = begun_ns + started_ns,
            end_ns = begun_ns + completed_ns,
            instance,
            sequence,
            samples = batch.sample_count
        );
        for stage in &batch.stages {
            drop(error_span!(
                target: TARGET,
                parent: &told,
                "stage",
                stage = stage.name,
                begin_ns = begun_ns + stage.start_ns,
                end_ns = begun_ns + stage.end_ns,
                instance
            ));
        }
    }
}

impl InstanceBatches {
    /// Notes that the instance has received a batch.
    pub(crate) fn started(&mut self) {
        self.started_ns = (self.clock)();
    }

    /// Notes that the samples of the batch are complete, with the stages that the plugin has reported.
    pub(crate) fn completed(&mut self, batch: &[QuerySample], stages: &[Stage]) {
        let Some(first) = batch.first() else { return };
        let Some(origin_ns) = self.progress.begun_ns() else { return };
        let sample = self.progress.sample(first.id);
        let mut kept = self.kept.lock();
        let number = kept.count;
        kept.count += u64::from(sample.is_some());
        let sample =
            sample.and_then(|(sequence, record)| Some((sequence, record, record.answered_latency_ns()?)));
        let Some((sequence, record, latency_ns)) = sample else {
            // Of another phase, or failed: the instance is free, and there is no latency.
            self.free_ns = Some((self.clock)().saturating_sub(origin_ns));
            return;
        };
        let completed_ns = record.scheduled_ns + latency_ns;
        let free_ns = self.free_ns.replace(completed_ns);
        let (is_slow, is_even) = (kept.is_slow(latency_ns), number.is_multiple_of(kept.stride));
        if !is_slow && !is_even {
            return;
        }
        let is_answered = |sample: &QuerySample| {
            let found = self.progress.sample(sample.id);
            found.is_some_and(|(_, record)| record.answered_latency_ns().is_some())
        };
        // The others are checked only here, where a batch may be kept: most are not.
        if !batch[1..].iter().all(is_answered) {
            return;
        }
        let since = |instant_ns: u64| instant_ns.saturating_sub(origin_ns);
        let batch = Batch {
            sequence,
            instance: self.instance,
            sample_count: batch.len() as u64,
            scheduled_ns: record.scheduled_ns,
            free_ns,
            started_ns: since(self.started_ns),
            completed_ns,
            stages: stages
                .iter()
                .map(|stage| BatchStage {
                    name: stage.name().to_owned(),
                    start_ns: since(stage.begin_ns),
                    end_ns: since(stage.end_ns),
                })
                .collect(),
        };
        if is_even {
            kept.keep_evenly(number, batch.clone());
        }
        if is_slow {
            kept.keep_slow(batch);
        }
    }
}

impl Kept {
    fn is_slow(&self, latency_ns: u64) -> bool {
        self.slowest.len() < SLOWEST_MAX || latency_ns > self.threshold_ns
    }

    fn keep_slow(&mut self, batch: Batch) {
        if self.slowest.len() < SLOWEST_MAX {
            self.slowest.push(batch);
        } else if let Some(fastest) = self.slowest.iter_mut().min_by_key(|kept| kept.latency_ns()) {
            *fastest = batch;
        }
        self.threshold_ns = self.slowest.iter().map(Batch::latency_ns).min().unwrap_or(0);
    }

    /// Keeps the batch of this number, which is a multiple of the stride.
    fn keep_evenly(&mut self, number: u64, batch: Batch) {
        self.even.push((number, batch));
        // If batches are missing, once may not be enough.
        while self.even.len() >= EVEN_MAX {
            self.stride *= 2;
            let stride = self.stride;
            self.even.retain(|(number, _)| number.is_multiple_of(stride));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(sequence: u64, latency_ns: u64) -> Batch {
        Batch {
            sequence,
            instance: 0,
            sample_count: 1,
            scheduled_ns: sequence,
            free_ns: None,
            started_ns: sequence,
            completed_ns: sequence + latency_ns,
            stages: Vec::new(),
        }
    }

    #[test]
    fn the_slowest_are_kept_and_others_evenly_however_many_there_are() {
        let mut kept = Kept { stride: 1, ..Kept::default() };
        let count = 100_000;
        // Each latency once, in an order that is neither rising nor falling.
        let latency = |sequence: u64| sequence * 7_919 % 100_003;
        for sequence in 0..count {
            let batch = batch(sequence, latency(sequence));
            if kept.is_slow(batch.latency_ns()) {
                kept.keep_slow(batch.clone());
            }
            if sequence.is_multiple_of(kept.stride) {
                kept.keep_evenly(sequence, batch);
            }
        }
        let mut latencies: Vec<_> = (0..count).map(latency).collect();
        latencies.sort_unstable();
        let mut slowest: Vec<_> = kept.slowest.iter().map(Batch::latency_ns).collect();
        slowest.sort_unstable();
        assert_eq!(slowest, latencies[latencies.len() - SLOWEST_MAX..]);
        assert!(kept.even.len() >= EVEN_MAX / 2 && kept.even.len() < EVEN_MAX);
        let even: Vec<_> = kept.even.iter().map(|(_, batch)| batch.sequence).collect();
        let expected: Vec<_> = (0..count).step_by(kept.stride as usize).collect();
        assert_eq!(even, expected);
    }

    #[test]
    fn evenly_chosen_batches_stay_few_and_even_where_some_are_missing() {
        let mut kept = Kept { stride: 1, ..Kept::default() };
        // As if a sample of every odd batch failed.
        for number in (0..100_000_u64).step_by(2) {
            if number.is_multiple_of(kept.stride) {
                kept.keep_evenly(number, batch(number, 1));
            }
            assert!(kept.even.len() < EVEN_MAX);
        }
        let even: Vec<_> = kept.even.iter().map(|(number, _)| *number).collect();
        let expected: Vec<_> = (0..100_000).step_by(kept.stride as usize).collect();
        assert_eq!(even, expected);
    }
}

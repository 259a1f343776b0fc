//! The load of a system that is scaled, and the sink of its answers.

use std::sync::{
    Arc, OnceLock, Weak,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use proctor_loadgen::SystemUnderTest;
use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, ResponseId, SampleIndex};

/// Samples that are issued one by one, each by a client that has one outstanding at a time.
///
/// With saturated input a client issues its next sample when it gets the answer to the one before, on the thread that
/// brings it: as long as there are more clients than samples that can be in batches, an instance that becomes free
/// finds a full batch. With arrivals of their own samples are issued from outside, each by the client whose turn it is.
///
/// The id of a sample is its sequence number and one; its client is the remainder of the sequence number.
pub(crate) struct Traffic {
    /// By client: the id of its outstanding sample, or 0.
    clients: Vec<AtomicU64>,
    sample_count: u64,
    saturates: bool,
    system: OnceLock<Weak<dyn SystemUnderTest + Send>>,
    is_stopped: AtomicBool,
    /// Samples that have arrived.
    arrived: AtomicU64,
    outstanding: AtomicUsize,
    completed: AtomicU64,
    failed: AtomicU64,
    unknown: AtomicU64,
    refused: AtomicU64,
}

/// Counts of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(crate) struct TrafficCounts {
    /// Samples with an answer.
    pub(crate) completed: u64,
    /// Samples that failed.
    pub(crate) failed: u64,
    /// Answers to samples that were not outstanding.
    pub(crate) unknown: u64,
    /// Arrivals that were not issued, because too many samples were outstanding.
    pub(crate) refused: u64,
}

/// Most samples that are issued in one call.
const AT_ONCE: usize = 64;

impl Traffic {
    /// A load of so many clients over the first `sample_count` samples of the library.
    pub(crate) fn new(clients: usize, sample_count: u64, saturates: bool) -> Arc<Self> {
        let count = || AtomicU64::new(0);
        Arc::new(Self {
            clients: (0..clients).map(|_| count()).collect(),
            sample_count,
            saturates,
            system: OnceLock::new(),
            is_stopped: AtomicBool::new(false),
            arrived: count(),
            outstanding: AtomicUsize::new(0),
            completed: count(),
            failed: count(),
            unknown: count(),
            refused: count(),
        })
    }

    /// Has clients issue to this system, which is kept alive by its owner alone.
    pub(crate) fn connect(&self, system: &Arc<dyn SystemUnderTest + Send>) {
        let _ = self.system.set(Arc::downgrade(system));
    }

    /// Has all clients issue their first sample.
    pub(crate) fn saturate(&self) {
        let sequence: Vec<_> = (0..self.clients.len() as u64).collect();
        sequence.chunks(AT_ONCE).for_each(|sequence| self.issue(sequence));
    }

    /// Issues one sample, unless its client still waits for an answer.
    pub(crate) fn arrive(&self) {
        let sequence = self.arrived.fetch_add(1, Relaxed);
        if self.client(sequence).load(Relaxed) == 0 {
            self.issue(&[sequence]);
        } else {
            self.refused.fetch_add(1, Relaxed);
        }
    }

    /// Issues nothing more.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Relaxed);
    }

    /// Whether nothing more is issued.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Relaxed)
    }

    /// Number of samples without an answer.
    pub(crate) fn outstanding(&self) -> usize {
        self.outstanding.load(Relaxed)
    }

    /// Counts so far.
    pub(crate) fn counts(&self) -> TrafficCounts {
        TrafficCounts {
            completed: self.completed.load(Relaxed),
            failed: self.failed.load(Relaxed),
            unknown: self.unknown.load(Relaxed),
            refused: self.refused.load(Relaxed),
        }
    }

    fn client(&self, sequence: u64) -> &AtomicU64 {
        &self.clients[usize::try_from(sequence % self.clients.len() as u64).expect("fewer than clients")]
    }

    /// Issues the samples with these sequence numbers, at most [`AT_ONCE`].
    fn issue(&self, sequence: &[u64]) {
        let Some(system) = self.system.get().and_then(Weak::upgrade) else { return };
        let mut samples = [QuerySample { id: ResponseId(0), index: SampleIndex(0) }; AT_ONCE];
        for (sample, number) in samples.iter_mut().zip(sequence) {
            let id = number + 1;
            self.client(*number).store(id, Relaxed);
            *sample = QuerySample { id: ResponseId(id), index: SampleIndex(number % self.sample_count) };
        }
        self.outstanding.fetch_add(sequence.len(), Relaxed);
        system.issue(&samples[..sequence.len()]);
    }

    /// Takes the answer of a sample, and returns the sequence number if it was outstanding.
    fn take(&self, response: &QuerySampleResponse<'_>) -> Option<u64> {
        let sequence = response.id.0.checked_sub(1)?;
        self.client(sequence).compare_exchange(response.id.0, 0, Relaxed, Relaxed).ok()?;
        let count = if response.status.is_ok() { &self.completed } else { &self.failed };
        count.fetch_add(1, Relaxed);
        Some(sequence)
    }
}

impl CompletionSink for Traffic {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        for responses in responses.chunks(AT_ONCE) {
            let (mut next, mut count) = ([0; AT_ONCE], 0);
            for sequence in responses.iter().filter_map(|response| self.take(response)) {
                next[count] = sequence + self.clients.len() as u64;
                count += 1;
            }
            self.unknown.fetch_add((responses.len() - count) as u64, Relaxed);
            self.outstanding.fetch_sub(count, Relaxed);
            if self.saturates && !self.is_stopped.load(Relaxed) {
                self.issue(&next[..count]);
            }
        }
    }

    fn first_token(&self, _: &[QuerySampleResponse<'_>]) {}
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use proctor_vocabulary::SampleStatus;

    use super::*;

    #[derive(Default)]
    struct Issued(Mutex<Vec<QuerySample>>);

    impl SystemUnderTest for Issued {
        fn name(&self) -> &str {
            "issued"
        }

        fn issue(&self, samples: &[QuerySample]) {
            self.0.lock().unwrap().extend_from_slice(samples);
        }

        fn flush(&self) {}
    }

    fn answer(id: u64) -> QuerySampleResponse<'static> {
        QuerySampleResponse { id: ResponseId(id), status: SampleStatus::OK, data: &[], token_count: 0 }
    }

    fn ids(system: &Issued) -> Vec<u64> {
        system.0.lock().unwrap().drain(..).map(|sample| sample.id.0).collect()
    }

    fn connected(clients: usize, saturates: bool) -> (Arc<Traffic>, Arc<Issued>) {
        let (traffic, system) = (Traffic::new(clients, 3, saturates), Arc::new(Issued::default()));
        let shared: Arc<dyn SystemUnderTest + Send> = Arc::clone(&system) as _;
        traffic.connect(&shared);
        (traffic, system)
    }

    #[test]
    fn a_client_goes_on_when_it_has_its_answer_and_another_answer_is_counted() {
        let (traffic, system) = connected(4, true);
        traffic.saturate();
        assert_eq!(ids(&system), [1, 2, 3, 4]);
        traffic.complete(&[answer(3), answer(3), answer(0), answer(99)]);
        assert_eq!(ids(&system), [7]);
        traffic.stop();
        traffic.complete(&[answer(7), answer(1)]);
        assert_eq!(ids(&system), Vec::<u64>::new());
        assert_eq!(traffic.outstanding(), 2);
        assert_eq!(traffic.counts(), TrafficCounts { completed: 3, failed: 0, unknown: 3, refused: 0 });
    }

    #[test]
    fn arrivals_are_refused_where_too_many_are_outstanding() {
        let (traffic, system) = connected(2, false);
        (0..3).for_each(|_| traffic.arrive());
        assert_eq!(ids(&system), [1, 2]);
        traffic.complete(&[answer(2)]);
        traffic.arrive();
        assert_eq!(ids(&system), [4], "the sequence number 2 was refused, and 3 has the client of 1");
        assert_eq!(traffic.counts().refused, 1);
    }
}

//! The load of a system that is scaled, and the sink of its answers.

use std::sync::{
    Arc, OnceLock, Weak,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use proctor_bed::scaling::system::Intake;
use proctor_results::TrafficCounts;
use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, ResponseId, SampleIndex};

/// Samples that are issued one by one, each by a client that has one outstanding at a time.
///
/// With saturated input a client issues its next sample when it gets the answer to the one before, on the thread that
/// brings it: as long as there are more clients than samples that can be in batches, an instance that becomes free
/// finds a full batch. With arrivals of their own samples are issued from outside, each by the client whose turn it is.
///
/// The id of a sample is its sequence number plus one; its client is the sequence number modulo the number of clients.
pub(crate) struct Traffic {
    /// Id of each client's outstanding sample, or 0.
    clients: Vec<AtomicU64>,
    sample_count: u64,
    saturates: bool,
    system: OnceLock<Weak<dyn Intake>>,
    is_stopped: AtomicBool,
    /// `None` in real time, which passes by itself.
    standstill: Option<Standstill>,
    /// Samples that have arrived.
    arrived: AtomicU64,
    outstanding: AtomicUsize,
    completed: AtomicU64,
    failed: AtomicU64,
    unknown: AtomicU64,
    refused: AtomicU64,
}

/// Maximum number of samples issued in one call.
const AT_ONCE: usize = 64;

/// Watch over virtual time, which stands still if batches take no time: clients would otherwise continue at one instant
/// forever.
struct Standstill {
    now: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// The instant of the last answers, in ns.
    at_ns: AtomicU64,
    /// Answers at this instant.
    answers: AtomicU64,
    /// True if there were too many of them.
    has_come: AtomicBool,
}

impl Standstill {
    /// Maximum number of answers at one instant beyond one for each client. Service times that are 0 at times
    /// are far below that.
    const ANSWERS_MAX: u64 = 1 << 18;

    fn new(now: Arc<dyn Fn() -> u64 + Send + Sync>) -> Self {
        let (at_ns, answers) = (AtomicU64::new(now()), AtomicU64::new(0));
        Self { now, at_ns, answers, has_come: AtomicBool::new(false) }
    }

    /// Counts answers, and returns whether time stands still. [the thread that waits on the clock]
    fn count(&self, answers: usize, clients: usize) -> bool {
        let now_ns = (self.now)();
        if self.at_ns.swap(now_ns, Relaxed) != now_ns {
            self.answers.store(0, Relaxed);
        }
        let before = self.answers.fetch_add(answers as u64, Relaxed);
        if before > Self::ANSWERS_MAX + clients as u64 {
            self.has_come.store(true, Relaxed);
        }
        self.has_come.load(Relaxed)
    }
}

impl Traffic {
    /// Returns a load of `clients` clients over the first `sample_count` samples of the library. In virtual time
    /// `virtual_now` reads the clock.
    pub(crate) fn new(
        clients: usize,
        sample_count: u64,
        saturates: bool,
        virtual_now: Option<Arc<dyn Fn() -> u64 + Send + Sync>>,
    ) -> Arc<Self> {
        let count = || AtomicU64::new(0);
        Arc::new(Self {
            clients: (0..clients).map(|_| count()).collect(),
            sample_count,
            saturates,
            system: OnceLock::new(),
            is_stopped: AtomicBool::new(false),
            standstill: virtual_now.map(Standstill::new),
            arrived: count(),
            outstanding: AtomicUsize::new(0),
            completed: count(),
            failed: count(),
            unknown: count(),
            refused: count(),
        })
    }

    /// Connects the clients to this system, which only its owner keeps alive.
    pub(crate) fn connect(&self, system: &Arc<dyn Intake>) {
        let _ = self.system.set(Arc::downgrade(system));
    }

    /// Makes all clients issue their first sample.
    pub(crate) fn saturate(&self) {
        let sequence: Vec<_> = (0..self.clients.len() as u64).collect();
        sequence.chunks(AT_ONCE).for_each(|sequence| self.issue(sequence, None));
    }

    /// Issues one sample that was due at this instant, unless its client still waits for an answer.
    pub(crate) fn arrive(&self, due_ns: u64) {
        let sequence = self.arrived.fetch_add(1, Relaxed);
        if self.client(sequence).load(Relaxed) == 0 {
            self.issue(&[sequence], Some(due_ns));
        } else {
            self.refused.fetch_add(1, Relaxed);
        }
    }

    /// Returns the number of arrivals that were refused, and of those among the first `count` that were not issued yet
    /// or have no answer.
    pub(crate) fn unanswered(&self, count: u64) -> u64 {
        let arrived = self.arrived.load(Relaxed);
        // The id of a sample is its sequence number, from 1.
        let waits = |client: &&AtomicU64| (1..=count).contains(&client.load(Relaxed));
        let waiting_count = self.clients.iter().filter(waits).count() as u64;
        self.refused.load(Relaxed) + waiting_count + count.saturating_sub(arrived)
    }

    /// Returns the number of samples that have arrived.
    pub(crate) fn arrived(&self) -> u64 {
        self.arrived.load(Relaxed)
    }

    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Relaxed);
    }

    /// Returns whether issuing has ended.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Relaxed)
    }

    /// Returns whether clients have stopped on their own, because batches take no virtual time.
    pub(crate) fn stands_still(&self) -> bool {
        self.standstill.as_ref().is_some_and(|standstill| standstill.has_come.load(Relaxed))
    }

    /// Returns the number of samples without an answer.
    pub(crate) fn outstanding(&self) -> usize {
        self.outstanding.load(Relaxed)
    }

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

    /// Issues the samples with these sequence numbers, at most [`AT_ONCE`], which were due at this instant.
    fn issue(&self, sequence: &[u64], due_ns: Option<u64>) {
        let Some(system) = self.system.get().and_then(Weak::upgrade) else { return };
        let mut samples = [QuerySample { id: ResponseId(0), index: SampleIndex(0) }; AT_ONCE];
        for (sample, number) in samples.iter_mut().zip(sequence) {
            let id = number + 1;
            self.client(*number).store(id, Relaxed);
            *sample = QuerySample { id: ResponseId(id), index: SampleIndex(number % self.sample_count) };
        }
        self.outstanding.fetch_add(sequence.len(), Relaxed);
        system.take(&samples[..sequence.len()], due_ns);
    }

    /// Takes the answer of a sample, and returns the sequence number if it was outstanding.
    fn take(&self, response: &QuerySampleResponse<'_>) -> Option<u64> {
        let sequence = response.id.0.checked_sub(1)?;
        self.client(sequence).compare_exchange(response.id.0, 0, Relaxed, Relaxed).ok()?;
        match response.status.is_ok() {
            true => _ = self.completed.fetch_add(1, Relaxed),
            // After the end the scheduler fails unstarted samples.
            false if self.is_stopped() => {}
            false => _ = self.failed.fetch_add(1, Relaxed),
        }
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
            let stands_still = |it: &Standstill| it.count(count, self.clients.len());
            if self.saturates && !self.is_stopped() && !self.standstill.as_ref().is_some_and(stands_still) {
                self.issue(&next[..count], None);
            }
        }
    }

    fn first_token(&self, _: &[QuerySampleResponse<'_>]) {}
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use proctor_vocabulary::SampleStatus;

    use super::*;

    #[derive(Default)]
    struct Issued(Mutex<Vec<(QuerySample, Option<u64>)>>);

    impl Intake for Issued {
        fn take(&self, samples: &[QuerySample], due_ns: Option<u64>) {
            self.0.lock().extend(samples.iter().map(|sample| (*sample, due_ns)));
        }
    }

    fn answer(id: u64) -> QuerySampleResponse<'static> {
        QuerySampleResponse { id: ResponseId(id), status: SampleStatus::OK, data: &[], token_count: 0 }
    }

    fn ids(system: &Issued) -> Vec<u64> {
        system.0.lock().drain(..).map(|(sample, _)| sample.id.0).collect()
    }

    fn connected(clients: usize, saturates: bool) -> (Arc<Traffic>, Arc<Issued>) {
        let (traffic, system) = (Traffic::new(clients, 3, saturates, None), Arc::new(Issued::default()));
        let shared: Arc<dyn Intake> = Arc::clone(&system) as _;
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
    fn clients_stop_where_virtual_time_stands_still() {
        let now_ns = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&now_ns);
        let traffic = Traffic::new(2, 3, true, Some(Arc::new(move || clock.load(Relaxed))));
        let system: Arc<dyn Intake> = Arc::new(Issued::default());
        traffic.connect(&system);
        traffic.saturate();
        // Client 0 has the ids 1, 3, 5 and so on.
        let mut ids = (1..).step_by(2);
        for instant_ns in 0..4 {
            now_ns.store(instant_ns, Relaxed);
            ids.by_ref().take(1 << 17).for_each(|id| traffic.complete(&[answer(id)]));
            assert!(!traffic.stands_still(), "{instant_ns}");
        }
        ids.take(1 << 18).for_each(|id| traffic.complete(&[answer(id)]));
        assert!(traffic.stands_still());
        assert_eq!(traffic.outstanding(), 1, "client 1 never had an answer");
    }

    #[test]
    fn arrivals_are_refused_where_too_many_are_outstanding() {
        let (traffic, system) = connected(2, false);
        (0..3).for_each(|due_ns| traffic.arrive(due_ns));
        assert_eq!(ids(&system), [1, 2]);
        traffic.complete(&[answer(2)]);
        traffic.arrive(3);
        assert_eq!(ids(&system), [4], "the sequence number 2 was refused, and 3 has the client of 1");
        assert_eq!(traffic.counts().refused, 1);
    }

    #[test]
    fn arrivals_are_issued_with_the_instant_at_which_they_were_due_and_counted_if_they_wait() {
        let (traffic, system) = connected(4, false);
        (0..5).for_each(|number| traffic.arrive(10 * number));
        let due: Vec<_> = system.0.lock().iter().map(|(_, due_ns)| *due_ns).collect();
        assert_eq!(due, [Some(0), Some(10), Some(20), Some(30)]);
        traffic.complete(&[answer(1), answer(3)]);
        // The fifth was refused. Of the first two the second waits; of seven the last two were not issued yet, too.
        assert_eq!([0, 2, 7].map(|count| traffic.unanswered(count)), [1, 2, 5]);
    }
}

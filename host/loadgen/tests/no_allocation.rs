//! A completion allocates nothing, however it ends, and on whatever thread it comes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use proctor_loadgen::{
    LibraryError, LoadGen, LoadGenOptions, QuerySampleLibrary, RealClock, SystemUnderTest, TestSettings,
    ViolationKind,
};
use proctor_vocabulary::{
    CompletionSink, QuerySample, QuerySampleResponse, ResponseId, SampleIndex, SampleStatus, Scenario,
};

const QUERY_COUNT: u64 = 5000;

struct TenSamples;

impl QuerySampleLibrary for TenSamples {
    fn name(&self) -> &str {
        "ten samples"
    }

    fn total_sample_count(&self) -> u64 {
        10
    }

    fn performance_sample_count(&self) -> u64 {
        10
    }

    fn load(&self, _: &[SampleIndex]) -> Result<(), LibraryError> {
        Ok(())
    }

    fn unload(&self, _: &[SampleIndex]) -> Result<(), LibraryError> {
        Ok(())
    }
}

/// Completes inside of the call, and counts what that allocates.
struct Counting {
    sink: Arc<dyn CompletionSink>,
    issued_count: AtomicU64,
    allocation_count: AtomicU64,
}

impl Counting {
    /// The first token and the completion of a sample.
    fn answer(&self, id: ResponseId, status: SampleStatus) {
        let counted = allocation_counter::measure(|| {
            let response = QuerySampleResponse { id, status, data: &[7; 40], token_count: 2 };
            self.sink.first_token(&[response]);
            self.sink.complete(&[response]);
        });
        self.allocation_count.fetch_add(counted.count_total, Relaxed);
    }
}

impl SystemUnderTest for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    fn issue(&self, samples: &[QuerySample]) {
        for QuerySample { id, .. } in samples.iter().copied() {
            match self.issued_count.fetch_add(1, Relaxed) % 100 {
                // A thread that has never completed anything.
                10 => {
                    thread::scope(|scope| {
                        scope.spawn(|| self.answer(id, SampleStatus::OK));
                    });
                }
                20 => self.answer(id, SampleStatus::FAILED),
                30 => {
                    self.answer(id, SampleStatus::OK);
                    self.answer(id, SampleStatus::OK);
                    self.answer(ResponseId(7), SampleStatus::OK);
                }
                _ => self.answer(id, SampleStatus::OK),
            }
        }
    }

    fn flush(&self) {}
}

#[test]
fn a_completion_allocates_nothing() {
    for use_token_latencies in [false, true] {
        let settings = TestSettings {
            scenario: Scenario::Server,
            server_target_qps: 1e6,
            min_duration_ms: 0,
            min_query_count: QUERY_COUNT,
            use_token_latencies,
            // Some responses are kept for the log.
            accuracy_log_probability: 0.1,
            ..TestSettings::default()
        };
        let loadgen = LoadGen::new(settings, Arc::new(RealClock::new()), LoadGenOptions::default());
        let (issued_count, allocation_count) = (AtomicU64::new(0), AtomicU64::new(0));
        let sut = Counting { sink: loadgen.sink(), issued_count, allocation_count };
        let outcome = loadgen.run(&sut, &TenSamples).unwrap();
        assert_eq!(sut.issued_count.into_inner(), QUERY_COUNT);
        assert!(outcome.accuracy.len() > 100, "{}", outcome.accuracy.len());
        let count =
            |kind| outcome.violations.iter().find(|found| found.kind == kind).map(|found| found.count);
        assert_eq!(count(ViolationKind::Failed), Some(QUERY_COUNT / 100));
        assert_eq!(count(ViolationKind::Duplicate), Some(QUERY_COUNT / 100));
        assert_eq!(count(ViolationKind::UnknownId), Some(QUERY_COUNT / 100));
        assert_eq!(count(ViolationKind::FirstTokenOfNoSample), Some(QUERY_COUNT / 100));
        assert_eq!(sut.allocation_count.into_inner(), 0);
    }
}

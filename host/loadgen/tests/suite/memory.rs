//! A completion allocates nothing, in any outcome and on any thread; and the record of a sample takes a few
//! bytes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use proctor_loadgen::{
    BareLibrary, LoadGen, LoadGenOptions, RealClock, SystemUnderTest, TestSettings, ViolationKind,
};
use proctor_vocabulary::{
    CompletionSink, QuerySample, QuerySampleResponse, ResponseId, SampleStatus, Scenario,
};

const QUERY_COUNT: u64 = 5000;

/// Completes inside of the call, and counts what that allocates.
struct Counting {
    sink: Arc<dyn CompletionSink>,
    issued_count: AtomicU64,
    allocation_count: AtomicU64,
}

impl Counting {
    /// The first token, another one and the completion of a sample.
    fn answer(&self, id: ResponseId, status: SampleStatus) {
        let counted = allocation_counter::measure(|| {
            let response = QuerySampleResponse { id, status, data: &[7; 40], token_count: 2 };
            self.sink.first_token(&[response]);
            self.sink.tokens(self.sink.now_ns(), id, 1);
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
        let outcome = loadgen.run(&sut, &BareLibrary::of(10)).unwrap();
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

/// Completes inside of the call.
struct AtOnce(Arc<dyn CompletionSink>);

impl SystemUnderTest for AtOnce {
    fn name(&self) -> &str {
        "at once"
    }

    fn issue(&self, samples: &[QuerySample]) {
        for QuerySample { id, .. } in samples.iter().copied() {
            let response = QuerySampleResponse { id, status: SampleStatus::OK, data: &[], token_count: 2 };
            self.0.first_token(&[response]);
            self.0.complete(&[response]);
        }
    }

    fn flush(&self) {}
}

/// Peak of the memory in bytes of a test whose queries have 512 samples each.
fn most_memory(sample_count: u64, use_token_latencies: bool) -> u64 {
    let settings = TestSettings {
        scenario: Scenario::MultiStream,
        multi_stream_samples_per_query: 512,
        min_duration_ms: 0,
        min_query_count: sample_count / 512,
        max_query_count: sample_count / 512,
        use_token_latencies,
        ..TestSettings::default()
    };
    let loadgen = LoadGen::new(settings, Arc::new(RealClock::new()), LoadGenOptions::default());
    let sut = AtOnce(loadgen.sink());
    let measured = allocation_counter::measure(|| {
        let outcome = loadgen.run(&sut, &BareLibrary::of(10)).expect("the settings can be run");
        assert_eq!(outcome.violations, []);
    });
    measured.bytes_max
}

#[test]
fn a_sample_takes_16_bytes_and_with_tokens_48() {
    // Records come in segments of 1024, 2048, 4096, ... samples: both tests all but fill their last one. Figures of
    // fewer samples than these are computed from a list.
    let [less, more] = [9, 10].map(|segment_count| ((1 << segment_count) - 1) * 1024 - 512);
    for (use_token_latencies, expected) in [(false, 16.0), (true, 48.0)] {
        let added = most_memory(more, use_token_latencies) - most_memory(less, use_token_latencies);
        let sample_bytes = added as f64 / (more - less) as f64;
        assert!((expected..expected + 0.5).contains(&sample_bytes), "{sample_bytes} instead of {expected}");
    }
}

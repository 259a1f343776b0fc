//! After a stall of the issuing thread every query leaves, in order and with its own scheduled instant.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use proctor_loadgen::{
    BareLibrary, Clock, EffectiveSettings, IssueEnd, LoadGen, LoadGenOptions, QueryGenerator,
    SystemUnderTest, TestSettings, Wake, phases,
};
use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, SampleStatus, Scenario};

const MS: u64 = 1_000_000;

/// A clock on which one wait ends late, as if the thread had been away.
struct Stalling {
    now_ns: AtomicU64,
    /// The first wait for this instant or a later one takes so much longer.
    stall_at_ns: u64,
    stall_for_ns: AtomicU64,
}

impl Clock for Stalling {
    fn now_ns(&self) -> u64 {
        self.now_ns.load(Relaxed)
    }

    fn wait_until(&self, deadline_ns: u64, _wake: &Wake) -> u64 {
        self.now_ns.fetch_max(deadline_ns, Relaxed);
        if deadline_ns >= self.stall_at_ns {
            self.now_ns.fetch_add(self.stall_for_ns.swap(0, Relaxed), Relaxed);
        }
        self.now_ns()
    }

    fn wait_for(&self, _wake: &Wake, _deadline_ns: Option<u64>, ready: &dyn Fn() -> bool) -> bool {
        ready()
    }

    fn is_virtual(&self) -> bool {
        true
    }
}

/// Completes at once, and notes when each query came.
struct AtOnce {
    clock: Arc<Stalling>,
    sink: Arc<dyn CompletionSink>,
    issues: Mutex<Vec<(u64, usize)>>,
}

impl SystemUnderTest for AtOnce {
    fn name(&self) -> &str {
        "at once"
    }

    fn issue(&self, samples: &[QuerySample]) {
        self.issues.lock().expect("no test panics with it").push((self.clock.now_ns(), samples.len()));
        for QuerySample { id, .. } in samples.iter().copied() {
            self.sink.complete(&[QuerySampleResponse {
                id,
                status: SampleStatus::OK,
                data: &[],
                token_count: 0,
            }]);
        }
    }

    fn flush(&self) {}
}

#[test]
fn after_a_stall_no_query_is_skipped_or_re_timed() {
    let request = TestSettings {
        scenario: Scenario::Server,
        server_target_qps: 1000.0,
        min_duration_ms: 1000,
        ..TestSettings::default()
    };
    let effective = EffectiveSettings::new(&request, 4, 4).expect("the settings make a test").0;
    let mut queries = QueryGenerator::new(&effective, &phases(&effective)[0]);
    let scheduled_ns: Vec<_> =
        std::iter::from_fn(|| queries.next_query()).map(|query| query.offset_ns).collect();

    let clock = Arc::new(Stalling {
        now_ns: AtomicU64::new(0),
        stall_at_ns: 400 * MS,
        stall_for_ns: AtomicU64::new(100 * MS),
    });
    let loadgen = LoadGen::new(request, Arc::clone(&clock), LoadGenOptions::default());
    let sut = AtOnce { clock, sink: loadgen.sink(), issues: Mutex::default() };
    let outcome = loadgen.run(&sut, &BareLibrary::of(4)).expect("the test takes place");

    let first_late = scheduled_ns.iter().position(|at_ns| *at_ns >= 400 * MS).expect("the run is longer");
    let back_ns = scheduled_ns[first_late] + 100 * MS;
    let issued_ns = |number: usize, at_ns: u64| if number < first_late { at_ns } else { at_ns.max(back_ns) };
    let expected: Vec<_> =
        scheduled_ns.iter().enumerate().map(|(number, at_ns)| (issued_ns(number, *at_ns), 1)).collect();
    assert!(expected.iter().filter(|(at_ns, _)| *at_ns == back_ns).count() > 50, "the stall is felt");
    assert_eq!(*sut.issues.lock().expect("no test panics with it"), expected);

    let samples: Vec<_> = outcome.samples().map(|sample| (sample.scheduled_ns, sample.latency_ns)).collect();
    let from_schedule: Vec<_> = scheduled_ns
        .iter()
        .zip(&expected)
        .map(|(at_ns, (issued_ns, _))| (*at_ns, issued_ns - at_ns))
        .collect();
    assert_eq!(samples, from_schedule);
    let phase = &outcome.phases[0];
    assert_eq!(phase.end, IssueEnd::AllIssued);
    assert_eq!(phase.issue_delay.max_ns, 100 * MS);
    assert_eq!(phase.issue_delay.p50_ns, 0);
}

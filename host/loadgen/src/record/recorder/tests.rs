//! Checks completions, right and wrong, and their records.

use proctor_test_needs::ends_without_system_calls;
use proctor_vocabulary::{SampleIndex, SampleStatus};

use super::*;
use crate::{
    plan::phases::PhaseMode,
    record::{
        response_id::response_id,
        slots::{Counted, SampleRecord},
        token_recorder::FirstTokens,
    },
    time::virtual_clock::VirtualClock,
};

struct Fixture {
    clock: Arc<VirtualClock>,
    wake: Arc<Wake>,
    recorder: Recorder<VirtualClock>,
}

impl Fixture {
    fn new() -> Self {
        Self::after(0)
    }

    /// A test before which the system had this many phases.
    fn after(earlier_phase_count: u64) -> Self {
        let clock = Arc::new(VirtualClock::new());
        let wake = Arc::new(Wake::new());
        let recorder = Recorder::new(Arc::clone(&clock), Arc::clone(&wake), earlier_phase_count);
        Self { clock, wake, recorder }
    }

    fn open(&self, mode: PhaseMode, first_sample_id: u64) -> Arc<Phase> {
        self.open_with(mode, first_sample_id, None)
    }

    fn open_with(
        &self,
        mode: PhaseMode,
        first_sample_id: u64,
        first_tokens: Option<FirstTokens>,
    ) -> Arc<Phase> {
        let start = PhaseStart {
            mode,
            first_sample_id,
            issuer_count: 1,
            arena_bytes: 64,
            first_tokens,
            token_capacity: None,
            is_driven: false,
        };
        let phase = self.recorder.open(&start).expect("there is memory");
        phase.start(self.clock.now_ns());
        phase
    }

    fn complete(&self, id: ResponseId, status: SampleStatus) {
        self.recorder.complete(&[QuerySampleResponse { id, status, data: b"out", token_count: 0 }]);
    }

    fn violations(&self) -> Vec<(ViolationKind, u64, Option<u64>)> {
        let report = self.recorder.violations();
        report.iter().map(|found| (found.kind, found.count, found.first[0].sample_id)).collect()
    }
}

#[test]
fn a_completion_is_timed_counted_and_kept() {
    let fixture = Fixture::new();
    fixture.clock.wait_until(1_000, &fixture.wake);
    let phase = fixture.open(PhaseMode::Accuracy, 0);
    assert_eq!(phase.issue(5, true), 0);
    fixture.clock.wait_until(1_025, &fixture.wake);
    fixture.complete(response_id(1, 0), SampleStatus::OK);
    assert_eq!(phase.sample(0), Some(SampleRecord { scheduled_ns: 5, latency_ns: 20 }));
    assert_eq!(fixture.wake.count(), phase.signals_after(1));
    assert_eq!(phase.responses.take()[0].data, b"out");
    assert_eq!(fixture.violations(), []);
}

#[test]
fn only_samples_of_the_present_phase_are_logged() {
    let fixture = Fixture::new();
    let phase = fixture.open(PhaseMode::Performance, 0);
    phase.issue(0, true);
    phase.issue(0, false);
    let logged = |generation, sequence| fixture.recorder.is_logged(response_id(generation, sequence));
    assert_eq!([logged(1, 0), logged(1, 1), logged(1, 2), logged(7, 0)], [true, false, false, false]);
    fixture.open(PhaseMode::Performance, 2);
    assert!(!logged(1, 0));
}

#[test]
fn the_begin_of_a_latency_is_known_once_the_sample_is_issued() {
    let fixture = Fixture::new();
    fixture.clock.wait_until(1_000, &fixture.wake);
    let phase = fixture.open(PhaseMode::Performance, 0);
    let begins_ns = |sequence| fixture.recorder.latency_begins_ns(response_id(1, sequence));
    assert_eq!(begins_ns(0), None);
    phase.issue(5, false);
    assert_eq!((begins_ns(0), begins_ns(1)), (Some(1_005), None));
    assert_eq!(fixture.recorder.latency_begins_ns(response_id(2, 0)), None);
}

#[test]
fn responses_that_come_in_parts_have_the_instant_that_they_are_given() {
    let fixture = Fixture::new();
    let phase = fixture.open_with(PhaseMode::Performance, 0, Some(FirstTokens::Required));
    phase.issue(5, false);
    fixture.clock.wait_until(20, &fixture.wake);
    let now_ns = CompletionSink::now_ns(&fixture.recorder);
    fixture.clock.wait_until(90, &fixture.wake);
    let (id, status) = (response_id(1, 0), SampleStatus::OK);
    let response = QuerySampleResponse { id, status, data: &[], token_count: 2 };
    fixture.recorder.first_token_at(now_ns - 1, &[response]);
    fixture.recorder.complete_at(now_ns, &[response]);
    assert_eq!(phase.sample(0), Some(SampleRecord { scheduled_ns: 5, latency_ns: 15 }));
    assert_eq!(phase.tokens(Counted::Completed).unwrap().first_token_latencies_ns, [14]);
}

#[test]
fn a_completion_makes_no_system_call() {
    const COUNT: u64 = 5000;
    let fixture = Arc::new(Fixture::new());
    let phase = fixture.open_with(PhaseMode::Performance, 0, Some(FirstTokens::Required));
    for scheduled_ns in 0..COUNT {
        phase.issue(scheduled_ns, scheduled_ns % 100 == 0);
    }
    let answer = |fixture: &Fixture, sequence| {
        for (id, status) in [
            (response_id(1, sequence), SampleStatus::OK),
            (response_id(1, sequence), SampleStatus::FAILED),
            (ResponseId(7), SampleStatus::OK),
        ] {
            let response = QuerySampleResponse { id, status, data: b"out", token_count: 2 };
            fixture.recorder.first_token(&[response]);
            fixture.recorder.complete(&[response]);
        }
    };
    let [first, others] = [Arc::clone(&fixture), Arc::clone(&fixture)];
    // The first completion of a thread may allocate.
    let is_quiet = ends_without_system_calls(
        move || answer(&first, 0),
        move || (1..COUNT).for_each(|sequence| answer(&others, sequence)),
    );
    let Some(is_quiet) = is_quiet else { return };
    assert!(is_quiet);
    assert_eq!(fixture.wake.count(), phase.signals_after(COUNT));
}

#[test]
fn a_response_to_an_earlier_test_is_late() {
    let fixture = Fixture::after(2);
    let phase = fixture.open(PhaseMode::Performance, 0);
    phase.issue(0, false);
    for generation in [1, 2, 4] {
        fixture.complete(response_id(generation, 0), SampleStatus::OK);
    }
    assert_eq!(fixture.violations(), [(ViolationKind::UnknownId, 1, None), (ViolationKind::Late, 2, None)]);
    fixture.complete(response_id(3, 0), SampleStatus::OK);
    assert_eq!(fixture.wake.count(), phase.signals_after(1));
}

#[test]
fn wrong_ids_are_told_apart_and_change_nothing() {
    let fixture = Fixture::new();
    fixture.complete(response_id(1, 0), SampleStatus::OK);
    let first = fixture.open(PhaseMode::Performance, 0);
    let sequence = first.issue(0, false);
    fixture.complete(response_id(1, 1), SampleStatus::OK);
    fixture.complete(response_id(1, (1 << 48) - 1), SampleStatus::OK);
    for _ in 0..3 {
        fixture.complete(response_id(1, sequence), SampleStatus::OK);
    }
    let second = fixture.open(PhaseMode::Performance, 100);
    second.issue(0, false);
    fixture.complete(response_id(1, sequence), SampleStatus::OK);
    assert_eq!(second.give_up(), [0]);
    fixture.complete(response_id(2, 0), SampleStatus::OK);
    fixture.complete(ResponseId(0), SampleStatus::OK);
    fixture.complete(ResponseId(u64::MAX), SampleStatus::OK);
    assert_eq!(
        fixture.violations(),
        [
            // The first of them came before its phase existed, so it was unknown then.
            (ViolationKind::UnknownId, 3, Some(0)),
            (ViolationKind::NotIssued, 2, Some(1)),
            (ViolationKind::Duplicate, 2, Some(0)),
            (ViolationKind::Late, 2, Some(0)),
        ]
    );
    assert_eq!(fixture.wake.count(), 1);
}

#[test]
fn what_the_host_fails_after_it_was_given_up_is_no_late_answer() {
    let fixture = Fixture::after(1);
    let fail = |generation, sequence| {
        let (id, status) = (response_id(generation, sequence), SampleStatus::FAILED);
        fixture.recorder.fail_at(1, &[QuerySampleResponse { id, status, data: &[], token_count: 0 }]);
    };
    let phase = fixture.open(PhaseMode::Performance, 0);
    phase.issue(0, false);
    phase.issue(0, false);
    fail(2, 0);
    assert_eq!(fixture.violations(), [(ViolationKind::Failed, 1, Some(0))]);
    assert_eq!(phase.give_up(), [1]);
    fail(2, 1);
    // One of an earlier test, and one that was failed before the next phase.
    fail(1, 0);
    fixture.open(PhaseMode::Performance, 2);
    fail(2, 0);
    assert_eq!(fixture.violations(), [(ViolationKind::Failed, 1, Some(0))]);
    // A sample that never existed is still reported.
    fail(2, 2);
    assert_eq!(fixture.violations().len(), 2);
}

#[test]
fn nothing_is_issued_before_the_phase_starts() {
    let fixture = Fixture::new();
    let start = PhaseStart {
        mode: PhaseMode::Performance,
        first_sample_id: 0,
        issuer_count: 1,
        arena_bytes: 0,
        first_tokens: Some(FirstTokens::Required),
        token_capacity: None,
        is_driven: false,
    };
    let phase = fixture.recorder.open(&start).unwrap();
    // As in Offline, whose samples get their slots before the start.
    phase.issue(0, false);
    let (id, status) = (response_id(1, 0), SampleStatus::OK);
    fixture.recorder.first_token(&[QuerySampleResponse { id, status, data: &[], token_count: 0 }]);
    fixture.complete(id, status);
    assert_eq!(
        fixture.violations(),
        [(ViolationKind::NotIssued, 1, Some(0)), (ViolationKind::FirstTokenOfNoSample, 1, Some(0))]
    );
    assert_eq!(fixture.wake.count(), 0);
    phase.start(fixture.clock.now_ns());
    fixture.recorder.first_token(&[QuerySampleResponse { id, status, data: &[], token_count: 0 }]);
    fixture.recorder.complete(&[QuerySampleResponse { id, status, data: &[], token_count: 2 }]);
    assert_eq!((fixture.wake.count(), fixture.violations().len()), (1, 2));
}

#[test]
fn a_failed_sample_is_complete_but_its_data_are_not_kept() {
    let fixture = Fixture::new();
    let phase = fixture.open(PhaseMode::Performance, 40);
    phase.issue(0, true);
    phase.issue(0, true);
    fixture.complete(response_id(1, 1), SampleStatus(9));
    assert_eq!(fixture.violations(), [(ViolationKind::Failed, 1, Some(41))]);
    assert_eq!(fixture.wake.count(), 1);
    assert!(phase.responses.take().is_empty());
}

#[test]
fn first_tokens_are_checked() {
    let fixture = Fixture::new();
    let phase = fixture.open(PhaseMode::Performance, 0);
    phase.issue(0, false);
    let token = |id| {
        let response = QuerySampleResponse { id, status: SampleStatus::OK, data: &[], token_count: 1 };
        fixture.recorder.first_token(&[response]);
    };
    token(response_id(1, 0));
    assert_eq!(fixture.violations(), []);
    fixture.complete(response_id(1, 0), SampleStatus::OK);
    token(response_id(1, 0));
    token(response_id(1, 1));
    token(ResponseId(7));
    assert_eq!(
        fixture.violations(),
        [
            (ViolationKind::FirstTokenOfNoSample, 2, Some(1)),
            (ViolationKind::FirstTokenAfterCompletion, 1, Some(0)),
        ]
    );
}

#[test]
fn reported_tokens_are_checked() {
    let fixture = Fixture::new();
    let phase = fixture.open(PhaseMode::Performance, 0);
    phase.issue(0, false);
    let report = |id| fixture.recorder.tokens(fixture.clock.now_ns(), id, 3);
    report(response_id(1, 0));
    assert_eq!(fixture.violations(), []);
    fixture.complete(response_id(1, 0), SampleStatus::OK);
    report(response_id(1, 0));
    report(response_id(1, 1));
    report(ResponseId(7));
    assert_eq!(
        fixture.violations(),
        [(ViolationKind::TokensOfNoSample, 2, Some(1)), (ViolationKind::TokensAfterCompletion, 1, Some(0))]
    );
}

#[test]
fn tokens_of_a_sample_that_the_system_has_yet_to_be_given_are_those_of_no_sample() {
    let recorder = |records_tokens| {
        let Fixture { clock, wake, recorder } = Fixture::new();
        Fixture { clock, wake, recorder: recorder.with_tokens(records_tokens) }
    };
    assert!(!recorder(false).recorder.watches_hand_over());
    let fixture = recorder(true);
    assert!(fixture.recorder.watches_hand_over());
    // A query of four samples, which go in batches of two.
    let phase = fixture.open_with(PhaseMode::Performance, 0, Some(FirstTokens::Required));
    (0..4).for_each(|_| _ = phase.issue(0, false));
    let hand_over = |sequences: [u64; 2]| {
        let sample = |sequence| QuerySample { id: response_id(1, sequence), index: SampleIndex(0) };
        fixture.recorder.handed_over(&sequences.map(sample));
    };
    hand_over([0, 1]);
    for sequence in [0, 2] {
        let (id, status) = (response_id(1, sequence), SampleStatus::OK);
        fixture.recorder.first_token(&[QuerySampleResponse { id, status, data: &[], token_count: 0 }]);
    }
    fixture.recorder.tokens(fixture.clock.now_ns(), response_id(1, 3), 1);
    assert_eq!(fixture.violations(), [], "nobody has looked yet");
    hand_over([2, 3]);
    assert_eq!(
        fixture.violations(),
        [(ViolationKind::FirstTokenOfNoSample, 1, Some(2)), (ViolationKind::TokensOfNoSample, 1, Some(3))]
    );
    // The id of a warm-up belongs to no sample.
    fixture.recorder.handed_over(&[QuerySample { id: ResponseId(0), index: SampleIndex(0) }]);
    assert_eq!(fixture.violations().len(), 2);
}

#[test]
fn a_failed_sample_needs_no_tokens() {
    let fixture = Fixture::new();
    let phase = fixture.open_with(PhaseMode::Performance, 0, Some(FirstTokens::Required));
    phase.issue(0, false);
    phase.issue(0, false);
    fixture.complete(response_id(1, 0), SampleStatus::FAILED);
    assert_eq!(fixture.violations(), [(ViolationKind::Failed, 1, Some(0))]);
    fixture.complete(response_id(1, 1), SampleStatus::OK);
    let tokens = [(ViolationKind::NoFirstToken, 1, Some(1)), (ViolationKind::NoTokenCount, 1, Some(1))];
    assert_eq!(fixture.violations()[1..], tokens);
    assert_eq!(phase.tokens(Counted::Completed).unwrap().token_count, 0);
}

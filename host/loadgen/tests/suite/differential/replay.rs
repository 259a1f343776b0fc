//! Our load generator in the place of the official one: the same calls are expected, and answered at the same instants.

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use proctor_loadgen::{
    Clock, LibraryError, LoadGen, LoadGenError, LoadGenOptions, QuerySampleLibrary, SystemUnderTest,
    TestOutcome, Wake,
};
use proctor_vocabulary::{
    CompletionSink, QuerySample, QuerySampleResponse, ResponseId, SampleIndex, SampleStatus, Scenario,
};

use crate::differential::{
    case::Case,
    config::Configured,
    official::ActionKind,
    timeline::{TimedAction, TimedCall, Timeline},
};

/// Time that passes with each query that the official LoadGen did not issue, so that such a run ends.
const UNEXPECTED_NS: u64 = 1_000_000;

/// A clock that is set by what happens. Waiting for an instant goes on until the recorded issue.
#[derive(Debug, Default)]
struct ReplayClock {
    now_ns: AtomicU64,
    next_issue_ns: AtomicU64,
}

impl ReplayClock {
    fn advance_to(&self, at_ns: u64) {
        self.now_ns.fetch_max(at_ns, Relaxed);
    }
}

impl Clock for ReplayClock {
    fn now_ns(&self) -> u64 {
        self.now_ns.load(Relaxed)
    }

    fn wait_until(&self, deadline_ns: u64, _wake: &Wake) -> u64 {
        self.advance_to(deadline_ns);
        self.advance_to(self.next_issue_ns.load(Relaxed));
        self.now_ns()
    }

    fn wait_for(&self, _wake: &Wake, _deadline_ns: Option<u64>, ready: &dyn Fn() -> bool) -> bool {
        ready()
    }

    fn is_virtual(&self) -> bool {
        true
    }
}

/// The system and the library, which repeat what they did with the official LoadGen.
struct Replay<'a> {
    case: &'a Case,
    timeline: &'a Timeline,
    /// Start of issuing, by phase.
    starts_ns: &'a [u64],
    clock: Arc<ReplayClock>,
    sink: Arc<dyn CompletionSink>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next_call: usize,
    phase: usize,
    /// Number of issue calls in this phase.
    issue_count: usize,
    ids: Vec<ResponseId>,
    /// The first call that was not as recorded.
    mismatch: Option<Mismatch>,
}

/// A call that the official load generator did not make, or one that it made and ours did not.
#[derive(Debug, Clone)]
pub struct Mismatch {
    /// Number of the call, from 0.
    pub call: usize,
    pub text: String,
}

impl From<Mismatch> for String {
    fn from(mismatch: Mismatch) -> Self {
        format!("call {}: {}", mismatch.call, mismatch.text)
    }
}

/// Runs the test again with our load generator. The error of the outer result is the first call that differs.
pub fn replay(
    case: &Case,
    configured: &Configured,
    timeline: &Timeline,
    starts_ns: &[u64],
) -> Result<Result<TestOutcome, LoadGenError>, Mismatch> {
    let clock = Arc::new(ReplayClock::default());
    let options = LoadGenOptions {
        audit_config: case.audit_config.clone(),
        config_errors: configured.errors.clone(),
        ..LoadGenOptions::default()
    };
    let loadgen = LoadGen::new(configured.settings.clone(), Arc::clone(&clock), options);
    let replay = Replay { case, timeline, starts_ns, clock, sink: loadgen.sink(), state: Mutex::default() };
    let outcome = loadgen.run(&replay, &replay);
    let state = replay.state();
    match (&outcome, &state.mismatch) {
        (_, Some(mismatch)) => Err(mismatch.clone()),
        (Ok(_), None) if state.next_call < timeline.calls.len() => Err(Mismatch {
            call: state.next_call,
            text: format!(
                "ours ends, the official one goes on: {}",
                describe(&timeline.calls[state.next_call])
            ),
        }),
        _ => {
            drop(state);
            Ok(outcome)
        }
    }
}

impl<'a> Replay<'a> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("one thread")
    }

    /// The recorded call, if it is the one that ours makes now; else the difference is noted.
    fn expect(&self, ours: &str, is_same: impl Fn(&TimedCall) -> bool) -> Option<&'a TimedCall> {
        let mut state = self.state();
        let expected = self.timeline.calls.get(state.next_call);
        let number = state.next_call;
        state.next_call += 1;
        if state.mismatch.is_none() && !expected.is_some_and(&is_same) {
            let official = expected.map_or_else(|| "nothing more".to_owned(), describe);
            let text = format!("ours is {ours}, the official one {official}");
            state.mismatch = Some(Mismatch { call: number, text });
        }
        expected.filter(|_| state.mismatch.is_none())
    }

    /// Sets the clock to the start of the phase to come, if there is one.
    fn before_phase(&self) {
        let phase = self.state().phase;
        if let Some(start_ns) = self.starts_ns.get(phase) {
            self.clock.advance_to(*start_ns);
            let first_issue_ns = self.timeline.phases[phase].issues_ns.first();
            self.clock.next_issue_ns.store(first_issue_ns.copied().unwrap_or(0), Relaxed);
        }
    }

    /// By how much the first query of the streams is earlier here: its issue is read from the clock right after the
    /// start, with nothing between that could move the clock.
    fn shift_ns(&self, phase: usize, issue: usize) -> u64 {
        let streams = matches!(self.scenario(), Scenario::SingleStream | Scenario::MultiStream);
        match issue {
            0 if streams => self.timeline.phases[phase].issues_ns[0] - self.starts_ns[phase],
            _ => 0,
        }
    }

    fn scenario(&self) -> Scenario {
        let name = self.case.settings["scenario"].as_str().expect("every case names its scenario");
        name.parse().expect("every case names a scenario")
    }

    fn act(&self, actions: &[TimedAction], shift_ns: u64) {
        for TimedAction { at_ns, action } in actions {
            self.clock.advance_to(at_ns - shift_ns);
            let state = self.state();
            let data: Vec<_> = action.responses.iter().map(|response| bytes(&response.1)).collect();
            let responses: Vec<_> = action
                .responses
                .iter()
                .zip(&data)
                .map(|(response, data)| QuerySampleResponse {
                    id: state.ids[usize::try_from(response.0).expect("counted in memory")],
                    status: SampleStatus::OK,
                    data,
                    token_count: response.2,
                })
                .collect();
            drop(state);
            match action.kind {
                ActionKind::Complete => self.sink.complete(&responses),
                ActionKind::FirstToken => self.sink.first_token(&responses),
            }
        }
    }
}

impl SystemUnderTest for Replay<'_> {
    fn name(&self) -> &str {
        "PySUT"
    }

    fn issue(&self, samples: &[QuerySample]) {
        let issued: Vec<_> = samples.iter().map(|sample| sample.index.0).collect();
        let expected = self.expect(
            &format!("issue {}", list(&issued)),
            |call| matches!(call, TimedCall::Issue { indices, .. } if *indices == issued),
        );
        let (phase, issue) = {
            let mut state = self.state();
            state.ids.extend(samples.iter().map(|sample| sample.id));
            state.issue_count += 1;
            (state.phase, state.issue_count - 1)
        };
        let Some(TimedCall::Issue { actions, .. }) = expected else {
            self.clock.advance_to(self.clock.now_ns() + UNEXPECTED_NS);
            for QuerySample { id, .. } in samples {
                let (status, data) = (SampleStatus::OK, &[][..]);
                self.sink.complete(&[QuerySampleResponse { id: *id, status, data, token_count: 2 }]);
            }
            return;
        };
        self.act(actions, self.shift_ns(phase, issue));
        if let Some(next_ns) = self.timeline.phases[phase].issues_ns.get(issue + 1) {
            self.clock.advance_to(*next_ns);
            self.clock.next_issue_ns.store(*next_ns, Relaxed);
        }
    }

    fn flush(&self) {
        let expected = self.expect("flush", |call| matches!(call, TimedCall::Flush { .. }));
        if let Some(TimedCall::Flush { actions }) = expected {
            self.act(actions, 0);
        }
        {
            let mut state = self.state();
            state.phase += 1;
            state.issue_count = 0;
        }
        // The narrowing of a search for the peak has one load for all of its phases.
        self.before_phase();
    }
}

impl QuerySampleLibrary for Replay<'_> {
    fn name(&self) -> &str {
        "PyQSL"
    }

    fn total_sample_count(&self) -> u64 {
        self.case.total_count
    }

    fn performance_sample_count(&self) -> u64 {
        self.case.performance_count
    }

    fn load(&self, samples: &[SampleIndex]) -> Result<(), LibraryError> {
        let loaded: Vec<_> = samples.iter().map(|index| index.0).collect();
        self.expect(
            &format!("load {}", list(&loaded)),
            |call| matches!(call, TimedCall::Load { indices } if *indices == loaded),
        );
        self.before_phase();
        Ok(())
    }

    fn unload(&self, samples: &[SampleIndex]) -> Result<(), LibraryError> {
        let unloaded: Vec<_> = samples.iter().map(|index| index.0).collect();
        self.expect(
            &format!("unload {}", list(&unloaded)),
            |call| matches!(call, TimedCall::Unload { indices } if *indices == unloaded),
        );
        Ok(())
    }
}

fn describe(call: &TimedCall) -> String {
    match call {
        TimedCall::Load { indices } => format!("load {}", list(indices)),
        TimedCall::Issue { indices, .. } => format!("issue {}", list(indices)),
        TimedCall::Flush { .. } => "flush".to_owned(),
        TimedCall::Unload { indices } => format!("unload {}", list(indices)),
    }
}

/// The first few numbers, and how many there are.
fn list(numbers: &[u64]) -> String {
    format!("{:?} ({} samples)", &numbers[..numbers.len().min(20)], numbers.len())
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits = hexadecimal.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.map(|pair| byte(pair).expect("the driver writes two digits a byte")).collect()
}

//! The calls that LoadGen made, and when: the driver's notes, joined with the trace.

use std::collections::HashSet;

use crate::differential::{
    official::{Action, ActionKind, Call},
    trace::{Times, Trace},
};

/// A test as it took place. Instants are in ns from the origin of the trace.
#[derive(Debug)]
pub struct Timeline {
    pub calls: Vec<TimedCall>,
    pub phases: Vec<TimedPhase>,
    /// Times of each issued sample, in the order of issue. The time of completion is the first one.
    pub samples: Vec<Times>,
}

#[derive(Debug)]
pub enum TimedCall {
    Load { indices: Vec<u64> },
    Issue { first_sample: usize, indices: Vec<u64>, actions: Vec<TimedAction> },
    Flush { actions: Vec<TimedAction> },
    Unload { indices: Vec<u64> },
}

#[derive(Debug)]
pub struct TimedAction {
    pub at_ns: u64,
    pub action: Action,
}

#[derive(Debug)]
pub struct TimedPhase {
    /// The start of issuing was not before the first and not after the second.
    pub start_ns: (u64, u64),
    /// The instant of each issue call.
    pub issues_ns: Vec<u64>,
    /// Instant at which all samples of the last issue call were complete.
    pub done_ns: u64,
    /// Samples that were issued in this phase.
    pub samples: std::ops::Range<usize>,
    /// Number of output tokens of the completed samples.
    pub token_count: u64,
}

impl Timeline {
    pub fn new(calls: Vec<Call>, mut trace: Trace) -> Result<Self, String> {
        let mut indices = Vec::new();
        let mut samples = Vec::new();
        let mut timed = Vec::new();
        for call in calls {
            let mut with_times = |actions: Vec<Action>, indices: &[u64]| {
                let timed = actions.into_iter().map(|action| at(action, &mut trace, indices, &mut samples));
                timed.collect::<Result<Vec<_>, _>>()
            };
            timed.push(match call {
                Call::Load { indices } => TimedCall::Load { indices },
                Call::Unload { indices } => TimedCall::Unload { indices },
                Call::Issue { indices: issued, actions } => {
                    let first_sample = indices.len();
                    indices.extend_from_slice(&issued);
                    let actions = with_times(actions, &indices)?;
                    TimedCall::Issue { first_sample, indices: issued, actions }
                }
                Call::Flush { actions } => TimedCall::Flush { actions: with_times(actions, &indices)? },
            });
        }
        if !trace.samples.is_empty() || !trace.first_tokens.is_empty() {
            return Err(format!("the trace has more completions than there were: {:?}", trace.samples));
        }
        let samples: Option<Vec<_>> = samples.into_iter().collect();
        let samples = samples.filter(|samples| samples.len() == indices.len());
        let samples = samples.ok_or("the trace lacks a sample")?;
        let phases = phases(&timed, &samples, &trace)?;
        Ok(Self { calls: timed, phases, samples })
    }
}

impl Timeline {
    /// Leaves out all calls behind the flush of a phase, counted from 0.
    pub fn end_with(&mut self, phase: usize) {
        let flushes =
            self.calls.iter().enumerate().filter(|(_, call)| matches!(call, TimedCall::Flush { .. }));
        let flush = flushes.map(|(number, _)| number).nth(phase);
        self.calls.truncate(flush.map_or(self.calls.len(), |flush| flush + 1));
    }
}

/// Takes the times of an action from the trace. Both have the same order.
fn at(
    action: Action,
    trace: &mut Trace,
    indices: &[u64],
    samples: &mut Vec<Option<Times>>,
) -> Result<TimedAction, String> {
    samples.resize(indices.len(), None);
    let mut at_ns = 0;
    for response in &action.responses {
        let ordinal = usize::try_from(response.0).expect("counted in memory");
        at_ns = match action.kind {
            ActionKind::FirstToken => {
                trace.first_tokens.pop_front().ok_or("the trace lacks a first token")?
            }
            ActionKind::Complete => {
                let times = trace.samples.pop_front().ok_or("the trace lacks a completion")?;
                if times.index != indices[ordinal] {
                    return Err(format!(
                        "sample {ordinal} was {}, says the trace: {times:?}",
                        indices[ordinal]
                    ));
                }
                samples[ordinal].get_or_insert(times);
                times.completed_ns
            }
        };
    }
    Ok(TimedAction { at_ns, action })
}

fn phases(calls: &[TimedCall], samples: &[Times], trace: &Trace) -> Result<Vec<TimedPhase>, String> {
    let mut phases = Vec::new();
    let mut issues_ns = Vec::new();
    let mut sample_count = 0;
    let mut first_sample = 0;
    let mut token_count = 0;
    let mut counted = HashSet::new();
    for call in calls {
        match call {
            TimedCall::Issue { first_sample, indices, actions } => {
                token_count += tokens(actions, &mut counted);
                issues_ns.push(samples[*first_sample].issued_ns);
                sample_count += indices.len();
            }
            TimedCall::Flush { actions } => {
                token_count += tokens(actions, &mut counted);
                let generated_ns = trace.generated_ns.get(phases.len());
                let generated_ns = *generated_ns.ok_or("the trace lacks a generation of queries")?;
                let loops_ns = trace.loops_ns.iter().filter(|at_ns| **at_ns >= generated_ns);
                let first_loop_ns = *loops_ns.min().ok_or("the trace lacks the issue loop")?;
                let last_ns = issues_ns.last().copied();
                let last = samples[first_sample..sample_count].iter();
                let last = last.filter(|times| Some(times.issued_ns) == last_ns);
                phases.push(TimedPhase {
                    start_ns: (generated_ns, first_loop_ns),
                    done_ns: last.map(|times| times.completed_ns).max().unwrap_or(0),
                    issues_ns: std::mem::take(&mut issues_ns),
                    samples: first_sample..sample_count,
                    token_count: std::mem::take(&mut token_count),
                });
                first_sample = sample_count;
            }
            TimedCall::Load { .. } | TimedCall::Unload { .. } => {}
        }
    }
    Ok(phases)
}

/// Returns the output tokens of first completions; a single one counts as none.
fn tokens(actions: &[TimedAction], counted: &mut HashSet<u64>) -> u64 {
    let completions = actions.iter().filter(|timed| timed.action.kind == ActionKind::Complete);
    let responses = completions.flat_map(|timed| &timed.action.responses);
    let counts =
        responses.filter(|response| counted.insert(response.0)).map(|response| u64::from(response.2));
    counts.filter(|count| *count > 1).sum()
}

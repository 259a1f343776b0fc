//! The issuing of a phase: by the thread that runs the test or, in Server, by several that share the queries.
//!
//! In LoadGen the system under test brings the threads and registers them. Here the load generator owns them: the
//! thread that runs the test is the first issuer, the others are started for the phase and end with it. All of them
//! call [`SystemUnderTest::issue`](crate::SystemUnderTest::issue), each for the queries of its [`Share`].
//!
//! Virtual time passes on one thread. There the shares are issued in turn, always the query that comes first, so that
//! a run repeats exactly.

use std::{
    panic::resume_unwind,
    sync::mpsc::{self, Receiver},
    thread,
};

use crate::{
    error::LoadGenError,
    issue::{
        call_trace::IssueSpan,
        delay::IssueDelay,
        end::IssueEnd,
        issue_loop::{IssueContext, Issued, PreparedLoop},
        issued_query::IssuedQuery,
        issuer_record::IssuerRecord,
        wrong_samples::WrongSamples,
    },
    plan::{accuracy_sampling::AccuracySampler, query_generator::QueryGenerator},
    record::{histogram::Histogram, share::Share},
    time::{clock::Clock, sync::set_thread_number, timer_slack::ExactTimers, wake::Wake},
};

/// Prefix of the names of issuing threads other than the one that runs the test; their number follows.
pub const OTHER_ISSUERS: &str = "issuer-";

/// Time before the start at which several issuers learn of it, so that all of them are awake in time.
const HEAD_START_NS: u64 = 1_000_000;

/// The account of all issuers of a phase together.
#[derive(Debug)]
pub(crate) struct PhaseIssue {
    pub end: IssueEnd,
    pub query_count: u64,
    pub delay: IssueDelay,
    /// The issued query with the highest number, if any.
    pub last: Option<IssuedQuery>,
    /// The calls that were kept for the trace, in the order of their first samples.
    pub spans: Vec<IssueSpan>,
    /// Number of samples that took their variate, issued or not.
    pub drawn_sample_count: u64,
    /// The sampler after those samples.
    pub sampler: AccuracySampler,
    /// The generator after the last drawn query.
    pub queries: QueryGenerator,
    pub issuers: Vec<IssuerRecord>,
    /// Samples that an engine issued against the order of the settings.
    pub wrong_samples: Option<WrongSamples>,
}

/// Issues a whole phase.
///
/// # Errors
/// If there are not as many threads to be had as the settings want.
pub(crate) fn issue_phase<C: Clock>(context: &IssueContext<'_, C>) -> Result<PhaseIssue, LoadGenError> {
    let clock = context.stall_guard.clock;
    let issuer_count = context.settings.issuer_count;
    let issued = if issuer_count > 1 && !clock.is_virtual() {
        side_by_side(context)?
    } else {
        let mut loops: Vec<_> =
            Share::all(issuer_count).map(|share| PreparedLoop::new(context, share)).collect();
        let start_ns = clock.now_ns();
        context.phase.start(start_ns);
        match loops.pop() {
            Some(only) if loops.is_empty() => vec![only.run(start_ns)],
            last => {
                loops.extend(last);
                PreparedLoop::run_in_turn(loops, start_ns)
            }
        }
    };
    Ok(merge(issued))
}

/// Issues each share on its own thread, the first on this one.
fn side_by_side<C: Clock>(context: &IssueContext<'_, C>) -> Result<Vec<Issued>, LoadGenError> {
    let wake = context.stall_guard.wake;
    thread::scope(|scope| {
        let (tell_ready, ready) = mpsc::channel();
        let mut starts = Vec::new();
        let mut others = Vec::new();
        for share in Share::all(context.settings.issuer_count).skip(1) {
            let (tell_start, start) = mpsc::channel();
            starts.push(tell_start);
            let tell_ready = tell_ready.clone();
            let run = move || {
                set_thread_number(share.index);
                let issue_loop = PreparedLoop::new(context, share);
                // The receiver has gone if another thread could not be started.
                let _ = tell_ready.send(());
                drop(tell_ready);
                run_other(issue_loop, wake, &start)
            };
            let thread = thread::Builder::new().name(format!("{OTHER_ISSUERS}{}", share.index));
            // On an error the threads before this one get no start, and end.
            let started = thread.spawn_scoped(scope, run);
            others.push(started.map_err(|error| LoadGenError::IssueThread { index: share.index, error })?);
        }
        drop(tell_ready);
        let first = PreparedLoop::new(
            context,
            Share::all(context.settings.issuer_count).next().unwrap_or(Share::WHOLE),
        );
        others.iter().for_each(|_| {
            // An error means that one of them panicked, which joining it below passes on.
            let _ = ready.recv();
        });
        let start_ns = context.stall_guard.clock.now_ns() + HEAD_START_NS;
        context.phase.start(start_ns);
        for tell_start in starts {
            let _ = tell_start.send(start_ns);
        }
        let first = {
            let _on_panic = StopOnPanic(wake);
            let _enlisted = wake.enlist();
            set_thread_number(0);
            first.run(start_ns)
        };
        let others =
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        Ok([first].into_iter().chain(others.flatten()).collect())
    })
}

/// Runs an additional issuing thread: waits for the start, and issues. `None` if there is no start.
fn run_other<C: Clock>(
    issue_loop: PreparedLoop<'_, C>,
    wake: &Wake,
    start: &Receiver<u64>,
) -> Option<Issued> {
    let _exact_timers = ExactTimers::set();
    let _on_panic = StopOnPanic(wake);
    let _enlisted = wake.enlist();
    let start_ns = start.recv().ok()?;
    Some(issue_loop.run(start_ns))
}

/// Stops all issuers after a panic of one, which is passed on only when all of them have ended.
struct StopOnPanic<'a>(&'a Wake);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

/// Merges the accounts of all issuers, at least one.
fn merge(issued: Vec<Issued>) -> PhaseIssue {
    let issuers: Vec<_> = issued.iter().map(|it| it.record).collect();
    let last = issued.iter().filter_map(|it| it.last).max_by_key(|last| last.first_sequence);
    let mut delay = Histogram::default();
    let mut spans = Vec::new();
    let mut furthest: Option<(u64, AccuracySampler, QueryGenerator)> = None;
    for Issued { delay: more, trace, drawn_sample_count, sampler, queries, .. } in issued {
        delay.merge(&more);
        spans.extend(trace.into_spans());
        if furthest.as_ref().is_none_or(|(most, ..)| drawn_sample_count > *most) {
            furthest = Some((drawn_sample_count, sampler, queries));
        }
    }
    spans.sort_unstable();
    let (drawn_sample_count, sampler, queries) = furthest.expect("a phase has an issuer");
    PhaseIssue {
        end: end_of_all(&issuers),
        query_count: issuers.iter().map(|issuer| issuer.query_count).sum(),
        delay: (&delay).into(),
        last,
        spans,
        drawn_sample_count,
        sampler,
        queries,
        issuers,
        wrong_samples: None,
    }
}

/// Returns the common end of all issuers. An end from outside takes precedence over too many outstanding queries, these
/// over any other early end, and an early end over a complete one; of several, the first in time counts.
fn end_of_all(issuers: &[IssuerRecord]) -> IssueEnd {
    let rank = |end| match end {
        IssueEnd::Stopped | IssueEnd::Stalled => 0,
        IssueEnd::TooManyOutstanding { .. } => 1,
        end if end.is_error() => 2,
        _ => 3,
    };
    let first = issuers.iter().min_by_key(|issuer| (rank(issuer.end), issuer.last_issued_ns));
    first.expect("a phase has an issuer").end
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_all_is_the_one_that_tells_most() {
        let ended = |last_issued_ns, end| IssuerRecord { thread_id: 0, query_count: 1, end, last_issued_ns };
        let duration = |duration_ns| IssueEnd::MaxDuration { duration_ns };
        let outstanding = IssueEnd::TooManyOutstanding { issued_count: 9, outstanding_count: 8 };
        let issuers = [
            ended(1, IssueEnd::AllIssued),
            ended(7, duration(7)),
            ended(5, duration(5)),
            ended(9, outstanding),
            ended(3, IssueEnd::Stopped),
        ];
        assert_eq!(end_of_all(&issuers[..1]), IssueEnd::AllIssued);
        assert_eq!(end_of_all(&issuers[..3]), duration(5));
        assert_eq!(end_of_all(&issuers[..4]), outstanding);
        assert_eq!(end_of_all(&issuers), IssueEnd::Stopped);
    }
}

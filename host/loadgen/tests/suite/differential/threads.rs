//! Several issuing threads, which run in real time on both sides: which queries each one issues, and which it merges.
//!
//! Two runs have other instants, so they are not compared with each other: both have to issue the same samples at the
//! same scheduled offsets, in those calls that the rule asks for at the instants that they had.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use proctor_loadgen::{
    EffectiveSettings, LibraryError, LoadGen, LoadGenOptions, QueryGenerator, QuerySampleLibrary, RealClock,
    SystemUnderTest, TestSettings, log::LogIdentity, phases,
};
use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, SampleIndex, SampleStatus};

use crate::{
    differential::{
        case::Case,
        official::{Call, text},
        trace::{Times, Trace},
    },
    log_files::write_logs,
};

const TRACE: &str = "mlperf_log_trace.json";

/// Checks the official run, whose logs are in `folder`, and one of ours by the same rule.
pub fn compare(case: &Case, calls: &[Call], request: &TestSettings, folder: &Path) -> Result<(), String> {
    let effective = EffectiveSettings::new(request, case.performance_count, case.total_count);
    let (effective, _) = effective.map_err(|error| error.to_string())?;
    let issued = calls.iter().filter_map(|call| match call {
        Call::Issue { indices, .. } => Some(indices.clone()),
        _ => None,
    });
    check(&effective, issued.collect(), &text(folder, TRACE)?)
        .map_err(|error| format!("official: {error}"))?;
    let (issued, trace) = run_ours(case, request, folder)?;
    check(&effective, issued, &trace).map_err(|error| format!("ours: {error}"))
}

/// Checks the issue calls, each with the samples that it had, against the trace of the run.
fn check(effective: &EffectiveSettings, mut issued: Vec<Vec<u64>>, trace: &str) -> Result<(), String> {
    let mut samples: Vec<Times> = Trace::parse(trace)?.samples.into();
    samples.sort_by_key(|times| times.sequence);
    let plan = phases(effective).swap_remove(0);
    let mut queries = QueryGenerator::new(effective, &plan);
    let start_ns = samples.first().ok_or("no sample was issued")?.scheduled_ns;
    for (number, times) in (0..).zip(&samples) {
        let offset_ns = queries.next_query().map(|query| query.offset_ns);
        if (times.sequence, Some(times.scheduled_ns - start_ns)) != (number, offset_ns) {
            return Err(format!("query {number} at {offset_ns:?} ns was {times:?}"));
        }
    }
    if queries.next_query().is_some() {
        return Err(format!("only {} queries were issued", samples.len()));
    }
    let mut expected = Vec::new();
    for thread in 0..effective.issuer_count {
        let own: Vec<_> =
            samples.iter().filter(|it| it.sequence % effective.issuer_count == thread).collect();
        expected.extend(calls_of(&own, effective.request.server_coalesce_queries)?);
    }
    issued.sort_unstable();
    expected.sort_unstable();
    if issued == expected { Ok(()) } else { Err(format!("calls {issued:?}, expected {expected:?}")) }
}

/// The calls of one thread: a query, and, if overdue queries are merged, the following ones that were scheduled when
/// it was issued. A merged query has the instant of its call.
fn calls_of(own: &[&Times], merges: bool) -> Result<Vec<Vec<u64>>, String> {
    let mut calls = Vec::new();
    let mut rest = own;
    while let Some((first, _)) = rest.split_first() {
        let is_merged = |times: &&&Times| merges && times.scheduled_ns <= first.issued_ns;
        let count = 1 + rest[1..].iter().take_while(is_merged).count();
        let (call, later) = rest.split_at(count);
        if let Some(times) = call.iter().find(|times| times.issued_ns != first.issued_ns) {
            return Err(format!("{times:?} was to be merged into the call of {first:?}"));
        }
        if let Some(times) = later.first().filter(|times| times.issued_ns < first.issued_ns) {
            return Err(format!("{times:?} was issued before {first:?}"));
        }
        calls.push(call.iter().map(|times| times.index).collect());
        rest = later;
    }
    Ok(calls)
}

/// Runs the case with our load generator on the real clock. Returns its issue calls and its trace.
fn run_ours(case: &Case, request: &TestSettings, folder: &Path) -> Result<(Vec<Vec<u64>>, String), String> {
    let loadgen = LoadGen::new(request.clone(), Arc::new(RealClock::default()), LoadGenOptions::default());
    let busy = Busy { case, sink: loadgen.sink(), calls: Mutex::default() };
    let outcome = loadgen.run(&busy, &busy).map_err(|error| format!("ours does not run: {error}"))?;
    let ours = folder.join("ours");
    fs::create_dir(&ours).map_err(|error| error.to_string())?;
    write_logs(&outcome, &ours, &LogIdentity::default()).map_err(|error| error.to_string())?;
    let calls = busy.calls.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((calls, text(&ours, TRACE)?))
}

/// A system that is busy in each call, one call at a time, as the driver's is.
struct Busy<'a> {
    case: &'a Case,
    sink: Arc<dyn CompletionSink>,
    calls: Mutex<Vec<Vec<u64>>>,
}

impl SystemUnderTest for Busy<'_> {
    fn name(&self) -> &str {
        "busy"
    }

    fn issue(&self, samples: &[QuerySample]) {
        let mut calls = self.calls.lock().expect("no holder of this lock can panic");
        let busy_us = &self.case.script.busy_us;
        let end = Instant::now() + Duration::from_micros(busy_us[calls.len() % busy_us.len()]);
        calls.push(samples.iter().map(|sample| sample.index.0).collect());
        while Instant::now() < end {
            std::hint::spin_loop();
        }
        for sample in samples {
            let (id, status, data) = (sample.id, SampleStatus::OK, &[0][..]);
            self.sink.complete(&[QuerySampleResponse { id, status, data, token_count: 0 }]);
        }
    }

    fn flush(&self) {}
}

impl QuerySampleLibrary for Busy<'_> {
    fn name(&self) -> &str {
        "library"
    }

    fn total_sample_count(&self) -> u64 {
        self.case.total_count
    }

    fn performance_sample_count(&self) -> u64 {
        self.case.performance_count
    }

    fn load(&self, _samples: &[SampleIndex]) -> Result<(), LibraryError> {
        Ok(())
    }

    fn unload(&self, _samples: &[SampleIndex]) -> Result<(), LibraryError> {
        Ok(())
    }
}

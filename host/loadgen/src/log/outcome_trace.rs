//! Turns the samples and the kept issue calls of a test into its trace.

use crate::verdict::outcome::TestOutcome;
use std::{
    collections::{BTreeMap, BinaryHeap},
    io::{self, Write},
};

use proctor_loadgen_settings::EffectiveSettings;
use proctor_vocabulary::Scenario;

use crate::{
    issue::call_trace::IssueSpan,
    log::{
        detail::LogIdentity,
        trace::{TraceSample, TraceWriter},
    },
    measure::phase_outcome::{PhaseOutcome, PhaseTrace},
    plan::library_indices::library_indices,
    record::slots::SampleRecord,
};

/// Maximum number of samples of issue calls that are shown in all, except for one of each call: a query may
/// have millions.
const MAX_OF_CALLS: usize = 2048;
/// Maximum number of samples with the longest latencies that are shown.
const MAX_SLOWEST: usize = 1024;
/// Maximum number of further samples that are shown, evenly from first to last.
const MAX_EVEN: u64 = 1024;

impl TestOutcome {
    /// Writes `mlperf_log_trace.json`, and nothing if the test was not traced.
    ///
    /// Of each phase it shows kept issue calls (see [`LoadGenOptions::enable_trace`](crate::LoadGenOptions)) with their
    /// samples, the slowest samples, and an even selection of the others: in short runs all.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write_trace(&self, identity: &LogIdentity, out: impl Write) -> io::Result<()> {
        let mut out = out;
        if self.phases.iter().all(|phase| phase.trace.is_none()) {
            return out.flush();
        }
        let mut writer = TraceWriter::new(out, identity)?;
        for phase in &self.phases {
            if let Some(trace) = &phase.trace {
                write_phase(phase, trace, &self.effective, &mut writer)?;
            }
        }
        writer.finish().map(|_| ())
    }
}

fn write_phase<W: Write>(
    phase: &PhaseOutcome,
    trace: &PhaseTrace,
    settings: &EffectiveSettings,
    out: &mut TraceWriter<W>,
) -> io::Result<()> {
    let chosen = choose(phase, trace);
    let indices = library_indices(trace.queries.clone(), chosen.keys().copied());
    let is_stream = matches!(settings.request.scenario, Scenario::SingleStream | Scenario::MultiStream)
        && phase.record.intervals.is_none();
    let samples_per_query = phase.record.generated.samples_per_query.max(1);
    let is_server = settings.request.scenario == Scenario::Server;
    let mut spans = trace.spans.iter().peekable();
    for ((sequence, issued_ns), index) in chosen.iter().zip(indices) {
        while let Some(span) = spans.next_if(|span| span.first_sequence <= *sequence) {
            write_span(phase, span, out)?;
        }
        let record = phase.phase.sample(*sequence).expect("only issued samples are chosen");
        let Some(complete_ns) = record.completed_latency_ns() else { continue };
        let issue_start_ns = match issued_ns {
            Some(issued_ns) => Some(issued_ns - record.scheduled_ns),
            // There is no schedule to be late for.
            None => is_stream.then_some(0),
        };
        let sample = TraceSample {
            id: phase.first_sample_id + sequence,
            query_id: trace.first_query_id + sequence / samples_per_query,
            index: index.0,
            scheduled_ns: phase.start_ns + record.scheduled_ns,
            issue_start_ns,
            complete_ns,
        };
        if let Some(first_token_ns) = first_token_ns(phase, *sequence, record) {
            match issue_start_ns {
                Some(delay_ns) if is_server => out.latency(
                    "Token_Latency",
                    sample.scheduled_ns,
                    delay_ns,
                    first_token_ns.saturating_sub(delay_ns),
                )?,
                _ if is_server => {}
                _ => out.sample("Token", &TraceSample { complete_ns: first_token_ns, ..sample })?,
            }
        }
        if let Some(delay_ns) = issue_start_ns.filter(|_| is_server) {
            let to_done_ns = complete_ns.saturating_sub(delay_ns);
            out.latency("Latency", sample.scheduled_ns, delay_ns, to_done_ns)?;
        }
        out.sample("Sample", &sample)?;
    }
    spans.try_for_each(|span| write_span(phase, span, out))
}

fn write_span<W: Write>(phase: &PhaseOutcome, span: &IssueSpan, out: &mut TraceWriter<W>) -> io::Result<()> {
    let start_ns = phase.start_ns + span.issued_ns;
    let args = format!("\"sample_count\":{}", span.sample_count);
    out.span("IssueQuery", start_ns, span.returned_ns - span.issued_ns, &args)
}

fn first_token_ns(phase: &PhaseOutcome, sequence: u64, record: SampleRecord) -> Option<u64> {
    phase.phase.tokens.as_ref()?.sample(sequence, record)?.first_token_latency_ns
}

/// Returns the samples to show, by sequence number, each with the instant of its issue if that is known.
fn choose(phase: &PhaseOutcome, trace: &PhaseTrace) -> BTreeMap<u64, Option<u64>> {
    let spans = &trace.spans;
    let mut chosen = BTreeMap::new();
    let stride = phase.record.issued_sample_count.div_ceil(MAX_EVEN).max(1);
    for (sequence, _) in phase.phase.numbered(0).step_by(usize::try_from(stride).unwrap_or(usize::MAX)) {
        chosen.insert(sequence, None);
    }
    for sequence in slowest(phase) {
        chosen.insert(sequence, None);
    }
    let most_of_call = MAX_OF_CALLS.checked_div(spans.len()).unwrap_or(0).max(1) as u64;
    for span in spans {
        let of_call = |number: u64| span.first_sequence + number * trace.issuer_count;
        let shown = (0..span.sample_count.min(most_of_call)).map(of_call);
        chosen.extend(shown.map(|sequence| (sequence, Some(span.issued_ns))));
        // Others of the same call may have been chosen for another reason.
        for (sequence, issued_ns) in chosen.range_mut(span.first_sequence..of_call(span.sample_count)) {
            if (sequence - span.first_sequence).is_multiple_of(trace.issuer_count) {
                *issued_ns = Some(span.issued_ns);
            }
        }
    }
    chosen
}

/// Returns the samples with the longest latencies.
fn slowest(phase: &PhaseOutcome) -> impl Iterator<Item = u64> {
    let mut slowest = BinaryHeap::with_capacity(MAX_SLOWEST + 1);
    for (sequence, record) in phase.phase.numbered(0) {
        let Some(latency_ns) = record.completed_latency_ns() else { continue };
        // Of equal ones the first.
        let entry = std::cmp::Reverse((latency_ns, std::cmp::Reverse(sequence)));
        if slowest.len() < MAX_SLOWEST {
            slowest.push(entry);
        } else if slowest.peek().is_some_and(|fastest| entry < *fastest) {
            slowest.pop();
            slowest.push(entry);
        }
    }
    slowest.into_iter().map(|std::cmp::Reverse((_, std::cmp::Reverse(sequence)))| sequence)
}

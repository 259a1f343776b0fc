//! `mlperf_log_trace.json`: events in the form of Chrome's tracing, for `chrome://tracing` and Perfetto.

use std::io::{self, Write};

use super::detail::LogIdentity;

/// Writes a trace event by event, in LoadGen's spelling and spacing. Times are in ns from the start of the test.
///
/// LoadGen's own file is not JSON if it repeats entries of other logs, whose quotes it doubles; those entries
/// are not written here.
#[derive(Debug)]
pub(super) struct TraceWriter<W: Write> {
    out: W,
    pid: u32,
    tid: u64,
    start_unix_ms: u64,
}

impl<W: Write> TraceWriter<W> {
    /// Opens the list of events.
    pub(super) fn new(mut out: W, identity: &LogIdentity) -> io::Result<Self> {
        out.write_all(b"{\"traceEvents\":[\n")?;
        let LogIdentity { pid, tid, start_unix_ms, .. } = *identity;
        Ok(Self { out, pid, tid, start_unix_ms })
    }

    /// Writes a span of the issuing thread.
    pub(super) fn span(&mut self, name: &str, start_ns: u64, duration_ns: u64, args: &str) -> io::Result<()> {
        writeln!(
            self.out,
            "{{\"name\":\"{name}\",\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"args\":{{{args}}}}},",
            self.pid,
            self.tid,
            us(start_ns),
            us(duration_ns),
        )
    }

    /// Writes the two parts of a latency, as a counter: from the scheduled instant to the issue, from there to the end.
    pub(super) fn latency(
        &mut self,
        name: &str,
        scheduled_ns: u64,
        issue_delay_ns: u64,
        issue_to_done_ns: u64,
    ) -> io::Result<()> {
        writeln!(
            self.out,
            "{{\"name\":\"{name}\",\"ph\": \"C\",\"pid\":{},\"ts\":{},\"args\":{{ \"issue_delay\":{issue_delay_ns},\"issue_to_done\":{issue_to_done_ns}}}}},",
            self.pid,
            us(scheduled_ns),
        )
    }

    /// Writes a sample, or its first token, from its scheduled instant to its end.
    pub(super) fn sample(&mut self, name: &str, sample: &TraceSample) -> io::Result<()> {
        let TraceSample { id, query_id, index, scheduled_ns, issue_start_ns, complete_ns } = *sample;
        let issue_start = issue_start_ns.map(|ns| format!("\"issue_start_ns\":{ns},")).unwrap_or_default();
        writeln!(
            self.out,
            "{{\"name\":\"{name}\",\"cat\":\"default\",\"ph\":\"b\",\"pid\":{pid},\"id\":{id},\"ts\":{},\"args\":{{\"sample_seq\":{id},\"query_seq\":{query_id},\"sample_idx\":{index},{issue_start}\"complete_ns\":{complete_ns}}}}},\n\
             {{\"name\":\"{name}\",\"cat\":\"default\",\"ph\":\"e\", \"pid\":{pid},\"id\":{id},\"ts\":{}}},",
            us(scheduled_ns),
            us(scheduled_ns + complete_ns),
            pid = self.pid,
        )
    }

    /// Closes the file and returns the writer, flushed.
    pub(super) fn finish(mut self) -> io::Result<W> {
        write!(
            self.out,
            "{{\"name\":\"LastTrace\"}}\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{{\n\"ts\":{}.000,\n\"version\":\"MLPerf LoadGen v1.0\"\n}}\n}}\n",
            self.start_unix_ms * 1000,
        )?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// A sample as the trace shows it. Numbers count over the whole test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TraceSample {
    /// Number of the sample (`seq_id` of the accuracy log).
    pub id: u64,
    /// Number of its query.
    pub query_id: u64,
    /// Library index.
    pub index: u64,
    /// Begin of its latency, in ns from the start of the test.
    pub scheduled_ns: u64,
    /// Time from then to its issue in ns, if known.
    pub issue_start_ns: Option<u64>,
    /// Latency in ns.
    pub complete_ns: u64,
}

/// Returns the microseconds with three decimals.
fn us(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

//! `mlperf_log_trace.json`: a selection of samples, and of the calls that issued them.

use std::{
    io::{BufRead, BufReader},
    path::Path,
};

use proctor_vocabulary::{not_text, open_regular};
use serde::Deserialize;

use crate::error::ResultsError;

/// A sample of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceSample {
    /// Number of the sample in the order of issue, from 0: its place in `samples.bin`.
    pub sequence: u64,
    /// Index of the sample in the library.
    pub index: u64,
    /// Instant from which latency is measured, in ns on the clock of the trace.
    pub scheduled_ns: u64,
    /// Time from there to its issue, in ns, if known.
    pub issue_delay_ns: Option<u64>,
    /// Latency in ns.
    pub latency_ns: u64,
}

/// A call that issued samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IssueCall {
    /// Instant of the call, in ns on the clock of the trace.
    pub start_ns: u64,
    /// Length of the call in ns.
    pub length_ns: u64,
    /// Number of samples.
    pub sample_count: u64,
}

/// A trace of a test.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// Samples, in the order of the file. If logs without a result have several phases, the samples of all.
    pub samples: Vec<TraceSample>,
    /// Issue calls, in the order of the file.
    pub calls: Vec<IssueCall>,
    /// True if the file ends before its end.
    pub is_cut: bool,
}

#[derive(Deserialize)]
struct Event {
    name: String,
    ph: String,
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(default)]
    args: Args,
}

#[derive(Default, Deserialize)]
struct Args {
    sample_seq: Option<u64>,
    sample_idx: Option<u64>,
    issue_start_ns: Option<u64>,
    complete_ns: Option<u64>,
    sample_count: Option<u64>,
}

impl Trace {
    /// Reads a trace. An empty file, which a run without a trace leaves, has no samples.
    ///
    /// # Errors
    /// [`ResultsError::Read`], or [`ResultsError::Malformed`] if it is another kind of file.
    pub fn read(path: &Path) -> Result<Self, ResultsError> {
        Self::read_from(path, 0)
    }

    /// Does the same as [`read`](Self::read), starting with the phase that begins with this sample, whose
    /// number is 0 then. The phases before it come first in the file.
    pub(crate) fn read_from(path: &Path, first: u64) -> Result<Self, ResultsError> {
        let unreadable = |source| ResultsError::Read { path: path.to_owned(), source };
        let mut reader = BufReader::new(open_regular(path).map_err(unreadable)?);
        if let Some(words) = not_text(reader.fill_buf().map_err(unreadable)?) {
            let fault = format!("is no trace of LoadGen: {words}");
            return Err(ResultsError::Malformed { path: path.to_owned(), fault });
        }
        let mut trace = Self { is_cut: true, ..Self::default() };
        let (mut line, mut is_empty) = (Vec::new(), true);
        // An event is a line of the file, in LoadGen's form.
        loop {
            line.clear();
            if reader.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
                trace.is_cut &= !is_empty;
                return Ok(trace);
            }
            is_empty = false;
            let text = line.trim_ascii();
            if text.starts_with(b"]") {
                trace.is_cut = false;
            }
            if let Ok(event) = serde_json::from_slice::<Event>(text.strip_suffix(b",").unwrap_or(text)) {
                trace.add(&event, first);
            }
        }
    }

    fn add(&mut self, event: &Event, first: u64) {
        let Event { name, ph, ts, dur, args } = event;
        match (name.as_str(), ph.as_str()) {
            ("Sample", "b") => {
                let (Some(sequence), Some(index), Some(latency_ns)) =
                    (args.sample_seq, args.sample_idx, args.complete_ns)
                else {
                    return;
                };
                let Some(sequence) = sequence.checked_sub(first) else {
                    // A call comes before its samples.
                    return self.calls.clear();
                };
                let issue_delay_ns = args.issue_start_ns;
                let scheduled_ns = nanoseconds(*ts);
                self.samples.push(TraceSample { sequence, index, scheduled_ns, issue_delay_ns, latency_ns });
            }
            ("IssueQuery", "X") => self.calls.push(IssueCall {
                start_ns: nanoseconds(*ts),
                length_ns: nanoseconds(*dur),
                sample_count: args.sample_count.unwrap_or(1),
            }),
            _ => {}
        }
    }
}

/// Returns the nanoseconds of a number of microseconds with three digits behind the point.
fn nanoseconds(microseconds: f64) -> u64 {
    (microseconds * 1e3).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"traceEvents":[
{"name":"IssueQuery","ph":"X","pid":7,"tid":7,"ts":2399.411,"dur":5.218,"args":{"sample_count":2}},
{"name":"Latency","ph": "C","pid":7,"ts":2398.440,"args":{ "issue_delay":971,"issue_to_done":28613}},
{"name":"Sample","cat":"default","ph":"b","pid":7,"id":0,"ts":2398.440,"args":{"sample_seq":0,"query_seq":0,"sample_idx":237,"issue_start_ns":971,"complete_ns":29584}},
{"name":"Sample","cat":"default","ph":"e", "pid":7,"id":0,"ts":2428.024}
]}
"#;

    fn read(text: &str) -> Trace {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Trace::read(file.path()).unwrap()
    }

    #[test]
    fn samples_and_calls_are_found() {
        let trace = read(TEXT);
        let sample = TraceSample {
            sequence: 0,
            index: 237,
            scheduled_ns: 2_398_440,
            issue_delay_ns: Some(971),
            latency_ns: 29_584,
        };
        let call = IssueCall { start_ns: 2_399_411, length_ns: 5_218, sample_count: 2 };
        assert_eq!(trace, Trace { samples: vec![sample], calls: vec![call], is_cut: false });
        assert_eq!(read(""), Trace::default());
    }

    #[test]
    fn the_trace_of_a_later_phase_counts_from_its_own_first_sample() {
        let events = |sequence: u64, at: u64| {
            format!(
                "{{\"name\":\"IssueQuery\",\"ph\":\"X\",\"ts\":{at},\"dur\":0,\"args\":{{\"sample_count\":1}}}},\n\
                 {{\"name\":\"Sample\",\"ph\":\"b\",\"ts\":{at},\"args\":{{\"sample_seq\":{sequence},\"sample_idx\":5,\
                 \"complete_ns\":7}}}},\n"
            )
        };
        // The phases meet at one instant.
        let text: String =
            [(0, 10), (1, 30), (2, 30), (4, 50)].map(|(sequence, at)| events(sequence, at)).concat();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let later = |first| Trace::read_from(file.path(), first).unwrap();
        let sequences =
            |trace: &Trace| trace.samples.iter().map(|sample| sample.sequence).collect::<Vec<_>>();
        assert_eq!((sequences(&later(2)), later(2).calls.len()), (vec![0, 2], 2));
        assert_eq!(later(2).samples[0].scheduled_ns, 30_000);
        assert_eq!((sequences(&later(0)), later(0).calls.len()), (vec![0, 1, 2, 4], 4));
        assert_eq!((sequences(&later(u64::MAX)), later(u64::MAX).calls.len()), (vec![], 0));
    }

    #[test]
    fn another_kind_of_file_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"\x1f\x8b\x08").unwrap();
        let error = Trace::read(file.path()).unwrap_err().to_string();
        assert!(error.ends_with(" is no trace of LoadGen: it is packed by gzip: unpack it"), "{error}");
    }

    #[test]
    fn a_trace_that_is_cut_anywhere_is_said_to_be_and_has_what_came_before() {
        let end = TEXT.find(']').unwrap();
        for length in 1..end {
            let trace = read(&TEXT[..length]);
            assert!(trace.is_cut, "{length}");
            assert!(trace.samples.len() <= 1 && trace.calls.len() <= 1);
        }
    }
}

//! The events of a Chrome trace.

use std::io::{self, Write};

use serde_json::{Value, json};

/// The text before the events, and the one after them.
const HEAD: &str = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
pub(super) const TAIL: &str = "\n]}\n";

/// Number of the one process of a trace.
const PROCESS: u64 = 1;
/// Numbers of the tracks: the first thread has 1, the instances begin here, and further threads where no instance is.
const FIRST_INSTANCE: u64 = 10;
const FURTHER_THREADS: u64 = 1_000_000;

/// A track of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Track {
    /// Track of a thread, by a number that begins at 0.
    Thread(u32),
    /// Track of an instance of the plugin, by its number.
    Instance(u32),
}

/// Writes events, with a comma between two of them.
#[derive(Debug)]
pub(super) struct Events<W> {
    pub(super) out: W,
    is_first: bool,
}

impl<W: Write> Events<W> {
    /// Writes the text before them, and the name of the process.
    pub(super) fn begin(mut out: W, process: &str) -> io::Result<Self> {
        out.write_all(HEAD.as_bytes())?;
        let mut events = Self { out, is_first: true };
        let args = json!({"name": process});
        events.write(&json!({"ph": "M", "pid": PROCESS, "name": "process_name", "args": args}))?;
        Ok(events)
    }

    pub(super) fn write(&mut self, event: &Value) -> io::Result<()> {
        if !std::mem::replace(&mut self.is_first, false) {
            self.out.write_all(b",\n")?;
        }
        write!(self.out, "{event}")
    }

    /// Writes the text after them.
    pub(super) fn end(mut self) -> io::Result<()> {
        self.out.write_all(TAIL.as_bytes())
    }

    /// Gives a track its name.
    pub(super) fn track(&mut self, track: Track, name: &str) -> io::Result<()> {
        let (tid, args) = (track.number(), json!({"name": name}));
        self.write(&json!({"ph": "M", "pid": PROCESS, "tid": tid, "name": "thread_name", "args": args}))
    }

    /// Writes a span that is over.
    pub(super) fn span(
        &mut self,
        track: Track,
        name: &str,
        start_ns: u64,
        end_ns: u64,
        args: &Value,
    ) -> io::Result<()> {
        let (tid, ts, dur) =
            (track.number(), microseconds(start_ns), microseconds(end_ns.saturating_sub(start_ns)));
        self.write(&json!({
            "ph": "X", "pid": PROCESS, "tid": tid, "name": name, "ts": ts, "dur": dur, "args": args
        }))
    }

    /// Writes the beginning of a span, or its end. Those of a track lie within each other.
    pub(super) fn edge(
        &mut self,
        edge: Edge,
        track: Track,
        name: &str,
        at_ns: u64,
        args: &Value,
    ) -> io::Result<()> {
        let (tid, ts) = (track.number(), microseconds(at_ns));
        let phase = edge.phase();
        self.write(&json!({"ph": phase, "pid": PROCESS, "tid": tid, "name": name, "ts": ts, "args": args}))
    }

    /// Writes the beginning of one of several spans of the same kind, or its end; they may overlap.
    pub(super) fn overlapping_edge(
        &mut self,
        edge: Edge,
        (kind, id): (&str, u64),
        track: Track,
        at_ns: u64,
        args: &Value,
    ) -> io::Result<()> {
        let (tid, ts) = (track.number(), microseconds(at_ns));
        let phase = edge.phase_of_overlapping();
        self.write(&json!({
            "ph": phase, "cat": kind, "id": id, "pid": PROCESS, "tid": tid, "name": kind, "ts": ts, "args": args
        }))
    }

    pub(super) fn counter(&mut self, name: &str, at_ns: u64, value: &Value) -> io::Result<()> {
        let (ts, args) = (microseconds(at_ns), json!({"value": value}));
        self.write(&json!({"ph": "C", "pid": PROCESS, "name": name, "ts": ts, "args": args}))
    }
}

/// Either end of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    Begin,
    End,
}

impl Edge {
    fn phase(self) -> &'static str {
        match self {
            Self::Begin => "B",
            Self::End => "E",
        }
    }

    fn phase_of_overlapping(self) -> &'static str {
        match self {
            Self::Begin => "b",
            Self::End => "e",
        }
    }
}

impl Track {
    fn number(self) -> u64 {
        match self {
            Self::Thread(0) => 1,
            Self::Thread(number) => FURTHER_THREADS + u64::from(number),
            Self::Instance(number) => FIRST_INSTANCE + u64::from(number),
        }
    }
}

fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1e3
}

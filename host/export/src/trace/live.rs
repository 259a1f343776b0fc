//! A Chrome trace that is written while spans arrive.

use std::{
    fs::File,
    io::{self, Seek, SeekFrom, Write},
};

use serde_json::Value;

use super::events::{Edge, Events, TAIL, Track};

/// Reason why writing to memory cannot fail.
const MEMORY: &str = "memory takes everything";

/// A trace in a file that is whole JSON after each event, however the program ends: each time the text after the events
/// is written, too, and the next events take its place.
///
/// Spans that come one by one are written at once; finished ones wait for the next of them.
#[derive(Debug)]
pub struct LiveTrace {
    file: File,
    /// Events that are not in the file yet.
    waiting: Events<Vec<u8>>,
    /// Bytes of the file up to the text after the events.
    length: u64,
}

impl LiveTrace {
    /// Starts a trace of a process of this name in an empty file.
    ///
    /// # Errors
    /// If the file cannot be written, or does not allow seeking.
    pub fn start(file: File, process: &str) -> io::Result<Self> {
        let mut trace = Self { file, waiting: Events::begin(Vec::new(), process)?, length: 0 };
        trace.flush()?;
        Ok(trace)
    }

    /// Gives a track its name. Waits for the next span that comes.
    pub fn name_track(&mut self, track: Track, name: &str) {
        self.waiting.track(track, name).expect(MEMORY);
    }

    /// Begins a span. Those of a track lie within each other: the one that began last ends first.
    ///
    /// # Errors
    /// If the file cannot be written; it ends with the event before then.
    pub fn begin(&mut self, track: Track, name: &str, at_ns: u64, args: &Value) -> io::Result<()> {
        self.waiting.edge(Edge::Begin, track, name, at_ns, args).expect(MEMORY);
        self.flush()
    }

    /// Ends the span of the track that began last. Viewers show `args` next to the ones of its beginning.
    ///
    /// # Errors
    /// Same as [`begin`](Self::begin).
    pub fn end(&mut self, track: Track, name: &str, at_ns: u64, args: &Value) -> io::Result<()> {
        self.waiting.edge(Edge::End, track, name, at_ns, args).expect(MEMORY);
        self.flush()
    }

    /// Adds a span that is over. Waits for the next span that comes, or for [`flush`](Self::flush).
    pub fn past(&mut self, track: Track, name: &str, start_ns: u64, end_ns: u64, args: &Value) {
        self.waiting.span(track, name, start_ns, end_ns, args).expect(MEMORY);
    }

    /// Writes everything that waits.
    ///
    /// # Errors
    /// Same as [`begin`](Self::begin).
    pub fn flush(&mut self) -> io::Result<()> {
        let events = std::mem::take(&mut self.waiting.out);
        let written = self.write_at_end(&events);
        match &written {
            Ok(()) => self.length += events.len() as u64,
            // Without room for more, the file ends as it did. A failure here cannot be handled.
            Err(_) => _ = self.file.set_len(self.length).and_then(|()| self.write_at_end(&[])),
        }
        written
    }

    fn write_at_end(&mut self, events: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.length))?;
        // In one call, so that no end of the program comes in between.
        self.file.write_all(&[events, TAIL.as_bytes()].concat())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_file_is_whole_after_each_event() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        let read = || {
            let json: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            let events = json["traceEvents"].as_array().unwrap().clone();
            events.iter().map(|event| format!("{} {}", event["ph"], event["name"])).collect::<Vec<_>>()
        };
        let mut expected = vec![r#""M" "process_name""#.to_owned()];
        let mut trace = LiveTrace::start(File::create(&path).unwrap(), "host").unwrap();
        assert_eq!(read(), expected);
        let (thread, none) = (Track::Thread(0), json!({}));
        trace.name_track(thread, "main");
        trace.begin(thread, "run", 1_000, &json!({"plugin": "mo\"ck"})).unwrap();
        expected.extend([r#""M" "thread_name""#, r#""B" "run""#].map(str::to_owned));
        assert_eq!(read(), expected);
        trace.past(Track::Instance(3), "batch", 2_000, 3_500, &none);
        assert_eq!(read(), expected, "a span that is over waits");
        trace.end(thread, "run", 4_000, &none).unwrap();
        expected.extend([r#""X" "batch""#, r#""E" "run""#].map(str::to_owned));
        assert_eq!(read(), expected);
    }

    #[test]
    fn a_file_that_takes_nothing_is_noticed_at_the_start() {
        let full = File::create("/dev/full").unwrap();
        assert_eq!(LiveTrace::start(full, "host").unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}

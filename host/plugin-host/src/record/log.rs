//! The file of a recording: written line by line as the calls come, and read again.

use std::{
    cell::Cell,
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};

use parking_lot::Mutex;
use proctor_vocabulary::open_regular;

use crate::record::line::{Begun, Head, Line, RECORDING_VERSION};

/// Name of the file in the folder of a recording.
pub const RECORDING_FILE: &str = "calls.jsonl";

/// Writes a recording. Clones write the same one.
///
/// Each line is handed to the operating system at once, so a crash of the process loses none; nothing is kept in
/// memory.
#[derive(Debug, Clone)]
pub struct Recorder(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    begin: Instant,
    written: Mutex<Written>,
    thread_count: AtomicU32,
}

#[derive(Debug)]
struct Written {
    file: File,
    call_count: u64,
    /// The first error; writing stops after it.
    error: Option<io::Error>,
}

thread_local! {
    /// Number of this thread in recordings, from 1; 0 until it has one.
    static THREAD: Cell<u32> = const { Cell::new(0) };
}

impl Recorder {
    /// Begins a recording in a folder, which is made if it is missing.
    ///
    /// # Errors
    /// If there is a recording already, or the file cannot be written.
    pub fn create(folder: &Path, head: Head) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(RECORDING_FILE);
        let file = File::create_new(&path)?;
        let written = Mutex::new(Written { file, call_count: 0, error: None });
        let shared = Shared { path, begin: Instant::now(), written, thread_count: AtomicU32::new(0) };
        let recorder = Self(Arc::new(shared));
        recorder.write(&Line::Head(head));
        recorder.finish()?;
        Ok(recorder)
    }

    /// Returns the path of the recording.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Writes a line. An error is kept for [`finish`](Self::finish).
    pub fn write(&self, line: &Line) {
        put(&mut self.0.written.lock(), line);
    }

    /// Returns whether everything was written so far.
    ///
    /// # Errors
    /// Returns the first error of the file, once.
    pub fn finish(&self) -> io::Result<()> {
        self.0.written.lock().error.take().map_or(Ok(()), Err)
    }

    /// Returns the time since the recording began, in ns.
    pub(super) fn now_ns(&self) -> u64 {
        u64::try_from(self.0.begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Writes the begin of a call, which gets the next number, and returns that.
    pub(super) fn begin(&self, mut begun: Begun) -> u64 {
        begun.thread = self.thread();
        let mut written = self.0.written.lock();
        written.call_count += 1;
        begun.number = written.call_count;
        let number = begun.number;
        put(&mut written, &Line::Call(begun));
        number
    }

    /// Returns the number of the calling thread.
    pub(super) fn thread(&self) -> u32 {
        if THREAD.get() == 0 {
            THREAD.set(self.0.thread_count.fetch_add(1, Ordering::Relaxed) + 1);
        }
        THREAD.get()
    }
}

fn put(written: &mut Written, line: &Line) {
    if written.error.is_some() {
        return;
    }
    let encoded = serde_json::to_vec(line).map_err(io::Error::from);
    let done = encoded.and_then(|mut text| {
        text.push(b'\n');
        written.file.write_all(&text)
    });
    written.error = done.err();
}

/// Reads the recording in a folder. A last line that was cut off, by a crash or a full disk, is left out.
///
/// # Errors
/// Returns a sentence that names the file, and the line that cannot be read.
pub fn read_recording(folder: &Path) -> Result<Vec<Line>, String> {
    let path = folder.join(RECORDING_FILE);
    let name = path.display();
    let file = open_regular(&path).map_err(|error| format!("cannot read the recording {name}: {error}"))?;
    let mut reader = BufReader::new(file);
    let (mut lines, mut text) = (Vec::new(), Vec::new());
    let mut call_count = 0;
    loop {
        text.clear();
        let read = reader.read_until(b'\n', &mut text);
        read.map_err(|error| format!("cannot read the recording {name}: {error}"))?;
        // End of the file, or of its written part.
        if text.last() != Some(&b'\n') {
            break;
        }
        let number = lines.len() + 1;
        let line = serde_json::from_slice(&text);
        let line: Line = line.map_err(|error| format!("{name}, line {number}: {error}"))?;
        if number == 1 {
            check_head(&line).map_err(|why| format!("{name} {why}"))?;
        }
        if let Line::Call(begun) = &line {
            if begun.number != call_count + 1 {
                return Err(format!(
                    "{name}, line {number}: call {} follows call {call_count}: lines are missing or in another order; \
                     take the recording as it was written",
                    begun.number
                ));
            }
            call_count = begun.number;
        }
        lines.push(line);
    }
    if lines.is_empty() { Err(format!("{name} is no recording: it has no whole line")) } else { Ok(lines) }
}

fn check_head(line: &Line) -> Result<(), String> {
    match line {
        Line::Head(Head { recording: RECORDING_VERSION, .. }) => Ok(()),
        Line::Head(Head { recording, program, .. }) => Err(format!(
            "is a recording of version {recording}, made by {program}; this program reads {RECORDING_VERSION}"
        )),
        _ => Err("does not begin with the head of a recording".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::call::Call;

    fn head() -> Head {
        Head { recording: RECORDING_VERSION, program: "p".to_owned(), settings: BTreeMap::new() }
    }

    #[test]
    fn a_recording_without_some_of_its_calls_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let recorder = Recorder::create(folder.path(), head()).unwrap();
        for _ in 0..3 {
            recorder.begin(Begun { call: Call::Execute.into(), ..Begun::default() });
        }
        recorder.finish().unwrap();
        let whole = fs::read_to_string(recorder.path()).unwrap();
        let lines: Vec<_> = whole.split_inclusive('\n').collect();
        for (left_out, what) in [(1, "line 2: call 2 follows call 0"), (2, "line 3: call 3 follows call 1")] {
            let kept = lines.iter().enumerate().filter(|(number, _)| *number != left_out);
            let text: String = kept.map(|(_, line)| *line).collect();
            fs::write(recorder.path(), text).unwrap();
            let error = read_recording(folder.path()).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
        fs::write(recorder.path(), lines[..3].concat()).unwrap();
        assert_eq!(read_recording(folder.path()).unwrap().len(), 3);
    }

    #[test]
    fn a_recording_that_is_cut_off_anywhere_is_readable() {
        let folder = tempfile::tempdir().unwrap();
        let recorder = Recorder::create(folder.path(), head()).unwrap();
        for _ in 0..3 {
            recorder.begin(Begun { call: Call::Execute.into(), ..Begun::default() });
        }
        recorder.finish().unwrap();
        let whole = fs::read(recorder.path()).unwrap();
        assert_eq!(read_recording(folder.path()).unwrap().len(), 4);
        let first_end = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for length in first_end..whole.len() {
            fs::write(recorder.path(), &whole[..length]).unwrap();
            let lines = read_recording(folder.path()).unwrap();
            assert_eq!(lines.len(), whole[..length].iter().filter(|byte| **byte == b'\n').count());
        }
        for length in 0..first_end {
            fs::write(recorder.path(), &whole[..length]).unwrap();
            assert!(read_recording(folder.path()).unwrap_err().ends_with("it has no whole line"));
        }
        assert!(Recorder::create(folder.path(), head()).is_err(), "a recording is not written over");
    }

    #[test]
    fn what_is_no_recording_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(RECORDING_FILE);
        for (text, end) in [
            (
                "{\"line\":\"head\",\"recording\":9,\"program\":\"proctor 7\",\"settings\":{}}\n",
                "this program reads 1",
            ),
            ("{\"line\":\"host\",\"call\":\"log\"}\n", "does not begin with the head of a recording"),
            ("[1]\n", "at line 1 column"),
        ] {
            fs::write(&path, text).unwrap();
            let message = read_recording(folder.path()).unwrap_err();
            assert!(message.contains("calls.jsonl") && message.contains(end), "{message}");
        }
    }
}

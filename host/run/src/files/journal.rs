//! `samples.bin` while a test runs: what was recorded is on disk even if the process does not live to its end.
//!
//! The file has the form of the finished one, and the samples of the phase that is going on. It is rewritten from the
//! first sample that was still outstanding, so it grows at its end, and samples are filled in as they complete. When
//! the test is over the file is replaced by the whole one.

use std::{
    fs::File,
    io::{self, BufWriter, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use proctor_loadgen::{Progress, SampleRecord};

use crate::{error::HostError, files::run_folder::output, ticker::Ticker};

/// Name of the file.
pub(crate) const SAMPLES: &str = "samples.bin";

/// Shortest time between two looks.
const INTERVAL: Duration = Duration::from_millis(500);

/// Pause after a look as a multiple of its length, so that looking takes little of the time.
const PAUSE_FACTOR: u32 = 20;

/// A journal that is being kept.
pub(crate) struct Journal(Ticker);

impl Journal {
    /// Starts to keep the journal of a test in a folder.
    ///
    /// # Errors
    /// If the file or the thread cannot be made.
    pub(crate) fn start(folder: &Path, progress: Progress) -> Result<Self, HostError> {
        let path = folder.join(SAMPLES);
        let mut writer = Writer::create(&path).map_err(|source| output(&path, source))?;
        let mut broken = false;
        let look = move |_| {
            let start = Instant::now();
            if !broken && let Err(error) = writer.catch_up(&progress) {
                // The run goes on. If there is no room at its end either, that is where the error is.
                tracing::error!(%error, file = %writer.path.display(), "cannot write the samples during the run");
                broken = true;
            }
            INTERVAL.max(start.elapsed() * PAUSE_FACTOR)
        };
        Ticker::start("journal", INTERVAL, look).map(Self).map_err(|source| output(folder, source))
    }

    /// Brings it up to date and ends it.
    pub(crate) fn stop(self) {
        self.0.stop();
    }
}

struct Writer {
    path: PathBuf,
    file: File,
    phase_number: u64,
    /// Samples of the phase up to the first outstanding one.
    settled_count: u64,
    samples: Vec<SampleRecord>,
}

impl Writer {
    fn create(path: &Path) -> io::Result<Self> {
        let file = File::create(path)?;
        Ok(Self { path: path.to_owned(), file, phase_number: 0, settled_count: 0, samples: Vec::new() })
    }

    fn catch_up(&mut self, progress: &Progress) -> io::Result<()> {
        let Some(phase) = progress.current() else { return Ok(()) };
        self.samples.clear();
        if phase.phase_number != self.phase_number {
            self.file.set_len(0)?;
            (self.phase_number, self.settled_count) = (phase.phase_number, 0);
        }
        progress.read_samples(self.settled_count, &mut self.samples);
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.settled_count * 16))?;
        let mut out = BufWriter::new(&mut self.file);
        self.samples.iter().try_for_each(|sample| out.write_all(&sample.to_bytes()))?;
        out.flush()?;
        drop(out);
        let is_settled = |sample: &&SampleRecord| sample.latency_ns != SampleRecord::NOT_COMPLETED;
        self.settled_count += self.samples.iter().take_while(is_settled).count() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outstanding_samples_are_filled_in_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(SAMPLES);
        let mut writer = Writer::create(&path).unwrap();
        let sample = |scheduled_ns, latency_ns| SampleRecord { scheduled_ns, latency_ns };
        let outstanding = SampleRecord::NOT_COMPLETED;

        writer.samples = vec![sample(0, 5), sample(1, outstanding), sample(2, 6)];
        writer.write().unwrap();
        assert_eq!(writer.settled_count, 1);
        writer.samples = vec![sample(1, 9), sample(2, 6), sample(3, outstanding)];
        writer.write().unwrap();
        assert_eq!(writer.settled_count, 3);

        let expected = [sample(0, 5), sample(1, 9), sample(2, 6), sample(3, outstanding)];
        assert_eq!(std::fs::read(&path).unwrap(), expected.map(SampleRecord::to_bytes).concat());
    }
}

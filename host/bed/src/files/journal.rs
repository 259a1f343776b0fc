//! Writes `samples.bin` while a test runs: records are on disk even if the process ends early.
//!
//! The file has the form of the finished one, and the samples of the phase that is continuing. It grows at its end, and
//! samples are filled in as they complete. When the test is over the file is replaced by the whole one. A test of
//! accuracy and performance in one has the samples of its performance phase alone, here as there.
//!
//! Each look visits blocks whose samples were not all complete when they were written, and writes the ones that have
//! changed. It continues where the previous look ended and reads a few blocks at most, because it takes time from the
//! measured system: one round over an Offline query of a hundred million samples takes many looks.

use std::{
    fs::File,
    io::{self, Seek, SeekFrom, Write},
    ops::Range,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use proctor_loadgen::{PhaseMode, Progress, SampleRecord};
use proctor_results::file_names::SAMPLES;
use proctor_words::{HostError, Ticker, output};

/// Shortest time between two looks.
const INTERVAL: Duration = Duration::from_millis(500);

/// Number of samples in a block, which is written at once: 64 KiB.
const BLOCK_LEN: u64 = 4096;

/// Maximum number of blocks that a look reads while the test runs: a million samples, some milliseconds.
const BLOCKS_PER_LOOK: usize = 256;

/// Pause after a look as a multiple of its length, so that looking takes little of the time.
const PAUSE_FACTOR: u32 = 20;

/// A journal that is being kept.
pub(crate) struct Journal(Ticker);

impl Journal {
    /// Starts to keep the journal of a test in a folder, of its phases of this mode.
    ///
    /// # Errors
    /// If the file or the thread cannot be made.
    pub(crate) fn start(folder: &Path, progress: Progress, mode: PhaseMode) -> Result<Self, HostError> {
        let path = folder.join(SAMPLES);
        let mut writer = Writer::create(&path, mode).map_err(|source| output(&path, source))?;
        let mut broken = false;
        let look = move |is_last| {
            let start = Instant::now();
            let most = if is_last { usize::MAX } else { BLOCKS_PER_LOOK };
            if !broken && let Err(error) = writer.catch_up(&progress, most) {
                // The run goes on. If there is no room at its end either, the error is reported there.
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
    /// The phases in the file.
    mode: PhaseMode,
    phase_number: u64,
    /// The blocks of the phase that are in the file.
    blocks: Vec<Block>,
    /// The first block of the next check.
    next_block: usize,
    /// Room for the samples of one block, and for their bytes.
    samples: Vec<SampleRecord>,
    bytes: Vec<u8>,
}

/// Samples of a block as last written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Block {
    count: u16,
    settled_count: u16,
}

impl Block {
    /// Will never change again.
    const SETTLED: Self = Self { count: BLOCK_LEN as u16, settled_count: BLOCK_LEN as u16 };

    fn of(samples: &[SampleRecord]) -> Self {
        let settled = samples.iter().filter(|sample| sample.latency_ns != SampleRecord::NOT_COMPLETED);
        Self { count: samples.len() as u16, settled_count: settled.count() as u16 }
    }
}

impl Writer {
    fn create(path: &Path, mode: PhaseMode) -> io::Result<Self> {
        let file = File::create(path)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            mode,
            phase_number: 0,
            blocks: Vec::new(),
            next_block: 0,
            samples: Vec::new(),
            bytes: Vec::new(),
        })
    }

    /// Brings the file up to date with at most `most` blocks of the phase.
    fn catch_up(&mut self, progress: &Progress, most: usize) -> io::Result<()> {
        let Some(phase) = progress.current().filter(|phase| phase.mode == self.mode) else { return Ok(()) };
        if phase.phase_number != self.phase_number {
            self.file.set_len(0)?;
            self.blocks.clear();
            (self.phase_number, self.next_block) = (phase.phase_number, 0);
        }
        self.go_round(most, |range, samples| progress.read_samples(range, samples))
    }

    /// Checks each unsettled block once, or at most `most` of them. They come in their order, and the first after the
    /// last, so the file has no gap.
    fn go_round(&mut self, most: usize, read: impl Fn(Range<u64>, &mut Vec<SampleRecord>)) -> io::Result<()> {
        let first = self.next_block;
        let mut is_second_half = first == 0;
        for _ in 0..most {
            let settled = self.blocks[self.next_block..].iter().take_while(|block| **block == Block::SETTLED);
            self.next_block += settled.count();
            if is_second_half && first > 0 && self.next_block >= first {
                return Ok(());
            }
            let is_last = self.update(&read)?;
            self.next_block = if is_last { 0 } else { self.next_block + 1 };
            if is_last && is_second_half {
                return Ok(());
            }
            is_second_half |= is_last;
        }
        Ok(())
    }

    /// Writes the next block if it has changed, and returns whether it is the last.
    fn update(&mut self, read: impl Fn(Range<u64>, &mut Vec<SampleRecord>)) -> io::Result<bool> {
        let start = self.next_block as u64 * BLOCK_LEN;
        self.samples.clear();
        read(start..start + BLOCK_LEN, &mut self.samples);
        let block = Block::of(&self.samples);
        if self.blocks.get(self.next_block).is_none_or(|written| *written != block) {
            self.bytes.clear();
            self.samples.iter().for_each(|sample| self.bytes.extend(sample.to_bytes()));
            self.file.seek(SeekFrom::Start(start * 16))?;
            self.file.write_all(&self.bytes)?;
            match self.blocks.get_mut(self.next_block) {
                Some(written) => *written = block,
                None => self.blocks.push(block),
            }
        }
        Ok(self.samples.len() < BLOCK_LEN as usize)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const OUTSTANDING: u64 = SampleRecord::NOT_COMPLETED;

    /// A journal of samples that the test changes.
    struct Fixture {
        _folder: tempfile::TempDir,
        writer: Writer,
        samples: Vec<SampleRecord>,
        read_count: Cell<usize>,
    }

    impl Fixture {
        fn new(latencies_ns: impl IntoIterator<Item = u64>) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let writer = Writer::create(&folder.path().join(SAMPLES), PhaseMode::Performance).unwrap();
            let mut fixture = Self { _folder: folder, writer, samples: Vec::new(), read_count: Cell::new(0) };
            fixture.issue(latencies_ns);
            fixture
        }

        fn issue(&mut self, latencies_ns: impl IntoIterator<Item = u64>) {
            let samples = (self.samples.len() as u64..).zip(latencies_ns);
            let samples = samples.map(|(scheduled_ns, latency_ns)| SampleRecord { scheduled_ns, latency_ns });
            self.samples.extend(samples.collect::<Vec<_>>());
        }

        /// Looks once, and returns how many samples it has read.
        fn look(&mut self, most: usize) -> usize {
            self.read_count.set(0);
            let read = |range: Range<u64>, into: &mut Vec<SampleRecord>| {
                let samples = self.samples.iter().skip(range.start as usize).take(BLOCK_LEN as usize);
                into.extend(samples);
                self.read_count.update(|count| count + into.len());
            };
            self.writer.go_round(most, read).unwrap();
            self.read_count.get()
        }

        fn written(&self) -> Vec<SampleRecord> {
            let bytes = std::fs::read(&self.writer.path).unwrap();
            let (samples, rest) = bytes.as_chunks();
            assert!(rest.is_empty(), "the file ends within a sample");
            samples.iter().map(|sample| SampleRecord::from_bytes(*sample)).collect()
        }
    }

    #[test]
    fn outstanding_samples_are_filled_in_later() {
        let mut journal = Fixture::new([5, OUTSTANDING, 6]);
        journal.look(9);
        assert_eq!(journal.written(), journal.samples);
        journal.samples[1].latency_ns = 9;
        journal.issue([OUTSTANDING]);
        journal.look(9);
        assert_eq!(journal.written(), journal.samples);
    }

    #[test]
    fn a_sample_that_is_never_completed_costs_a_look_at_its_block() {
        let len = BLOCK_LEN as usize;
        let mut journal = Fixture::new([OUTSTANDING].into_iter().chain(vec![1; 50 * len + 9]));
        journal.look(usize::MAX);
        assert_eq!(journal.written(), journal.samples);
        journal.issue(vec![2; len]);
        assert_eq!(journal.look(usize::MAX), len + len + 10, "the first block and the last two");
        assert_eq!(journal.written(), journal.samples);
    }

    #[test]
    fn a_look_is_bounded_and_the_next_ones_make_up_for_it() {
        let len = BLOCK_LEN as usize;
        let mut journal = Fixture::new(vec![OUTSTANDING; 10 * len]);
        for looks in 1..=4_usize {
            assert!(journal.look(3) <= 3 * len);
            let count = (looks * 3 * len).min(10 * len);
            assert_eq!(journal.written(), journal.samples[..count], "after {looks} looks");
        }
        journal.samples.iter_mut().for_each(|sample| sample.latency_ns = 7);
        journal.issue(vec![8; len / 2]);
        for _ in 0..5 {
            assert!(journal.look(3) <= 3 * len);
            // Whatever is in the file is as it was or as it is, and stands at its place.
            for (number, sample) in journal.written().iter().enumerate() {
                assert_eq!(sample.scheduled_ns, number as u64);
            }
        }
        assert_eq!(journal.written(), journal.samples);
        assert_eq!(journal.look(3), len / 2, "all is settled but the block that can still grow");
    }
}

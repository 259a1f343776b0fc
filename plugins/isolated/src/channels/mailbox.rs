//! Shared memory through which a thread of the host makes calls on a thread of the other process, one at a time:
//! batches of an instance, or queries.

use std::{
    io,
    os::fd::{BorrowedFd, OwnedFd},
    sync::atomic::Ordering::Relaxed,
    time::Duration,
};

use proctor_plugin_api::vocabulary::{QuerySample, ResponseId, SampleIndex, SampleStatus};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    channels::memory::SharedMemory,
    channels::signal::{LOOK, Patience, SIGNAL_BYTES, Signal},
};

/// Offsets from the signal of the call: its arguments and the first samples are on its cache line.
const TASK: usize = 8;
const SAMPLE_COUNT: usize = 12;
const OFFSET: usize = 16;
const TOTAL: usize = 24;
const SAMPLES: usize = 32;
const SAMPLE_BYTES: usize = 16;

/// Offsets from the signal of the answer, on its cache line.
const DETAIL_LENGTH: usize = 8;
const REPORTS: usize = 16;

/// Number of bytes before the outputs of a sample: how it ended. Small outputs are on the same cache line.
const ANSWER_BYTES: usize = 16;

/// Maximum number of bytes of an error text.
const DETAIL_ROOM: usize = 16 << 10;

const ALIGNMENT: usize = SIGNAL_BYTES;

/// Size of a mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacity {
    /// Maximum number of samples of a call.
    pub sample_count_max: usize,
    /// Maximum number of bytes of the outputs of a sample; 0 if a call returns none.
    pub output_bytes_max: usize,
}

/// Layout of a mailbox of some capacity.
#[derive(Debug, Clone, Copy)]
struct Places {
    /// The signal of the answer.
    response: usize,
    /// The answer to the first sample, with its outputs.
    answers: usize,
    /// Distance of two answers.
    stride: usize,
    detail: usize,
    size_bytes: usize,
}

impl Capacity {
    /// Computes the places; `None` if they do not fit into memory.
    fn places(self) -> Option<Places> {
        let samples = self.sample_count_max.checked_mul(SAMPLE_BYTES)?;
        let response = samples.checked_add(SAMPLES)?.checked_next_multiple_of(ALIGNMENT)?;
        let answers = response.checked_add(SIGNAL_BYTES)?;
        let stride = self.output_bytes_max.checked_add(ANSWER_BYTES)?.checked_next_multiple_of(ALIGNMENT)?;
        let detail = answers.checked_add(self.sample_count_max.checked_mul(stride)?)?;
        Some(Places { response, answers, stride, detail, size_bytes: detail.checked_add(DETAIL_ROOM)? })
    }
}

/// A call that a mailbox carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Task {
    /// A batch, to be executed.
    Execute = 1,
    /// The thread of an instance begins.
    BeginThread = 2,
    /// The thread of an instance ends.
    EndThread = 3,
    /// A query or a part of one, to be taken.
    Issue = 4,
    /// Nobody will ask for anything more.
    End = 5,
}

impl Task {
    const ALL: [Self; 5] = [Self::Execute, Self::BeginThread, Self::EndThread, Self::Issue, Self::End];
}

/// Outcome of a sample of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Status of the sample.
    pub status: SampleStatus,
    /// Number of its tokens.
    pub token_count: u32,
    /// Number of bytes of its outputs, one after another; no more than there is room for.
    pub size_bytes: usize,
}

/// The call and its answer in memory of both processes.
#[derive(Debug)]
pub struct Mailbox {
    memory: SharedMemory,
    capacity: Capacity,
    places: Places,
    /// Number of the latest call.
    number: u32,
    patience: Patience,
}

/// The other process has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerGone;

impl Mailbox {
    /// Returns a new mailbox.
    ///
    /// # Errors
    /// If there is no memory of that size.
    pub fn new(capacity: Capacity, spin: Duration) -> io::Result<Self> {
        let places = capacity.places().ok_or(io::ErrorKind::OutOfMemory)?;
        Self::over(SharedMemory::new(places.size_bytes)?, capacity, spin)
    }

    /// Opens the mailbox behind a descriptor that the other process has sent.
    ///
    /// # Errors
    /// If the descriptor is not a mailbox, or too small.
    pub fn open(file: OwnedFd, capacity: Capacity, spin: Duration) -> io::Result<Self> {
        Self::over(SharedMemory::open(file)?, capacity, spin)
    }

    fn over(memory: SharedMemory, capacity: Capacity, spin: Duration) -> io::Result<Self> {
        match capacity.places() {
            Some(places) if places.size_bytes <= memory.size_bytes() => {
                Ok(Self { memory, capacity, places, number: 0, patience: Patience::new(spin) })
            }
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "the memory of a mailbox is too small")),
        }
    }

    /// Returns the descriptor, to be sent to the other process.
    #[must_use]
    pub fn file(&self) -> BorrowedFd<'_> {
        self.memory.file()
    }

    /// Returns how large it is.
    #[must_use]
    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// Returns the offset of the answer to a sample.
    fn place_of(&self, position: usize) -> usize {
        self.places.answers + position * self.places.stride
    }
}

/// The side of the host.
impl Mailbox {
    /// Asks the other process to perform a task on these samples, which start at `offset` in a query of `total`
    /// samples.
    ///
    /// # Panics
    /// If there are more samples than the mailbox has room for.
    pub fn ask(
        &mut self,
        task: Task,
        samples: impl ExactSizeIterator<Item = QuerySample>,
        offset: u64,
        total: u64,
    ) {
        let memory = &self.memory;
        let count = samples.len();
        assert!(count <= self.capacity.sample_count_max, "{count} samples in a mailbox");
        for (position, sample) in samples.enumerate() {
            let place = SAMPLES + position * SAMPLE_BYTES;
            memory.word64(place).store(sample.id.0, Relaxed);
            memory.word64(place + 8).store(sample.index.0, Relaxed);
        }
        memory.word(TASK).store(task as u32, Relaxed);
        memory.word(SAMPLE_COUNT).store(u32::try_from(count).unwrap_or(u32::MAX), Relaxed);
        memory.word64(OFFSET).store(offset, Relaxed);
        memory.word64(TOTAL).store(total, Relaxed);
        self.number = self.number.wrapping_add(1);
        Signal::at(memory, 0).set(self.number);
    }

    /// Waits for the answer to the latest call: `None` if all went well, otherwise what the other process reports.
    ///
    /// # Errors
    /// If the other process has gone, as `is_there` reports.
    pub fn wait<D: DeserializeOwned>(&mut self, is_there: impl Fn() -> bool) -> Result<Option<D>, PeerGone> {
        let response = Signal::at(&self.memory, self.places.response);
        let mut seen = self.number.wrapping_sub(1);
        loop {
            match self.patience.wait(&response, seen, LOOK) {
                Some(number) if number == self.number => break,
                // A number that cannot be: the other process is not as it should be, and is waited for.
                Some(number) => seen = number,
                None => {}
            }
            if !is_there() {
                return Err(PeerGone);
            }
        }
        let length = self.memory.word(self.places.response + DETAIL_LENGTH).load(Relaxed) as usize;
        if length == 0 {
            return Ok(None);
        }
        let mut detail = vec![0; length.min(DETAIL_ROOM)];
        self.memory.read(self.places.detail, &mut detail);
        // An unreadable answer comes from a broken process, which is as good as gone.
        postcard::from_bytes(&detail).map(Some).map_err(|_| PeerGone)
    }

    /// Returns the number of reports that the other process had sent when it answered.
    #[must_use]
    pub fn report_count(&self) -> u64 {
        self.memory.word64(self.places.response + REPORTS).load(Relaxed)
    }

    /// Returns how a sample of the latest batch ended. Reads it once: the other process may change it at any time.
    ///
    /// # Panics
    /// If the sample does not exist.
    #[must_use]
    pub fn answer(&self, position: usize) -> Answer {
        assert!(position < self.capacity.sample_count_max, "sample {position} of a mailbox");
        let mut bytes = [0; ANSWER_BYTES];
        self.memory.read(self.place_of(position), &mut bytes);
        let [status, token_count, size, _] = [0, 4, 8, 12]
            .map(|at| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]));
        let size_bytes = (size as usize).min(self.capacity.output_bytes_max);
        Answer { status: SampleStatus(status.cast_signed()), token_count, size_bytes }
    }

    /// Copies bytes out of the outputs of a sample, from `offset` on.
    ///
    /// # Panics
    /// If the sample does not exist, or has fewer bytes.
    pub fn read_output(&self, position: usize, offset: usize, into: &mut [u8]) {
        assert!(position < self.capacity.sample_count_max, "sample {position} of a mailbox");
        assert!(offset + into.len() <= self.capacity.output_bytes_max, "output of a mailbox");
        self.memory.read(self.place_of(position) + ANSWER_BYTES + offset, into);
    }
}

/// The side of the other process.
impl Mailbox {
    /// Waits for the next call, and fills `samples`. Returns the task, the number of samples before these in their
    /// query, and the size of the query.
    pub fn next(&mut self, samples: &mut Vec<QuerySample>) -> (Task, u64, u64) {
        let request = Signal::at(&self.memory, 0);
        self.number = loop {
            if let Some(number) = self.patience.wait(&request, self.number, LOOK) {
                break number;
            }
        };
        let memory = &self.memory;
        let count = memory.word(SAMPLE_COUNT).load(Relaxed) as usize;
        samples.clear();
        samples.extend((0..count.min(self.capacity.sample_count_max)).map(|position| {
            let place = SAMPLES + position * SAMPLE_BYTES;
            QuerySample {
                id: ResponseId(memory.word64(place).load(Relaxed)),
                index: SampleIndex(memory.word64(place + 8).load(Relaxed)),
            }
        }));
        let task = memory.word(TASK).load(Relaxed);
        let task = Task::ALL.into_iter().find(|known| *known as u32 == task).unwrap_or(Task::End);
        (task, memory.word64(OFFSET).load(Relaxed), memory.word64(TOTAL).load(Relaxed))
    }

    /// Notes how a sample of the batch ended, with as many bytes of its outputs as there is room for.
    ///
    /// # Panics
    /// If the sample does not exist.
    pub fn set_answer(&self, position: usize, status: SampleStatus, token_count: u32, outputs: &[u8]) {
        assert!(position < self.capacity.sample_count_max, "sample {position} of a mailbox");
        let outputs = &outputs[..outputs.len().min(self.capacity.output_bytes_max)];
        let place = self.place_of(position);
        let size = u32::try_from(outputs.len()).unwrap_or(u32::MAX);
        self.memory.word(place).store(status.0.cast_unsigned(), Relaxed);
        self.memory.word(place + 4).store(token_count, Relaxed);
        self.memory.word(place + 8).store(size, Relaxed);
        self.memory.write(place + ANSWER_BYTES, outputs);
    }

    /// Answers the call: success, or a message about it. `report_count` is the number of reports that were sent before.
    pub fn reply<D: Serialize>(&self, detail: Option<&D>, report_count: u64) {
        let bytes = detail.map(|detail| postcard::to_stdvec(detail).unwrap_or_default()).unwrap_or_default();
        let bytes = if bytes.len() <= DETAIL_ROOM { bytes.as_slice() } else { &[] };
        self.memory.write(self.places.detail, bytes);
        // A detail that is too long is one that cannot be read, not none.
        let length = if detail.is_some() { bytes.len().max(1) } else { 0 };
        self.memory
            .word(self.places.response + DETAIL_LENGTH)
            .store(u32::try_from(length).unwrap_or(u32::MAX), Relaxed);
        self.memory.word64(self.places.response + REPORTS).store(report_count, Relaxed);
        Signal::at(&self.memory, self.places.response).set(self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const CAPACITY: Capacity = Capacity { sample_count_max: 3, output_bytes_max: 10 };

    fn both(spin: Duration) -> (Mailbox, Mailbox) {
        let host = Mailbox::new(CAPACITY, spin).unwrap();
        let file = host.file().try_clone_to_owned().unwrap();
        (host, Mailbox::open(file, CAPACITY, spin).unwrap())
    }

    fn samples(count: u64) -> Vec<QuerySample> {
        (0..count)
            .map(|number| QuerySample { id: ResponseId(100 + number), index: SampleIndex(number) })
            .collect()
    }

    #[test]
    fn a_batch_comes_back_with_its_answers() {
        for spin in [Duration::ZERO, Duration::from_micros(50)] {
            let (mut host, mut other) = both(spin);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let mut batch = Vec::new();
                    loop {
                        let (task, offset, total) = other.next(&mut batch);
                        if task == Task::End {
                            return other.reply::<String>(None, 0);
                        }
                        assert_eq!((task, offset, total), (Task::Execute, 5, 9));
                        for (position, sample) in batch.iter().enumerate() {
                            let outputs = [sample.id.0 as u8; 10];
                            other.set_answer(position, SampleStatus::OK, 7, &outputs[..=position]);
                        }
                        let fails = batch.len() == 1;
                        other.reply(fails.then_some(&"out of memory"), 4);
                    }
                });
                for count in [3, 2, 1] {
                    host.ask(Task::Execute, samples(count).into_iter(), 5, 9);
                    let detail = host.wait::<String>(|| true).unwrap();
                    assert_eq!(detail.as_deref(), (count == 1).then_some("out of memory"));
                    assert_eq!(host.report_count(), 4);
                    for position in 0..count as usize {
                        let Answer { status, token_count, size_bytes } = host.answer(position);
                        assert_eq!((status, token_count, size_bytes), (SampleStatus::OK, 7, position + 1));
                        let mut outputs = vec![0; size_bytes];
                        host.read_output(position, 0, &mut outputs);
                        assert_eq!(outputs, vec![100 + position as u8; position + 1]);
                    }
                }
                host.ask(Task::End, samples(0).into_iter(), 0, 0);
                assert_eq!(host.wait::<String>(|| true), Ok(None));
            });
        }
    }

    #[test]
    fn who_is_gone_is_not_waited_for() {
        let (mut host, _other) = both(Duration::ZERO);
        host.ask(Task::Execute, samples(1).into_iter(), 0, 1);
        assert_eq!(host.wait::<String>(|| false), Err(PeerGone));
    }

    #[test]
    fn an_answer_that_cannot_be_is_harmless() {
        let (mut host, other) = both(Duration::ZERO);
        host.ask(Task::Execute, samples(1).into_iter(), 0, 1);
        // The other process writes a size and a detail beyond the room, and a number that was never requested.
        other.memory.word(other.place_of(0) + 8).store(u32::MAX, Relaxed);
        assert_eq!(host.answer(0).size_bytes, 10);
        other.memory.word(other.places.response + DETAIL_LENGTH).store(u32::MAX, Relaxed);
        Signal::at(&other.memory, other.places.response).set(77);
        assert_eq!(host.wait::<String>(|| false), Err(PeerGone));
        Signal::at(&other.memory, other.places.response).set(1);
        assert!(host.wait::<String>(|| true).is_ok_and(|detail| detail == Some(String::new())));
    }
}

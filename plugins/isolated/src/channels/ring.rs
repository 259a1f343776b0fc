//! A stream of bytes from one process to another through memory of both, without a call of the system unless one side
//! sleeps.

use std::{
    io,
    os::fd::{BorrowedFd, OwnedFd},
    sync::Arc,
    time::Duration,
};

use crate::{
    channels::memory::{PAGE, SharedMemory},
    channels::signal::{LOOK, SIGNAL_BYTES, Signal},
};

/// Number of bytes that can be on their way: few enough to stay in the cache of a core, and many enough that a reader
/// that was interrupted for some hundred microseconds stops nobody.
const CAPACITY: usize = 1 << 20;

/// Offsets of the positions; each is set by one side: bytes written and bytes read so far, modulo 2^32.
const WRITTEN: usize = 0;
const READ: usize = WRITTEN + SIGNAL_BYTES;
const BYTES: usize = PAGE;

/// The end of a stream that is written to.
#[derive(Debug)]
pub(crate) struct RingWriter {
    memory: SharedMemory,
    written: u32,
}

/// The reading end of a stream. Positions that the other process writes are checked against the capacity.
#[derive(Debug)]
pub(crate) struct RingReader {
    memory: Arc<SharedMemory>,
    read: u32,
}

/// Waits for writes to a stream, independently of its reader.
#[derive(Debug)]
pub(crate) struct Bell(Arc<SharedMemory>);

/// The other process has set a position that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

impl RingWriter {
    /// Opens the stream behind a descriptor that the other process has sent.
    ///
    /// # Errors
    /// If the descriptor is not such a stream.
    pub(crate) fn open(file: OwnedFd) -> io::Result<Self> {
        let memory = SharedMemory::open(file)?;
        if memory.size_bytes() < BYTES + CAPACITY {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a ring is smaller than it should be"));
        }
        Ok(Self { memory, written: 0 })
    }

    /// Writes all of these bytes, and waits for room if there is none.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = self.wait_for_room();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            let begin = self.written as usize % CAPACITY;
            let (end_piece, begin_piece) = now.split_at(now.len().min(CAPACITY - begin));
            self.memory.write(BYTES + begin, end_piece);
            self.memory.write(BYTES, begin_piece);
            self.written = self.written.wrapping_add(now.len() as u32);
            Signal::at(&self.memory, WRITTEN).set(self.written);
            bytes = later;
        }
    }

    /// Waits until there is room, and says for how many bytes.
    fn wait_for_room(&self) -> usize {
        let signal = Signal::at(&self.memory, READ);
        loop {
            let read = signal.get();
            let room = CAPACITY.saturating_sub(self.written.wrapping_sub(read) as usize);
            if room > 0 {
                return room;
            }
            // The host ends this process with itself, so there is no need to check for the host here.
            let _ = signal.wait(read, Duration::ZERO, LOOK);
        }
    }
}

impl RingReader {
    /// Makes a new stream.
    ///
    /// # Errors
    /// If its memory cannot be allocated.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { memory: Arc::new(SharedMemory::new(BYTES + CAPACITY)?), read: 0 })
    }

    /// Returns the descriptor, to be sent to the other process.
    #[must_use]
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.memory.file()
    }

    /// Reports that something was written.
    pub(crate) fn bell(&self) -> Bell {
        Bell(Arc::clone(&self.memory))
    }

    /// Appends everything that was written since the last call.
    ///
    /// # Errors
    /// If more was written than there is room for.
    pub(crate) fn read(&mut self, into: &mut Vec<u8>) -> Result<(), Broken> {
        let written = Signal::at(&self.memory, WRITTEN).get();
        let count = written.wrapping_sub(self.read) as usize;
        if count == 0 {
            return Ok(());
        }
        if count > CAPACITY {
            return Err(Broken);
        }
        let old = into.len();
        into.resize(old + count, 0);
        let begin = self.read as usize % CAPACITY;
        let (end_piece, begin_piece) = into[old..].split_at_mut(count.min(CAPACITY - begin));
        self.memory.read(BYTES + begin, end_piece);
        self.memory.read(BYTES, begin_piece);
        self.read = written;
        Signal::at(&self.memory, READ).set(written);
        Ok(())
    }
}

impl Bell {
    /// Returns the position up to which was written.
    pub(crate) fn position(&self) -> u32 {
        Signal::at(&self.0, WRITTEN).get()
    }

    /// Waits until more was written than up to `position`, first awake for `spin`, then asleep, but not forever.
    pub(crate) fn wait(&self, position: u32, spin: Duration) {
        let _ = Signal::at(&self.0, WRITTEN).wait(position, spin, LOOK);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn both() -> (RingWriter, RingReader) {
        let reader = RingReader::new().unwrap();
        let writer = RingWriter::open(reader.file().try_clone_to_owned().unwrap()).unwrap();
        (writer, reader)
    }

    #[test]
    fn bytes_come_in_their_order_however_many_they_are() {
        let (mut writer, mut reader) = both();
        // So that the positions go round once on the way.
        let begin = u32::MAX - 1000;
        (writer.written, reader.read) = (begin, begin);
        Signal::at(&reader.memory, WRITTEN).set(begin);
        Signal::at(&reader.memory, READ).set(begin);
        let bytes: Vec<u8> = (0..3 * CAPACITY + 5).map(|number| (number % 251) as u8).collect();
        thread::scope(|scope| {
            scope.spawn(|| bytes.chunks(70_001).for_each(|piece| writer.write(piece)));
            let (bell, mut read) = (reader.bell(), Vec::new());
            while read.len() < bytes.len() {
                let position = bell.position();
                reader.read(&mut read).unwrap();
                if read.len() < bytes.len() {
                    bell.wait(position, Duration::ZERO);
                }
            }
            assert!(read == bytes);
        });
    }

    #[test]
    fn a_position_that_cannot_be_is_harmless() {
        let (writer, mut reader) = both();
        let mut read = Vec::new();
        for position in [CAPACITY as u32 + 1, u32::MAX] {
            Signal::at(&writer.memory, WRITTEN).set(position);
            assert_eq!(reader.read(&mut read), Err(Broken));
        }
        assert!(read.is_empty());
    }
}

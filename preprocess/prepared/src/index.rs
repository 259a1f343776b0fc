//! The index: where the record of each sample lies.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use proctor_vocabulary::{SampleIndex, open_regular};

use crate::{INDEX, error::PreparedError};

/// First bytes of the file; the last digit is the version of all files.
const MAGIC: [u8; 16] = *b"proctor-index-1\n";
/// Number of bytes before the first entry: magic and number of samples.
const HEAD_BYTES: u64 = 24;
/// Number of bytes of an entry: place and length of the record, and its sum.
const ENTRY_BYTES: u64 = 24;

/// The place of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// First byte in the file of records.
    pub(crate) offset: u64,
    /// Number of bytes; never 0.
    pub(crate) length: u64,
    /// CRC-32 of the record.
    pub(crate) sum: u32,
}

/// An index on disk.
#[derive(Debug)]
pub(crate) struct Index {
    file: File,
    path: PathBuf,
    sample_count: u64,
}

impl Index {
    /// Opens the index of a folder to read.
    pub(crate) fn open(folder: &Path) -> Result<Self, PreparedError> {
        let path = folder.join(INDEX);
        let file = open_regular(&path).map_err(PreparedError::file("open", path.clone()))?;
        Self::checked(file, path)
    }

    /// Opens the index of a folder to write, or makes one without entries for `sample_count` samples.
    pub(crate) fn open_to_write(folder: &Path, sample_count: u64) -> Result<Self, PreparedError> {
        let path = folder.join(INDEX);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(PreparedError::file("open", path.clone()))?;
        let length = file.metadata().map_err(PreparedError::file("look at", path.clone()))?.len();
        // A file that a crash left without its head has no entries either.
        if length < HEAD_BYTES {
            let head = [MAGIC.as_slice(), &sample_count.to_le_bytes()].concat();
            let made = file.set_len(HEAD_BYTES + ENTRY_BYTES * sample_count);
            made.and_then(|()| file.write_all_at(&head, 0))
                .map_err(PreparedError::file("write", path.clone()))?;
        }
        Self::checked(file, path)
    }

    fn checked(file: File, path: PathBuf) -> Result<Self, PreparedError> {
        let mut head = [0; HEAD_BYTES as usize];
        let read = file.read_exact_at(&mut head, 0);
        let length = file.metadata().map_err(PreparedError::file("look at", path.clone()))?.len();
        let (magic, count) = head.split_at(MAGIC.len());
        let sample_count = u64::from_le_bytes(count.try_into().expect("8 bytes are left"));
        let expected = sample_count.checked_mul(ENTRY_BYTES).and_then(|bytes| bytes.checked_add(HEAD_BYTES));
        if read.is_err() || magic != MAGIC || expected != Some(length) {
            return Err(PreparedError::Foreign { path });
        }
        Ok(Self { file, path, sample_count })
    }

    /// Returns the number of samples of the data set.
    pub(crate) fn sample_count(&self) -> u64 {
        self.sample_count
    }

    /// Returns the entry of a sample; `None` if it was not prepared.
    pub(crate) fn get(&self, index: SampleIndex) -> Result<Option<Entry>, PreparedError> {
        let mut bytes = [0; ENTRY_BYTES as usize];
        let read = self.file.read_exact_at(&mut bytes, self.place(index)?);
        read.map_err(PreparedError::file("read", self.path.clone()))?;
        let (words, _) = bytes.as_chunks::<8>();
        let [offset, length, sum] = [words[0], words[1], words[2]].map(u64::from_le_bytes);
        let sum = u32::try_from(sum).map_err(|_| PreparedError::Foreign { path: self.path.clone() })?;
        Ok((length > 0).then_some(Entry { offset, length, sum }))
    }

    /// Notes the place of the record of a sample.
    pub(crate) fn set(&self, index: SampleIndex, entry: Entry) -> Result<(), PreparedError> {
        let Entry { offset, length, sum } = entry;
        let bytes = [offset, length, sum.into()].map(u64::to_le_bytes).concat();
        let written: io::Result<()> = self.file.write_all_at(&bytes, self.place(index)?);
        written.map_err(PreparedError::file("write", self.path.clone()))
    }

    fn place(&self, index: SampleIndex) -> Result<u64, PreparedError> {
        if index.0 >= self.sample_count {
            return Err(PreparedError::NoSuchSample { index, sample_count: self.sample_count });
        }
        Ok(HEAD_BYTES + ENTRY_BYTES * index.0)
    }
}

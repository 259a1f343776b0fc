//! Reads prepared samples.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use crc32fast::Hasher;
use proctor_vocabulary::{SampleIndex, open_regular};

use crate::{
    LISTING, SAMPLES,
    error::PreparedError,
    index::{Entry, Index},
    listing::Listing,
    record::Head,
};

/// Number of bytes read at a time to see whether a record is whole.
const PIECE_BYTES: usize = 1 << 16;

/// The prepared samples of a folder. [any thread]
#[derive(Debug)]
pub struct Reader {
    index: Index,
    samples: File,
    path: PathBuf,
    folder: PathBuf,
}

impl Reader {
    /// Opens a folder.
    ///
    /// # Errors
    /// [`PreparedError::File`] if nothing was ever prepared there, [`PreparedError::Foreign`].
    pub fn open(folder: &Path) -> Result<Self, PreparedError> {
        let path = folder.join(SAMPLES);
        let samples = open_regular(&path).map_err(PreparedError::file("open", path.clone()))?;
        Ok(Self { index: Index::open(folder)?, samples, path, folder: folder.to_owned() })
    }

    /// Returns the number of samples of the data set, prepared or not.
    #[must_use]
    pub fn sample_count(&self) -> u64 {
        self.index.sample_count()
    }

    /// Returns the file that holds the samples.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.path
    }

    /// Returns the list of the data set's samples.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn listing(&self) -> Result<Listing, PreparedError> {
        let path = self.folder.join(LISTING);
        let text = open_regular(&path)
            .and_then(io::read_to_string)
            .map_err(PreparedError::file("read", path.clone()))?;
        serde_json::from_str(&text).map_err(|_| PreparedError::Foreign { path })
    }

    /// Returns whether a sample exists.
    ///
    /// # Errors
    /// [`PreparedError::NoSuchSample`], or the index cannot be read.
    pub fn has(&self, index: SampleIndex) -> Result<bool, PreparedError> {
        Ok(self.index.get(index)?.is_some())
    }

    /// Returns whether a sample exists with exactly the bytes that were written; reads all of them. reads all of them.
    /// A crash of the system may have left the entry of a record on the disk without the record.
    ///
    /// # Errors
    /// [`PreparedError::NoSuchSample`], or a file cannot be read.
    pub fn is_whole(&self, index: SampleIndex) -> Result<bool, PreparedError> {
        let Some(Entry { offset, length, sum }) = self.index.get(index)? else { return Ok(false) };
        let mut found = Hasher::new();
        let mut piece = vec![0; PIECE_BYTES.min(usize::try_from(length).unwrap_or(PIECE_BYTES))];
        let mut done = 0;
        while done < length {
            let wanted = usize::try_from(length - done).map_or(piece.len(), |left| left.min(piece.len()));
            let bytes = &mut piece[..wanted];
            match self.samples.read_exact_at(bytes, offset.saturating_add(done)) {
                Ok(()) => found.update(bytes),
                Err(source) => match self.error(index, source) {
                    PreparedError::Damaged { .. } => return Ok(false),
                    error => return Err(error),
                },
            }
            done += wanted as u64;
        }
        Ok(found.finalize() == sum)
    }

    /// Returns the shapes of the tensors of a sample.
    ///
    /// # Errors
    /// [`PreparedError::Absent`], [`PreparedError::Damaged`], or a file cannot be read.
    pub fn shapes(&self, index: SampleIndex) -> Result<Vec<Vec<usize>>, PreparedError> {
        let entry = self.entry(index)?;
        Ok(self.head(index, entry)?.0.shapes)
    }

    /// Copies the tensors of a sample into slices of their sizes.
    ///
    /// # Errors
    /// [`PreparedError::Absent`], [`PreparedError::Damaged`], [`PreparedError::Sizes`], or a file cannot be read.
    pub fn read(&self, index: SampleIndex, tensors: &mut [&mut [u8]]) -> Result<(), PreparedError> {
        let entry = self.entry(index)?;
        let (head, mut offset) = self.head(index, entry)?;
        let room: Vec<usize> = tensors.iter().map(|tensor| tensor.len()).collect();
        if head.sizes != room {
            return Err(PreparedError::Sizes { index, got: head.sizes, room });
        }
        let mut sum = Hasher::new();
        sum.update(&head.to_bytes());
        for tensor in tensors {
            let read = self.samples.read_exact_at(tensor, offset);
            read.map_err(|source| self.error(index, source))?;
            sum.update(tensor);
            offset += tensor.len() as u64;
        }
        if sum.finalize() != entry.sum {
            return Err(PreparedError::Damaged { path: self.path.clone(), index });
        }
        Ok(())
    }

    fn entry(&self, index: SampleIndex) -> Result<Entry, PreparedError> {
        let absent = || PreparedError::Absent { index, folder: self.folder.clone() };
        self.index.get(index)?.ok_or_else(absent)
    }

    /// Returns the head of a record, and where the bytes of the first tensor begin.
    fn head(&self, index: SampleIndex, entry: Entry) -> Result<(Head, u64), PreparedError> {
        let mut offset = entry.offset;
        let next = || {
            let mut word = [0; 8];
            self.samples.read_exact_at(&mut word, offset)?;
            offset = offset.saturating_add(8);
            Ok(u64::from_le_bytes(word))
        };
        let head = Head::read(next).map_err(|source| self.error(index, source))?;
        let damaged = || PreparedError::Damaged { path: self.path.clone(), index };
        let head = head.filter(|head| head.record_bytes() == Some(entry.length)).ok_or_else(damaged)?;
        Ok((head, offset))
    }

    /// Returns the error of a read: a record that ends too early is damaged.
    fn error(&self, index: SampleIndex, source: io::Error) -> PreparedError {
        let path = self.path.clone();
        match source.kind() {
            io::ErrorKind::UnexpectedEof => PreparedError::Damaged { path, index },
            _ => PreparedError::File { doing: "read", path, source },
        }
    }
}

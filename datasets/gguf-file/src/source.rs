//! Numbers and texts, read from what is left of a file.

use std::io::{self, ErrorKind, Read};

use crate::error::Fault;

/// Reason why something could not be read.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The file has it in a form that it may not have.
    Fault(Fault),
    /// The system refuses.
    Io(io::Error),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// A part of a file, read from the front.
#[derive(Debug)]
pub(crate) struct Source<R> {
    from: R,
    /// Number of bytes that may still be read.
    left: u64,
    /// Number of bytes that were read.
    pub at: u64,
}

impl<R: Read> Source<R> {
    pub(crate) fn new(from: R, bytes: u64) -> Self {
        Self { from, left: bytes, at: 0 }
    }

    /// Fails if fewer than `count` things of `bytes` each are left.
    pub(crate) fn expect(&self, count: u64, bytes: u64) -> Result<(), Fault> {
        let wanted = count.saturating_mul(bytes);
        if wanted > self.left { Err(Fault::Short { wanted, left: self.left }) } else { Ok(()) }
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Failure> {
        let wanted = bytes.len() as u64;
        self.expect(1, wanted)?;
        self.from.read_exact(bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Fault::Short { wanted, left: 0 }.into(),
            _ => Failure::Io(error),
        })?;
        self.left -= wanted;
        self.at += wanted;
        Ok(())
    }

    pub(crate) fn bytes<const COUNT: usize>(&mut self) -> Result<[u8; COUNT], Failure> {
        let mut bytes = [0; COUNT];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Failure> {
        self.bytes().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Failure> {
        self.bytes().map(u64::from_le_bytes)
    }

    /// Reads a text, which has its length before it.
    pub(crate) fn text(&mut self) -> Result<String, Failure> {
        let length = self.u64()?;
        self.expect(length, 1)?;
        // Not more than is left, which is a part of a header.
        let mut bytes = vec![0; usize::try_from(length).map_err(|_| Fault::Text)?];
        self.fill(&mut bytes)?;
        String::from_utf8(bytes).map_err(|_| Fault::Text.into())
    }
}

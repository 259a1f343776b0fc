//! Tar archives, as npm and dpkg-deb write them: the regular files of a stream in their order.
//!
//! Source: POSIX.1-2001, pax interchange format, with the long names of GNU tar. Links, folders and devices are passed
//! over. The stream is not to be trusted: names are as long as [`NAME_MAX`] at most, and nothing is allocated by a size
//! that it states.

use std::io::{self, Read};

/// Size of a block; headers and contents begin at a multiple of it.
const BLOCK: usize = 512;

/// Bytes that a name has at most, and the records of pax around it.
const NAME_MAX: u64 = 1 << 16;

/// Fault of a tar archive.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum TarError {
    #[error("it is no tar archive, or damaged: the header at byte {at} has a wrong sum")]
    Sum { at: u64 },
    #[error("the header at byte {at} has a number that cannot be")]
    Number { at: u64 },
    #[error("the name at byte {at} is longer than {NAME_MAX} bytes, or malformed")]
    Name { at: u64 },
    #[error("it ends early, at byte {at}")]
    Cut { at: u64 },
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A tar archive that is read from its beginning on.
#[derive(Debug)]
pub struct Tar<R> {
    stream: R,
    /// Bytes that have been read.
    at: u64,
    /// Bytes of the current file that have not been read.
    left: u64,
    /// Bytes behind the current file up to the next header.
    padding: u64,
}

impl<R: Read> Tar<R> {
    /// Creates a reader for a stream.
    pub fn new(stream: R) -> Self {
        Self { stream, at: 0, left: 0, padding: 0 }
    }

    /// Returns the path of the next regular file, without `./` before it; the reader then yields its content.
    /// `None` at the end.
    ///
    /// # Errors
    /// If the archive is malformed or cannot be read.
    pub fn next_file(&mut self) -> Result<Option<String>, TarError> {
        let mut long_name = None;
        loop {
            self.skip()?;
            let Some(header) = self.header()? else { return Ok(None) };
            let header_at = self.at - BLOCK as u64;
            self.left = number(&header[124..136]).ok_or(TarError::Number { at: header_at })?;
            self.padding = self.left.wrapping_neg() % BLOCK as u64;
            match header[156] {
                b'L' => long_name = Some(text(&self.record()?)),
                b'x' => {
                    let record = self.record()?;
                    let name = pax_path(&record).map_err(|()| TarError::Name { at: header_at })?;
                    long_name = name.or(long_name);
                }
                b'0' | b'7' | 0 => {
                    let path = long_name.take().unwrap_or_else(|| short_name(&header));
                    return Ok(Some(path.trim_start_matches("./").to_owned()));
                }
                // Folders, links, devices, and what concerns the whole archive.
                _ => long_name = None,
            }
        }
    }

    /// Passes over the rest of the current file.
    fn skip(&mut self) -> Result<(), TarError> {
        let rest = self.left.checked_add(self.padding).ok_or(TarError::Number { at: self.at })?;
        let skipped = io::copy(&mut self.stream.by_ref().take(rest), &mut io::sink())?;
        self.at += skipped;
        (self.left, self.padding) = (0, 0);
        if skipped < rest { Err(TarError::Cut { at: self.at }) } else { Ok(()) }
    }

    /// Reads a header; `None` at the end, which is a block of zeros or the end of the stream.
    fn header(&mut self) -> Result<Option<[u8; BLOCK]>, TarError> {
        let mut header = Vec::with_capacity(BLOCK);
        self.stream.by_ref().take(BLOCK as u64).read_to_end(&mut header)?;
        let at = self.at;
        self.at += header.len() as u64;
        if header.is_empty() {
            return Ok(None);
        }
        let header: [u8; BLOCK] = header.try_into().map_err(|_| TarError::Cut { at: self.at })?;
        if header.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        // The sum of all bytes, with spaces in place of the sum itself.
        let is_sum = |index: usize| (148..156).contains(&index);
        let sum: u64 = header
            .iter()
            .enumerate()
            .map(|(index, byte)| u64::from(if is_sum(index) { b' ' } else { *byte }))
            .sum();
        if number(&header[148..156]) == Some(sum) { Ok(Some(header)) } else { Err(TarError::Sum { at }) }
    }

    /// Reads the content of a header that is about the next one.
    fn record(&mut self) -> Result<Vec<u8>, TarError> {
        if self.left > NAME_MAX {
            return Err(TarError::Name { at: self.at });
        }
        let (expected, mut record) = (self.left, Vec::new());
        self.read_to_end(&mut record)?;
        if (record.len() as u64) < expected { Err(TarError::Cut { at: self.at }) } else { Ok(record) }
    }
}

/// The content of the current file. A stream that ends within it is an error.
impl<R: Read> Read for Tar<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let length = self.stream.read(&mut buffer[..room])?;
        if length == 0 && room > 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, TarError::Cut { at: self.at }));
        }
        self.at += length as u64;
        self.left -= length as u64;
        Ok(length)
    }
}

/// Returns a number of a header: octal digits, or where the first bit is set big-endian bytes.
fn number(field: &[u8]) -> Option<u64> {
    let (first, rest) = field.split_first()?;
    if first & 0x80 != 0 {
        let all = [&[first & 0x7f], rest].concat();
        let (high, low) = all.split_at_checked(all.len().checked_sub(8)?)?;
        let is_small = high.iter().all(|byte| *byte == 0);
        return is_small.then_some(u64::from_be_bytes(low.try_into().ok()?));
    }
    let digits = std::str::from_utf8(field).ok()?.trim_matches([' ', '\0']);
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

/// Returns the name in a header, with the folder that POSIX puts apart.
fn short_name(header: &[u8; BLOCK]) -> String {
    let name = text(&header[..100]);
    let prefix = if header[257..].starts_with(b"ustar\0") { text(&header[345..500]) } else { String::new() };
    if prefix.is_empty() { name } else { format!("{prefix}/{name}") }
}

/// Returns the bytes before the first zero as text; a name that is no UTF-8 is none of those that are looked for.
fn text(bytes: &[u8]) -> String {
    let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}

/// Returns the path in the records of pax, `LENGTH KEY=VALUE\n` each, where the length counts the whole record.
fn pax_path(mut records: &[u8]) -> Result<Option<String>, ()> {
    let mut path = None;
    while !records.is_empty() {
        let space = records.iter().position(|byte| *byte == b' ').ok_or(())?;
        let length: usize =
            std::str::from_utf8(&records[..space]).ok().and_then(|it| it.parse().ok()).ok_or(())?;
        let record = records.get(space + 1..length).ok_or(())?;
        if let Some(value) = record.strip_prefix(b"path=") {
            path = Some(text(value.strip_suffix(b"\n").ok_or(())?));
        }
        records = &records[length..];
    }
    Ok(path)
}

//! A system file that is read repeatedly.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

/// Length of the buffer at first: more than a page, which most of these files fit in.
const FIRST_LENGTH: usize = 8192;

/// Maximum length of a text: `/proc/stat` of some thousand processors.
const LENGTH_MAX: usize = 16 << 20;

/// A file of `/proc` or `/sys` that stays open. Each reading begins at its start, and is current.
#[derive(Debug)]
pub(crate) struct KeptFile(File);

/// Shared room for the text of a file.
#[derive(Debug, Default)]
pub(crate) struct Buffer(Vec<u8>);

impl KeptFile {
    /// Opens a file.
    ///
    /// # Errors
    /// If the system cannot open it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        File::open(path).map(Self)
    }

    /// Reads the whole text. Bytes that are no UTF-8 end it.
    ///
    /// # Errors
    /// If the system cannot read it, such as when the process or the thread that the file is about has ended.
    pub(crate) fn read<'a>(&self, buffer: &'a mut Buffer) -> io::Result<&'a str> {
        let bytes = &mut buffer.0;
        if bytes.is_empty() {
            bytes.resize(FIRST_LENGTH, 0);
        }
        let mut length = 0;
        loop {
            match self.0.read_at(&mut bytes[length..], length as u64) {
                Ok(0) => break,
                Ok(count) => length += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            if length == bytes.len() {
                if length >= LENGTH_MAX {
                    break;
                }
                bytes.resize(2 * length, 0);
            }
        }
        let text = &bytes[..length];
        Ok(std::str::from_utf8(text)
            .unwrap_or_else(|error| std::str::from_utf8(&text[..error.valid_up_to()]).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_read_anew_each_time_whatever_its_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counter");
        fs::write(&path, "1\n").unwrap();
        let (file, mut buffer) = (KeptFile::open(&path).unwrap(), Buffer::default());
        assert_eq!(file.read(&mut buffer).unwrap(), "1\n");
        let long = "2 ".repeat(FIRST_LENGTH);
        fs::write(&path, &long).unwrap();
        assert_eq!(file.read(&mut buffer).unwrap(), long);
        fs::write(&path, b"3\xff4").unwrap();
        assert_eq!(file.read(&mut buffer).unwrap(), "3");
        fs::write(&path, "").unwrap();
        assert_eq!(file.read(&mut buffer).unwrap(), "");
    }
}

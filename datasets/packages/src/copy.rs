//! Copies of files, with the SHA-256 of what was copied.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Read, Write},
    path::Path,
};

use proctor_vocabulary::open_regular;
use sha2::{Digest, Sha256};

use crate::{
    error::PackageError,
    watch::{Watch, check},
};

/// Bytes between two looks at whether the work is to end.
const PIECE_BYTES: usize = 1 << 20;

/// A source, read to its end or to a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Copied {
    /// Bytes that were copied.
    pub(crate) bytes: u64,
    /// Its SHA-256, as far as it was copied.
    pub(crate) sha256: String,
    /// Whether the source has more than the limit.
    pub(crate) is_cut: bool,
}

impl Copied {
    /// Returns whether it is a whole source of this size and SHA-256.
    pub(crate) fn is(&self, bytes: u64, sha256: &str) -> bool {
        !self.is_cut && self.bytes == bytes && self.sha256 == sha256
    }

    /// Returns the error for a source that is not the one of this size and SHA-256; `file` says which it is.
    pub(crate) fn refused(self, file: String, bytes: u64, expected: &'static str) -> PackageError {
        match self.is_cut {
            true => PackageError::Large { file, bytes },
            false => PackageError::Checksum { file, expected, got: self.sha256 },
        }
    }
}

/// Failure of a copy.
#[derive(Debug)]
pub(crate) enum CopyError {
    Read(io::Error),
    Write(io::Error),
    Interrupted,
}

impl CopyError {
    /// Returns the error with the paths of source and target.
    pub(crate) fn between(self, from: &Path, to: &Path) -> PackageError {
        match self {
            Self::Read(source) => PackageError::Read { path: from.to_owned(), source },
            Self::Write(source) => PackageError::Write { path: to.to_owned(), source },
            Self::Interrupted => PackageError::Interrupted,
        }
    }
}

/// Copies up to `limit` bytes.
pub(crate) fn copy(
    from: &mut dyn Read,
    to: &mut dyn Write,
    limit: u64,
    watch: &dyn Watch,
) -> Result<Copied, CopyError> {
    let (mut digest, mut bytes) = (Sha256::new(), 0);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        check(watch).map_err(|_| CopyError::Interrupted)?;
        let length = match from.read(&mut piece) {
            Ok(0) => return Ok(Copied { bytes, sha256: hex(&digest.finalize()), is_cut: false }),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Read(error)),
        };
        let room = usize::try_from(limit - bytes).unwrap_or(usize::MAX);
        let kept = &piece[..length.min(room)];
        digest.update(kept);
        to.write_all(kept).map_err(CopyError::Write)?;
        bytes += kept.len() as u64;
        if kept.len() < length {
            return Ok(Copied { bytes, sha256: hex(&digest.finalize()), is_cut: true });
        }
    }
}

/// Copies up to `limit` bytes into a new file.
pub(crate) fn copy_to_file(
    from: &mut dyn Read,
    to: &Path,
    limit: u64,
    watch: &dyn Watch,
) -> Result<Copied, CopyError> {
    let mut file = File::create(to).map_err(CopyError::Write)?;
    copy(from, &mut file, limit, watch)
}

/// Copies up to `limit` bytes of a file into a new one.
pub(crate) fn copy_file(
    from: &Path,
    to: &Path,
    limit: u64,
    watch: &dyn Watch,
) -> Result<Copied, PackageError> {
    let mut file = open(from)?;
    copy_to_file(&mut file, to, limit, watch).map_err(|error| error.between(from, to))
}

/// Reads up to `limit` bytes of a file for their SHA-256.
pub(crate) fn look(path: &Path, limit: u64, watch: &dyn Watch) -> Result<Copied, PackageError> {
    copy(&mut open(path)?, &mut io::sink(), limit, watch).map_err(|error| error.between(path, path))
}

fn open(path: &Path) -> Result<File, PackageError> {
    open_regular(path).map_err(|source| PackageError::Read { path: path.to_owned(), source })
}

/// Returns two lower-case hexadecimal digits for each byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // It never fails.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Silent;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_copy_has_the_sum_of_its_source() {
        let mut to = Vec::new();
        let copied = copy(&mut &b"abc"[..], &mut to, 3, &Silent).unwrap();
        assert!(copied.is(3, ABC) && to == b"abc", "{copied:?}");
        assert!(!copied.is(4, ABC) && !copied.is(3, &ABC.to_uppercase()));
    }

    #[test]
    fn a_source_with_more_than_the_limit_is_cut() {
        let mut to = Vec::new();
        let copied = copy(&mut &b"abcd"[..], &mut to, 3, &Silent).unwrap();
        assert!(copied.is_cut && copied.sha256 == ABC && !copied.is(3, ABC), "{copied:?}");
        assert_eq!(to, b"abc");
    }
}

//! Reads files whole and verifies them before use.

use std::{
    collections::BTreeMap,
    fmt::Write,
    io::{self, Read},
    path::{Path, PathBuf},
};

use proctor_vocabulary::{misfetched, open_regular, read_regular};
use sha2::{Digest, Sha256};

use crate::{error::DatasetError, text_file::read_text};

/// Returns the SHA-256 of these bytes as 64 lower-case hexadecimal digits.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Returns the SHA-256 of a file, which is read in pieces because it may be too large for memory.
///
/// # Errors
/// If the file cannot be read.
pub fn sha256_of_file(path: &Path) -> io::Result<String> {
    const PIECE_BYTES: usize = 1 << 20;
    let (mut file, mut digest) = (open_regular(path)?, Sha256::new());
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hex(&digest.finalize())),
            length => digest.update(&piece[..length]),
        }
    }
}

/// Returns two lower-case hexadecimal digits for each byte.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
        text
    })
}

/// Reads a file whole.
///
/// # Errors
/// [`DatasetError::Read`] with the path.
pub fn read_file(path: &Path) -> Result<Vec<u8>, DatasetError> {
    read_regular(path).map_err(|source| DatasetError::Read { path: path.to_owned(), source })
}

/// Reads a file whole and compares its SHA-256 with `expected` (hexadecimal, any case), which comes from
/// the list `listed_in`.
///
/// # Errors
/// [`DatasetError::Read`] or [`DatasetError::Checksum`]; [`DatasetError::Malformed`] if it is what a failed download
/// leaves.
pub fn read_verified(path: &Path, expected: &str, listed_in: &str) -> Result<Vec<u8>, DatasetError> {
    let bytes = read_file(path)?;
    let got = sha256_hex(&bytes);
    if got.eq_ignore_ascii_case(expected) {
        return Ok(bytes);
    }
    if let Some(words) = misfetched(&bytes) {
        return Err(DatasetError::Malformed { path: path.to_owned(), reason: words.to_owned() });
    }
    Err(DatasetError::Checksum {
        path: path.to_owned(),
        listed_in: listed_in.to_owned(),
        expected: expected.to_owned(),
        got,
    })
}

/// A folder whose files are listed with their checksums: in its `checksums.sha256`, in the form that `sha256sum` writes
/// and checks, or in the code of a data set.
#[derive(Debug, Clone)]
pub struct VerifiedFolder {
    folder: PathBuf,
    sums: BTreeMap<String, String>,
    /// Place of the list, for errors.
    listed_in: &'static str,
}

impl VerifiedFolder {
    /// Name of the list within the folder.
    pub const LIST: &'static str = "checksums.sha256";

    /// Returns a folder whose files have these names and sums.
    #[must_use]
    pub fn listed(folder: PathBuf, files: &[(&str, &str)]) -> Self {
        let sums = files.iter().map(|(name, sum)| ((*name).to_owned(), (*sum).to_owned())).collect();
        Self { folder, sums, listed_in: "the project" }
    }

    /// Reads the list of a folder.
    ///
    /// # Errors
    /// [`DatasetError::Read`], or [`DatasetError::Malformed`] with the line.
    pub fn open(folder: &Path) -> Result<Self, DatasetError> {
        let list = folder.join(Self::LIST);
        let malformed = |reason| DatasetError::Malformed { path: list.clone(), reason };
        let text = read_text(&list)?;
        let mut sums = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let (sum, name) = parse_line(line).ok_or_else(|| {
                malformed(format!("line {} is not \"<64 hexadecimal digits>  <file name>\"", number + 1))
            })?;
            if sums.insert(name.to_owned(), sum.to_owned()).is_some() {
                return Err(malformed(format!("line {} lists \"{name}\" a second time", number + 1)));
            }
        }
        Ok(Self { folder: folder.to_owned(), sums, listed_in: Self::LIST })
    }

    /// Returns the names of the files that are listed, in order.
    pub fn files(&self) -> impl ExactSizeIterator<Item = &str> {
        self.sums.keys().map(String::as_str)
    }

    /// Returns where a file of the folder is.
    #[must_use]
    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// Reads a file of the folder and verifies it.
    ///
    /// # Errors
    /// [`DatasetError::NotListed`], or as [`read_verified`].
    pub fn read(&self, file: &str) -> Result<Vec<u8>, DatasetError> {
        let not_listed =
            || DatasetError::NotListed { list: self.folder.join(Self::LIST), file: file.to_owned() };
        let sum = self.sums.get(file).ok_or_else(not_listed)?;
        read_verified(&self.path(file), sum, self.listed_in)
    }
}

/// Splits `<sum>  <name>`; the second space is `*` for files that were read in binary mode.
fn parse_line(line: &str) -> Option<(&str, &str)> {
    let (sum, name) = line.split_once(' ')?;
    let name = name.strip_prefix([' ', '*'])?;
    let good = sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit()) && !name.is_empty();
    good.then_some((sum, name))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::net::UnixListener, process::Command};

    use super::*;

    // FIPS 180-2, example of the three-letter message.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn folder(list: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.bin"), "abc").unwrap();
        fs::write(folder.path().join(VerifiedFolder::LIST), list).unwrap();
        folder
    }

    #[test]
    fn a_file_as_listed_is_read() {
        let folder = folder(&format!("{ABC}  a.bin\n"));
        let opened = VerifiedFolder::open(folder.path()).unwrap();
        assert_eq!(opened.files().collect::<Vec<_>>(), ["a.bin"]);
        assert_eq!(opened.read("a.bin").unwrap(), b"abc");
    }

    #[test]
    fn a_file_as_the_code_lists_it_is_read_and_no_other() {
        let folder = folder("");
        let listed = |sum: &str| VerifiedFolder::listed(folder.path().to_owned(), &[("a.bin", sum)]);
        assert_eq!(listed(ABC).read("a.bin").unwrap(), b"abc");
        assert!(matches!(listed(ABC).read("b.bin"), Err(DatasetError::NotListed { .. })));
        let error = listed(&ABC.replace('b', "c")).read("a.bin").unwrap_err().to_string();
        assert!(error.contains("but the project says ca7816"), "{error}");
    }

    #[test]
    fn a_changed_file_is_refused_by_name() {
        let folder = folder(&format!("{ABC} *a.bin\n"));
        fs::write(folder.path().join("a.bin"), "abd").unwrap();
        let error = VerifiedFolder::open(folder.path()).unwrap().read("a.bin").unwrap_err();
        assert!(matches!(error, DatasetError::Checksum { .. }));
        let text = error.to_string();
        assert!(text.contains("a.bin is damaged") && text.contains(ABC), "{text}");
        fs::write(folder.path().join("a.bin"), "version https://git-lfs.github.com/spec/v1\n").unwrap();
        let error = VerifiedFolder::open(folder.path()).unwrap().read("a.bin").unwrap_err();
        assert!(error.to_string().contains("a.bin: it is a pointer of Git LFS"), "{error}");
    }

    #[test]
    fn what_is_not_listed_or_not_there_is_refused() {
        let folder = folder(&format!("{ABC}  b.bin\n"));
        let opened = VerifiedFolder::open(folder.path()).unwrap();
        assert!(matches!(opened.read("a.bin"), Err(DatasetError::NotListed { .. })));
        assert!(matches!(opened.read("b.bin"), Err(DatasetError::Read { .. })));
    }

    #[test]
    fn what_is_no_regular_file_is_named_and_not_waited_for() {
        let folder = folder(&format!("{ABC}  a.bin\n"));
        let path = folder.path().join("a.bin");
        fs::remove_file(&path).unwrap();
        let refused = |kind: &str| {
            let expected = format!("it is {kind}, and no regular file");
            let read = VerifiedFolder::open(folder.path()).unwrap().read("a.bin");
            let DatasetError::Read { source, .. } = read.unwrap_err() else { panic!("it is read") };
            assert_eq!(source.to_string(), expected);
            assert_eq!(sha256_of_file(&path).unwrap_err().to_string(), expected);
            let DatasetError::Read { source, .. } = read_text(&path).unwrap_err() else {
                panic!("it is read")
            };
            assert_eq!(source.to_string(), expected);
        };
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        refused("a pipe");
        fs::remove_file(&path).unwrap();
        let _socket = UnixListener::bind(&path).unwrap();
        refused("a socket");
    }

    #[test]
    fn a_broken_list_is_refused_with_its_line() {
        for bad in ["nothing", "abc  a.bin", &format!("{ABC} a.bin"), &format!("{ABC}  ")] {
            let folder = folder(&format!("{ABC}  x\n{bad}\n"));
            let text = VerifiedFolder::open(folder.path()).unwrap_err().to_string();
            assert!(text.contains("line 2"), "{text}");
        }
        let twice = folder(&format!("{ABC}  x\n{ABC}  x\n"));
        assert!(VerifiedFolder::open(twice.path()).unwrap_err().to_string().contains("second time"));
    }
}

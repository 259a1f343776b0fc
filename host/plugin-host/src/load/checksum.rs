//! The SHA-256 of a file, computed while other things are loaded: a library may have a gigabyte.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Read as _, Seek as _},
    sync::OnceLock,
    thread::{self, JoinHandle},
};

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

/// Name of the host's thread that computes the checksum of a library during loading.
pub const CHECKSUM_THREAD: &str = "checksum";

/// SHA-256 of a file that is being computed, or has been.
#[derive(Debug)]
pub(crate) struct Checksum {
    thread: Mutex<Option<JoinHandle<Option<String>>>>,
    text: OnceLock<Option<String>>,
}

impl Checksum {
    /// Starts to compute it, on its own thread.
    pub(crate) fn start(file: File) -> Self {
        let thread =
            thread::Builder::new().name(CHECKSUM_THREAD.into()).spawn(move || sha256_of(&file).ok()).ok();
        Self { thread: Mutex::new(thread), text: OnceLock::new() }
    }

    /// Returns the checksum in hexadecimal, waited for; `None` if the file cannot be read.
    pub(crate) fn get(&self) -> Option<&str> {
        let wait = || {
            let thread = self.thread.lock().take();
            thread.and_then(|thread| thread.join().ok()).flatten()
        };
        self.text.get_or_init(wait).as_deref()
    }
}

fn sha256_of(mut file: &File) -> io::Result<String> {
    // It may have been looked at before.
    file.rewind()?;
    let mut hash = Sha256::new();
    let mut block = vec![0; 64 << 10];
    loop {
        let count = file.read(&mut block)?;
        if count == 0 {
            break;
        }
        hash.update(&block[..count]);
    }
    let mut text = String::new();
    for byte in hash.finalize() {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn the_checksum_of_a_file_is_there_as_often_as_it_is_asked_for() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"abc").unwrap();
        let checksum = Checksum::start(file);
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((checksum.get(), checksum.get()), (Some(expected), Some(expected)));
    }

    #[test]
    fn what_cannot_be_read_has_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Checksum::start(File::open(folder.path()).unwrap()).get(), None);
    }
}

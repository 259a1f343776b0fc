//! Stores compiled kernels and results of trials on disk, a file for each.
//!
//! The name of a file is a hash of everything that determines its content; in it are the SHA-256 of the content,
//! and the content. It is written under a temporary name and renamed, so that half of one is never read.

use std::{
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::PathBuf,
    sync::Once,
};

use sha2::{Digest as _, Sha256};

const CHECKSUM_BYTES: usize = 32;

/// A folder for results that take long to make.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    /// Done once the user was warned that the folder cannot be written.
    warned: Once,
}

impl Cache {
    /// Returns the cache in a folder, which is made when the first file is stored.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, warned: Once::new() }
    }

    /// Returns the content that follows from these texts, if it exists and is whole.
    #[must_use]
    pub fn load(&self, key: &[&str]) -> Option<Vec<u8>> {
        let path = self.path(key);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::warn!(path = %path.display(), %error, "a cached file cannot be read");
                }
                return None;
            }
        };
        match bytes.split_at_checked(CHECKSUM_BYTES) {
            Some((checksum, content)) if checksum == Sha256::digest(content).as_slice() => {
                Some(content.to_vec())
            }
            _ => {
                tracing::warn!(path = %path.display(), "a cached file is damaged, and made again");
                None
            }
        }
    }

    /// Stores the content that follows from these texts. If that fails it is made again next time.
    pub fn store(&self, key: &[&str], content: &[u8]) {
        if let Err(error) = self.write(self.path(key), content) {
            let folder = self.folder.display();
            self.warned
                .call_once(|| tracing::warn!(%folder, %error, "what takes long to make cannot be kept"));
        }
    }

    fn write(&self, path: PathBuf, content: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let mut file = tempfile::Builder::new().prefix(".cached-").tempfile_in(&self.folder)?;
        file.write_all(&Sha256::digest(content))?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    fn path(&self, key: &[&str]) -> PathBuf {
        let mut hash = Sha256::new();
        for text in key {
            // With its length, so that no two keys are the same bytes.
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
        let mut name = String::new();
        for byte in hash.finalize() {
            // Writing to a string never fails.
            let _ = write!(name, "{byte:02x}");
        }
        self.folder.join(name + ".cached")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_found_by_the_same_texts_alone() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("below"));
        assert_eq!(cache.load(&["text", "sm_90"]), None);
        cache.store(&["text", "sm_90"], b"code");
        assert_eq!(cache.load(&["text", "sm_90"]).as_deref(), Some(b"code".as_slice()));
        assert_eq!(cache.load(&["text", "sm_80"]), None);
        assert_eq!(cache.load(&["texts", "m_90"]), None);
        assert_eq!(fs::read_dir(folder.path().join("below")).unwrap().count(), 1);
    }

    #[test]
    fn what_is_damaged_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().to_owned());
        cache.store(&["text"], b"code");
        for damaged in [&b""[..], b"short", &[0; 40]] {
            fs::write(cache.path(&["text"]), damaged).unwrap();
            assert_eq!(cache.load(&["text"]), None);
        }
        cache.store(&["text"], b"code");
        assert!(cache.load(&["text"]).is_some());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_no_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let cache = Cache::new(file.path().join("below"));
        cache.store(&["text"], b"code");
        assert_eq!(cache.load(&["text"]), None);
    }
}

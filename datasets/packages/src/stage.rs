//! The folder in which a thing is put together, beside the one that it goes to. The process that has its
//! lock is at work alone.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use crate::{
    error::PackageError,
    watch::{Step, Watch, check},
};

/// Reason why the folder of another cannot be used.
const IS_LINK: &str = "it is a link, and a folder of its own is needed there: remove the link";

/// Time between two tries at a lock.
const LOOK: Duration = Duration::from_millis(100);

/// The folder; it goes when this is dropped, and folders above it that were made for it and are empty.
#[derive(Debug)]
pub(crate) struct Stage {
    folder: PathBuf,
    /// Folders above it that were not there, the innermost first.
    made: Vec<PathBuf>,
    /// Kept for its lock.
    _lock: File,
}

impl Stage {
    /// Makes the folder for a thing below `parent`, and waits for another process that has it. Leftovers of one that
    /// was killed are removed.
    pub(crate) fn open(parent: &Path, name: &str, watch: &dyn Watch) -> Result<Self, PackageError> {
        let folder = parent.join(format!(".get-{name}"));
        let unwritten = |source| PackageError::Write { path: folder.clone(), source };
        let made: Vec<_> =
            parent.ancestors().take_while(|above| !above.exists()).map(Path::to_owned).collect();
        loop {
            fs::create_dir_all(&folder).map_err(unwritten)?;
            // The target of a link is not cleared.
            if fs::symlink_metadata(&folder).is_ok_and(|found| !found.is_dir()) {
                return Err(unwritten(io::Error::new(io::ErrorKind::NotADirectory, IS_LINK)));
            }
            let lock = match File::open(&folder) {
                Ok(lock) => lock,
                // The other one has finished between.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(unwritten(error)),
            };
            match lock.try_lock() {
                Ok(()) if is_same(&lock, &folder) => {
                    let stage = Self { folder, made, _lock: lock };
                    stage.clear()?;
                    return Ok(stage);
                }
                // Of a folder that has been removed.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    watch.show(&Step::Waiting);
                    check(watch)?;
                    thread::sleep(LOOK);
                }
                Err(TryLockError::Error(error)) => return Err(unwritten(error)),
            }
        }
    }

    /// Returns the path of something in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Makes a folder in it.
    pub(crate) fn make(&self, name: &str) -> Result<PathBuf, PackageError> {
        let path = self.path(name);
        match fs::create_dir_all(&path) {
            Ok(()) => Ok(path),
            Err(source) => Err(PackageError::Write { path, source }),
        }
    }

    fn clear(&self) -> Result<(), PackageError> {
        let unwritten = |path: &Path| {
            let path = path.to_owned();
            |source| PackageError::Write { path, source }
        };
        for entry in fs::read_dir(&self.folder).map_err(unwritten(&self.folder))?.flatten() {
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let removed = if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(unwritten(&path))?;
        }
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // If it cannot be removed now, it goes at the next time.
        let _ = fs::remove_dir_all(&self.folder);
        for folder in &self.made {
            // It is not empty once something was placed.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Returns whether a folder that is open is the one at this path, and not behind a link there.
fn is_same(open: &File, path: &Path) -> bool {
    let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (open.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(at_path)) => id(open) == id(at_path),
        _ => false,
    }
}

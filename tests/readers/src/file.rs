//! Bytes as a file, for readers that want one.

use std::{fs, path::Path, thread::LocalKey};

use tempfile::TempDir;

thread_local! {
    static FOLDER: TempDir = tempfile::tempdir().expect("a folder can be made");
}

/// Returns a folder of this thread.
pub(crate) fn with_folder<T>(read: impl FnOnce(&Path) -> T) -> T {
    let folder: &'static LocalKey<TempDir> = &FOLDER;
    folder.with(|folder| read(folder.path()))
}

/// Runs `read` on a file with these bytes.
pub(crate) fn with_file<T>(data: &[u8], read: impl FnOnce(&Path) -> T) -> T {
    with_folder(|folder| {
        let path = folder.join("file");
        fs::write(&path, data).expect("a file can be written");
        read(&path)
    })
}

//! Opens a path that should be a regular file. Opening a pipe waits for its writer, forever if there is none.

use std::{
    fs::{self, File, FileType},
    io::{self, Read},
    os::unix::fs::FileTypeExt,
    path::Path,
};

/// A file that is not a regular one; as text it tells the user so, behind the name of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is {kind}, and no regular file")]
pub struct Irregular {
    /// Kind, such as `a pipe`.
    pub kind: &'static str,
}

impl Irregular {
    /// Returns the kind of a file that is not a regular one.
    #[must_use]
    pub fn of(found: FileType) -> Option<Self> {
        let kinds = [
            (found.is_dir(), "a folder"),
            (found.is_fifo(), "a pipe"),
            (found.is_socket(), "a socket"),
            (found.is_char_device() || found.is_block_device(), "a device"),
        ];
        kinds.into_iter().find_map(|(is_it, kind)| is_it.then_some(Self { kind }))
    }

    /// Returns the cause of an error of [`open_regular`] or [`read_regular`], if it is this.
    #[must_use]
    pub fn cause(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref::<Self>().copied()
    }
}

/// Opens a file to read it, through links as `File::open` does. A folder is left to the system, which opens
/// it but refuses to read it.
///
/// # Errors
/// Returns the error of the system, or one with an [`Irregular`] for anything but a regular file. It has no path.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let found = fs::metadata(path)?.file_type();
    match Irregular::of(found).filter(|_| !found.is_dir()) {
        Some(irregular) => Err(io::Error::new(io::ErrorKind::InvalidInput, irregular)),
        None => File::open(path),
    }
}

/// Reads a file whole.
///
/// # Errors
/// Same as [`open_regular`].
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_alone_are_opened() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let manifest = own.join("Cargo.toml");
        assert_eq!(read_regular(&manifest).unwrap(), fs::read(&manifest).unwrap());
        let device = read_regular(Path::new("/dev/null")).unwrap_err();
        assert_eq!(Irregular::cause(&device), Some(Irregular { kind: "a device" }));
        assert_eq!(device.to_string(), "it is a device, and no regular file");
        // The system's errors are passed on.
        for path in [own.to_owned(), own.join("none")] {
            let (error, of_system) = (read_regular(&path).unwrap_err(), fs::read(&path).unwrap_err());
            assert_eq!((error.kind(), Irregular::cause(&error)), (of_system.kind(), None));
        }
    }
}

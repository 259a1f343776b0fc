//! Errors of getting a thing.

use std::{error::Error, io, path::PathBuf};

use proctor_vocabulary::{printable, printable_lines};

use crate::{
    archive::tar::TarError,
    catalogue::{Client, Package},
};

/// An error of the caller's own.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Reason why a thing could not be had. Nothing of it is left then, except what was there before.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum PackageError {
    #[error("interrupted")]
    Interrupted,
    #[error(
        "fetching {package} needs {}, which does not run here: install it ({}), or fetch the package elsewhere by \
         `{command}` and say where it is with --from FOLDER",
        client.name(),
        how_to_install(*client)
    )]
    NoClient { client: Client, package: &'static str, command: String },
    #[error(
        "{} could not fetch {package}: {}; if no registry can be reached from here, fetch the package elsewhere by \
         `{command}` and say where it is with --from FOLDER",
        client.name(),
        printable_lines(words)
    )]
    NotFetched {
        client: Client,
        package: &'static str,
        command: String,
        /// Last words of the client.
        words: String,
    },
    #[error(
        "opening {} needs dpkg-deb, which does not run here: install it (Debian: dpkg), or unpack the package \
         elsewhere and say where it is with --from FOLDER",
        printable(archive.display())
    )]
    NoDpkgDeb { archive: PathBuf },
    #[error("{} is no archive that can be read", printable(archive.display()))]
    Archive { archive: PathBuf, source: ArchiveError },
    #[error("{} has no file {member}, so it is another version than {}", printable(archive.display()), title(package))]
    NoMember { archive: PathBuf, member: String, package: &'static Package },
    #[error(
        "{} is not what it should be: its sha256 is {got}, and {expected} was expected; nothing was kept",
        printable(file)
    )]
    Checksum {
        /// The file, and where it came from.
        file: String,
        expected: &'static str,
        got: String,
    },
    #[error("{} is not what it should be: it has more than {bytes} bytes; nothing was kept", printable(file))]
    Large { file: String, bytes: u64 },
    #[error(
        "{} has neither {} nor a package file of {}",
        printable(folder.display()),
        names.join(" nor "),
        title(package)
    )]
    NotInFolder { folder: PathBuf, names: Vec<&'static str>, package: &'static Package },
    #[error("{}: more than {limit} files, which are too many to search; name the folder of the package itself",
            printable(folder.display()))]
    LargeFolder { folder: PathBuf, limit: usize },
    #[error("{} cannot be converted to {name}", printable(file))]
    NotConverted { file: String, name: &'static str, source: Cause },
    #[error(
        "{needed_mb} MB are needed in {}, and {free_mb} MB are free: make room, or name another folder with \
         --data-root",
        printable(folder.display())
    )]
    NoRoom { folder: PathBuf, needed_mb: u64, free_mb: u64 },
    #[error("cannot read {}", printable(path.display()))]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}{}", printable(path.display()), remedy(source))]
    Write { path: PathBuf, source: io::Error },
}

/// Fault of an archive.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum ArchiveError {
    #[error(transparent)]
    Zip(#[from] zip::result::ZipError),
    #[error(transparent)]
    Tar(#[from] TarError),
    #[error("dpkg-deb says: {}", printable_lines(.0))]
    Deb(String),
    #[error("{member} has more than {limit} bytes")]
    Large { member: String, limit: u64 },
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Returns a package with its version.
fn title(package: &Package) -> String {
    format!("{} {}", package.name, package.version)
}

fn how_to_install(client: Client) -> &'static str {
    match client {
        Client::Pip => "Debian: apt-get install python3-pip",
        Client::Npm => "Debian: apt-get install npm",
        Client::Apt => "Debian and Ubuntu have it, and no other system",
    }
}

fn remedy(error: &io::Error) -> &'static str {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded => {
            ": the disk is full; make room, or name another folder with --data-root"
        }
        PermissionDenied | ReadOnlyFilesystem => {
            ": you may not write there; name another folder with --data-root"
        }
        _ => "",
    }
}

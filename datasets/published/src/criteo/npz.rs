//! Members of a zip archive that lie in it uncompressed, by their place in the file.

use std::{
    fs::File,
    io::{self, Cursor, Write},
    os::unix::fs::FileExt,
    path::Path,
};

use proctor_vocabulary::{beginning::ZIP, misfetched};
use zip::{
    CompressionMethod, DateTime, ZipArchive, ZipWriter,
    read::{ArchiveOffset, Config},
    result::ZipError,
    write::SimpleFileOptions,
};

use crate::{criteo::fault::ZipFault, defect::Problem};

/// Number of bytes at the beginning of a file that identify another kind of file.
const START_BYTES: u64 = 64;

/// A member and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// Byte of the archive at which it begins.
    pub(crate) offset: u64,
    pub(crate) size_bytes: u64,
    pub(crate) crc32: u32,
}

/// Returns the members of an archive, in the order of its directory.
///
/// # Errors
/// If the file cannot be read, or is no archive of members that are stored as they are.
pub(crate) fn members(path: &Path, file: &File) -> Result<Vec<Member>, Problem> {
    let size_bytes = file.metadata().map_err(|error| Problem::of_reading(path, &error))?.len();
    // An archive begins where its file does: the reader need not look for its beginning in all of a large file.
    let config = Config { archive_offset: ArchiveOffset::Known(0) };
    let mut archive = ZipArchive::with_config(config, file)
        .map_err(|error| foreign(file, size_bytes).unwrap_or_else(|| unsound(path, error)))?;
    (0..archive.len())
        .map(|index| {
            let entry = archive.by_index_raw(index).map_err(|error| unsound(path, error))?;
            let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
            if entry.encrypted() {
                return Err(of_archive(ZipFault::Encrypted { name }));
            }
            if entry.compression() != CompressionMethod::Stored {
                let method = entry.compression().to_string();
                return Err(of_archive(ZipFault::Compressed { name, method }));
            }
            let is_within = |offset: &u64| {
                offset.checked_add(entry.size()).is_some_and(|end| end <= size_bytes)
                    && entry.compressed_size() == entry.size()
            };
            match entry.data_start().filter(is_within) {
                Some(offset) => Ok(Member { name, offset, size_bytes: entry.size(), crc32: entry.crc32() }),
                None => Err(of_archive(ZipFault::Damaged { reason: format!("size of member {name}") })),
            }
        })
        .collect()
}

fn of_archive(fault: ZipFault) -> Problem {
    Problem::Array(fault.into())
}

/// Returns the problem of a file that begins as another kind of file.
fn foreign(file: &File, size_bytes: u64) -> Option<Problem> {
    let mut start = vec![0; size_bytes.min(START_BYTES) as usize];
    file.read_exact_at(&mut start, 0).ok()?;
    let kind = misfetched(&start).filter(|_| !start.starts_with(&ZIP))?;
    Some(of_archive(ZipFault::Foreign(kind)))
}

/// Describes a file with a record that cannot be read.
fn unsound(path: &Path, error: ZipError) -> Problem {
    match error {
        // The system finds a place invalid that no file can have: that is a fault of the archive.
        ZipError::Io(error)
            if error.raw_os_error().is_some() && error.kind() != io::ErrorKind::InvalidInput =>
        {
            Problem::of_reading(path, &error)
        }
        error => of_archive(ZipFault::Damaged { reason: error.to_string() }),
    }
}

/// Returns the bytes of an archive of stored members, with 64-bit sizes as NumPy writes them. Equal members make equal
/// bytes.
///
/// # Errors
/// If a member cannot be added.
pub(crate) fn archive(members: &[(String, Vec<u8>)]) -> io::Result<Vec<u8>> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default())
        .large_file(true);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        writer.start_file(name, options)?;
        writer.write_all(content)?;
    }
    Ok(writer.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &[u8] = b"PK\x01\x02";
    const END_BYTES: usize = 22;

    fn in_file(bytes: &[u8]) -> Result<Vec<Member>, Problem> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        members(Path::new("file.npz"), &file)
    }

    fn sample() -> Vec<u8> {
        archive(&[("0.npy".to_owned(), vec![1, 2, 3]), ("1.npy".to_owned(), Vec::new())]).unwrap()
    }

    /// The same with the records at the end of an archive beyond 4 GiB.
    fn wide_sample() -> Vec<u8> {
        let sample = sample();
        let (before, end) = sample.split_at(sample.len() - END_BYTES);
        let number = |at: usize| u64::from(u32::from_le_bytes(std::array::from_fn(|index| end[at + index])));
        let mut wide = before.to_vec();
        wide.extend(b"PK\x06\x06");
        wide.extend(44_u64.to_le_bytes());
        wide.extend([45, 0, 45, 0]);
        wide.extend([0; 8]);
        // Members of this disk, all members, size and place of the directory.
        for number in [2, 2, number(12), number(16)] {
            wide.extend(number.to_le_bytes());
        }
        wide.extend(b"PK\x06\x07\0\0\0\0");
        wide.extend((before.len() as u64).to_le_bytes());
        wide.extend(1_u32.to_le_bytes());
        wide.extend(b"PK\x05\x06\0\0\0\0");
        wide.extend([0xff; 12]);
        wide.extend([0; 2]);
        wide
    }

    #[test]
    fn members_are_found_at_their_places() {
        for bytes in [sample(), wide_sample()] {
            let found = in_file(&bytes).unwrap();
            let names: Vec<_> =
                found.iter().map(|member| (member.name.as_str(), member.size_bytes)).collect();
            assert_eq!(names, [("0.npy", 3), ("1.npy", 0)]);
            let at = found[0].offset as usize;
            assert_eq!(bytes[at..at + 3], [1, 2, 3]);
            assert_eq!(found[0].crc32, 0x55bc_801d);
        }
    }

    #[test]
    fn a_cut_archive_is_refused() {
        for bytes in [sample(), wide_sample()] {
            for length in 0..bytes.len() {
                assert!(in_file(&bytes[..length]).is_err(), "{length}");
            }
            // Bytes missing at the beginning shift all offsets.
            let refusal = in_file(&bytes[1..]).unwrap_err().to_string();
            assert!(refusal.contains("cut short, damaged, or another kind of file; restore it"), "{refusal}");
        }
    }

    #[test]
    fn another_kind_of_file_is_named() {
        let page = in_file(b"<!DOCTYPE html>").unwrap_err().to_string();
        assert!(page.starts_with("it is no zip archive (it is a web page"), "{page}");
    }

    #[test]
    fn any_changed_byte_is_read_or_refused() {
        for bytes in [sample(), wide_sample()] {
            for at in 0..bytes.len() {
                for change in [1, 0x80, 0xff] {
                    let mut changed = bytes.clone();
                    changed[at] ^= change;
                    let found = in_file(&changed);
                    assert!(!matches!(found, Err(Problem::Unreadable(_))), "{at}: {found:?}");
                    let is_within = |member: &Member| member.offset + member.size_bytes <= bytes.len() as u64;
                    assert!(found.iter().flatten().all(is_within), "{at}: {found:?}");
                }
            }
        }
    }

    #[test]
    fn compressed_and_encrypted_members_are_refused_by_name() {
        let bytes = sample();
        let entry = bytes.windows(4).position(|window| window == ENTRY).unwrap();
        let with = |at: usize, value: u8| {
            let mut changed = bytes.clone();
            changed[entry + at] = value;
            in_file(&changed).unwrap_err()
        };
        let (name, method) = ("0.npy".to_owned(), "Deflated".to_owned());
        assert_eq!(with(10, 8), of_archive(ZipFault::Compressed { name: name.clone(), method }));
        assert_eq!(with(8, 1), of_archive(ZipFault::Encrypted { name }));
    }
}

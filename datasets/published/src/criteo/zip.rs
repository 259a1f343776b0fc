//! Members of a zip archive that lie in it uncompressed, by their place in the file.
//!
//! The archive ends with a record that says where its directory is; archives beyond 4 GiB have another such record
//! before it, and 64-bit numbers in the extra fields of their entries. An entry of the directory says where the
//! member's own header is, and behind that are the bytes.
//!
//! Source: PKWARE, APPNOTE 6.3.

use std::{fs::File, io, os::unix::fs::FileExt};

use proctor_vocabulary::{beginning::ZIP, misfetched};

const END: u32 = 0x0605_4b50;
const END_BYTES: usize = 22;
const END_64: u32 = 0x0606_4b50;
const END_64_BYTES: usize = 56;
const LOCATOR: u32 = 0x0706_4b50;
const LOCATOR_BYTES: usize = 20;
const ENTRY: u32 = 0x0201_4b50;
const ENTRY_BYTES: usize = 46;
const LOCAL: u32 = 0x0403_4b50;
const LOCAL_BYTES: usize = 30;
/// Identifies the extra field with 64-bit numbers.
const EXTRA_64: u16 = 1;
/// The method of members that are not compressed.
const STORED: u16 = 0;
/// The bit of encrypted members.
const ENCRYPTED: u16 = 1;
/// The greatest directory that is read; 26 members take 2 KB.
const DIRECTORY_BYTES_MAX: u64 = 1 << 24;
/// Bytes at the beginning of another kind of file that tell which it is.
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

/// Why a file is not an archive whose members can be read in place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ZipFault {
    /// There is no record at the end.
    #[error("does not end as a zip archive does; it is cut short, or another kind of file")]
    NoEnd,
    /// It is another kind of file; the text says which.
    #[error("is no zip archive ({0})")]
    Foreign(&'static str),
    /// A record lies outside of the file, or is another one.
    #[error("has no sound {part}; it is damaged")]
    Damaged {
        /// The part.
        part: &'static str,
    },
    /// A member is compressed.
    #[error(
        "has the member {name} compressed (method {method}); save it with numpy.savez, which only stores"
    )]
    Compressed {
        /// Name of the member.
        name: String,
        /// Method of compression.
        method: u16,
    },
    /// A member is encrypted.
    #[error("has the member {name} encrypted; save it without")]
    Encrypted {
        /// Name of the member.
        name: String,
    },
}

/// The members of an archive, in the order of its directory.
///
/// # Errors
/// `Err` for the system's error, and within it the fault of the file.
pub(crate) fn members(file: &File) -> io::Result<Result<Vec<Member>, ZipFault>> {
    let size_bytes = file.metadata()?.len();
    let mut reader = Reader { file, size_bytes, error: None };
    let found = reader.members();
    match reader.error {
        Some(error) => Err(error),
        None => Ok(found),
    }
}

struct Reader<'a> {
    file: &'a File,
    size_bytes: u64,
    /// The system's error, beside which the fault does not count.
    error: Option<io::Error>,
}

impl Reader<'_> {
    fn members(&mut self) -> Result<Vec<Member>, ZipFault> {
        let (offset, length) = self.directory().map_err(|fault| self.foreign().unwrap_or(fault))?;
        let damaged = ZipFault::Damaged { part: "directory" };
        if length > DIRECTORY_BYTES_MAX {
            return Err(damaged);
        }
        let directory = self.bytes(offset, length).ok_or(damaged)?;
        let mut rest = &directory[..];
        let mut members = Vec::new();
        while !rest.is_empty() {
            members.push(self.entry(&mut rest)?);
        }
        Ok(members)
    }

    /// The fault of a file that begins as another kind of file.
    fn foreign(&mut self) -> Option<ZipFault> {
        let start = self.bytes(0, self.size_bytes.min(START_BYTES))?;
        misfetched(&start).filter(|_| !start.starts_with(&ZIP)).map(ZipFault::Foreign)
    }

    /// Offset and length of the directory.
    fn directory(&mut self) -> Result<(u64, u64), ZipFault> {
        let tail_bytes = self.size_bytes.min((END_BYTES + usize::from(u16::MAX)) as u64);
        let start = self.size_bytes - tail_bytes;
        let tail = self.bytes(start, tail_bytes).ok_or(ZipFault::NoEnd)?;
        // The record whose comment ends where the file does.
        let is_end = |at: &usize| {
            let record = &tail[*at..];
            u32_at(record, 0) == END && *at + END_BYTES + usize::from(u16_at(record, 20)) == tail.len()
        };
        let at = (0..(tail.len() + 1).saturating_sub(END_BYTES)).rev().find(is_end).ok_or(ZipFault::NoEnd)?;
        let (length, offset) = (u32_at(&tail[at..], 12), u32_at(&tail[at..], 16));
        if length != u32::MAX && offset != u32::MAX {
            return Ok((offset.into(), length.into()));
        }
        let damaged = || ZipFault::Damaged { part: "64-bit record at its end" };
        let locator_at = (start + at as u64).checked_sub(LOCATOR_BYTES as u64).ok_or_else(damaged)?;
        let locator = self.record(locator_at, LOCATOR_BYTES, LOCATOR).ok_or_else(damaged)?;
        let end = self.record(u64_at(&locator, 8), END_64_BYTES, END_64).ok_or_else(damaged)?;
        Ok((u64_at(&end, 48), u64_at(&end, 40)))
    }

    /// Takes an entry from the directory.
    fn entry(&mut self, directory: &mut &[u8]) -> Result<Member, ZipFault> {
        let damaged = |part| ZipFault::Damaged { part };
        let (head, rest) = directory.split_at_checked(ENTRY_BYTES).ok_or(damaged("directory"))?;
        if u32_at(head, 0) != ENTRY {
            return Err(damaged("directory"));
        }
        let [name_bytes, extra_bytes, comment_bytes] = [28, 30, 32].map(|at| usize::from(u16_at(head, at)));
        let (name, rest) = rest.split_at_checked(name_bytes).ok_or(damaged("directory"))?;
        let (extra, rest) = rest.split_at_checked(extra_bytes).ok_or(damaged("directory"))?;
        let (_, rest) = rest.split_at_checked(comment_bytes).ok_or(damaged("directory"))?;
        *directory = rest;
        let name = String::from_utf8_lossy(name).into_owned();
        let method = u16_at(head, 10);
        if u16_at(head, 8) & ENCRYPTED != 0 {
            return Err(ZipFault::Encrypted { name });
        }
        if method != STORED {
            return Err(ZipFault::Compressed { name, method });
        }
        // Size, packed size and place, each 64 bits wide in the extra field where 32 do not do.
        let mut wide = extra_64(extra);
        let numbers = [24, 20, 42].map(|at| match u32_at(head, at) {
            u32::MAX => {
                let (number, rest) = wide.split_first_chunk::<8>()?;
                wide = rest;
                Some(u64::from_le_bytes(*number))
            }
            number => Some(number.into()),
        });
        let [Some(size_bytes), Some(packed_bytes), Some(local_at)] = numbers else {
            return Err(damaged("directory"));
        };
        let local = self.record(local_at, LOCAL_BYTES, LOCAL).ok_or(damaged("header of a member"))?;
        let behind = LOCAL_BYTES as u64 + u64::from(u16_at(&local, 26)) + u64::from(u16_at(&local, 28));
        let offset = local_at.checked_add(behind).ok_or(damaged("header of a member"))?;
        let end = offset.checked_add(size_bytes).filter(|end| *end <= self.size_bytes);
        if packed_bytes != size_bytes || end.is_none() {
            return Err(damaged("size of a member"));
        }
        Ok(Member { name, offset, size_bytes, crc32: u32_at(head, 16) })
    }

    /// The bytes of a record that begins with its signature.
    fn record(&mut self, offset: u64, length: usize, signature: u32) -> Option<Vec<u8>> {
        self.bytes(offset, length as u64).filter(|record| u32_at(record, 0) == signature)
    }

    /// Bytes of the file; `None` if it does not have them.
    fn bytes(&mut self, offset: u64, length: u64) -> Option<Vec<u8>> {
        offset.checked_add(length).filter(|end| *end <= self.size_bytes)?;
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        match self.file.read_exact_at(&mut bytes, offset) {
            Ok(()) => Some(bytes),
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }
}

/// The content of the extra field with 64-bit numbers; empty without one.
fn extra_64(mut extra: &[u8]) -> &[u8] {
    while extra.len() >= 4 {
        let (id, length) = (u16_at(extra, 0), usize::from(u16_at(extra, 2)));
        let Some((content, rest)) = extra[4..].split_at_checked(length) else { break };
        if id == EXTRA_64 {
            return content;
        }
        extra = rest;
    }
    &[]
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(std::array::from_fn(|index| bytes[at + index]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|index| bytes[at + index]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]))
}

/// The bytes of an archive of stored members with 64-bit numbers, as NumPy writes them.
pub(crate) fn archive(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for (name, content) in members {
        let (size_bytes, offset) = (content.len() as u64, archive.len() as u64);
        let mut crc32 = flate2::Crc::new();
        crc32.update(content);
        // Version 4.5, no flags, stored, midnight of 1 January 1980, checksum, sizes in the extra field.
        let mut common = Vec::new();
        for number in [45_u16, 0, STORED, 0, 0x21] {
            common.extend(number.to_le_bytes());
        }
        common.extend(crc32.sum().to_le_bytes());
        common.extend([0xff; 8]);
        common.extend((name.len() as u16).to_le_bytes());
        let sizes = [
            &EXTRA_64.to_le_bytes()[..],
            &16_u16.to_le_bytes(),
            &size_bytes.to_le_bytes(),
            &size_bytes.to_le_bytes(),
        ];

        archive.extend(LOCAL.to_le_bytes());
        archive.extend(&common);
        archive.extend(20_u16.to_le_bytes());
        archive.extend(name.as_bytes());
        archive.extend(sizes.concat());
        archive.extend(content);

        directory.extend(ENTRY.to_le_bytes());
        directory.extend(45_u16.to_le_bytes());
        directory.extend(&common);
        directory.extend(28_u16.to_le_bytes());
        // No comment, disk 0, no attributes, the place in the extra field.
        directory.extend([0; 10]);
        directory.extend([0xff; 4]);
        directory.extend(name.as_bytes());
        directory.extend(EXTRA_64.to_le_bytes());
        directory.extend(24_u16.to_le_bytes());
        for number in [size_bytes, size_bytes, offset] {
            directory.extend(number.to_le_bytes());
        }
    }
    let (directory_at, directory_bytes) = (archive.len() as u64, directory.len() as u64);
    archive.extend(directory);
    let end_at = archive.len() as u64;
    let count = members.len() as u64;
    archive.extend(END_64.to_le_bytes());
    archive.extend((END_64_BYTES as u64 - 12).to_le_bytes());
    archive.extend([45, 0, 45, 0]);
    archive.extend([0; 8]);
    for number in [count, count, directory_bytes, directory_at] {
        archive.extend(number.to_le_bytes());
    }
    archive.extend(LOCATOR.to_le_bytes());
    archive.extend([0; 4]);
    archive.extend(end_at.to_le_bytes());
    archive.extend(1_u32.to_le_bytes());
    archive.extend(END.to_le_bytes());
    archive.extend([0; 4]);
    archive.extend([0xff; 12]);
    archive.extend([0; 2]);
    archive
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn in_file(bytes: &[u8]) -> Result<Vec<Member>, ZipFault> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        members(&file).unwrap()
    }

    fn sample() -> Vec<u8> {
        archive(&[("0.npy".to_owned(), vec![1, 2, 3]), ("1.npy".to_owned(), Vec::new())])
    }

    #[test]
    fn members_are_found_at_their_places() {
        let bytes = sample();
        let found = in_file(&bytes).unwrap();
        let names: Vec<_> = found.iter().map(|member| (member.name.as_str(), member.size_bytes)).collect();
        assert_eq!(names, [("0.npy", 3), ("1.npy", 0)]);
        let at = found[0].offset as usize;
        assert_eq!(bytes[at..at + 3], [1, 2, 3]);
        assert_eq!(found[0].crc32, 0x55bc_801d);
    }

    #[test]
    fn a_cut_archive_is_refused() {
        let bytes = sample();
        for length in 0..bytes.len() {
            assert!(in_file(&bytes[..length]).is_err(), "{length}");
        }
        // What is missing at the beginning shifts all places.
        assert!(matches!(in_file(&bytes[1..]), Err(ZipFault::Damaged { .. })));
    }

    #[test]
    fn another_kind_of_file_is_named() {
        let page = in_file(b"<!DOCTYPE html>").unwrap_err().to_string();
        assert!(page.starts_with("is no zip archive (it is a web page"), "{page}");
    }

    #[test]
    fn any_changed_byte_is_read_or_refused() {
        let bytes = sample();
        for at in 0..bytes.len() {
            for change in [1, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                if let Ok(found) = in_file(&changed) {
                    assert!(
                        found.iter().all(|member| member.offset + member.size_bytes <= bytes.len() as u64)
                    );
                }
            }
        }
    }

    #[test]
    fn compressed_and_encrypted_members_are_refused_by_name() {
        let bytes = sample();
        let entry = bytes.windows(4).position(|window| window == ENTRY.to_le_bytes()).unwrap();
        let with = |at: usize, value: u8| {
            let mut changed = bytes.clone();
            changed[entry + at] = value;
            in_file(&changed).unwrap_err()
        };
        assert_eq!(with(10, 8), ZipFault::Compressed { name: "0.npy".to_owned(), method: 8 });
        assert_eq!(with(8, 1), ZipFault::Encrypted { name: "0.npy".to_owned() });
    }
}

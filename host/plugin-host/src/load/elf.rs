//! Whether a shared library is there to its end.
//!
//! The dynamic linker maps a file as its headers say and touches the pages: a file that was cut off, as by an
//! interrupted copy, ends the process with SIGBUS. So the headers are compared with the length first. Only 64-bit
//! little-endian ELF is looked at; whatever else is wrong with a file, the dynamic linker says.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

/// Identification of a 64-bit little-endian ELF file.
const IDENTIFICATION: &[u8] = b"\x7fELF\x02\x01";
const HEADER_SIZE_BYTES: usize = 64;
const PROGRAM_HEADER_SIZE_BYTES: u64 = 56;

/// Returns how long the file of a shared library has to be and how long it is, in bytes, if it is too short.
///
/// # Errors
/// If the file cannot be read.
pub fn missing_end(mut file: &File) -> io::Result<Option<(u64, u64)>> {
    file.rewind()?;
    let length = file.metadata()?.len();
    let mut header = Vec::new();
    file.by_ref().take(HEADER_SIZE_BYTES as u64).read_to_end(&mut header)?;
    if !header.starts_with(IDENTIFICATION) {
        return Ok(None);
    }
    if header.len() < HEADER_SIZE_BYTES {
        return Ok(Some((HEADER_SIZE_BYTES as u64, length)));
    }
    let table = number(&header, 32, 8);
    let entry_size = number(&header, 54, 2);
    let entry_count = number(&header, 56, 2);
    if entry_size != PROGRAM_HEADER_SIZE_BYTES {
        return Ok(None);
    }
    // At most 65,535 * 56 bytes.
    let table_size = entry_size * entry_count;
    let mut needed = table.saturating_add(table_size);
    if needed <= length {
        file.seek(SeekFrom::Start(table))?;
        let mut entries = Vec::new();
        file.take(table_size).read_to_end(&mut entries)?;
        for entry in entries.chunks_exact(PROGRAM_HEADER_SIZE_BYTES as usize) {
            let (offset, size) = (number(entry, 8, 8), number(entry, 32, 8));
            needed = needed.max(offset.saturating_add(size));
        }
    }
    Ok((needed > length).then_some((needed, length)))
}

/// The little-endian number of `size` bytes at `offset`.
fn number(bytes: &[u8], offset: usize, size: usize) -> u64 {
    bytes[offset..offset + size].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

// Not under Miri, where the program that runs is no file of the system.
#[cfg(all(test, not(miri)))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_shorter_start_of_a_program_is_recognised() {
        let whole = std::env::current_exe().unwrap();
        assert_eq!(missing_end(&File::open(&whole).unwrap()).unwrap(), None);
        let bytes = fs::read(&whole).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cut");
        for length in [6, 63, 64, 100, 1000, 5000] {
            fs::write(&path, &bytes[..length]).unwrap();
            let (needed, got) = missing_end(&File::open(&path).unwrap()).unwrap().expect("it is cut off");
            assert_eq!(got, length as u64);
            assert!(needed > got && needed <= bytes.len() as u64);
        }
    }

    #[test]
    fn what_is_no_elf_file_is_left_to_the_linker() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        for text in ["", "hello", "\x7fELF"] {
            fs::write(&path, text).unwrap();
            assert_eq!(missing_end(&File::open(&path).unwrap()).unwrap(), None);
        }
    }
}

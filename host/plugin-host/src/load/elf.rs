//! Checks that a shared library is whole, and finds its processor.
//!
//! The dynamic linker maps a file as its headers say and touches the pages: a file that was cut off, as by an
//! interrupted copy, ends the process with SIGBUS. So the headers are compared with the length first. Only 64-bit
//! little-endian ELF is examined. A library for another processor the linker passes over, and says then that there is
//! no such file. Whatever else is wrong with a file, it says itself.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

/// Identification of a 64-bit little-endian ELF file.
const IDENTIFICATION: &[u8] = b"\x7fELF\x02\x01";
const HEADER_SIZE_BYTES: usize = 64;
const PROGRAM_HEADER_SIZE_BYTES: u64 = 56;

/// Offset of the processor's number in the header.
const MACHINE_AT: usize = 18;
/// Processors: their numbers in the header, their Rust names, and their display names.
const MACHINES: [(u16, &str, &str); 8] = [
    (3, "x86", "32-bit x86"),
    (21, "powerpc64", "64-bit PowerPC"),
    (22, "s390x", "S/390"),
    (40, "arm", "32-bit Arm"),
    (62, "x86_64", "x86-64"),
    (183, "aarch64", "AArch64"),
    (243, "riscv64", "RISC-V"),
    (258, "loongarch64", "LoongArch"),
];

/// Returns the processor that a library is built for, if it differs from this host's.
pub(crate) fn other_machine(mut file: &File) -> Option<String> {
    let mut head = [0; MACHINE_AT + 2];
    file.rewind().and_then(|()| file.read_exact(&mut head)).ok()?;
    let number = [head[MACHINE_AT], head[MACHINE_AT + 1]];
    let number = match (head.starts_with(b"\x7fELF"), head[5]) {
        (true, 1) => u16::from_le_bytes(number),
        (true, 2) => u16::from_be_bytes(number),
        _ => return None,
    };
    let (own, _, host) = MACHINES.into_iter().find(|(_, arch, _)| *arch == std::env::consts::ARCH)?;
    if number == own {
        return None;
    }
    let known = MACHINES.into_iter().find(|(known, ..)| *known == number).map(|(.., name)| name.to_owned());
    let built_for = known.unwrap_or_else(|| format!("the machine {number} of ELF"));
    Some(format!("it is built for {built_for}, this host is {host}"))
}

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

/// Returns the little-endian number of `size` bytes at `offset`.
fn number(bytes: &[u8], offset: usize, size: usize) -> u64 {
    bytes[offset..offset + size].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

// Not under Miri, where the running program is not a file of the system.
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
        for text in ["", "hello", "\x7fELF", "a text that is longer than a header of ELF"] {
            fs::write(&path, text).unwrap();
            assert_eq!(missing_end(&File::open(&path).unwrap()).unwrap(), None);
            assert_eq!(other_machine(&File::open(&path).unwrap()), None);
        }
    }

    #[test]
    fn another_processor_is_named_and_that_of_this_host_is_not() {
        let own = std::env::current_exe().unwrap();
        assert_eq!(other_machine(&File::open(own).unwrap()), None);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("library");
        let said = |byte_order: u8, number: [u8; 2]| {
            let head = [b"\x7fELF\x02".as_slice(), &[byte_order], &[0; 12], &number].concat();
            fs::write(&path, head).unwrap();
            other_machine(&File::open(&path).unwrap())
        };
        for (number, arch, name) in MACHINES {
            let said = [said(1, number.to_le_bytes()), said(2, number.to_be_bytes())];
            for said in said {
                let expected = format!("it is built for {name}, this host is ");
                let is_own = arch == std::env::consts::ARCH;
                assert_eq!(said.is_some_and(|said| said.starts_with(&expected)), !is_own, "{name}");
            }
        }
        let unknown = said(1, [0xfe, 0xca]).unwrap();
        assert!(unknown.starts_with("it is built for the machine 51966 of ELF, this host is "), "{unknown}");
    }
}

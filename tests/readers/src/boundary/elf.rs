//! Shared libraries: whether a file is complete.

use proctor_plugin_host::missing_end;

use crate::{file::with_file, memory::bounded};

/// The headers of the file.
const MEMORY_FACTOR: u64 = 2;

/// Longest file that is written to see whether it is long enough.
const PADDED_BYTES_MAX: u64 = 1 << 20;

/// Checks the reader of ELF headers: it says that a file is cut off exactly if a header or its target lies beyond the
/// end, and a file of the required length is whole, or its headers now say more.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_elf(data: &[u8]) {
    let length = data.len() as u64;
    let read = |path: &std::path::Path| {
        let file = std::fs::File::open(path).expect("a file that was just written can be opened");
        missing_end(&file).expect("a file that was just written can be read")
    };
    let missing = with_file(data, |path| bounded(data.len(), MEMORY_FACTOR, || read(path)));
    assert_eq!(missing, expected(data).map(|needed| (needed, length)));
    let Some((needed, _)) = missing else { return };
    assert!(needed > length);
    if needed <= PADDED_BYTES_MAX {
        let mut padded = data.to_vec();
        padded.resize(usize::try_from(needed).expect("not that long"), 0);
        let still_missing = with_file(&padded, read);
        assert!(still_missing.is_none_or(|(more, got)| more > needed && got == needed), "{still_missing:?}");
    }
}

/// Returns where the file has to end at least, if that is beyond its end, in numbers that cannot overflow.
fn expected(data: &[u8]) -> Option<u64> {
    let number = |at: usize, size: usize| {
        let mut bytes = [0; 16];
        bytes[..size].copy_from_slice(data.get(at..at + size)?);
        Some(u128::from_le_bytes(bytes))
    };
    if !data.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (Some(table), Some(56), Some(count)) =
        (number(32, 8), number(54, 2), number(56, 2).filter(|_| data.len() >= 64))
    else {
        return if data.len() < 64 { Some(64) } else { None };
    };
    let table_end = table + 56 * count;
    let mut end = table_end;
    if table_end <= data.len() as u128 {
        for entry in 0..count {
            let at = usize::try_from(table + 56 * entry).expect("it lies in the file");
            end = end.max(number(at + 8, 8)? + number(at + 32, 8)?);
        }
    }
    let end = u64::try_from(end).unwrap_or(u64::MAX);
    (end > data.len() as u64).then_some(end)
}

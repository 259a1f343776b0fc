//! Sizes of the caches, as the system tells them.

use std::{fs, path::Path};

use serde::Serialize;

/// Where Linux describes the caches of the first processor.
const FOLDER: &str = "/sys/devices/system/cpu/cpu0/cache";

/// Sizes of the data caches in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CacheSizes {
    /// First level, of one core.
    pub l1_bytes: u64,
    /// Second level, of one core.
    pub l2_bytes: u64,
    /// Last level, shared by cores; `None` if there is none beyond the second, or the system does not tell.
    pub l3_bytes: Option<u64>,
}

impl CacheSizes {
    /// What is assumed where the system tells nothing: the smallest that are common.
    pub const ASSUMED: Self = Self { l1_bytes: 32 << 10, l2_bytes: 256 << 10, l3_bytes: None };

    /// Asks the system; [`ASSUMED`](Self::ASSUMED) for what it does not tell.
    #[must_use]
    pub fn read() -> Self {
        Self::read_from(Path::new(FOLDER))
    }

    fn read_from(folder: &Path) -> Self {
        let mut sizes = Self::ASSUMED;
        for index in 0..8 {
            let text = |name: &str| fs::read_to_string(folder.join(format!("index{index}/{name}")));
            let (Ok(level), Ok(kind), Ok(size)) = (text("level"), text("type"), text("size")) else {
                continue;
            };
            let Some(bytes) = bytes_of(size.trim()) else { continue };
            match (level.trim(), kind.trim()) {
                ("1", "Data" | "Unified") => sizes.l1_bytes = bytes,
                ("2", _) => sizes.l2_bytes = bytes,
                ("3", _) => sizes.l3_bytes = Some(bytes),
                _ => {}
            }
        }
        sizes
    }

    /// What of the first level can be kept from step to step: eleven twelfths, the rest is for states and gates.
    #[must_use]
    pub fn l1_kept_bytes(self) -> f64 {
        self.l1_bytes as f64 * 11.0 / 12.0
    }

    /// What of the second level can be kept from step to step: seven eighths.
    #[must_use]
    pub fn l2_kept_bytes(self) -> f64 {
        self.l2_bytes as f64 * 7.0 / 8.0
    }
}

/// `48K`, `2M` or `262144` in bytes.
fn bytes_of(text: &str) -> Option<u64> {
    let (digits, factor) = match text.char_indices().last()? {
        (end, 'K') => (&text[..end], 1 << 10),
        (end, 'M') => (&text[..end], 1 << 20),
        (end, 'G') => (&text[..end], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_unit() {
        assert_eq!(bytes_of("48K"), Some(48 << 10));
        assert_eq!(bytes_of("2M"), Some(2 << 20));
        assert_eq!(bytes_of("262144"), Some(262_144));
        for text in ["", "K", "big", "-1K", "0K"] {
            assert_eq!(bytes_of(text), None, "{text}");
        }
    }

    #[test]
    fn a_folder_that_is_not_there_leaves_what_is_assumed() {
        assert_eq!(CacheSizes::read_from(Path::new("no/such/folder")), CacheSizes::ASSUMED);
    }

    #[test]
    fn data_caches_are_told_from_instruction_caches() {
        let folder = std::env::temp_dir().join(format!("proctor-caches-{}", std::process::id()));
        let rows = [("1", "Data", "48K"), ("1", "Instruction", "64K"), ("2", "Unified", "2048K")];
        for (index, (level, kind, size)) in rows.iter().enumerate() {
            let entry = folder.join(format!("index{index}"));
            fs::create_dir_all(&entry).unwrap();
            for (name, text) in [("level", level), ("type", kind), ("size", size)] {
                fs::write(entry.join(name), format!("{text}\n")).unwrap();
            }
        }
        let sizes = CacheSizes::read_from(&folder);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(sizes, CacheSizes { l1_bytes: 48 << 10, l2_bytes: 2 << 20, l3_bytes: None });
    }
}

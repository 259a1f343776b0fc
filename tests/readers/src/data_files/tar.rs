//! Tar archives, which packages of models and data sets are.

use std::io::Read;

use proctor_packages::{Tar, TarError};

use crate::memory::bounded;

/// The content of a file, and its name.
const MEMORY_FACTOR: u64 = 3;

/// Checks the reader of tar archives: files lie in the archive one behind another, and nothing else is read.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_tar(data: &[u8]) {
    match bounded(data.len(), MEMORY_FACTOR, || read(data)) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(sizes) => {
            // Each has a header and is filled up to a whole block, which the end of the archive may cut.
            let blocks: usize = sizes.iter().map(|size| 512 + size).sum();
            assert!(blocks <= data.len(), "{sizes:?} of {}", data.len());
        }
    }
}

/// Reads every second file, and returns the sizes of these.
fn read(data: &[u8]) -> Result<Vec<usize>, TarError> {
    let (mut tar, mut sizes) = (Tar::new(data), Vec::new());
    let mut is_read = true;
    while let Some(name) = tar.next_file()? {
        assert!(!name.starts_with("./") && !name.contains('\0'), "{name:?}");
        if is_read {
            let mut content = Vec::new();
            tar.read_to_end(&mut content)?;
            sizes.push(content.len());
        }
        is_read = !is_read;
    }
    Ok(sizes)
}

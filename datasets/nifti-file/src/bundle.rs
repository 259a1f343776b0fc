//! Several files as one sample: for each, its length as a u64 with the lowest byte first, then its bytes.
//!
//! A case of BraTS is four files, one for each modality, and a sample is one row of bytes.

use crate::error::NiftiError;

const LENGTH_BYTES: usize = size_of::<u64>();

/// Returns the files one after another, each behind its length.
#[must_use]
pub fn join(files: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(files.iter().map(|file| LENGTH_BYTES + file.len()).sum());
    for file in files {
        bytes.extend_from_slice(&(file.len() as u64).to_le_bytes());
        bytes.extend_from_slice(file);
    }
    bytes
}

/// Returns the `N` files of a sample.
///
/// # Errors
/// [`NiftiError::Bundle`] if these are not the bytes of `N` files.
pub fn split<const N: usize>(bytes: &[u8]) -> Result<[&[u8]; N], NiftiError> {
    let fault = || NiftiError::Bundle { expected: N, got: bytes.len() };
    let mut files = [&[][..]; N];
    let mut rest = bytes;
    for file in &mut files {
        let (length, behind) = rest.split_first_chunk::<LENGTH_BYTES>().ok_or_else(fault)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| fault())?;
        (*file, rest) = behind.split_at_checked(length).ok_or_else(fault)?;
    }
    if rest.is_empty() { Ok(files) } else { Err(fault()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_back_and_a_cut_is_seen() {
        let files = [vec![1, 2, 3], Vec::new(), vec![4]];
        let bytes = join(&files);
        assert_eq!(split::<3>(&bytes).unwrap(), [&[1, 2, 3][..], &[], &[4]]);
        for length in 0..bytes.len() {
            assert!(split::<3>(&bytes[..length]).is_err(), "{length}");
        }
        assert!(split::<2>(&bytes).is_err() && split::<4>(&bytes).is_err());
        assert!(split::<1>(&[0xff; 16]).is_err());
    }
}

//! Headers of `.npy` files.
//!
//! `\x93NUMPY`, two bytes of version, the length of a text (two bytes, or four from version 2), the text: a Python
//! dictionary of `descr`, `fortran_order` and `shape`; then the elements.

use proctor_vocabulary::misfetched;

/// Maximum number of bytes of a header that are read: NumPy writes a few hundred.
pub const HEADER_BYTES_MAX: usize = 1 << 16;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Type, extents and place of the elements of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpyHeader {
    /// NumPy's word for the type, such as `<f4`.
    pub descr: String,
    /// Extents, slowest first.
    pub shape: Vec<u64>,
    /// Byte of the file at which the elements begin.
    pub data_offset: u64,
}

/// Reason why bytes are not the header of an array that is read here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum NpyFault {
    #[error("does not begin as a .npy file")]
    Magic,
    /// The bytes belong to another kind of file; the text says which.
    #[error("does not begin as a .npy file ({0})")]
    Foreign(&'static str),
    #[error("is of version {0} of the format; 1 to 3 are read here")]
    Version(u8),
    #[error("ends within its header, or has a header of more than 64 KiB")]
    Cut,
    #[error("has the header {0:?}, which is not a dictionary of descr, fortran_order and shape")]
    Dictionary(String),
    #[error("is in Fortran's order; save it in C's order")]
    FortranOrder,
}

/// Reason why the elements of an array do not fill its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum NpySizeFault {
    #[error("has {got} bytes instead of {expected}: it is cut short")]
    Short {
        /// Number of bytes that the header asks for, including its own.
        expected: u64,
        got: u64,
    },
    #[error("has {excess} bytes more than its header says")]
    Long { excess: u64 },
    #[error("says that it has more bytes than any file")]
    Beyond,
}

impl NpyHeader {
    /// Reads the header from the first [`HEADER_BYTES_MAX`] bytes of a file, or from the whole file if it is shorter.
    ///
    /// # Errors
    /// Returns the fault of the header.
    pub fn parse(bytes: &[u8]) -> Result<Self, NpyFault> {
        let rest = bytes.strip_prefix(MAGIC);
        let rest = rest.ok_or_else(|| misfetched(bytes).map_or(NpyFault::Magic, NpyFault::Foreign))?;
        let ([major, _], rest) = rest.split_first_chunk::<2>().ok_or(NpyFault::Cut)?;
        let (length, rest) = match major {
            1 => rest
                .split_first_chunk::<2>()
                .map(|(length, rest)| (usize::from(u16::from_le_bytes(*length)), rest)),
            2 | 3 => rest
                .split_first_chunk::<4>()
                .map(|(length, rest)| (u32::from_le_bytes(*length) as usize, rest)),
            other => return Err(NpyFault::Version(*other)),
        }
        .ok_or(NpyFault::Cut)?;
        let text = rest.get(..length).ok_or(NpyFault::Cut)?;
        let data_offset = (bytes.len() - rest.len() + length) as u64;
        let text = String::from_utf8_lossy(text);
        let fault = || NpyFault::Dictionary(text.trim_end().chars().take(200).collect());
        let descr = value(&text, "descr").and_then(quoted).ok_or_else(fault)?;
        let shape = value(&text, "shape").and_then(tuple).ok_or_else(fault)?;
        match value(&text, "fortran_order").ok_or_else(fault)? {
            order if order.starts_with("False") => Ok(Self { descr: descr.to_owned(), shape, data_offset }),
            order if order.starts_with("True") => Err(NpyFault::FortranOrder),
            _ => Err(fault()),
        }
    }

    /// Checks that header and elements, each of `element_bytes`, fill a file of `size_bytes`.
    ///
    /// # Errors
    /// Returns the fault of the size.
    pub fn check_size(&self, element_bytes: u64, size_bytes: u64) -> Result<(), NpySizeFault> {
        let elements = self.element_count().and_then(|count| count.checked_mul(element_bytes));
        let expected = elements.and_then(|size| size.checked_add(self.data_offset));
        let expected = expected.ok_or(NpySizeFault::Beyond)?;
        match size_bytes.checked_sub(expected) {
            Some(0) => Ok(()),
            Some(excess) => Err(NpySizeFault::Long { excess }),
            None => Err(NpySizeFault::Short { expected, got: size_bytes }),
        }
    }

    /// Returns the number of elements; `None` if it is beyond all files.
    #[must_use]
    pub fn element_count(&self) -> Option<u64> {
        self.shape.iter().try_fold(1_u64, |count, extent| count.checked_mul(*extent))
    }
}

/// Returns the text behind a key and its colon.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let (_, behind) = text.split_once(&format!("'{key}'"))?;
    Some(behind.trim_start().strip_prefix(':')?.trim_start())
}

fn quoted(text: &str) -> Option<&str> {
    text.strip_prefix('\'')?.split_once('\'').map(|(inside, _)| inside)
}

fn tuple(text: &str) -> Option<Vec<u64>> {
    let (inside, _) = text.strip_prefix('(')?.split_once(')')?;
    let inside = inside.trim();
    let inside = inside.strip_suffix(',').unwrap_or(inside);
    if inside.is_empty() {
        return Some(Vec::new());
    }
    inside.split(',').map(|extent| extent.trim().parse().ok()).collect()
}

/// Returns the header of an array in C's order, as NumPy writes it: padded to a multiple of 64 bytes.
///
/// # Panics
/// If the text is longer than 64 KiB, which takes some thousand dimensions.
#[must_use]
pub fn header(descr: &str, shape: &[u64]) -> Vec<u8> {
    let extents: Vec<_> = shape.iter().map(u64::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let mut text =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}{comma}), }}", extents.join(", "));
    let before = MAGIC.len() + 4;
    while !(before + text.len() + 1).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    let mut header = MAGIC.to_vec();
    header.extend([1, 0]);
    header.extend(u16::try_from(text.len()).expect("a header is short").to_le_bytes());
    header.extend(text.as_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_header_is_read_again() {
        for shape in [&[3, 100][..], &[7], &[], &[178_274_637, 13]] {
            let mut header = super::header("<f4", shape);
            assert_eq!(header.len() % 64, 0);
            header.extend([9; 5]);
            let read = NpyHeader::parse(&header).unwrap();
            assert_eq!((read.descr.as_str(), &read.shape[..]), ("<f4", shape));
            assert_eq!(read.data_offset as usize, header.len() - 5);
            for length in 0..header.len() - 5 {
                assert!(NpyHeader::parse(&header[..length]).is_err(), "{length}");
            }
        }
    }

    #[test]
    fn a_size_is_held_against_the_header() {
        let header = NpyHeader::parse(&super::header("<i4", &[3, 2])).unwrap();
        let whole = header.data_offset + 24;
        assert_eq!(header.check_size(4, whole), Ok(()));
        let short = NpySizeFault::Short { expected: whole, got: whole - 1 };
        assert_eq!(header.check_size(4, whole - 1), Err(short));
        let long = header.check_size(4, whole + 20).unwrap_err();
        assert_eq!(long.to_string(), "has 20 bytes more than its header says");
        let beyond = NpyHeader::parse(&super::header("<i4", &[u64::MAX, 2])).unwrap();
        assert_eq!(beyond.check_size(4, whole), Err(NpySizeFault::Beyond));
        let one_too_many = NpyHeader::parse(&super::header("<i4", &[u64::MAX / 4])).unwrap();
        assert_eq!(one_too_many.check_size(4, whole), Err(NpySizeFault::Beyond));
    }

    #[test]
    fn other_headers_are_refused_by_name() {
        let with = |version: u8, text: &str| {
            let length =
                if version == 1 { vec![text.len() as u8, 0] } else { vec![text.len() as u8, 0, 0, 0] };
            let bytes = [&MAGIC[..], &[version, 0], &length, text.as_bytes()].concat();
            NpyHeader::parse(&bytes)
        };
        let good = "{'shape': (2,3 ) , 'fortran_order':False,'descr': '<i4'}";
        assert_eq!(with(2, good).unwrap().shape, [2, 3]);
        assert_eq!(with(4, good).unwrap_err(), NpyFault::Version(4));
        assert_eq!(with(3, &good.replace("False", "True")).unwrap_err(), NpyFault::FortranOrder);
        for bad in
            ["", "{'descr': '<i4'}", "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,)}"]
        {
            assert_eq!(with(1, bad).unwrap_err(), NpyFault::Dictionary(bad.to_owned()));
        }
        assert_eq!(NpyHeader::parse(b"RIFF").unwrap_err(), NpyFault::Magic);
        let pointer = NpyHeader::parse(b"version https://git-lfs.github.com/spec/v1\n").unwrap_err();
        assert!(pointer.to_string().contains("a .npy file (it is a pointer of Git LFS"), "{pointer}");
    }
}

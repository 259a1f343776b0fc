//! The IDX format of MNIST, strictly.
//!
//! | offset | size | content |
//! |---|---|---|
//! | 0 | 2 | zero |
//! | 2 | 1 | element type; 8 is unsigned byte, the only one read here |
//! | 3 | 1 | rank *r*: number of dimensions |
//! | 4 | 4 *r* | extents, big-endian, slowest first |
//! | 4 + 4 *r* | product of the extents | elements, row-major; the file ends here |

use std::path::Path;

use crate::error::{DatasetError, IdxError};

const UNSIGNED_BYTE: u8 = 8;

/// A dense array of unsigned bytes, as an IDX file holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdxArray {
    shape: Vec<usize>,
    /// Header and elements, as read: the elements are not copied out.
    file: Vec<u8>,
}

impl IdxArray {
    /// Reads an array of `rank` dimensions from the bytes of a file.
    ///
    /// Allocates nothing on the word of the header: absurd extents are found out by the size of the file.
    ///
    /// # Errors
    /// [`IdxError`] unless the header is as expected and the file ends with the last element.
    pub fn parse(file: Vec<u8>, rank: usize) -> Result<Self, IdxError> {
        let truncated = |expected| IdxError::HeaderTruncated { expected, got: file.len() };
        let &[zero, also_zero, element_type, file_rank, ref rest @ ..] = file.as_slice() else {
            return Err(truncated(4));
        };
        if (zero, also_zero) != (0, 0) {
            return Err(IdxError::Magic(zero, also_zero));
        }
        if element_type != UNSIGNED_BYTE {
            return Err(IdxError::ElementType(element_type));
        }
        if usize::from(file_rank) != rank {
            return Err(IdxError::Rank { expected: rank, got: file_rank.into() });
        }
        let extents = rest.get(..4 * rank).ok_or_else(|| truncated(4 + 4 * rank))?;
        let (extents, _) = extents.as_chunks::<4>();
        let shape: Vec<usize> = extents.iter().map(|extent| u32::from_be_bytes(*extent) as usize).collect();
        let got = rest.len() - 4 * rank;
        let count = shape.iter().try_fold(1_usize, |count, extent| count.checked_mul(*extent));
        if count != Some(got) {
            return Err(IdxError::Size { shape, got });
        }
        Ok(Self { shape, file })
    }

    /// Reads an array of `rank` dimensions from the bytes of the file at `path`, which is for the error alone.
    ///
    /// # Errors
    /// [`DatasetError::Idx`], see [`IdxArray::parse`].
    pub fn parse_file(path: &Path, file: Vec<u8>, rank: usize) -> Result<Self, DatasetError> {
        Self::parse(file, rank).map_err(|source| DatasetError::Idx { path: path.to_owned(), source })
    }

    /// Returns the extents, slowest first.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns all elements, row-major.
    #[must_use]
    pub fn elements(&self) -> &[u8] {
        &self.file[4 + 4 * self.shape.len()..]
    }

    /// Returns the extents of one item: all except the first.
    #[must_use]
    pub fn item_shape(&self) -> &[usize] {
        self.shape.get(1..).unwrap_or_default()
    }

    /// Returns the number of items: the first extent, or 0 without dimensions.
    #[must_use]
    pub fn item_count(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }

    /// Returns the elements of one item, row-major; `None` past the last item.
    #[must_use]
    pub fn item(&self, number: usize) -> Option<&[u8]> {
        if number >= self.item_count() {
            return None;
        }
        let size: usize = self.item_shape().iter().product();
        self.elements().get(number * size..(number + 1) * size)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(shape: &[u32], elements: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, 8, u8::try_from(shape.len()).unwrap()];
        bytes.extend(shape.iter().flat_map(|extent| extent.to_be_bytes()));
        bytes.extend(elements);
        bytes
    }

    #[test]
    fn reads_items_of_a_small_file() {
        let array = IdxArray::parse(file(&[2, 1, 3], &[1, 2, 3, 4, 5, 6]), 3).unwrap();
        assert_eq!(array.shape(), [2, 1, 3]);
        assert_eq!(array.item_shape(), [1, 3]);
        assert_eq!(array.item(1), Some([4, 5, 6].as_slice()));
        assert_eq!(array.item(2), None);
    }

    #[test]
    fn names_what_is_wrong() {
        let error = |bytes, rank| IdxArray::parse(bytes, rank).unwrap_err();
        assert_eq!(error(vec![], 1), IdxError::HeaderTruncated { expected: 4, got: 0 });
        assert_eq!(error(vec![0, 0, 8, 3, 0], 3), IdxError::HeaderTruncated { expected: 16, got: 5 });
        assert_eq!(error(vec![0x1f, 0x8b, 8, 1], 1), IdxError::Magic(0x1f, 0x8b));
        assert_eq!(error(vec![0, 0, 0x0d, 1], 1), IdxError::ElementType(0x0d));
        assert_eq!(error(file(&[1], &[7]), 3), IdxError::Rank { expected: 3, got: 1 });
    }

    #[test]
    fn absurd_extents_are_an_error_and_allocate_nothing() {
        let extents = [u32::MAX; 3];
        let error = IdxArray::parse(file(&extents, &[1, 2]), 3).unwrap_err();
        assert_eq!(error, IdxError::Size { shape: vec![u32::MAX as usize; 3], got: 2 });
    }

    proptest! {
        #[test]
        fn every_array_survives_and_every_other_length_is_refused(
            shape in prop::collection::vec(0_u32..5, 1..4),
            cut in 1_usize..200,
        ) {
            let count = shape.iter().product::<u32>();
            let elements: Vec<u8> = (0..count).map(|number| u8::try_from(number).unwrap()).collect();
            let good = file(&shape, &elements);
            let array = IdxArray::parse(good.clone(), shape.len()).unwrap();
            prop_assert_eq!(array.elements(), elements.as_slice());

            let mut long = good.clone();
            long.push(0);
            prop_assert!(IdxArray::parse(long, shape.len()).is_err());
            let short = good[..good.len().saturating_sub(cut)].to_vec();
            prop_assert!(IdxArray::parse(short, shape.len()).is_err());
        }

        #[test]
        fn any_bytes_are_read_or_refused_without_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..40),
            plausible: bool,
            rank in 0_usize..4,
        ) {
            let mut bytes = bytes;
            if plausible && bytes.len() >= 4 {
                bytes[..4].copy_from_slice(&[0, 0, 8, u8::try_from(rank).unwrap()]);
            }
            if let Ok(array) = IdxArray::parse(bytes, rank) {
                prop_assert_eq!(array.elements().len(), array.shape().iter().product::<usize>());
                prop_assert!((0..array.item_count().min(9)).all(|number| array.item(number).is_some()));
            }
        }
    }
}

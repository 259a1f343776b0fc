//! The head of a record: the shapes of a sample's tensors, which come after it without gaps.

/// Greatest number of tensors of a sample, and of dimensions of a tensor: far above any real one.
const MOST: usize = 64;

/// Shapes and sizes of a sample's tensors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// Extents of each tensor.
    pub(crate) shapes: Vec<Vec<usize>>,
    /// Bytes of each tensor.
    pub(crate) sizes: Vec<usize>,
}

impl Head {
    /// Returns the head as words of 64 bits: number of tensors; then of each, its bytes, its rank and its extents.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut words = vec![self.shapes.len()];
        for (shape, size) in self.shapes.iter().zip(&self.sizes) {
            words.extend([*size, shape.len()]);
            words.extend(shape);
        }
        words.into_iter().flat_map(|word| (word as u64).to_le_bytes()).collect()
    }

    /// Reads a head by a function that gives the next word; `None` if there is none, or it makes no sense.
    pub(crate) fn read<E>(mut next: impl FnMut() -> Result<u64, E>) -> Result<Option<Self>, E> {
        let mut head = Self { shapes: Vec::new(), sizes: Vec::new() };
        let count = next()?;
        if count > MOST as u64 {
            return Ok(None);
        }
        for _ in 0..count {
            let (size, rank) = (next()?, next()?);
            let Ok(size) = usize::try_from(size) else { return Ok(None) };
            if rank > MOST as u64 {
                return Ok(None);
            }
            let mut shape = Vec::new();
            for _ in 0..rank {
                let Ok(extent) = usize::try_from(next()?) else { return Ok(None) };
                shape.push(extent);
            }
            head.shapes.push(shape);
            head.sizes.push(size);
        }
        Ok(Some(head))
    }

    /// Returns the number of bytes of the record, the head among them; `None` if they cannot be counted.
    pub(crate) fn record_bytes(&self) -> Option<u64> {
        let words = 1 + self.shapes.iter().map(|shape| 2 + shape.len()).sum::<usize>();
        let tensors = self.sizes.iter().try_fold(0_u64, |sum, size| sum.checked_add(*size as u64))?;
        tensors.checked_add(8 * words as u64)
    }
}

//! Tensors of a file: their kinds, shapes and places.

use std::io::Read;

use crate::{
    error::Fault,
    source::{Failure, Source},
};

/// Number of weights of a block.
const BLOCK: u64 = 32;
/// Maximum number of extents.
const RANK_MAX: u32 = 4;

/// Form of a tensor's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorKind {
    /// f32.
    F32,
    /// Blocks of 32: a scale and the least value in f16, then steps of 4 bits. The lower halves of the 16 bytes are the
    /// first 16 steps, and a weight is `scale * step + least`.
    Q4_1,
    /// Blocks of 32: a scale in f16, then signed steps of 8 bits. A weight is `scale * step`.
    Q8_0,
    /// Another one, by its number.
    Other(u32),
}

impl TensorKind {
    fn of(number: u32) -> Self {
        match number {
            0 => Self::F32,
            3 => Self::Q4_1,
            8 => Self::Q8_0,
            other => Self::Other(other),
        }
    }

    /// Returns how many weights lie together in how many bytes; `None` for a kind that is not known.
    fn block(self) -> Option<(u64, u64)> {
        match self {
            Self::F32 => Some((1, 4)),
            Self::Q4_1 => Some((BLOCK, 20)),
            Self::Q8_0 => Some((BLOCK, 34)),
            Self::Other(_) => None,
        }
    }
}

/// A tensor of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// Extents, slowest first: the other way around than in the file. None is 0, and their product fits in a `usize`.
    pub shape: Vec<usize>,
    /// Form of its numbers.
    pub kind: TensorKind,
    /// First byte, counted from the beginning of all tensors.
    pub(crate) offset: u64,
    /// Number of bytes; 0 for a kind that is not known.
    pub(crate) size_bytes: u64,
}

/// Reads the name of a tensor, and what the header says of it.
pub(crate) fn read_tensor<R: Read>(source: &mut Source<R>) -> Result<(String, TensorInfo), Failure> {
    let name = source.text()?;
    let rank = source.u32()?;
    if !(1..=RANK_MAX).contains(&rank) {
        return Err(Fault::Shape(name).into());
    }
    let extents: Vec<u64> = (0..rank).map(|_| source.u64()).collect::<Result<_, _>>()?;
    let (kind, offset) = (TensorKind::of(source.u32()?), source.u64()?);
    let size_bytes = size_bytes(&name, &extents, kind)?;
    let shape = extents.iter().rev().map(|extent| usize::try_from(*extent)).collect::<Result<_, _>>();
    let shape = shape.map_err(|_| Fault::Shape(name.clone()))?;
    Ok((name, TensorInfo { shape, kind, offset, size_bytes }))
}

/// Returns the number of bytes of a tensor of these extents, the one whose elements lie together first.
fn size_bytes(name: &str, extents: &[u64], kind: TensorKind) -> Result<u64, Fault> {
    let shape = || Fault::Shape(name.to_owned());
    let count = extents.iter().try_fold(1_u64, |count, extent| count.checked_mul(*extent));
    let count = count.filter(|count| *count > 0 && usize::try_from(*count).is_ok()).ok_or_else(shape)?;
    let Some((together, bytes)) = kind.block() else { return Ok(0) };
    if !extents[0].is_multiple_of(together) {
        return Err(Fault::Blocks(name.to_owned()));
    }
    (count / together).checked_mul(bytes).ok_or_else(shape)
}

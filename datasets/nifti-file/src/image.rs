//! A file that was read.

use rayon::prelude::*;

use crate::{
    data_type::DataType,
    error::{NiftiError, VoxelFault},
    header::{ByteOrder, Header},
    read,
    volume::{AxisOrder, Volume},
};

/// Header and voxels of a file.
#[derive(Debug, Clone)]
pub struct Image {
    header: Header,
    data: Vec<u8>,
}

impl Image {
    /// Reads the bytes of a `.nii` or a `.nii.gz`, which are told apart by how they begin.
    ///
    /// # Errors
    /// The fault of the file.
    pub fn parse(bytes: &[u8]) -> Result<Self, NiftiError> {
        let (header, data) = read::header_and_data(bytes)?;
        Ok(Self { header, data })
    }

    /// Reads the header alone, for which the beginning of a file is enough.
    ///
    /// # Errors
    /// The fault of the header.
    pub fn parse_header(bytes: &[u8]) -> Result<Header, NiftiError> {
        read::header(bytes)
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The values, scaled as the header says in f64 and rounded to f32.
    ///
    /// # Errors
    /// [`NiftiError::Rank`]; [`NiftiError::Voxel`] if a value is not finite as f32.
    pub fn to_f32(&self, order: AxisOrder) -> Result<Volume<f32>, NiftiError> {
        let volume = self.volume(order, |value| value as f32)?;
        self.refuse(&volume, order, VoxelFault::Finite, |value| value.is_finite())?;
        Ok(volume)
    }

    /// The values as labels.
    ///
    /// # Errors
    /// [`NiftiError::Rank`]; [`NiftiError::Voxel`] if a value is not a whole number from 0 to 255.
    pub fn to_labels(&self, order: AxisOrder) -> Result<Volume<u8>, NiftiError> {
        // A value that is none becomes a number beyond all labels.
        let label = |value: f64| {
            let rounded = value as u8;
            if f64::from(rounded) == value { u16::from(rounded) } else { u16::MAX }
        };
        let volume = self.volume(order, label)?;
        self.refuse(&volume, order, VoxelFault::Label, |value| value < u16::MAX)?;
        let shape = volume.shape();
        Ok(Volume::new(shape, volume.into_values().into_iter().map(|label| label as u8).collect()))
    }

    fn volume<T: Copy + Default + Send + Sync>(
        &self,
        order: AxisOrder,
        convert: impl Fn(f64) -> T + Copy + Sync,
    ) -> Result<Volume<T>, NiftiError> {
        let shape = self.header.volume_shape()?;
        let arrange = Arrange { image: self, shape, order, convert };
        // Each type apart, for the compiler to see that nothing is to be decided for each voxel.
        Ok(match self.header.data_type() {
            DataType::U8 => arrange.values::<1>(|bits| DataType::U8.number(bits)),
            DataType::I8 => arrange.values::<1>(|bits| DataType::I8.number(bits)),
            DataType::I16 => arrange.values::<2>(|bits| DataType::I16.number(bits)),
            DataType::U16 => arrange.values::<2>(|bits| DataType::U16.number(bits)),
            DataType::I32 => arrange.values::<4>(|bits| DataType::I32.number(bits)),
            DataType::U32 => arrange.values::<4>(|bits| DataType::U32.number(bits)),
            DataType::I64 => arrange.values::<8>(|bits| DataType::I64.number(bits)),
            DataType::U64 => arrange.values::<8>(|bits| DataType::U64.number(bits)),
            DataType::F32 => arrange.values::<4>(|bits| DataType::F32.number(bits)),
            DataType::F64 => arrange.values::<8>(|bits| DataType::F64.number(bits)),
        })
    }

    /// Refuses the first value, in the order of the volume, that is not `good`.
    fn refuse<T: Copy + Sync>(
        &self,
        volume: &Volume<T>,
        order: AxisOrder,
        wanted: VoxelFault,
        is_good: impl Fn(T) -> bool + Sync,
    ) -> Result<(), NiftiError> {
        // Without an end in the middle of a part, the compiler compares several values at once.
        let has_bad = |part: &[T]| !part.iter().fold(true, |all, value| all & is_good(*value));
        let Some(part) = volume.values().par_chunks(PART).position_first(has_bad) else { return Ok(()) };
        let inside = volume.values()[part * PART..].iter().position(|value| !is_good(*value));
        let index = part * PART + inside.unwrap_or_default();
        let [_, second, third] = volume.shape();
        let mut at = [index / (second * third), index / third % second, index % third];
        if order == AxisOrder::FirstFastest {
            at.reverse();
        }
        Err(NiftiError::Voxel { at, value: self.value(at)?, wanted })
    }

    /// The value of one voxel.
    fn value(&self, [i, j, k]: [usize; 3]) -> Result<f64, NiftiError> {
        let [first, second, _] = self.header.volume_shape()?;
        let (data_type, size) = (self.header.data_type(), self.header.data_type().size_bytes());
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&self.data[((k * second + j) * first + i) * size..][..size]);
        if self.header.byte_order() == ByteOrder::Big {
            bytes[..size].reverse();
        }
        Ok(scaled(data_type.number(u64::from_le_bytes(bytes)), self.header.scaling()))
    }
}

fn scaled(stored: f64, scaling: Option<(f64, f64)>) -> f64 {
    scaling.map_or(stored, |(slope, intercept)| stored * slope + intercept)
}

/// Values that are looked at together.
const PART: usize = 1 << 14;
/// Extent of the tiles in which axes are exchanged: their rows are two lines of the processor's cache for f32.
const TILE: usize = 32;

/// How the bytes of a file become the values of a volume.
struct Arrange<'a, C> {
    image: &'a Image,
    /// By the axes of the file.
    shape: [usize; 3],
    order: AxisOrder,
    convert: C,
}

impl<T: Copy + Default + Send + Sync, C: Fn(f64) -> T + Copy + Sync> Arrange<'_, C> {
    /// Reads each voxel by `number`, which takes its bits.
    fn values<const N: usize>(&self, number: impl Fn(u64) -> f64 + Copy + Sync) -> Volume<T> {
        let header = self.image.header();
        let is_swapped = header.byte_order() == ByteOrder::Big;
        let convert = self.convert;
        let number = move |bytes: [u8; N]| {
            let mut all = [0; 8];
            all[..N].copy_from_slice(&bytes);
            number(u64::from_le_bytes(all))
        };
        // The usual file apart, as above.
        match (is_swapped, header.scaling()) {
            (false, None) => self.arranged(move |bytes| convert(number(bytes))),
            (_, scaling) => self.arranged(move |mut bytes: [u8; N]| {
                if is_swapped {
                    bytes.reverse();
                }
                convert(scaled(number(bytes), scaling))
            }),
        }
    }

    fn arranged<const N: usize>(&self, value: impl Fn([u8; N]) -> T + Sync) -> Volume<T> {
        let (voxels, _) = self.image.data.as_chunks::<N>();
        let [first, second, third] = self.shape;
        let mut values = vec![T::default(); first * second * third];
        if self.order == AxisOrder::FirstFastest {
            values.par_chunks_mut(first).zip(voxels.par_chunks(first)).for_each(|(to, from)| {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = value(*from);
                }
            });
            return Volume::new([third, second, first], values);
        }
        // The first axis is the fastest in the file and the slowest here.
        let plane = second * third;
        values.par_chunks_mut(TILE * plane).enumerate().for_each(|(block, to)| {
            let (start, width) = (block * TILE, to.len() / plane);
            let mut tile = [[T::default(); TILE]; TILE];
            for j in 0..second {
                for k in (0..third).step_by(TILE) {
                    let depth = TILE.min(third - k);
                    for row in 0..depth {
                        let from = &voxels[((k + row) * second + j) * first + start..][..width];
                        for (column, voxel) in tile.iter_mut().zip(from) {
                            column[row] = value(*voxel);
                        }
                    }
                    for (i, column) in tile[..width].iter().enumerate() {
                        to[i * plane + j * third + k..][..depth].copy_from_slice(&column[..depth]);
                    }
                }
            }
        });
        Volume::new(self.shape, values)
    }
}

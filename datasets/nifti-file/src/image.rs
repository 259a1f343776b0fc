//! A file that was read.

use rayon::prelude::*;

use crate::{
    error::{NiftiError, VoxelFault},
    header::Header,
    read,
    volume::{AxisOrder, Volume},
    voxels::Voxels,
};

/// Header and voxels of a file.
#[derive(Debug, Clone)]
pub struct Image {
    header: Header,
    data: Vec<u8>,
}

impl Image {
    /// Reads the bytes of a `.nii` or a `.nii.gz`; their first bytes tell which of the two it is.
    ///
    /// # Errors
    /// Returns the fault of the file.
    pub fn parse(bytes: &[u8]) -> Result<Self, NiftiError> {
        let (header, data) = read::header_and_data(bytes)?;
        Ok(Self { header, data })
    }

    /// Reads only the header, for which the beginning of a file suffices.
    ///
    /// # Errors
    /// Returns the fault of the header.
    pub fn parse_header(bytes: &[u8]) -> Result<Header, NiftiError> {
        read::header(bytes)
    }

    /// Returns the header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the values, scaled as the header says in f64 and rounded to f32.
    ///
    /// # Errors
    /// [`NiftiError::Rank`]; [`NiftiError::Voxel`] if a value is not finite as f32.
    pub fn to_f32(&self, order: AxisOrder) -> Result<Volume<f32>, NiftiError> {
        let volume = self.volume(order, |value| value as f32)?;
        self.refuse(&volume, order, VoxelFault::Finite, |value| value.is_finite())?;
        Ok(volume)
    }

    /// Returns the values as labels.
    ///
    /// # Errors
    /// [`NiftiError::Rank`]; [`NiftiError::Voxel`] if a value is not a whole number from 0 to 255.
    pub fn to_labels(&self, order: AxisOrder) -> Result<Volume<u8>, NiftiError> {
        // A value that is not a label becomes a number above all labels.
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
        let arrange = Arrange { bytes: &self.data, voxels: Voxels::new(&self.header), shape, convert };
        Ok(match order {
            AxisOrder::FirstFastest => arrange.first_fastest(),
            AxisOrder::FirstSlowest => arrange.first_slowest(),
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

    /// Returns the value of one voxel.
    fn value(&self, [i, j, k]: [usize; 3]) -> Result<f64, NiftiError> {
        let [first, second, _] = self.header.volume_shape()?;
        let voxels = Voxels::new(&self.header);
        let start = ((k * second + j) * first + i) * voxels.size_bytes();
        let mut value = [0.0];
        voxels.read(&self.data[start..], &mut value);
        Ok(value[0])
    }
}

/// Number of values looked at together.
const PART: usize = 1 << 14;
/// Extent of the tiles in which axes are exchanged: their rows are two lines of the processor's cache for f32.
const TILE: usize = 32;

/// The bytes of a file, and their conversion.
struct Arrange<'a, C> {
    bytes: &'a [u8],
    voxels: Voxels,
    /// Extents by the axes of the file.
    shape: [usize; 3],
    convert: C,
}

impl<T: Copy + Default + Send + Sync, C: Fn(f64) -> T + Copy + Sync> Arrange<'_, C> {
    /// Keeps the order of the file.
    fn first_fastest(&self) -> Volume<T> {
        let [first, second, third] = self.shape;
        let mut values = vec![T::default(); first * second * third];
        let rows = self.bytes.par_chunks(first * self.voxels.size_bytes());
        values.par_chunks_mut(first).zip(rows).for_each_init(
            || vec![0.0; first],
            |numbers, (to, from)| {
                self.voxels.read(from, numbers);
                for (to, number) in to.iter_mut().zip(numbers) {
                    *to = (self.convert)(*number);
                }
            },
        );
        Volume::new([third, second, first], values)
    }

    /// Turns the axes round: the first is the fastest in the file and the slowest here.
    fn first_slowest(&self) -> Volume<T> {
        let [first, second, third] = self.shape;
        let mut values = vec![T::default(); first * second * third];
        let plane = second * third;
        values.par_chunks_mut(TILE * plane).enumerate().for_each(|(block, to)| {
            let (start, width) = (block * TILE, to.len() / plane);
            let mut tile = [[T::default(); TILE]; TILE];
            let mut numbers = [0.0; TILE];
            for j in 0..second {
                for k in (0..third).step_by(TILE) {
                    let depth = TILE.min(third - k);
                    for row in 0..depth {
                        let from = (((k + row) * second + j) * first + start) * self.voxels.size_bytes();
                        self.voxels.read(&self.bytes[from..], &mut numbers[..width]);
                        for (column, number) in tile.iter_mut().zip(&numbers[..width]) {
                            column[row] = (self.convert)(*number);
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

//! Turns the bytes of voxels into their numbers.
//!
//! Converts a few voxels at a time, in memory that stays in the processor's cache. So there is a single loop for each
//! type, independent of the target type and of where the numbers go.

use crate::{
    data_type::DataType,
    header::{ByteOrder, Header},
};

/// Reads voxels as a file stores them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Voxels {
    data_type: DataType,
    is_swapped: bool,
    scaling: Option<(f64, f64)>,
}

impl Voxels {
    pub(crate) fn new(header: &Header) -> Self {
        Self {
            data_type: header.data_type(),
            is_swapped: header.byte_order() == ByteOrder::Big,
            scaling: header.scaling(),
        }
    }

    pub(crate) fn size_bytes(self) -> usize {
        self.data_type.size_bytes()
    }

    /// Reads as many voxels as there is room for, scaled as the header says.
    pub(crate) fn read(self, bytes: &[u8], numbers: &mut [f64]) {
        match self.data_type {
            DataType::U8 => self.each(bytes, numbers, |[byte]| f64::from(byte)),
            DataType::I8 => self.each(bytes, numbers, |bytes| f64::from(i8::from_le_bytes(bytes))),
            DataType::I16 => self.each(bytes, numbers, |bytes| f64::from(i16::from_le_bytes(bytes))),
            DataType::U16 => self.each(bytes, numbers, |bytes| f64::from(u16::from_le_bytes(bytes))),
            DataType::I32 => self.each(bytes, numbers, |bytes| f64::from(i32::from_le_bytes(bytes))),
            DataType::U32 => self.each(bytes, numbers, |bytes| f64::from(u32::from_le_bytes(bytes))),
            DataType::I64 => self.each(bytes, numbers, |bytes| i64::from_le_bytes(bytes) as f64),
            DataType::U64 => self.each(bytes, numbers, |bytes| u64::from_le_bytes(bytes) as f64),
            DataType::F32 => self.each(bytes, numbers, |bytes| f64::from(f32::from_le_bytes(bytes))),
            DataType::F64 => self.each(bytes, numbers, f64::from_le_bytes),
        }
        if let Some((slope, intercept)) = self.scaling {
            for number in numbers {
                *number = *number * slope + intercept;
            }
        }
    }

    fn each<const N: usize>(self, bytes: &[u8], numbers: &mut [f64], number: impl Fn([u8; N]) -> f64) {
        let (voxels, _) = bytes.as_chunks::<N>();
        if self.is_swapped {
            for (to, voxel) in numbers.iter_mut().zip(voxels) {
                let mut voxel = *voxel;
                voxel.reverse();
                *to = number(voxel);
            }
        } else {
            for (to, voxel) in numbers.iter_mut().zip(voxels) {
                *to = number(*voxel);
            }
        }
    }
}

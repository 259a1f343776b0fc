//! Writes volumes as NIfTI files.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};

use crate::{
    data_type::DataType,
    header::{DATA_OFFSET_MIN, HEADER_BYTES, MAGIC},
    volume::Volume,
};

/// A type whose values can be written.
pub trait Element: Copy {
    /// The type in the file.
    const DATA_TYPE: DataType;

    /// Appends the value, the lowest byte first.
    fn append(self, bytes: &mut Vec<u8>);
}

impl Element for u8 {
    const DATA_TYPE: DataType = DataType::U8;

    fn append(self, bytes: &mut Vec<u8>) {
        bytes.push(self);
    }
}

impl Element for i16 {
    const DATA_TYPE: DataType = DataType::I16;

    fn append(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
}

impl Element for f32 {
    const DATA_TYPE: DataType = DataType::F32;

    fn append(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
}

/// A volume to be written, its first axis as the file's first.
#[derive(Debug, Clone, Copy)]
pub struct NewImage<'a, T> {
    /// Values of the volume.
    pub volume: &'a Volume<T>,
    /// Distances between voxels.
    pub spacing_mm: [f32; 3],
}

/// Returns the bytes of a `.nii.gz`.
///
/// They are packed but not compressed: the same values give the same bytes everywhere, which no compressor promises.
///
/// # Panics
/// If an extent is 2^15 or more.
#[must_use]
pub fn encode<T: Element>(image: &NewImage<'_, T>) -> Vec<u8> {
    let [first, second, third] = image.volume.shape();
    let mut file = header(image);
    for k in 0..third {
        for j in 0..second {
            for i in 0..first {
                image.volume.values()[(i * second + j) * third + k].append(&mut file);
            }
        }
    }
    let mut packed =
        GzEncoder::new(Vec::with_capacity(file.len() + file.len() / 1000 + 64), Compression::none());
    packed.write_all(&file).expect("memory takes all bytes");
    packed.finish().expect("memory takes all bytes")
}

fn header<T: Element>(image: &NewImage<'_, T>) -> Vec<u8> {
    let mut header = vec![0; DATA_OFFSET_MIN];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &(HEADER_BYTES as u32).to_le_bytes());
    put(38, b"r");
    put(40, &3_i16.to_le_bytes());
    for axis in 0..7 {
        let extent = image.volume.shape().get(axis).copied().unwrap_or(1);
        put(42 + 2 * axis, &i16::try_from(extent).expect("extents are small").to_le_bytes());
        let spacing = image.spacing_mm.get(axis).copied().unwrap_or(1.0);
        put(80 + 4 * axis, &spacing.to_le_bytes());
    }
    put(70, &T::DATA_TYPE.code().to_le_bytes());
    put(72, &((8 * T::DATA_TYPE.size_bytes()) as i16).to_le_bytes());
    put(76, &1_f32.to_le_bytes());
    put(108, &(DATA_OFFSET_MIN as f32).to_le_bytes());
    put(112, &1_f32.to_le_bytes());
    // Millimetres and seconds.
    put(123, &[2 | 8]);
    // A matrix of the spacing alone, in the coordinates of a scanner.
    put(254, &1_i16.to_le_bytes());
    for (axis, spacing) in image.spacing_mm.iter().enumerate() {
        put(280 + 16 * axis + 4 * axis, &spacing.to_le_bytes());
    }
    put(344, MAGIC);
    header
}

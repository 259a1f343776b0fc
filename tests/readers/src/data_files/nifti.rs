//! Volumes in the format NIfTI-1, packed by gzip or not.

use proctor_nifti_file::{AxisOrder, Image, NewImage, Volume, encode};
use proctor_vocabulary::beginning::GZIP;

use crate::memory::bounded;

/// Maximum ratio of memory: the bytes of the voxels, then values of at most 4 bytes for each; with a named voxel in an
/// error, of 12.
const MEMORY_FACTOR: u64 = 16;
/// Deflate makes at most 258 bytes of two bits.
const GZIP_RATIO_MAX: u64 = 1032;

/// Checks the reader of NIfTI files: its values are the same in both orders of the axes, and after writing and reading
/// again; labels are those values.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_nifti(data: &[u8]) {
    let factor = if data.starts_with(&GZIP) { MEMORY_FACTOR * GZIP_RATIO_MAX } else { MEMORY_FACTOR };
    let read = || {
        let image = Image::parse(data)?;
        let volumes = [AxisOrder::FirstSlowest, AxisOrder::FirstFastest].map(|order| image.to_f32(order));
        let labels = image.to_labels(AxisOrder::FirstSlowest);
        Ok::<_, proctor_nifti_file::NiftiError>((image, volumes, labels))
    };
    let (image, volumes, labels) = match bounded(data.len(), factor, read) {
        Err(error) => return assert!(!error.to_string().is_empty()),
        Ok(read) => read,
    };
    let header = Image::parse_header(data).expect("the header of a file that was read");
    assert_eq!(header.shape(), image.header().shape());
    let [Ok(volume), Ok(reversed)] = volumes else {
        assert!(volumes.iter().all(|volume| volume.is_err()) && labels.is_err());
        return;
    };
    let values =
        |volume: &Volume<f32>| volume.values().iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    check_reversed(&volume, &reversed);
    let written = encode(&NewImage { volume: &volume, spacing_mm: [1.0; 3] });
    let again = Image::parse(&written).and_then(|image| image.to_f32(AxisOrder::FirstSlowest));
    let again = again.expect("a file that was written");
    assert_eq!((again.shape(), values(&again)), (volume.shape(), values(&volume)));
    if let Ok(labels) = labels {
        assert!(
            labels.values().iter().zip(volume.values()).all(|(label, value)| f32::from(*label) == *value)
        );
    }
}

fn check_reversed(volume: &Volume<f32>, reversed: &Volume<f32>) {
    let [first, second, third] = volume.shape();
    assert_eq!(reversed.shape(), [third, second, first]);
    for i in 0..first {
        for j in 0..second {
            for (k, value) in volume.row(i, j).iter().enumerate() {
                assert_eq!(value.to_bits(), reversed.row(k, j)[i].to_bits());
            }
        }
    }
}

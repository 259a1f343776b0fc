//! The labels that a data set has.

use proctor_nifti_file::{AxisOrder, Volume};

use crate::error::VolumeError;

/// Checks that each voxel has one of the known labels.
///
/// # Errors
/// [`VolumeError::Label`] with the first voxel that has another one.
pub(crate) fn check_labels(
    part: &'static str,
    labels: &Volume<u8>,
    order: AxisOrder,
    known: &'static [u8],
) -> Result<(), VolumeError> {
    let [_, second, third] = labels.shape();
    let unknown = labels.values().iter().enumerate().find(|(_, label)| !known.contains(label));
    let Some((index, label)) = unknown else { return Ok(()) };
    let [a, b, c] = [index / (second * third), index / third % second, index % third];
    let voxel = match order {
        AxisOrder::FirstSlowest => [a, b, c],
        AxisOrder::FirstFastest => [c, b, a],
    };
    Err(VolumeError::Label { part, voxel, label: *label, known })
}

//! Errors of preparing a volume from its file.

use proctor_nifti_file::NiftiError;

/// Reason why a volume cannot be prepared.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum VolumeError {
    #[error("the file of {part} is unusable")]
    Nifti {
        /// The file of the case, such as `imaging` or `t1ce`.
        part: &'static str,
        source: NiftiError,
    },
    #[error("the sample is not the four files of a case of BraTS")]
    Bundle(#[source] NiftiError),
    #[error("{part} has the extents {got:?}, but {other} of the same case has {expected:?}")]
    Shapes { part: &'static str, got: [usize; 3], other: &'static str, expected: [usize; 3] },
    #[error(
        "{extents:?} voxels at {spacing_mm:?} mm become {resampled:?}; the extents must be 1 to {most} each, and not \
         more than 2^31 voxels together"
    )]
    Resampled { extents: [usize; 3], spacing_mm: [f64; 3], resampled: [f64; 3], most: usize },
    #[error(
        "{part} has voxels of {spacing_mm:?} mm; BraTS 2019 is published with 1 mm, and no other is taken"
    )]
    NotOfOneMillimetre { part: &'static str, spacing_mm: [f64; 3] },
    #[error(
        "voxel {voxel:?} of {part} has the label {label}, and the data set has {known:?} alone; restore the file"
    )]
    Label {
        part: &'static str,
        /// The first such voxel: its place along the axes of the file, from 0.
        voxel: [usize; 3],
        label: u8,
        known: &'static [u8],
    },
    #[error("every voxel of the four modalities is 0, so there is no brain to crop to")]
    Empty,
    #[error("the part that is not 0 has the extents {got:?}, which do not fit into {room:?}")]
    TooLarge { got: [usize; 3], room: [usize; 3] },
}

/// Returns the text of an error followed by its causes.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

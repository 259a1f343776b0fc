//! Errors of preparing a volume from its file.

use proctor_nifti_file::NiftiError;

/// Why a volume cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum VolumeError {
    /// A file is not a volume that can be used.
    #[error("the file of {part} is unusable")]
    Nifti {
        /// Which of the case's files, such as `imaging` or `t1ce`.
        part: &'static str,
        /// The fault.
        source: NiftiError,
    },
    /// The bytes are not the four files of a case.
    #[error("the sample is not the four files of a case of BraTS")]
    Bundle(#[source] NiftiError),
    /// Two files of a case do not have the same extents.
    #[error("{part} has the extents {got:?}, but {other} of the same case has {expected:?}")]
    Shapes {
        /// The file that differs.
        part: &'static str,
        /// Its extents.
        got: [usize; 3],
        /// The file that it is compared with.
        other: &'static str,
        /// The extents of that one.
        expected: [usize; 3],
    },
    /// Resampling would leave nothing, or more than memory should hold.
    #[error(
        "{extents:?} voxels at {spacing_mm:?} mm become {resampled:?}; the extents must be 1 to {most} each, and not \
         more than 2^31 voxels together"
    )]
    Resampled {
        /// Extents in the file.
        extents: [usize; 3],
        /// Distances between voxels.
        spacing_mm: [f64; 3],
        /// Extents after resampling.
        resampled: [f64; 3],
        /// The greatest extent that is taken.
        most: usize,
    },
    /// The voxels of a case of BraTS are not of 1 mm.
    #[error(
        "{part} has voxels of {spacing_mm:?} mm; BraTS 2019 is published with 1 mm, and no other is taken"
    )]
    NotOfOneMillimetre {
        /// Which of the files.
        part: &'static str,
        /// Distances between voxels.
        spacing_mm: [f64; 3],
    },
    /// A voxel has a label that the data set does not have.
    #[error(
        "voxel {voxel:?} of {part} has the label {label}, and the data set has {known:?} alone; restore the file"
    )]
    Label {
        /// Which of the files.
        part: &'static str,
        /// The first such voxel: its place along the axes of the file, from 0.
        voxel: [usize; 3],
        /// The label.
        label: u8,
        /// Labels that there are.
        known: &'static [u8],
    },
    /// All voxels of a case of BraTS are 0.
    #[error("every voxel of the four modalities is 0, so there is no brain to crop to")]
    Empty,
    /// The part that is not 0 is larger than the model's input.
    #[error("the part that is not 0 has the extents {got:?}, which do not fit into {room:?}")]
    TooLarge {
        /// Extents of the part.
        got: [usize; 3],
        /// Extents of the model's input.
        room: [usize; 3],
    },
}

/// Returns the text of an error followed by its causes.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

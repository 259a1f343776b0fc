//! Faults in the bytes of a file.

use std::io;

/// Reason why bytes are not a NIfTI-1 image that can be used. The caller knows the name of the file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum NiftiError {
    #[error("its gzip stream is cut short or damaged ({0}); download the file again")]
    Gzip(io::ErrorKind),
    #[error("{size_bytes} bytes follow its gzip stream; cut them off, or download the file again")]
    Behind { size_bytes: usize },
    #[error("its volume has {size_bytes} bytes, more than the {most} that are unpacked; is it damaged?")]
    TooLarge { size_bytes: u64, most: u64 },
    #[error("it ends after {got} bytes, but {part} needs {expected}; download the file again")]
    Short { part: &'static str, expected: u64, got: u64 },
    #[error("it is not a NIfTI-1 file: it starts with {0:#010x} instead of the header's size, 348")]
    NotNifti(u32),
    /// The file is left over from a failed download or a checkout; the text says which.
    #[error("it is not a NIfTI-1 file: {0}")]
    Misfetched(&'static str),
    #[error("it is a NIfTI-2 file, and only NIfTI-1 is read here; convert it")]
    Nifti2,
    /// The mark at the end of the header is another one; Analyze 7.5 has none.
    #[error("the magic at byte 344 is {0:?} instead of \"n+1\\0\"; is it an Analyze 7.5 file?")]
    Magic([u8; 4]),
    #[error(
        "it is the header of a pair of files, .hdr and .img; only single files are read here, convert it"
    )]
    Pair,
    #[error("its dim is {0:?}: the first must be 1 to 7, and the extents that it counts at least 1")]
    Extents([i16; 8]),
    #[error("its datatype is {code} ({name}), which is not read here; real numbers of 8 to 64 bits are")]
    DataType { code: i16, name: &'static str },
    #[error("its bitpix is {got}, but a voxel of type {data_type} has {expected} bits")]
    BitsPerVoxel { data_type: &'static str, expected: i16, got: i16 },
    #[error("its vox_offset is {0}; it must be a whole number of at least 352")]
    Offset(f32),
    #[error("its scl_inter is {intercept} beside a scl_slope of {slope}: the values are undefined")]
    Scaling { slope: f32, intercept: f32 },
    #[error("its extents are {0:?}, but a volume has three axes")]
    Rank(Vec<usize>),
    #[error("its pixdim[{axis}] is {value}; the distance between voxels must be a number above 0")]
    Spacing {
        /// Number of the axis, from 1.
        axis: usize,
        value: f32,
    },
    #[error("voxel {at:?} has the value {value}, which is no {wanted}")]
    Voxel {
        /// Position by the axes of the file, from 0.
        at: [usize; 3],
        /// Value after scaling.
        value: f64,
        wanted: VoxelFault,
    },
    #[error("it holds {got} bytes, which {expected} files with their lengths cannot have")]
    Bundle { expected: usize, got: usize },
}

/// Kind of value that a voxel must have and has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VoxelFault {
    /// A number that is finite as f32.
    Finite,
    /// A whole number from 0 to 255.
    Label,
}

impl std::fmt::Display for VoxelFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Finite => "finite number of single precision",
            Self::Label => "label: a whole number from 0 to 255",
        })
    }
}

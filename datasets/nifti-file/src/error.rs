//! Faults in the bytes of a file.

use std::io;

/// Why bytes are not a NIfTI-1 image that can be used. The caller knows the name of the file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NiftiError {
    /// The gzip stream does not end as it must, or its checksum is another one.
    #[error("its gzip stream is cut short or damaged ({0}); download the file again")]
    Gzip(io::ErrorKind),
    /// The gzip stream is followed by something else.
    #[error("{size_bytes} bytes follow its gzip stream; cut them off, or download the file again")]
    Behind {
        /// Number of bytes from the first one that is neither padding nor part of a stream.
        size_bytes: usize,
    },
    /// It has more voxels than are unpacked.
    #[error("its volume has {size_bytes} bytes, more than the {most} that are unpacked; is it damaged?")]
    TooLarge {
        /// Number of bytes of the voxels by the header.
        size_bytes: u64,
        /// The most bytes that are unpacked.
        most: u64,
    },
    /// The bytes end before the header or the voxels do.
    #[error("it ends after {got} bytes, but {part} needs {expected}; download the file again")]
    Short {
        /// The part that is cut.
        part: &'static str,
        /// Expected number of bytes.
        expected: u64,
        /// Actual number of bytes.
        got: u64,
    },
    /// The first number is not the size of a NIfTI-1 header in either byte order.
    #[error("it is not a NIfTI-1 file: it starts with {0:#010x} instead of the header's size, 348")]
    NotNifti(u32),
    /// It is a file that a failed download or a checkout leaves; the text says which.
    #[error("it is not a NIfTI-1 file: {0}")]
    Misfetched(&'static str),
    /// A file of the second version of the format.
    #[error("it is a NIfTI-2 file, and only NIfTI-1 is read here; convert it")]
    Nifti2,
    /// The mark at the end of the header is another one; Analyze 7.5 has none.
    #[error("the magic at byte 344 is {0:?} instead of \"n+1\\0\"; is it an Analyze 7.5 file?")]
    Magic([u8; 4]),
    /// The header of a pair of files.
    #[error(
        "it is the header of a pair of files, .hdr and .img; only single files are read here, convert it"
    )]
    Pair,
    /// The number of axes or an extent cannot be.
    #[error("its dim is {0:?}: the first must be 1 to 7, and the extents that it counts at least 1")]
    Extents([i16; 8]),
    /// The voxels are of a type that is not read here.
    #[error("its datatype is {code} ({name}), which is not read here; real numbers of 8 to 64 bits are")]
    DataType {
        /// The code in the header.
        code: i16,
        /// Its name in the standard.
        name: &'static str,
    },
    /// The size of a voxel does not match its type.
    #[error("its bitpix is {got}, but a voxel of type {data_type} has {expected} bits")]
    BitsPerVoxel {
        /// Name of the type.
        data_type: &'static str,
        /// Bits of the type.
        expected: i16,
        /// Bits in the header.
        got: i16,
    },
    /// The voxels cannot begin there.
    #[error("its vox_offset is {0}; it must be a whole number of at least 352")]
    Offset(f32),
    /// The values are to be scaled by what is no number.
    #[error("its scl_inter is {intercept} beside a scl_slope of {slope}: the values are undefined")]
    Scaling {
        /// `scl_slope`.
        slope: f32,
        /// `scl_inter`.
        intercept: f32,
    },
    /// A volume has three axes.
    #[error("its extents are {0:?}, but a volume has three axes")]
    Rank(Vec<usize>),
    /// A distance between voxels is not a number above 0.
    #[error("its pixdim[{axis}] is {value}; the distance between voxels must be a number above 0")]
    Spacing {
        /// Number of the axis, from 1.
        axis: usize,
        /// The distance in the header.
        value: f32,
    },
    /// A voxel does not have a value of the requested kind.
    #[error("voxel {at:?} has the value {value}, which is no {wanted}")]
    Voxel {
        /// Position by the axes of the file, from 0.
        at: [usize; 3],
        /// Its value after scaling.
        value: f64,
        /// Kind of value that was asked for.
        wanted: VoxelFault,
    },
    /// Several files in one sample do not end where their lengths say.
    #[error("it holds {got} bytes, which {expected} files with their lengths cannot have")]
    Bundle {
        /// Number of files that there must be.
        expected: usize,
        /// Actual number of bytes.
        got: usize,
    },
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

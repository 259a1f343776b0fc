//! The kernels: files that compile as OpenCL C and, after another prelude, as CUDA C.
//!
//! A processor runs the same text in the tests as a GPU. Each file describes its kernels; macros that are defined when
//! they are compiled are in capitals there.

/// The prelude for OpenCL C.
pub const OPENCL: &str = include_str!("kernels/opencl.h");

/// The prelude for CUDA C.
pub const CUDA: &str = include_str!("kernels/cuda.h");

/// Name by which texts for CUDA include it: it differs from the file's, which NVIDIA uses for a header, too.
pub const CUDA_NAME: &str = "device.h";

/// Line with which they do.
pub const CUDA_INCLUDE: &str = "#include \"device.h\"\n";

/// A file with kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KernelFile {
    /// Shares of values by the products of queries and keys.
    Attention,
    /// Windows of images as columns of matrices.
    Columns,
    /// Convolution of each channel with its own filter.
    Depthwise,
    /// Computes one element from one of each operand.
    Elementwise,
    /// Slices by their indices.
    Gather,
    /// Products of matrices.
    Gemm,
    /// The greatest or the mean of each window.
    Pool,
    /// Steps of recurrent layers.
    Recurrent,
    /// Sums, softmax and normalisation of rows.
    Rows,
}

impl KernelFile {
    /// Returns the text, without a prelude.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Attention => include_str!("kernels/attention.c"),
            Self::Columns => include_str!("kernels/columns.c"),
            Self::Depthwise => include_str!("kernels/depthwise.c"),
            Self::Elementwise => include_str!("kernels/elementwise.c"),
            Self::Gather => include_str!("kernels/gather.c"),
            Self::Gemm => include_str!("kernels/gemm.c"),
            Self::Pool => include_str!("kernels/pool.c"),
            Self::Recurrent => include_str!("kernels/recurrent.c"),
            Self::Rows => include_str!("kernels/rows.c"),
        }
    }
}

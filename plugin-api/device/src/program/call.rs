//! Calls of kernels.

use std::fmt::Write as _;

use crate::{
    kernels::{self, KernelFile},
    program::{
        library::{ConvolutionCall, ProductCall},
        view::BufferId,
    },
};

/// A kernel, compiled with these macros defined.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// File with the kernel.
    pub file: KernelFile,
    /// Name of the kernel in the file.
    pub function: &'static str,
    /// Macros with their values.
    pub defines: Vec<(&'static str, i64)>,
    /// Text before the file: functions and types that it asks for.
    pub preamble: String,
}

impl Kernel {
    /// Returns the text as OpenCL C, with the prelude in it.
    #[must_use]
    pub fn opencl_text(&self) -> String {
        self.text(kernels::OPENCL)
    }

    /// Returns the text as CUDA C, which includes the prelude as [`kernels::CUDA_NAME`].
    #[must_use]
    pub fn cuda_text(&self) -> String {
        self.text(kernels::CUDA_INCLUDE)
    }

    fn text(&self, prelude: &str) -> String {
        let mut text = String::new();
        for (name, value) in &self.defines {
            // Writing to a string never fails.
            let _ = writeln!(text, "#define {name} {value}");
        }
        text + prelude + &self.preamble + self.file.text()
    }
}

/// Argument of a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Argument<Buffer = BufferId> {
    /// A buffer, by its number in a program, or its memory on a device.
    Buffer(Buffer),
    /// A 32-bit integer.
    Int(i32),
    /// A 64-bit integer.
    Long(i64),
    /// A 32-bit floating-point number.
    Float(f32),
}

impl<Buffer> Argument<Buffer> {
    /// Returns the same with another buffer in place of a buffer.
    pub fn map<To>(self, to: impl FnOnce(Buffer) -> To) -> Argument<To> {
        match self {
            Self::Buffer(buffer) => Argument::Buffer(to(buffer)),
            Self::Int(number) => Argument::Int(number),
            Self::Long(number) => Argument::Long(number),
            Self::Float(number) => Argument::Float(number),
        }
    }
}

/// Step of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Names of the nodes that it computes, for people.
    pub label: String,
    /// Work of the call.
    pub work: Work,
    /// Number of multiplications and additions that it does, counted one by one.
    pub operations: u64,
}

/// Work of a [`Call`].
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// A kernel.
    Kernel(KernelCall),
    /// A convolution by the device's library, which has said that it takes it.
    Convolution(ConvolutionCall),
}

/// Call of a kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelCall {
    /// Kernel of the call.
    pub kernel: Kernel,
    /// Arguments of the kernel.
    pub arguments: Vec<Argument>,
    /// Number of items along each dimension: a multiple of the group's.
    pub items: [usize; 3],
    /// Items of a group along each dimension.
    pub group: [usize; 3],
    /// The same as a product that the device's library may compute in place of the kernel.
    pub product: Option<ProductCall>,
}

impl Call {
    /// Returns the kernel, if it is a kernel call.
    #[must_use]
    pub fn kernel(&self) -> Option<&KernelCall> {
        match &self.work {
            Work::Kernel(call) => Some(call),
            Work::Convolution(_) => None,
        }
    }

    /// Returns the buffers that it reads or writes.
    #[must_use]
    pub fn buffers(&self) -> Vec<BufferId> {
        match &self.work {
            Work::Kernel(call) => {
                let buffers = call.arguments.iter().filter_map(|argument| match argument {
                    Argument::Buffer(buffer) => Some(*buffer),
                    _ => None,
                });
                buffers.collect()
            }
            Work::Convolution(call) => call.buffers.clone(),
        }
    }
}

//! Convolutions in streams.

use std::{ffi::c_int, ops::Range};

use proctor_device::tensor::Array;
use proctor_vocabulary::ElementType;

use crate::numbers::numbers;

/// The algorithm by which a bias is added without an activation.
pub(super) const PRECOMP_GEMM: c_int = 1;

/// The algorithm by Winograd's transformation, for filters of 3 x 3 alone.
pub(super) const WINOGRAD: c_int = 6;

/// Factor of the workspace of each algorithm except the first, in bytes: times its number.
const WORKSPACE: usize = 4096;

/// The kind of arithmetic that is exact in f32.
const FMA_MATH: c_int = 3;

/// A tensor or filters, row by row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tensor {
    pub element: ElementType,
    pub extents: [usize; 4],
}

impl Tensor {
    /// Returns the number of elements.
    pub fn count(&self) -> usize {
        self.extents.iter().product()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Windows {
    pub pads: [usize; 2],
    pub strides: [usize; 2],
    pub dilations: [usize; 2],
    pub groups: usize,
    pub math: c_int,
}

/// Everything about a convolution but its memory and its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    pub images: Tensor,
    pub filters: Tensor,
    pub results: Tensor,
    pub windows: Windows,
}

impl Form {
    /// Returns the algorithms that compute this, the best first.
    pub fn algorithms(&self) -> &'static [c_int] {
        let is_small = self.filters.extents[2..] == [3, 3] && self.windows.strides == [1, 1];
        if is_small { &[WINOGRAD, PRECOMP_GEMM, 0] } else { &[PRECOMP_GEMM, 0] }
    }

    /// Returns the number of bytes of workspace that an algorithm needs.
    pub fn workspace(&self, algorithm: c_int) -> usize {
        WORKSPACE * usize::try_from(algorithm).unwrap_or(0)
    }
}

/// Sums and activation that end it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    /// Addresses of the bias and of the residual.
    pub bias: usize,
    pub residual: Option<usize>,
    pub is_rectified: bool,
}

/// A convolution in a stream.
#[derive(Debug, Clone)]
pub(crate) struct Convolution {
    pub device: usize,
    pub handle: usize,
    pub form: Form,
    pub algorithm: c_int,
    /// Addresses of x, w and y.
    pub at: [usize; 3],
    pub end: Option<End>,
    /// Address and bytes.
    pub workspace: (usize, usize),
}

impl Convolution {
    /// Returns the addresses of everything that it reads and writes, by name, with the bytes.
    pub fn ranges(&self) -> Vec<(&'static str, Range<usize>)> {
        let Form { images, filters, results, .. } = &self.form;
        let range = |at: usize, tensor: &Tensor| at..at + tensor.element.bytes_of(tensor.count());
        let mut ranges = vec![
            ("x", range(self.at[0], images)),
            ("w", range(self.at[1], filters)),
            ("y", range(self.at[2], results)),
        ];
        if let Some(End { bias, residual, .. }) = self.end {
            let bytes = results.element.bytes_of(filters.extents[0]);
            ranges.push(("the bias", bias..bias + bytes));
            ranges.extend(residual.map(|residual| ("the residual", range(residual, results))));
        }
        let (workspace, bytes) = self.workspace;
        if bytes > 0 {
            ranges.push(("the workspace", workspace..workspace + bytes));
        }
        ranges
    }

    /// Returns whether it uses an address from `begin` to before `end`.
    pub fn uses(&self, begin: usize, end: usize) -> bool {
        self.ranges().iter().any(|(_, range)| range.start < end && begin < range.end)
    }

    /// Computes it.
    pub fn run(&self) {
        let Form { images, filters, results, windows } = &self.form;
        let is_tf32 = images.element == ElementType::F32 && windows.math != FMA_MATH;
        // SAFETY: the memory was looked up a moment ago, here and below.
        let x = unsafe { numbers(images.element, self.at[0], images.count(), is_tf32) };
        // SAFETY: as above.
        let w = unsafe { numbers(filters.element, self.at[1], filters.count(), is_tf32) };
        let (maps, count) = (filters.extents[0], results.count());
        let (mut bias, mut residual, mut is_rectified) = (vec![0.0; maps], vec![0.0; count], false);
        if let Some(end) = self.end {
            // SAFETY: as above.
            bias = unsafe { numbers(results.element, end.bias, maps, false) };
            if let Some(at) = end.residual {
                // SAFETY: as above.
                residual = unsafe { numbers(results.element, at, count, false) };
            }
            is_rectified = end.is_rectified;
        }
        let [_, _, out_height, out_width] = results.extents;
        let values = (0..count).map(|at| {
            let (place, image, map) = (
                [at / out_width % out_height, at % out_width],
                at / (out_width * out_height) / maps,
                at / (out_width * out_height) % maps,
            );
            let sum = self.form.window(&x, &w, image, map, place) + bias[map] + residual[at];
            if is_rectified { sum.max(0.0) } else { sum }
        });
        let values = Array::real(results.element, &[count], values.collect()).tensor();
        // SAFETY: as above.
        unsafe { std::ptr::copy(values.bytes.as_ptr(), self.at[2] as *mut u8, values.bytes.len()) };
        let (workspace, bytes) = self.workspace;
        if bytes > 0 {
            // The old contents are lost.
            // SAFETY: as above.
            unsafe {
                (workspace as *mut u8).write_bytes(0xA5, bytes.min(self.form.workspace(self.algorithm)))
            };
        }
    }
}

impl Form {
    /// Returns the sum over a window of an image by a filter.
    fn window(&self, x: &[f64], w: &[f64], image: usize, map: usize, place: [usize; 2]) -> f64 {
        let Windows { pads, strides, dilations, groups, .. } = self.windows;
        let [_, channels, height, width] = self.images.extents;
        let [maps, of_group, filter_height, filter_width] = self.filters.extents;
        let first = map / (maps / groups) * of_group;
        let mut sum = 0.0;
        for dy in 0..filter_height {
            let y = (place[0] * strides[0] + dy * dilations[0]).checked_sub(pads[0]);
            let Some(y) = y.filter(|y| *y < height) else { continue };
            for dx in 0..filter_width {
                let column = (place[1] * strides[1] + dx * dilations[1]).checked_sub(pads[1]);
                let Some(column) = column.filter(|column| *column < width) else { continue };
                for channel in 0..of_group {
                    let of_x = ((image * channels + first + channel) * height + y) * width + column;
                    let of_w = ((map * of_group + channel) * filter_height + dy) * filter_width + dx;
                    sum += x[of_x] * w[of_w];
                }
            }
        }
        sum
    }
}

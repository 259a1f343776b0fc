//! Convolutions of single channels (depthwise), with what follows them.
//!
//! The engine takes each channel out, convolves it as an image of its own, and puts them together again: for the 512 channels
//! of a layer of MobileNet that is most of the time of the whole network. Here every plane is read and written once.

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

/// Rows and columns of a kernel.
const SIDE: usize = 3;

/// A convolution of 3x3 of each channel for itself, its bias, and ReLU6, with TensorFlow's padding ("same"): so many zeros
/// that there is an output for every `stride`th place, and if their number is odd, the one more at the bottom and right.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Depthwise {
    pub stride: usize,
}

/// Zeros before the first and after the last of `extent` places, for a window of three.
pub(crate) fn same_padding(extent: usize, stride: usize) -> (usize, usize) {
    let outputs = extent.div_ceil(stride);
    let total = ((outputs - 1) * stride + SIDE).saturating_sub(extent);
    (total / 2, total - total / 2)
}

impl Depthwise {
    /// From `[batch, channels, rows, columns]` with the kernels `[channels, 1, 3, 3]` and the biases `[channels]`, all of them
    /// f32 and in the memory of the CPU.
    pub(crate) fn forward(self, x: &Tensor, kernels: &Tensor, biases: &Tensor) -> Result<Tensor> {
        x.contiguous()?.apply_op3_no_bwd(kernels, biases, &self)
    }

    /// One channel of one sample.
    fn plane(self, x: &Plane<'_>, kernel: &[f32], bias: f32, y: &mut [f32], columns_out: usize) {
        let top = same_padding(x.rows, self.stride).0;
        let left = same_padding(x.columns, self.stride).0;
        for (row, y) in y.chunks_exact_mut(columns_out).enumerate() {
            y.fill(bias);
            for (kernel_row, weights) in kernel.chunks_exact(SIDE).enumerate() {
                let Some(from) = (row * self.stride + kernel_row).checked_sub(top).filter(|from| *from < x.rows) else {
                    continue;
                };
                let x = &x.values[from * x.columns..][..x.columns];
                for (kernel_column, weight) in weights.iter().enumerate() {
                    self.row(x, (kernel_column, left), *weight, y);
                }
            }
            y.iter_mut().for_each(|value| *value = value.clamp(0.0, 6.0));
        }
    }

    /// Adds one weight's share to a row of outputs.
    fn row(self, x: &[f32], (kernel_column, left): (usize, usize), weight: f32, y: &mut [f32]) {
        // The first output whose input is not left of the row, and the input that it has.
        let skipped = left.saturating_sub(kernel_column).div_ceil(self.stride);
        let first = skipped * self.stride + kernel_column - left;
        let (Some(x), Some(y)) = (x.get(first..), y.get_mut(skipped..)) else { return };
        if self.stride == 1 {
            // The same as below, in a form that becomes vector instructions.
            y.iter_mut().zip(x).for_each(|(y, x)| *y += weight * x);
        } else {
            y.iter_mut().zip(x.iter().step_by(self.stride)).for_each(|(y, x)| *y += weight * x);
        }
    }
}

/// One channel of one sample, row by row.
struct Plane<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
}

impl CustomOp3 for Depthwise {
    fn name(&self) -> &'static str {
        "depthwise-relu6"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        kernels: &CpuStorage,
        kernels_layout: &Layout,
        biases: &CpuStorage,
        biases_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (batch, channels, rows, columns) = x_layout.shape().dims4()?;
        if kernels_layout.shape().dims() != [channels, 1, SIDE, SIDE] || biases_layout.shape().dims() != [channels] {
            bail!("kernels {:?} for {channels} channels", kernels_layout.shape());
        }
        let x = values(x, x_layout)?;
        let (kernels, biases) = (values(kernels, kernels_layout)?, values(biases, biases_layout)?);
        let (rows_out, columns_out) = (rows.div_ceil(self.stride), columns.div_ceil(self.stride));
        let mut y = vec![0.0; batch * channels * rows_out * columns_out];
        if y.is_empty() {
            bail!("an image of {rows} rows and {columns} columns");
        }
        x.par_chunks_exact(rows * columns)
            .zip(y.par_chunks_exact_mut(rows_out * columns_out))
            .enumerate()
            .for_each(|(plane, (x, y))| {
                let channel = plane % channels;
                let kernel = &kernels[channel * SIDE * SIDE..][..SIDE * SIDE];
                self.plane(&Plane { values: x, rows, columns }, kernel, biases[channel], y, columns_out);
            });
        Ok((CpuStorage::F32(y), (batch, channels, rows_out, columns_out).into()))
    }
}

/// The values of a tensor without holes.
fn values<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    match (layout.contiguous_offsets(), storage) {
        (Some((start, end)), CpuStorage::F32(values)) => Ok(&values[start..end]),
        _ => bail!("a depthwise convolution takes contiguous f32 tensors"),
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    /// The same by the engine's own convolution, whose padding is the same at both sides.
    fn by_the_engine(x: &Tensor, kernels: &Tensor, biases: &Tensor, stride: usize) -> Result<Tensor> {
        let (_, channels, rows, columns) = x.dims4()?;
        let (top, bottom) = same_padding(rows, stride);
        let (left, right) = same_padding(columns, stride);
        let x = x.pad_with_zeros(2, top, bottom)?.pad_with_zeros(3, left, right)?;
        let y = x.conv2d(kernels, 0, stride, 1, channels)?;
        y.broadcast_add(&biases.reshape((1, channels, 1, 1))?)?.clamp(0f32, 6f32)
    }

    #[test]
    fn planes_are_those_of_the_engines_grouped_convolution_for_odd_and_even_extents_and_both_strides() {
        for (rows, columns) in [(1, 1), (1, 2), (2, 1), (2, 2), (3, 5), (4, 4), (7, 8), (8, 7), (16, 33)] {
            for stride in [1, 2] {
                let x = Tensor::randn(0f32, 3.0, (2, 3, rows, columns), &Device::Cpu).unwrap();
                let kernels = Tensor::randn(0f32, 1.0, (3, 1, 3, 3), &Device::Cpu).unwrap();
                let biases = Tensor::randn(2f32, 1.0, 3, &Device::Cpu).unwrap();
                let y = Depthwise { stride }.forward(&x, &kernels, &biases).unwrap();
                let expected = by_the_engine(&x, &kernels, &biases, stride).unwrap();
                assert_eq!(y.dims(), expected.dims());
                let error = (y - expected).unwrap().abs().unwrap().max_all().unwrap().to_scalar::<f32>().unwrap();
                assert!(error < 1e-5, "{rows} x {columns}, stride {stride}: {error}");
            }
        }
    }

    #[test]
    fn padding_is_that_of_tensorflow() {
        assert_eq!(same_padding(224, 2), (0, 1));
        assert_eq!(same_padding(7, 2), (1, 1));
        assert_eq!(same_padding(14, 1), (1, 1));
    }
}

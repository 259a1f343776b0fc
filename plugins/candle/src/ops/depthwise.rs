//! Convolutions of single channels (depthwise). Every plane is read and written once; sums are f32.

use candle_core::{CpuStorage, CustomOp3, D, DType, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

use super::{convolution::Convolution, values};

/// A convolution of each channel for itself: `weight` `[channels, 1, rows, columns]`, `bias` `[channels]`, followed by
/// ReLU6.
#[derive(Debug, Clone)]
pub(crate) struct Depthwise(Convolution);

impl Depthwise {
    /// Always followed by ReLU6, whatever the convolution says. On the CPU the weights, which were rounded to the
    /// precision, are widened to f32 here.
    ///
    /// # Errors
    /// If the engine cannot convert them.
    pub(crate) fn new(mut convolution: Convolution) -> Result<Self> {
        if convolution.weight.device().is_cpu() {
            convolution.weight = convolution.weight.to_dtype(DType::F32)?;
            convolution.bias = convolution.bias.to_dtype(DType::F32)?;
        }
        Ok(Self(convolution))
    }

    /// From `[batch, channels, rows, columns]`.
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let Convolution { weight, bias, .. } = &self.0;
        if x.device().is_cpu() {
            let y = x.to_dtype(DType::F32)?.contiguous()?.apply_op3_no_bwd(weight, bias, self)?;
            return y.to_dtype(x.dtype());
        }
        self.by_the_engine(x)
    }

    fn by_the_engine(&self, x: &Tensor) -> Result<Tensor> {
        let Convolution { weight, bias, stride, padding, .. } = &self.0;
        let (_, channels, rows, columns) = x.dims4()?;
        let (_, _, kernel_rows, kernel_columns) = weight.dims4()?;
        let (top, bottom) = padding.around(rows, kernel_rows, *stride);
        let (left, right) = padding.around(columns, kernel_columns, *stride);
        let x = x.pad_with_zeros(D::Minus2, top, bottom)?.pad_with_zeros(D::Minus1, left, right)?;
        let y = x.conv2d(weight, 0, *stride, 1, channels)?;
        y.broadcast_add(&bias.reshape((1, (), 1, 1))?)?.clamp(0f32, 6f32)
    }
}

/// One channel: an image and its kernel.
struct Plane<'a> {
    image: &'a [f32],
    columns: usize,
    kernel: &'a [f32],
    kernel_columns: usize,
    bias: f32,
    stride: usize,
    top: usize,
    left: usize,
}

impl Plane<'_> {
    fn write(&self, y: &mut [f32], columns_out: usize) {
        for (row_out, y) in y.chunks_exact_mut(columns_out).enumerate() {
            y.fill(self.bias);
            for (kernel_row, weights) in self.kernel.chunks_exact(self.kernel_columns).enumerate() {
                let from = (row_out * self.stride + kernel_row).checked_sub(self.top);
                let Some(row) = from.and_then(|from| self.image.chunks_exact(self.columns).nth(from)) else {
                    continue;
                };
                for (kernel_column, weight) in weights.iter().enumerate() {
                    self.add(row, kernel_column, *weight, y);
                }
            }
            y.iter_mut().for_each(|value| *value = value.clamp(0.0, 6.0));
        }
    }

    /// Adds the share of one weight to a row of the result.
    fn add(&self, row: &[f32], kernel_column: usize, weight: f32, y: &mut [f32]) {
        // The first place whose value is not left of the row, and where that value is.
        let skipped = self.left.saturating_sub(kernel_column).div_ceil(self.stride);
        let (Some(row), Some(y)) = (
            row.get((skipped * self.stride + kernel_column).saturating_sub(self.left)..),
            y.get_mut(skipped..),
        ) else {
            return;
        };
        if self.stride == 1 {
            // As below, in a form that becomes vector instructions.
            y.iter_mut().zip(row).for_each(|(y, x)| *y += weight * x);
        } else {
            y.iter_mut().zip(row.iter().step_by(self.stride)).for_each(|(y, x)| *y += weight * x);
        }
    }
}

impl CustomOp3 for Depthwise {
    fn name(&self) -> &'static str {
        "depthwise-convolution"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        weight: &CpuStorage,
        weight_layout: &Layout,
        bias: &CpuStorage,
        bias_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let Convolution { stride, padding, .. } = self.0;
        let (batch, channels, rows, columns) = x_layout.shape().dims4()?;
        let (kernels, 1, kernel_rows, kernel_columns) = weight_layout.shape().dims4()? else {
            bail!("a depthwise convolution with a kernel of {:?}", weight_layout.shape())
        };
        let (top, bottom) = padding.around(rows, kernel_rows, stride);
        let (left, right) = padding.around(columns, kernel_columns, stride);
        let extent = |places: usize, kernel: usize| places.checked_sub(kernel).map(|last| last / stride + 1);
        let extents =
            extent(top + rows + bottom, kernel_rows).zip(extent(left + columns + right, kernel_columns));
        let Some((rows_out, columns_out)) = extents.filter(|_| kernels == channels && rows * columns > 0)
        else {
            bail!(
                "a depthwise convolution of {:?} with a kernel of {:?}",
                x_layout.shape(),
                weight_layout.shape()
            )
        };
        let (x, weight) = (values::<f32>(x, x_layout)?, values::<f32>(weight, weight_layout)?);
        let bias = values::<f32>(bias, bias_layout)?;
        let mut y = vec![0.0; batch * channels * rows_out * columns_out];
        let kernel_len = kernel_rows * kernel_columns;
        x.par_chunks_exact(rows * columns)
            .zip(y.par_chunks_exact_mut(rows_out * columns_out))
            .enumerate()
            .for_each(|(plane, (image, y))| {
                let channel = plane % channels;
                let kernel = &weight[channel * kernel_len..][..kernel_len];
                let bias = bias[channel];
                Plane { image, columns, kernel, kernel_columns, bias, stride, top, left }
                    .write(y, columns_out);
            });
        Ok((CpuStorage::F32(y), (batch, channels, rows_out, columns_out).into()))
    }
}

//! Convolutions of single channels (depthwise). Every plane is read and written once; sums are f32.

use candle_core::{CpuStorage, CustomOp3, DType, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

use super::{
    convolution::{After, Convolution, Geometry},
    values,
};

/// A convolution of each channel for itself: `weight` `[channels, 1, rows, columns]`, `bias` `[channels]`, followed by
/// ReLU6.
#[derive(Debug, Clone)]
pub(crate) struct Depthwise(Convolution);

impl Depthwise {
    /// Creates the layer, which always applies ReLU6, even if the convolution requests none. On the CPU the weights,
    /// which were rounded to the precision, are widened to f32 here.
    ///
    /// # Errors
    /// If the engine cannot convert them.
    pub(crate) fn new(mut convolution: Convolution) -> Result<Self> {
        convolution.after = After::Relu6;
        if convolution.weight.device().is_cpu() {
            convolution.weight = convolution.weight.to_dtype(DType::F32)?;
            convolution.bias = convolution.bias.to_dtype(DType::F32)?;
        }
        Ok(Self(convolution))
    }

    /// Computes the convolution of `[batch, channels, rows, columns]`.
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let Convolution { weight, bias, .. } = &self.0;
        if x.device().is_cpu() {
            let y = x.to_dtype(DType::F32)?.contiguous()?.apply_op3_no_bwd(weight, bias, self)?;
            return y.to_dtype(x.dtype());
        }
        self.0.by_the_engine(x, None)
    }
}

/// One channel: an image and its kernel.
struct Plane<'a> {
    geometry: &'a Geometry,
    image: &'a [f32],
    kernel: &'a [f32],
    bias: f32,
}

impl Plane<'_> {
    fn write(&self, y: &mut [f32]) {
        let Geometry { columns, kernel_columns, stride, top, columns_out, .. } = *self.geometry;
        for (row_out, y) in y.chunks_exact_mut(columns_out).enumerate() {
            y.fill(self.bias);
            for (kernel_row, weights) in self.kernel.chunks_exact(kernel_columns).enumerate() {
                let from = (row_out * stride + kernel_row).checked_sub(top);
                let Some(row) = from.and_then(|from| self.image.chunks_exact(columns).nth(from)) else {
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
        let Geometry { stride, left, .. } = *self.geometry;
        // The first place whose value is not left of the row, and where that value is.
        let skipped = left.saturating_sub(kernel_column).div_ceil(stride);
        let first = (skipped * stride + kernel_column).saturating_sub(left);
        let (Some(row), Some(y)) = (row.get(first..), y.get_mut(skipped..)) else { return };
        if stride == 1 {
            // As below, in a form that becomes vector instructions.
            y.iter_mut().zip(row).for_each(|(y, x)| *y += weight * x);
        } else {
            y.iter_mut().zip(row.iter().step_by(stride)).for_each(|(y, x)| *y += weight * x);
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
        let (batch, channels, rows, columns) = x_layout.shape().dims4()?;
        let geometry = Geometry::new(&self.0, x_layout.shape(), channels)?;
        if self.0.channels() != channels || rows * columns == 0 {
            let (x, kernel) = (x_layout.shape(), weight_layout.shape());
            bail!("a depthwise convolution of {x:?} with a kernel of {kernel:?}")
        }
        let (x, weight) = (values::<f32>(x, x_layout)?, values::<f32>(weight, weight_layout)?);
        let bias = values::<f32>(bias, bias_layout)?;
        let mut y = vec![0.0; batch * channels * geometry.places()];
        let kernel_len = geometry.kernel_rows * geometry.kernel_columns;
        let planes = x.par_chunks_exact(rows * columns).zip(y.par_chunks_exact_mut(geometry.places()));
        planes.enumerate().for_each(|(plane, (image, y))| {
            let channel = plane % channels;
            let kernel = &weight[channel * kernel_len..][..kernel_len];
            Plane { geometry: &geometry, image, kernel, bias: bias[channel] }.write(y);
        });
        let shape = (batch, channels, geometry.rows_out, geometry.columns_out);
        Ok((CpuStorage::F32(y), shape.into()))
    }
}

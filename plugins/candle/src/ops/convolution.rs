//! Convolutions of all channels, with the bias, an addend, and the activation.

use candle_core::{
    CpuStorage, CustomOp1, CustomOp2, D, Layout, Result, Shape, Storage, Tensor, WithDType,
    backend::BackendStorage, bail,
};
use gemm::f16;
use rayon::prelude::*;

use super::{
    product::{Order, multiply_add},
    values,
};

/// Function that is applied to every value of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// The result stays as it is.
    Nothing,
    /// Clamps to at least 0.
    Relu,
    /// Clamps to at least 0, at most 6.
    Relu6,
}

/// Zeros around an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Padding {
    /// Padding of this many at each side.
    Each(usize),
    /// Padding that gives an output for every `stride`th place; if it is odd, the additional one is at the bottom and
    /// right, as in TensorFlow.
    Same,
}

/// A convolution: `weight` `[output, input / groups, rows, columns]`, `bias` `[output]`. The input says how many groups
/// of channels there are, which do not see each other.
#[derive(Debug, Clone)]
pub(crate) struct Convolution {
    pub weight: Tensor,
    pub bias: Tensor,
    pub stride: usize,
    pub padding: Padding,
    pub after: After,
}

impl Padding {
    /// Returns the zeros before the first and after the last of `extent` places, for a kernel of `kernel` places.
    pub(crate) fn around(self, extent: usize, kernel: usize, stride: usize) -> (usize, usize) {
        match self {
            Self::Each(zeros) => (zeros, zeros),
            Self::Same => {
                let last = extent.div_ceil(stride).saturating_sub(1) * stride;
                let total = (last + kernel).saturating_sub(extent);
                (total / 2, total - total / 2)
            }
        }
    }
}

impl Convolution {
    /// Returns the number of output channels.
    pub(crate) fn channels(&self) -> usize {
        self.weight.dims()[0]
    }

    /// Computes the convolution of `[batch, input, rows, columns]`.
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match x.device().is_cpu() {
            true => x.contiguous()?.apply_op1_no_bwd(&OnCpu(self)),
            false => self.by_the_engine(x, None),
        }
    }

    /// Computes the same, with an addend of the shape of the result before the activation.
    pub(crate) fn forward_and_add(&self, x: &Tensor, added: &Tensor) -> Result<Tensor> {
        match x.device().is_cpu() {
            true => x.contiguous()?.apply_op2_no_bwd(&added.contiguous()?, &OnCpu(self)),
            false => self.by_the_engine(x, Some(added)),
        }
    }

    /// Returns the same by the engine's own operations.
    pub(super) fn by_the_engine(&self, x: &Tensor, added: Option<&Tensor>) -> Result<Tensor> {
        let (_, channels, rows, columns) = x.dims4()?;
        let (_, input, kernel_rows, kernel_columns) = self.weight.dims4()?;
        let (top, bottom) = self.padding.around(rows, kernel_rows, self.stride);
        let (left, right) = self.padding.around(columns, kernel_columns, self.stride);
        let x = x.pad_with_zeros(D::Minus2, top, bottom)?.pad_with_zeros(D::Minus1, left, right)?;
        let y = x.conv2d(&self.weight, 0, self.stride, 1, (channels / input).max(1))?;
        let y = y.broadcast_add(&self.bias.reshape((1, (), 1, 1))?)?;
        let y = match added {
            Some(added) => (y + added)?,
            None => y,
        };
        match self.after {
            After::Nothing => Ok(y),
            After::Relu => y.relu(),
            After::Relu6 => y.clamp(0f32, 6f32),
        }
    }
}

impl After {
    fn apply<T: WithDType>(self, values: &mut [T]) {
        let (zero, six) = (T::zero(), T::from_f64(6.0));
        let at_least = |value: T, least: T| if value < least { least } else { value };
        match self {
            Self::Nothing => (),
            Self::Relu => values.iter_mut().for_each(|value| *value = at_least(*value, zero)),
            Self::Relu6 => values.iter_mut().for_each(|value| {
                let value_or_zero = at_least(*value, zero);
                *value = if value_or_zero > six { six } else { value_or_zero };
            }),
        }
    }
}

/// One image and one kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Geometry {
    pub channels: usize,
    pub rows: usize,
    pub columns: usize,
    pub kernel_rows: usize,
    pub kernel_columns: usize,
    pub stride: usize,
    pub top: usize,
    pub left: usize,
    pub rows_out: usize,
    pub columns_out: usize,
}

impl Geometry {
    /// Returns the extents of a convolution over an image of this shape, which goes in `groups` of channels.
    pub(super) fn new(convolution: &Convolution, x: &Shape, groups: usize) -> Result<Self> {
        let (_, channels, rows, columns) = x.dims4()?;
        let (_, input, kernel_rows, kernel_columns) = convolution.weight.dims4()?;
        let Convolution { stride, padding, .. } = *convolution;
        let (top, bottom) = padding.around(rows, kernel_rows, stride);
        let (left, right) = padding.around(columns, kernel_columns, stride);
        let extent = |places: usize, kernel: usize| places.checked_sub(kernel).map(|last| last / stride + 1);
        let extents =
            extent(top + rows + bottom, kernel_rows).zip(extent(left + columns + right, kernel_columns));
        match extents {
            Some((rows_out, columns_out)) if input * groups == channels => Ok(Self {
                channels,
                rows,
                columns,
                kernel_rows,
                kernel_columns,
                stride,
                top,
                left,
                rows_out,
                columns_out,
            }),
            _ => bail!("a convolution of {x:?} with a kernel of {:?}", convolution.weight.shape()),
        }
    }

    /// Returns the number of places of the result.
    pub(super) fn places(&self) -> usize {
        self.rows_out * self.columns_out
    }

    /// Returns the number of values that go into one value of the result.
    fn patch(&self) -> usize {
        self.channels * self.kernel_rows * self.kernel_columns
    }

    /// Returns whether an image is a matrix `[channels, places]` of patches as it is.
    fn is_pointwise(&self) -> bool {
        (self.kernel_rows, self.kernel_columns, self.stride) == (1, 1, 1)
            && (self.rows, self.columns) == (self.rows_out, self.columns_out)
    }

    /// Writes the patches of an image, `[patch, places]`.
    fn gather<T: WithDType>(&self, image: &[T], patches: &mut [T]) {
        let kernel = self.kernel_rows * self.kernel_columns;
        patches.par_chunks_exact_mut(self.places()).enumerate().for_each(|(index, row)| {
            let channel = &image[index / kernel * self.rows * self.columns..][..self.rows * self.columns];
            let (kernel_row, kernel_column) =
                (index % kernel / self.kernel_columns, index % self.kernel_columns);
            for (row_out, row) in row.chunks_exact_mut(self.columns_out).enumerate() {
                match (row_out * self.stride + kernel_row).checked_sub(self.top) {
                    Some(from) if from < self.rows => {
                        self.gather_row(&channel[from * self.columns..][..self.columns], kernel_column, row);
                    }
                    _ => row.fill(T::zero()),
                }
            }
        });
    }

    /// Writes the part of one row of a channel for one column of the kernel.
    fn gather_row<T: WithDType>(&self, image: &[T], kernel_column: usize, row: &mut [T]) {
        // The first place whose value is not left of the row, and where that value is.
        let skipped = self.left.saturating_sub(kernel_column).div_ceil(self.stride).min(row.len());
        let first =
            skipped * self.stride + kernel_column - self.left.min(skipped * self.stride + kernel_column);
        let (before, row) = row.split_at_mut(skipped);
        before.fill(T::zero());
        let image = image.get(first..).unwrap_or_default();
        let count = image.len().div_ceil(self.stride).min(row.len());
        let (row, after) = row.split_at_mut(count);
        if self.stride == 1 {
            row.copy_from_slice(&image[..count]);
        } else {
            row.iter_mut().zip(image.iter().step_by(self.stride)).for_each(|(row, value)| *row = *value);
        }
        after.fill(T::zero());
    }
}

/// The operation on the CPU.
struct OnCpu<'a>(&'a Convolution);

impl OnCpu<'_> {
    fn compute<T: WithDType>(
        &self,
        x: (&CpuStorage, &Layout),
        added: Option<(&CpuStorage, &Layout)>,
    ) -> Result<(CpuStorage, Shape)> {
        let Convolution { weight, bias, after, .. } = self.0;
        let geometry = Geometry::new(self.0, x.1.shape(), 1)?;
        let (places, patch, channels) = (geometry.places(), geometry.patch(), self.0.channels());
        let batch = x.1.dims()[0];
        let shape: Shape = (batch, channels, geometry.rows_out, geometry.columns_out).into();
        let (weight, bias) = (weight.storage_and_layout(), bias.storage_and_layout());
        let (Storage::Cpu(weight_storage), Storage::Cpu(bias_storage)) = (&*weight.0, &*bias.0) else {
            bail!("the weights of a convolution are on another device than its input")
        };
        let (weight, bias) = (values::<T>(weight_storage, weight.1)?, values::<T>(bias_storage, bias.1)?);
        let mut y = match added {
            None => {
                let mut y = Vec::with_capacity(shape.elem_count());
                for bias in bias.iter().cycle().take(batch * channels) {
                    y.resize(y.len() + places, *bias);
                }
                y
            }
            Some((_, layout)) if layout.shape() != &shape => {
                bail!("{:?} is added to a convolution that gives {shape:?}", layout.shape())
            }
            Some((storage, layout)) => {
                let mut y = values::<T>(storage, layout)?.to_vec();
                for (plane, bias) in y.chunks_exact_mut(places).zip(bias.iter().cycle()) {
                    plane.iter_mut().for_each(|value| *value += *bias);
                }
                y
            }
        };
        let image_len = geometry.channels * geometry.rows * geometry.columns;
        let mut patches = if geometry.is_pointwise() { Vec::new() } else { vec![T::zero(); patch * places] };
        let images = values::<T>(x.0, x.1)?.chunks_exact(image_len);
        for (image, y) in images.zip(y.chunks_exact_mut(channels * places)) {
            let columns = if geometry.is_pointwise() {
                image
            } else {
                geometry.gather(image, &mut patches);
                patches.as_slice()
            };
            multiply_add(
                (channels, places, patch),
                y,
                weight,
                columns,
                Order::Rows,
                rayon::current_num_threads(),
            );
            if *after != After::Nothing {
                y.par_chunks_mut(places).for_each(|plane| after.apply(plane));
            }
        }
        Ok((T::to_cpu_storage_owned(y), shape))
    }

    fn dispatch(
        &self,
        x: (&CpuStorage, &Layout),
        added: Option<(&CpuStorage, &Layout)>,
    ) -> Result<(CpuStorage, Shape)> {
        match x.0 {
            CpuStorage::F32(_) => self.compute::<f32>(x, added),
            CpuStorage::F16(_) => self.compute::<f16>(x, added),
            other => bail!("convolutions of {:?} are not supported", other.dtype()),
        }
    }
}

impl CustomOp1 for OnCpu<'_> {
    fn name(&self) -> &'static str {
        "convolution"
    }

    fn cpu_fwd(&self, x: &CpuStorage, x_layout: &Layout) -> Result<(CpuStorage, Shape)> {
        self.dispatch((x, x_layout), None)
    }
}

impl CustomOp2 for OnCpu<'_> {
    fn name(&self) -> &'static str {
        "convolution-and-add"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        added: &CpuStorage,
        added_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        self.dispatch((x, x_layout), Some((added, added_layout)))
    }
}

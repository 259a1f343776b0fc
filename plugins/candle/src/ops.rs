//! The operations that take most of the time, on the CPU: products, of weights in blocks, too, and convolutions of all
//! channels and of single ones.
//!
//! The engine has them all, but asks the operating system for the number of cores at each product, convolves by
//! gathering and scattering small tiles, and takes depthwise convolutions apart. These here go to the same products
//! (the crate `gemm`) in the threads of the instance, write where the result belongs, and do what follows on the way.
//! On other devices the engine's own operations are used.

pub(crate) mod blocks;
pub(crate) mod convolution;
pub(crate) mod depthwise;
pub(crate) mod matrix;
pub(crate) mod product;
#[cfg(test)]
mod tests;

use candle_core::{CpuStorage, Layout, Result, WithDType, bail};

/// Returns the values of a tensor without holes.
fn values<'a, T: WithDType>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [T]> {
    let Some((start, end)) = layout.contiguous_offsets() else { bail!("a tensor has holes: {layout:?}") };
    Ok(&T::cpu_storage_as_slice(storage)?[start..end])
}

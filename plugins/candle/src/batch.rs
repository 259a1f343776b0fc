//! Turns the host's buffers into the engine's tensors and back.

use candle_core::{CpuStorage, DType, Device, Result, Storage, Tensor, WithDType, bail};
use proctor_plugin_api::{
    Batch,
    vocabulary::{ElementType, TensorSpec},
};
use proctor_timed_steps::classes::{Classes, position_of_largest};

use crate::{models::tensors::is_class, network::Output};

/// Returns one input of all samples as a tensor `[batch, shape of a sample ...]`.
///
/// The engine's tensors own their memory, so inputs are copied once at any batch size: `spec.size_bytes()` for each
/// sample.
pub(crate) fn gather(batch: &Batch<'_>, input: usize, spec: &TensorSpec, device: &Device) -> Result<Tensor> {
    let samples = 0..batch.sample_count();
    let mut shape = vec![batch.sample_count()];
    shape.extend_from_slice(&spec.shape);
    let count = shape.iter().product();
    match spec.element_type {
        ElementType::F32 => {
            let mut values = Vec::with_capacity(count);
            samples.for_each(|sample| values.extend_from_slice(batch.input_f32(sample, input)));
            Tensor::from_vec(values, shape, device)
        }
        ElementType::I32 => {
            // The engine's indices are unsigned. One that was negative is then far out of every range, and refused.
            let mut values = Vec::with_capacity(count);
            samples
                .for_each(|sample| values.extend(elements(batch.input(sample, input), u32::from_ne_bytes)));
            Tensor::from_vec(values, shape, device)
        }
        ElementType::I64 => {
            let mut values = Vec::with_capacity(count);
            samples
                .for_each(|sample| values.extend(elements(batch.input(sample, input), i64::from_ne_bytes)));
            Tensor::from_vec(values, shape, device)
        }
        other => bail!("inputs of type {other} are not supported"),
    }
}

/// Writes one output of all samples to the host's buffers.
pub(crate) fn scatter(batch: &mut Batch<'_>, output: usize, spec: &TensorSpec, from: &Output) -> Result<()> {
    match from {
        Output::Tokens(tokens) => scatter_tokens(batch, output, tokens),
        Output::Tensor(tensor) if is_class(spec) && tensor.dtype().is_float() => {
            scatter_classes(batch, output, tensor)
        }
        Output::Tensor(tensor) => {
            let expected = batch.sample_count() * spec.element_count();
            if tensor.elem_count() != expected {
                bail!("output {spec} of {} samples came as {:?}", batch.sample_count(), tensor.shape());
            }
            let tensor = match spec.element_type {
                ElementType::F32 => tensor.to_dtype(DType::F32),
                ElementType::I32 => tensor.to_dtype(DType::I32),
                ElementType::I64 => tensor.to_dtype(DType::I64),
                other => bail!("outputs of type {other} are not supported"),
            }?;
            let tensor = tensor.to_device(&Device::Cpu)?.contiguous()?;
            let (storage, layout) = tensor.storage_and_layout();
            let Storage::Cpu(storage) = &*storage else { bail!("a tensor did not come to the CPU") };
            let Some((start, end)) = layout.contiguous_offsets() else { bail!("a tensor has holes") };
            match storage {
                CpuStorage::F32(values) => copy(batch, output, &values[start..end], f32::to_ne_bytes),
                CpuStorage::I32(values) => copy(batch, output, &values[start..end], i32::to_ne_bytes),
                CpuStorage::I64(values) => copy(batch, output, &values[start..end], i64::to_ne_bytes),
                _ => bail!("a tensor of another type than was asked for"),
            }
        }
    }
}

/// Returns the elements of a buffer of the host.
fn elements<const SIZE: usize, T>(bytes: &[u8], read: fn([u8; SIZE]) -> T) -> impl Iterator<Item = T> {
    bytes.as_chunks::<SIZE>().0.iter().map(move |bytes| read(*bytes))
}

/// Copies `values` to the samples, an equal share to each.
fn copy<const SIZE: usize, T: WithDType>(
    batch: &mut Batch<'_>,
    output: usize,
    values: &[T],
    write: fn(T) -> [u8; SIZE],
) -> Result<()> {
    let share = values.len() / batch.sample_count();
    for (mut sample, values) in batch.samples().zip(values.chunks_exact(share.max(1))) {
        let room = sample.output_mut(output);
        if room.len() != size_of_val(values) {
            bail!("output {output} is {} bytes, the host has room for {}", size_of_val(values), room.len());
        }
        for (room, value) in room.as_chunks_mut::<SIZE>().0.iter_mut().zip(values) {
            *room = write(*value);
        }
    }
    Ok(())
}

/// Writes the class with the largest score to each sample.
fn scatter_classes(batch: &mut Batch<'_>, output: usize, scores: &Tensor) -> Result<()> {
    let scores = scores.to_dtype(DType::F32)?.reshape((batch.sample_count(), ()))?.to_vec2::<f32>()?;
    for (mut sample, scores) in batch.samples().zip(scores) {
        let classes = Classes { count: scores.len() };
        let written = classes.write(position_of_largest(&scores), sample.output_mut(output));
        written.map_err(candle_core::Error::wrap)?;
    }
    Ok(())
}

fn scatter_tokens(batch: &mut Batch<'_>, output: usize, tokens: &[Vec<i32>]) -> Result<()> {
    if tokens.len() != batch.sample_count() {
        bail!("tokens of {} samples came for {}", tokens.len(), batch.sample_count());
    }
    for (mut sample, tokens) in batch.samples().zip(tokens) {
        let room = sample.output_mut(output);
        let size_bytes = size_of_val(tokens.as_slice());
        if size_bytes > room.len() {
            bail!("{} tokens are more than the host has room for ({} bytes)", tokens.len(), room.len());
        }
        for (room, token) in room.as_chunks_mut::<4>().0.iter_mut().zip(tokens) {
            *room = token.to_ne_bytes();
        }
        sample.set_output_size(output, size_bytes);
        sample.set_token_count(u32::try_from(tokens.len()).unwrap_or(u32::MAX));
    }
    Ok(())
}

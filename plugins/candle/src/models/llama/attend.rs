//! Attention of one more word of each text, on the CPU, in one go over the cache.
//!
//! With the engine's operations it is four small products and some twenty steps around them, each with its own result;
//! for a single word these take longer than what is computed. Sums are f32, of f16, too.

use candle_core::{CpuStorage, Result, Storage, Tensor, WithDType, bail};
use gemm::f16;
use rayon::prelude::*;

use super::cache::LayerCache;

/// Extents of the cache for a batch, and the order of the heads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent<'a> {
    /// Words of each prompt.
    pub lengths: &'a [usize],
    /// Number of texts of each prompt.
    pub beam: usize,
    /// Number of words fed back, this one counted.
    pub words: usize,
    /// Number of heads of keys and values.
    pub kv_heads: usize,
}

/// Fewer multiplications than this are not worth waking other threads for: some 30 us of one core.
const ALONE_MOST: usize = 1 << 18;

/// `q` is `[text, head, 1, head_dim]`, f32 or f16 on the CPU; gives `[text, head * head_dim]`.
pub(super) fn attend(q: &Tensor, cache: &LayerCache, extent: Extent<'_>) -> Result<Tensor> {
    let (storage, layout) = q.storage_and_layout();
    match &*storage {
        Storage::Cpu(CpuStorage::F32(_)) => {
            attend_in::<f32>(q, cache, extent, layout.dims(), |value| value, |value| value)
        }
        Storage::Cpu(CpuStorage::F16(_)) => {
            attend_in::<f16>(q, cache, extent, layout.dims(), f16::to_f32, f16::from_f32)
        }
        _ => bail!("attention of {:?} on {:?}", q.dtype(), q.device().location()),
    }
}

/// Conversions from an element to f32, and back.
type Conversions<T> = (fn(T) -> f32, fn(f32) -> T);

fn attend_in<T: WithDType>(
    q: &Tensor,
    cache: &LayerCache,
    extent: Extent<'_>,
    dims: &[usize],
    wide: fn(T) -> f32,
    narrow: fn(f32) -> T,
) -> Result<Tensor> {
    let &[texts, heads, 1, width] = dims else { bail!("queries of the shape {dims:?}") };
    let guards = [q, &cache.prompt[0], &cache.prompt[1], &cache.fed[0], &cache.fed[1]]
        .map(|tensor| tensor.storage_and_layout());
    let [q, prompt_k, prompt_v, fed_k, fed_v] =
        guards.each_ref().map(|(storage, layout)| match (&**storage, layout.contiguous_offsets()) {
            (Storage::Cpu(storage), Some((start, end))) => Ok(&T::cpu_storage_as_slice(storage)?[start..end]),
            _ => bail!("a cache that is not whole, or not on the CPU"),
        });
    let (q, prompt, fed) = (q?, [prompt_k?, prompt_v?], [fed_k?, fed_v?]);
    let [prompt_room, fed_room] = [&cache.prompt[0], &cache.fed[0]].map(|room| room.dims()[2] * width);
    let group = heads / extent.kv_heads * width;

    let mut out = vec![T::zero(); q.len()];
    let one = |(index, (q, out)): (usize, (&[T], &mut [T]))| {
        let (text, head) = (index / extent.kv_heads, index % extent.kv_heads);
        let (prompt_index, length) = (text / extent.beam, extent.lengths[text / extent.beam]);
        let part = |start: usize, words: usize| start..start + words * width;
        let of_prompt = part((prompt_index * extent.kv_heads + head) * prompt_room, length);
        let of_words = part(index * fed_room, extent.words);
        let [keys, values] =
            [0, 1].map(|kind| [&prompt[kind][of_prompt.clone()], &fed[kind][of_words.clone()]]);
        for (q, out) in q.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
            one_head(q, keys, values, out, (wide, narrow));
        }
    };
    let work = texts * heads * width * (extent.lengths.iter().copied().max().unwrap_or(0) + extent.words);
    if work < ALONE_MOST {
        q.chunks_exact(group).zip(out.chunks_exact_mut(group)).enumerate().for_each(one);
    } else {
        q.par_chunks_exact(group).zip(out.par_chunks_exact_mut(group)).enumerate().for_each(one);
    }
    Tensor::from_vec(out, (texts, heads * width), &candle_core::Device::Cpu)
}

/// Computes `softmax(q k^T / sqrt(width)) v` of one head, over the words of two rooms.
fn one_head<T: Copy>(
    q: &[T],
    keys: [&[T]; 2],
    values: [&[T]; 2],
    out: &mut [T],
    (wide, narrow): Conversions<T>,
) {
    let width = q.len();
    let scale = 1.0 / (width as f32).sqrt();
    let q: Vec<f32> = q.iter().map(|value| wide(*value) * scale).collect();
    let mut shares: Vec<f32> =
        keys.iter().flat_map(|keys| keys.chunks_exact(width)).map(|key| dot(&q, key, wide)).collect();
    let most = shares.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    shares.iter_mut().for_each(|share| *share = (*share - most).exp());
    let sum: f32 = shares.iter().sum();
    let mut mixed = vec![0.0_f32; width];
    for (share, value) in shares.iter().zip(values.iter().flat_map(|values| values.chunks_exact(width))) {
        mixed.iter_mut().zip(value).for_each(|(mixed, value)| *mixed += share * wide(*value));
    }
    out.iter_mut().zip(mixed).for_each(|(out, mixed)| *out = narrow(mixed / sum));
}

/// Sums in eight parts side by side, so that they are one vector.
fn dot<T: Copy>(a: &[f32], b: &[T], wide: fn(T) -> f32) -> f32 {
    const LANES: usize = 8;
    let mut sums = [0.0_f32; LANES];
    let (a, b) = (a.chunks(LANES), b.chunks(LANES));
    for (a, b) in a.zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * wide(*b);
        }
    }
    sums.iter().sum()
}

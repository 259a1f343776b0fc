//! One row of weights in blocks: multiplied with values, or as values.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m128i, __m256, _mm_and_si128, _mm_loadl_epi64, _mm_loadu_si128, _mm_set1_epi8, _mm_srli_epi16,
    _mm_srli_si128, _mm256_cvtepi8_epi32, _mm256_cvtepi32_ps, _mm256_cvtepu8_epi32, _mm256_fmadd_ps,
    _mm256_loadu_ps, _mm256_mul_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps,
};

/// Number of weights of a block.
pub(super) const BLOCK: usize = 32;

/// The instructions that the loops use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    /// Instructions that every machine has.
    Plain,
    /// AVX2 and FMA. Made only where they were found.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Kernel {
    /// Returns the best one for this machine.
    pub(super) fn of_this_machine() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return Self::Avx2;
        }
        Self::Plain
    }

    /// Computes the sum of `scale * step * value` over a row of steps of 4 bits.
    pub(super) fn dot_halves(self, scales: &[f32], steps: &[[u8; 16]], values: &[[f32; BLOCK]]) -> f32 {
        match self {
            Self::Plain => plain_dot(scales, steps.iter().map(plain_halves), values),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the machine has AVX2 and FMA, or `of_this_machine` would not have made this value.
            Self::Avx2 => unsafe { avx2_dot_halves(scales, steps, values) },
        }
    }

    /// Computes the same of steps of 8 bits.
    pub(super) fn dot_bytes(self, scales: &[f32], steps: &[[i8; BLOCK]], values: &[[f32; BLOCK]]) -> f32 {
        match self {
            Self::Plain => plain_dot(scales, steps.iter().map(|steps| steps.map(f32::from)), values),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Self::Avx2 => unsafe { avx2_dot_bytes(scales, steps, values) },
        }
    }

    /// Writes the weights of a row: `scale * step + least`.
    pub(super) fn unpack_halves(
        self,
        scales: &[f32],
        steps: &[[u8; 16]],
        leasts: &[f32],
        values: &mut [[f32; BLOCK]],
    ) {
        match self {
            Self::Plain => plain_unpack(scales, steps.iter().map(plain_halves), Some(leasts), values),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Self::Avx2 => unsafe { avx2_unpack_halves(scales, steps, leasts, values) },
        }
    }

    /// Writes the weights of a row: `scale * step`.
    pub(super) fn unpack_bytes(self, scales: &[f32], steps: &[[i8; BLOCK]], values: &mut [[f32; BLOCK]]) {
        match self {
            Self::Plain => plain_unpack(scales, steps.iter().map(|steps| steps.map(f32::from)), None, values),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Self::Avx2 => unsafe { avx2_unpack_bytes(scales, steps, values) },
        }
    }
}

/// Returns the steps of a block of 4 bits in their order.
fn plain_halves(steps: &[u8; 16]) -> [f32; BLOCK] {
    std::array::from_fn(|at| f32::from(if at < 16 { steps[at] & 15 } else { steps[at - 16] >> 4 }))
}

fn plain_dot(scales: &[f32], steps: impl Iterator<Item = [f32; BLOCK]>, values: &[[f32; BLOCK]]) -> f32 {
    const LANES: usize = 8;
    let mut sums = [0.0_f32; LANES];
    for ((scale, steps), values) in scales.iter().zip(steps).zip(values) {
        let mut of_block = [0.0_f32; LANES];
        let parts = steps.as_chunks::<LANES>().0.iter().zip(values.as_chunks::<LANES>().0);
        for (steps, values) in parts {
            of_block
                .iter_mut()
                .zip(steps.iter().zip(values))
                .for_each(|(sum, (step, value))| *sum += step * value);
        }
        sums.iter_mut().zip(of_block).for_each(|(sum, of_block)| *sum += scale * of_block);
    }
    sums.iter().sum()
}

fn plain_unpack(
    scales: &[f32],
    steps: impl Iterator<Item = [f32; BLOCK]>,
    leasts: Option<&[f32]>,
    values: &mut [[f32; BLOCK]],
) {
    for (block, ((scale, steps), values)) in scales.iter().zip(steps).zip(values).enumerate() {
        let least = leasts.map_or(0.0, |leasts| leasts[block]);
        values.iter_mut().zip(steps).for_each(|(value, step)| *value = scale * step + least);
    }
}

/// Returns the eight lower bytes as numbers.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn widen(bytes: __m128i) -> __m256 {
    _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes))
}

/// Returns the steps of a block of 4 bits, eight by eight in their order.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn halves(steps: &[u8; 16]) -> [__m256; 4] {
    // SAFETY: the array has the 16 bytes that are loaded, from any address.
    let bytes = unsafe { _mm_loadu_si128(steps.as_ptr().cast()) };
    let mask = _mm_set1_epi8(15);
    let (lower, upper) = (_mm_and_si128(bytes, mask), _mm_and_si128(_mm_srli_epi16::<4>(bytes), mask));
    [widen(lower), widen(_mm_srli_si128::<8>(lower)), widen(upper), widen(_mm_srli_si128::<8>(upper))]
}

/// Returns the steps of a block of 8 bits, eight by eight in their order.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn bytes(steps: &[i8; BLOCK]) -> [__m256; 4] {
    let part = |at: usize| {
        // SAFETY: 8 bytes are loaded from any address, and `at` is at most 24 of the 32 that the array has.
        let bytes = unsafe { _mm_loadl_epi64(steps.as_ptr().add(at).cast()) };
        _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes))
    };
    [part(0), part(8), part(16), part(24)]
}

/// Adds `scale * (steps * values)` of a block to eight sums.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn add_block(sums: __m256, scale: f32, steps: [__m256; 4], values: &[f32; BLOCK]) -> __m256 {
    // SAFETY: 8 values are loaded from any address, and `at` is at most 24 of the 32 that the array has.
    let part = |at: usize| unsafe { _mm256_loadu_ps(values.as_ptr().add(at)) };
    let first = _mm256_fmadd_ps(steps[1], part(8), _mm256_mul_ps(steps[0], part(0)));
    let second = _mm256_fmadd_ps(steps[3], part(24), _mm256_mul_ps(steps[2], part(16)));
    let scale = _mm256_set1_ps(scale);
    _mm256_fmadd_ps(scale, first, _mm256_fmadd_ps(scale, second, sums))
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn store(values: &mut [f32], eight: __m256) {
    assert!(values.len() >= 8, "room for eight values");
    // SAFETY: 8 values are stored to any address, for which there is room.
    unsafe { _mm256_storeu_ps(values.as_mut_ptr(), eight) };
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
fn sum(eight: __m256) -> f32 {
    let mut values = [0.0; 8];
    store(&mut values, eight);
    values.iter().sum()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2_dot_halves(scales: &[f32], steps: &[[u8; 16]], values: &[[f32; BLOCK]]) -> f32 {
    let mut sums = _mm256_setzero_ps();
    for ((scale, steps), values) in scales.iter().zip(steps).zip(values) {
        sums = add_block(sums, *scale, halves(steps), values);
    }
    sum(sums)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2_dot_bytes(scales: &[f32], steps: &[[i8; BLOCK]], values: &[[f32; BLOCK]]) -> f32 {
    let mut sums = _mm256_setzero_ps();
    for ((scale, steps), values) in scales.iter().zip(steps).zip(values) {
        sums = add_block(sums, *scale, bytes(steps), values);
    }
    sum(sums)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2_unpack_halves(scales: &[f32], steps: &[[u8; 16]], leasts: &[f32], values: &mut [[f32; BLOCK]]) {
    for ((scale, least), (steps, values)) in scales.iter().zip(leasts).zip(steps.iter().zip(values)) {
        let (scale, least) = (_mm256_set1_ps(*scale), _mm256_set1_ps(*least));
        for (steps, values) in halves(steps).into_iter().zip(values.chunks_exact_mut(8)) {
            store(values, _mm256_fmadd_ps(scale, steps, least));
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2_unpack_bytes(scales: &[f32], steps: &[[i8; BLOCK]], values: &mut [[f32; BLOCK]]) {
    for (scale, (steps, values)) in scales.iter().zip(steps.iter().zip(values)) {
        let scale = _mm256_set1_ps(*scale);
        for (steps, values) in bytes(steps).into_iter().zip(values.chunks_exact_mut(8)) {
            store(values, _mm256_mul_ps(scale, steps));
        }
    }
}

//! The loops that are timed: multiply-adds in registers, and reads.

use std::hint::black_box;

/// Multiply-adds of one call of [`multiply_adds`], counted as two operations each.
pub(crate) fn flops_per_call() -> f64 {
    (2 * ROUNDS * ACCUMULATORS * lanes()) as f64
}

/// Enough that the call itself does not count: some microseconds.
const ROUNDS: usize = 2048;
/// Two units with a latency of four or five cycles need ten; the others are spare.
const ACCUMULATORS: usize = 16;

/// Floats of the widest registers.
pub(crate) fn lanes() -> usize {
    match isa() {
        "avx512" => 16,
        "avx2" => 8,
        _ => 4,
    }
}

/// Name of the instruction set that the loops use.
pub(crate) fn isa() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            return "avx512";
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return "avx2";
        }
    }
    "portable"
}

/// Multiplies and adds in registers as fast as it can.
pub(crate) fn multiply_adds() {
    match isa() {
        // SAFETY: the name says that the processor has the instructions.
        #[cfg(target_arch = "x86_64")]
        "avx512" => unsafe { x86::multiply_adds_avx512() },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        "avx2" => unsafe { x86::multiply_adds_avx2() },
        _ => {
            let mut sums = [[0.0_f32; 4]; ACCUMULATORS];
            let (a, b) = (black_box(0.5_f32), black_box(0.25_f32));
            for _ in 0..ROUNDS {
                sums.iter_mut().flatten().for_each(|sum| *sum = *sum * a + b);
            }
            black_box(sums);
        }
    }
}

/// Reads every value `times` times, always from the first to the last. The slice begins at a cache line and has whole
/// ones.
pub(crate) fn read(values: &[f32], times: usize) {
    assert!(values.len().is_multiple_of(16) && values.as_ptr().addr().is_multiple_of(64));
    match isa() {
        // SAFETY: the name says that the processor has the instructions; the slice was just checked.
        #[cfg(target_arch = "x86_64")]
        "avx512" => unsafe { x86::read_avx512(values, times) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        "avx2" => unsafe { x86::read_avx2(values, times) },
        _ => {
            let mut sums = [0.0_f32; 16];
            for _ in 0..times {
                for line in black_box(values).as_chunks::<16>().0 {
                    sums.iter_mut().zip(line).for_each(|(sum, value)| *sum += value);
                }
            }
            black_box(sums);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::{arch::x86_64::*, hint::black_box};

    use super::{ACCUMULATORS, ROUNDS};

    /// # Safety
    /// The processor must have AVX-512F.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn multiply_adds_avx512() {
        let mut sums = [_mm512_setzero_ps(); ACCUMULATORS];
        let (a, b) = (_mm512_set1_ps(black_box(0.5)), _mm512_set1_ps(black_box(0.25)));
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(*sum, a, b);
            }
        }
        let total = sums.into_iter().reduce(|left, right| _mm512_add_ps(left, right));
        black_box(total.map(|total| _mm512_reduce_add_ps(total)));
    }

    /// # Safety
    /// The processor must have AVX2 and FMA.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn multiply_adds_avx2() {
        // 16 registers in all: 14 sums and the two factors.
        let mut sums = [_mm256_setzero_ps(); ACCUMULATORS - 2];
        let (a, b) = (_mm256_set1_ps(black_box(0.5)), _mm256_set1_ps(black_box(0.25)));
        // As many as the count of operations says: 14 sums take 8/7 of the rounds.
        for _ in 0..ROUNDS * ACCUMULATORS / (ACCUMULATORS - 2) {
            for sum in &mut sums {
                *sum = _mm256_fmadd_ps(*sum, a, b);
            }
        }
        let mut room = [0.0_f32; 8];
        for sum in sums {
            // SAFETY: the room has 8 floats.
            unsafe { _mm256_storeu_ps(room.as_mut_ptr(), sum) };
            black_box(&room);
        }
    }

    /// # Safety
    /// The processor must have AVX-512F; the slice must begin at a multiple of 64 bytes and have a multiple of 16
    /// floats.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn read_avx512(values: &[f32], times: usize) {
        let mut sums = [_mm512_setzero_ps(); 8];
        for _ in 0..times {
            let (blocks, rest) = black_box(values).as_chunks::<128>();
            for block in blocks {
                for (line, sum) in sums.iter_mut().enumerate() {
                    // SAFETY: a block has eight lines of 16 floats, each aligned as the slice is.
                    *sum = _mm512_add_ps(*sum, unsafe { _mm512_load_ps(block.as_ptr().add(line * 16)) });
                }
            }
            for line in rest.as_chunks::<16>().0 {
                // SAFETY: the line has 16 floats, aligned as the slice is.
                sums[0] = _mm512_add_ps(sums[0], unsafe { _mm512_load_ps(line.as_ptr()) });
            }
        }
        let total = sums.into_iter().reduce(|left, right| _mm512_add_ps(left, right));
        black_box(total.map(|total| _mm512_reduce_add_ps(total)));
    }

    /// # Safety
    /// The processor must have AVX2; the slice must begin at a multiple of 32 bytes and have a multiple of 8 floats.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn read_avx2(values: &[f32], times: usize) {
        let mut sums = [_mm256_setzero_ps(); 8];
        for _ in 0..times {
            let (blocks, rest) = black_box(values).as_chunks::<64>();
            for block in blocks {
                for (part, sum) in sums.iter_mut().enumerate() {
                    // SAFETY: a block has eight parts of 8 floats, each aligned as the slice is.
                    *sum = _mm256_add_ps(*sum, unsafe { _mm256_load_ps(block.as_ptr().add(part * 8)) });
                }
            }
            for part in rest.as_chunks::<8>().0 {
                // SAFETY: the part has 8 floats, aligned as the slice is.
                sums[0] = _mm256_add_ps(sums[0], unsafe { _mm256_load_ps(part.as_ptr()) });
            }
        }
        let mut room = [0.0_f32; 8];
        for sum in sums {
            // SAFETY: the room has 8 floats.
            unsafe { _mm256_storeu_ps(room.as_mut_ptr(), sum) };
            black_box(&room);
        }
    }
}

//! The loops that are timed: multiply-adds in registers, reads, and a chain whose links take a cycle each.

use std::hint::black_box;

use proctor_rnn_kernels::Isa;

/// Returns the multiply-adds of one call of [`multiply_adds`], counted as two operations each.
pub(crate) fn flops_per_call() -> f64 {
    (2 * ROUNDS * ACCUMULATORS * isa().lanes()) as f64
}

/// Enough for the cost of the call itself not to count: they take some microseconds.
const ROUNDS: usize = 2048;
/// Two units with a latency of four or five cycles need ten; the others are spare.
const ACCUMULATORS: usize = 16;

/// Returns the instruction set that the loops use: the widest of this processor, even where the kernels are forced to
/// another.
pub(crate) fn isa() -> Isa {
    Isa::fastest()
}

/// Cycles of one call of [`chain`].
pub(crate) const CHAIN_CYCLES: f64 = (CHAIN_ROUNDS * 2 * CHAIN_PAIRS) as f64;
const CHAIN_ROUNDS: usize = 512;
/// Number of pairs without a jump between them: the loop counter runs in parallel with the chain.
const CHAIN_PAIRS: usize = 16;

/// Adds and flips bits, each operation on the outcome of the one before.
pub(crate) fn chain() {
    let mut link = black_box(1_u64);
    // In registers: some processors add a constant while they rename, which takes no cycle.
    let (step, bits) = (black_box(3_u64), black_box(5_u64));
    for _ in 0..CHAIN_ROUNDS {
        for _ in 0..CHAIN_PAIRS {
            link = link.wrapping_add(step) ^ bits;
        }
    }
    black_box(link);
}

/// Multiplies and adds in registers as fast as possible.
pub(crate) fn multiply_adds() {
    match isa() {
        // SAFETY: `Isa::fastest` has detected avx512f on this processor, all that the loop demands.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { x86::avx512::multiply_adds() },
        // SAFETY: `Isa::fastest` has detected avx2 and fma on this processor, all that the loop demands.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { x86::avx2::multiply_adds() },
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

/// Reads every value `times` times, always from the first to the last. The slice begins at a cache line and consists of
/// whole ones.
pub(crate) fn read(values: &[f32], times: usize) {
    assert!(values.len().is_multiple_of(16) && values.as_ptr().addr().is_multiple_of(64));
    match isa() {
        // SAFETY: `Isa::fastest` has detected avx512f on this processor; the assertion above holds the slice to the
        // alignment and the length that the loop demands.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { x86::avx512::read(values, times) },
        // SAFETY: `Isa::fastest` has detected avx2 and fma on this processor; the assertion above holds the slice to
        // the alignment and the length that the loop demands.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { x86::avx2::read(values, times) },
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
    /// Both loops for one instruction set, in their own module: `$lanes` floats to a vector, `$sums` sums at once.
    macro_rules! loops {
        ($module:ident, $features:literal, $lanes:literal, $sums:expr, $zero:ident, $all:ident, $add:ident,
         $multiply_add:ident, $load:ident) => {
            pub(in super::super) mod $module {
                use std::{arch::x86_64::*, hint::black_box};

                use super::super::{ACCUMULATORS, ROUNDS};

                /// # Safety
                /// - The processor has the instructions.
                #[target_feature(enable = $features)]
                pub(in super::super) unsafe fn multiply_adds() {
                    let mut sums = [$zero(); $sums];
                    let (a, b) = ($all(black_box(0.5)), $all(black_box(0.25)));
                    // Fewer sums take more rounds, so that the operations are as many as `flops_per_call` says.
                    for _ in 0..ROUNDS * ACCUMULATORS / $sums {
                        for sum in &mut sums {
                            *sum = $multiply_add(*sum, a, b);
                        }
                    }
                    for sum in sums {
                        black_box(sum);
                    }
                }

                /// # Safety
                /// - The processor has the instructions.
                /// - The slice begins at a multiple of 64 bytes and has a multiple of 16 floats.
                #[target_feature(enable = $features)]
                pub(in super::super) unsafe fn read(values: &[f32], times: usize) {
                    let mut sums = [$zero(); 8];
                    for _ in 0..times {
                        let (blocks, rest) = black_box(values).as_chunks::<{ 8 * $lanes }>();
                        for block in blocks {
                            for (part, sum) in sums.iter_mut().enumerate() {
                                // SAFETY: a block has eight parts of `$lanes` floats, and `part` is below eight. Each
                                // begins at a multiple of its own size, as the slice begins at a multiple of 64 bytes.
                                *sum = $add(*sum, unsafe { $load(block.as_ptr().add(part * $lanes)) });
                            }
                        }
                        for part in rest.as_chunks::<$lanes>().0 {
                            // SAFETY: the part has `$lanes` floats and begins at a multiple of its own size, as
                            // all blocks before it do.
                            sums[0] = $add(sums[0], unsafe { $load(part.as_ptr()) });
                        }
                    }
                    for sum in sums {
                        black_box(sum);
                    }
                }
            }
        };
    }

    loops!(
        avx512,
        "avx512f",
        16,
        ACCUMULATORS,
        _mm512_setzero_ps,
        _mm512_set1_ps,
        _mm512_add_ps,
        _mm512_fmadd_ps,
        _mm512_load_ps
    );
    // 16 registers in all: 14 sums and the two factors.
    loops!(
        avx2,
        "avx2,fma",
        8,
        (ACCUMULATORS - 2),
        _mm256_setzero_ps,
        _mm256_set1_ps,
        _mm256_add_ps,
        _mm256_fmadd_ps,
        _mm256_load_ps
    );
}

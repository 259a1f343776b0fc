//! Vectors of AVX-512: 16 lanes, 32 registers.

use std::arch::x86_64::*;

use super::Vector;

/// Sixteen values.
#[derive(Clone, Copy)]
pub(crate) struct Zmm(__m512);

/// Returns the lanes below `count`.
#[inline(always)]
fn first(count: usize) -> __mmask16 {
    (0xffff_u32 >> (16 - count.min(16))) as u16
}

impl Vector for Zmm {
    const LANES: usize = 16;
    // 6 rows of 4 vectors are 24 sums, which leaves registers for 4 vectors of weights and the value of a row.
    const ROWS: usize = 6;
    // `vpdpbusd` multiplies unsigned activations with signed weights.
    const ZERO_POINT: i32 = 128;

    super::instructions! {
        f32: _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_max_ps, _mm512_min_ps;
        add(other): _mm512_add_ps,
        sub(other): _mm512_sub_ps,
        mul(other): _mm512_mul_ps,
        fma(factor, addend): _mm512_fmadd_ps,
        fms(factor, minus): _mm512_fmsub_ps,
        fnma(factor, addend): _mm512_fnmadd_ps,;
        i32(__m512i): _mm512_setzero_si512, _mm512_loadu_si512, _mm512_add_epi32, _mm512_cvtepi32_ps;
        bits: _mm512_and_si512, _mm512_set1_epi32, _mm512_slli_epi32, _mm512_castsi512_ps;
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        // SAFETY: the caller vouches for `count` values, and lanes that the mask leaves out are not touched.
        Self(unsafe { _mm512_maskz_loadu_ps(first(count), from) })
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize) {
        // SAFETY: the caller vouches for `count` values, and lanes that the mask leaves out are not touched.
        unsafe { _mm512_mask_storeu_ps(to, first(count), self.0) };
    }

    #[inline(always)]
    fn scale(self, exponent: Self) -> Self {
        // SAFETY: a value exists, so the processor has the instructions.
        Self(unsafe { _mm512_scalef_ps(self.0, exponent.0) })
    }

    // A table look-up of 14 bits and one step of Newton: a quarter of the time of a division.
    #[inline(always)]
    fn reciprocal(self) -> Self {
        // SAFETY: a value exists, so the processor has the instructions.
        unsafe {
            let guess = _mm512_rcp14_ps(self.0);
            let error = _mm512_fnmadd_ps(self.0, guess, _mm512_set1_ps(1.0));
            Self(_mm512_fmadd_ps(guess, error, guess))
        }
    }

    #[inline(always)]
    unsafe fn dot(sums: __m512i, weights: *const u8, activations: *const u8) -> __m512i {
        // SAFETY: the caller vouches for the instructions, `4 * LANES` bytes of weights and 4 of activations.
        unsafe {
            let activations = _mm512_set1_epi32(activations.cast::<i32>().read_unaligned());
            _mm512_dpbusd_epi32(sums, activations, _mm512_loadu_si512(weights.cast()))
        }
    }

    #[inline(always)]
    unsafe fn store_quantised(self, to: *mut u8) {
        // SAFETY: a value exists, so the processor has the instructions; the caller vouches for room for `LANES` bytes.
        unsafe {
            let integers = _mm512_add_epi32(_mm512_cvtps_epi32(self.0), _mm512_set1_epi32(Self::ZERO_POINT));
            _mm_storeu_si128(to.cast(), _mm512_cvtepi32_epi8(integers));
        }
    }
}

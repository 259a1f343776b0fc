//! Vectors of AVX2 with FMA: 8 lanes, 16 registers.

use std::arch::x86_64::*;

use super::Vector;

/// Eight values.
#[derive(Clone, Copy)]
pub(crate) struct Ymm(__m256);

/// Sixteen words; the eight from `8 - count` on are a mask of the first `count` lanes.
static MASKS: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

/// # Safety
/// - The processor has AVX2.
#[inline(always)]
unsafe fn first(count: usize) -> __m256i {
    // SAFETY: the start is at most 8, so that eight words follow. The caller promises AVX2.
    unsafe { _mm256_loadu_si256(MASKS.as_ptr().add(8 - count.min(8)).cast()) }
}

impl Vector for Ymm {
    const LANES: usize = 8;
    // 3 rows of 4 vectors are 12 sums; the values of the rows and one vector of weights fill the registers.
    const ROWS: usize = 3;
    const ZERO_POINT: i32 = 0;

    super::instructions! {
        f32: _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_max_ps, _mm256_min_ps;
        add(other): _mm256_add_ps,
        sub(other): _mm256_sub_ps,
        mul(other): _mm256_mul_ps,
        fma(factor, addend): _mm256_fmadd_ps,
        fms(factor, minus): _mm256_fmsub_ps,
        fnma(factor, addend): _mm256_fnmadd_ps,;
        i32(__m256i): _mm256_setzero_si256, _mm256_loadu_si256, _mm256_add_epi32, _mm256_cvtepi32_ps;
        bits: _mm256_and_si256, _mm256_set1_epi32, _mm256_slli_epi32, _mm256_castsi256_ps;
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        // SAFETY: the caller vouches for `count` values, and lanes that the mask leaves out are not touched.
        Self(unsafe { _mm256_maskload_ps(from, first(count)) })
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize) {
        // SAFETY: the caller vouches for `count` values, and lanes that the mask leaves out are not touched.
        unsafe { _mm256_maskstore_ps(to, first(count), self.0) };
    }

    // Two factors, so that results at both ends of the range come out right.
    #[inline(always)]
    fn scale(self, exponent: Self) -> Self {
        // SAFETY: a value exists, so the processor has the instructions.
        // A NaN converts to some integer; the factor beside it is NaN then.
        unsafe {
            let (whole, bias) = (_mm256_cvtps_epi32(exponent.0), _mm256_set1_epi32(127));
            let half = _mm256_srai_epi32::<1>(whole);
            let rest = _mm256_sub_epi32(whole, half);
            let half = _mm256_slli_epi32::<23>(_mm256_add_epi32(half, bias));
            let rest = _mm256_slli_epi32::<23>(_mm256_add_epi32(rest, bias));
            let scaled = _mm256_mul_ps(self.0, _mm256_castsi256_ps(half));
            Self(_mm256_mul_ps(scaled, _mm256_castsi256_ps(rest)))
        }
    }

    // At 8 lanes a division takes hardly longer than a look-up of 12 bits and two steps of Newton, and is exact.
    #[inline(always)]
    fn reciprocal(self) -> Self {
        // SAFETY: a value exists, so the processor has the instructions.
        Self(unsafe { _mm256_div_ps(_mm256_set1_ps(1.0), self.0) })
    }

    // `vpmaddubsw` wants one unsigned operand and adds pairs in 16 bits. |a| * (w with the sign of a) is the same
    // product, and a pair is at most 2 * 127 * 127, which fits.
    #[inline(always)]
    unsafe fn dot(sums: __m256i, weights: *const u8, activations: *const u8) -> __m256i {
        // SAFETY: the caller vouches for the instructions, `4 * LANES` bytes of weights and 4 of activations.
        unsafe {
            let activations = _mm256_set1_epi32(activations.cast::<i32>().read_unaligned());
            let weights = _mm256_loadu_si256(weights.cast());
            let signed = _mm256_sign_epi8(weights, activations);
            let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(activations), signed);
            _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
        }
    }

    #[inline(always)]
    unsafe fn store_quantised(self, to: *mut u8) {
        // SAFETY: a value exists, so the processor has the instructions; the caller vouches for room for `LANES` bytes.
        unsafe {
            let integers = _mm256_cvtps_epi32(self.0);
            // Within each half: words, then bytes; the halves are joined last.
            let words = _mm256_packs_epi32(integers, integers);
            let bytes = _mm256_packs_epi16(words, words);
            let low = _mm256_castsi256_si128(bytes);
            let both = _mm_unpacklo_epi32(low, _mm256_extracti128_si256::<1>(bytes));
            _mm_storel_epi64(to.cast(), both);
        }
    }
}

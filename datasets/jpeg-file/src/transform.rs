//! The inverse transform of a block, in integers.
//!
//! Source: C. Loeffler, A. Ligtenberg and G. Moschytz, "Practical fast 1-D DCT algorithms with 11 multiplications",
//! 1989, with constants of 13 bits and two more bits kept between the passes: the numbers of libjpeg's accurate integer
//! method, so the samples are its samples.

/// Coefficients of a block, one row of frequencies after the other.
pub(crate) type Block = [i16; 64];

/// Places in a block in the order in which coefficients are coded: T.81, figure A.6.
pub(crate) const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7,
    14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39,
    46, 53, 60, 61, 54, 47, 55, 62, 63,
];

const CONSTANT_BITS: u32 = 13;
/// Bits that the first pass keeps behind the point.
const KEPT_BITS: u32 = 2;

/// Eight numbers that go through the same steps.
type Lanes = [i32; 8];

#[inline(always)]
fn each(a: Lanes, b: Lanes, operation: impl Fn(i32, i32) -> i32) -> Lanes {
    std::array::from_fn(|lane| operation(a[lane], b[lane]))
}

#[inline(always)]
fn add(a: Lanes, b: Lanes) -> Lanes {
    each(a, b, i32::wrapping_add)
}

#[inline(always)]
fn subtract(a: Lanes, b: Lanes) -> Lanes {
    each(a, b, i32::wrapping_sub)
}

#[inline(always)]
fn scale(a: Lanes, factor: i32) -> Lanes {
    a.map(|value| value.wrapping_mul(factor))
}

/// One pass over eight rows of lanes; the results are rounded to have `BITS` fewer.
#[inline(always)]
fn pass<const BITS: u32>(rows: &[Lanes; 8]) -> [Lanes; 8] {
    // Even rows.
    let sum = scale(add(rows[2], rows[6]), 4433);
    let (low, high) = (add(sum, scale(rows[6], -15137)), add(sum, scale(rows[2], 6270)));
    let first = add(rows[0], rows[4]).map(|value| value.wrapping_shl(CONSTANT_BITS));
    let second = subtract(rows[0], rows[4]).map(|value| value.wrapping_shl(CONSTANT_BITS));
    let even = [add(first, high), add(second, low), subtract(second, low), subtract(first, high)];

    // Odd rows.
    let [a, b, c, d] = [rows[7], rows[5], rows[3], rows[1]];
    let (ac, bd) = (add(a, c), add(b, d));
    let both = scale(add(ac, bd), 9633);
    let (ac, bd) = (add(scale(ac, -16069), both), add(scale(bd, -3196), both));
    let (ad, bc) = (scale(add(a, d), -7373), scale(add(b, c), -20995));
    let odd = [
        add(scale(d, 12299), add(ad, bd)),
        add(scale(c, 25172), add(bc, ac)),
        add(scale(b, 16819), add(bc, bd)),
        add(scale(a, 2446), add(ad, ac)),
    ];

    let round = |value: i32| value.wrapping_add(1 << (BITS - 1)) >> BITS;
    std::array::from_fn(|row| match row {
        0..4 => add(even[row], odd[row]).map(round),
        _ => subtract(even[7 - row], odd[7 - row]).map(round),
    })
}

#[inline(always)]
fn transposed(rows: &[Lanes; 8]) -> [Lanes; 8] {
    std::array::from_fn(|row| std::array::from_fn(|lane| rows[lane][row]))
}

/// Writes the samples of a block, of which `block` has the coefficients times their steps: eight rows of eight, which
/// are `stride` apart in `samples`.
#[inline(always)]
pub(crate) fn inverse(block: &Block, samples: &mut [u8], stride: usize) {
    let rows: [Lanes; 8] =
        std::array::from_fn(|row| std::array::from_fn(|lane| i32::from(block[8 * row + lane])));
    let columns = pass::<{ CONSTANT_BITS - KEPT_BITS }>(&rows);
    let rows = pass::<{ CONSTANT_BITS + KEPT_BITS + 3 }>(&transposed(&columns));
    let rows = transposed(&rows);
    for (row, samples) in rows.iter().zip(samples.chunks_mut(stride)) {
        for (value, sample) in row.iter().zip(&mut samples[..8]) {
            *sample = value.wrapping_add(128).clamp(0, 255) as u8;
        }
    }
}

/// As [`inverse`] for a block that has its first coefficient alone.
#[inline(always)]
pub(crate) fn inverse_of_first(first: i16, samples: &mut [u8], stride: usize) {
    let value = (i32::from(first) * (1 << KEPT_BITS) + (1 << (KEPT_BITS + 2))) >> (KEPT_BITS + 3);
    for samples in samples.chunks_mut(stride).take(8) {
        samples[..8].fill((value + 128).clamp(0, 255) as u8);
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    /// The definition, T.81 section A.3.3.
    fn defined(block: &Block) -> Vec<f64> {
        let factor = |frequency: usize| if frequency == 0 { 0.5_f64.sqrt() } else { 1.0 };
        let angle = |place: usize, frequency: usize| {
            ((2 * place + 1) as f64 * frequency as f64 * PI / 16.0).cos() * factor(frequency)
        };
        let sample = |y: usize, x: usize| {
            let terms = (0..64).map(|k| f64::from(block[k]) * angle(y, k / 8) * angle(x, k % 8));
            terms.sum::<f64>() / 4.0 + 128.0
        };
        (0..64).map(|place| sample(place / 8, place % 8).clamp(0.0, 255.0)).collect()
    }

    #[test]
    fn samples_are_those_of_the_definition_within_rounding() {
        let mut state = 1_u32;
        for round in 0..200 {
            let mut block = [0; 64];
            for value in &mut block {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *value = ((state >> 16) % 201) as i16 - 100;
            }
            if round % 4 == 0 {
                block[1..].fill(0);
            }
            let mut samples = [0; 64];
            inverse(&block, &mut samples, 8);
            for (sample, expected) in samples.iter().zip(defined(&block)) {
                assert!((f64::from(*sample) - expected).abs() < 0.6, "{sample} for {expected}");
            }
            if round % 4 == 0 {
                let mut flat = [0; 64];
                inverse_of_first(block[0], &mut flat, 8);
                assert_eq!(flat, samples);
            }
        }
    }

    #[test]
    fn numbers_beyond_any_picture_do_no_harm() {
        for value in [i16::MIN, i16::MAX] {
            let mut samples = [0; 64];
            inverse(&[value; 64], &mut samples, 8);
            inverse_of_first(value, &mut samples, 8);
            assert_eq!(samples, [if value > 0 { 255 } else { 0 }; 64]);
        }
    }
}

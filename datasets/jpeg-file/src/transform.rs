//! The inverse transform of a block, in integers.
//!
//! Source: C. Loeffler, A. Ligtenberg and G. Moschytz, "Practical fast 1-D DCT algorithms with 11 multiplications",
//! 1989, with constants of 13 bits and two more bits kept between the passes: the numbers of libjpeg's accurate integer
//! method, so the samples are its samples.

/// Coefficients of a block, row by row of frequencies.
pub(crate) type Block = [i16; 64];

/// Places in a block in the order in which coefficients are coded: T.81, figure A.6.
pub(crate) const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7,
    14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39,
    46, 53, 60, 61, 54, 47, 55, 62, 63,
];

const CONSTANT_BITS: u32 = 13;
/// Number of bits that the first pass keeps behind the point.
const KEPT_BITS: u32 = 2;

/// Eight rows of eight numbers.
type Square = [[i32; 8]; 8];

/// Returns one pass along the columns; the results are rounded to have `BITS` fewer.
///
/// A single loop over the columns that takes the same steps for each, so the compiler can vectorise it.
#[inline(always)]
fn pass<const BITS: u32>(rows: &Square) -> Square {
    let mut out = [[0; 8]; 8];
    for lane in 0..8 {
        // Even rows.
        let (x2, x6) = (rows[2][lane], rows[6][lane]);
        let sum = x2.wrapping_add(x6).wrapping_mul(4433);
        let low = sum.wrapping_add(x6.wrapping_mul(-15137));
        let high = sum.wrapping_add(x2.wrapping_mul(6270));
        let first = rows[0][lane].wrapping_add(rows[4][lane]).wrapping_shl(CONSTANT_BITS);
        let second = rows[0][lane].wrapping_sub(rows[4][lane]).wrapping_shl(CONSTANT_BITS);
        let (even0, even3) = (first.wrapping_add(high), first.wrapping_sub(high));
        let (even1, even2) = (second.wrapping_add(low), second.wrapping_sub(low));

        // Odd rows.
        let (a, b, c, d) = (rows[7][lane], rows[5][lane], rows[3][lane], rows[1][lane]);
        let (ac, bd) = (a.wrapping_add(c), b.wrapping_add(d));
        let both = ac.wrapping_add(bd).wrapping_mul(9633);
        let ac = ac.wrapping_mul(-16069).wrapping_add(both);
        let bd = bd.wrapping_mul(-3196).wrapping_add(both);
        let ad = a.wrapping_add(d).wrapping_mul(-7373);
        let bc = b.wrapping_add(c).wrapping_mul(-20995);
        let odd0 = d.wrapping_mul(12299).wrapping_add(ad).wrapping_add(bd);
        let odd1 = c.wrapping_mul(25172).wrapping_add(bc).wrapping_add(ac);
        let odd2 = b.wrapping_mul(16819).wrapping_add(bc).wrapping_add(bd);
        let odd3 = a.wrapping_mul(2446).wrapping_add(ad).wrapping_add(ac);

        let half = 1 << (BITS - 1);
        out[0][lane] = even0.wrapping_add(odd0).wrapping_add(half) >> BITS;
        out[1][lane] = even1.wrapping_add(odd1).wrapping_add(half) >> BITS;
        out[2][lane] = even2.wrapping_add(odd2).wrapping_add(half) >> BITS;
        out[3][lane] = even3.wrapping_add(odd3).wrapping_add(half) >> BITS;
        out[4][lane] = even3.wrapping_sub(odd3).wrapping_add(half) >> BITS;
        out[5][lane] = even2.wrapping_sub(odd2).wrapping_add(half) >> BITS;
        out[6][lane] = even1.wrapping_sub(odd1).wrapping_add(half) >> BITS;
        out[7][lane] = even0.wrapping_sub(odd0).wrapping_add(half) >> BITS;
    }
    out
}

#[inline(always)]
fn transposed(rows: &Square) -> Square {
    let mut out = [[0; 8]; 8];
    for row in 0..8 {
        for lane in 0..8 {
            out[row][lane] = rows[lane][row];
        }
    }
    out
}

/// Writes the samples of a block: eight rows of eight, `stride` apart in `samples`. `block` holds the coefficients
/// already multiplied by their steps.
#[inline(always)]
pub(crate) fn inverse(block: &Block, samples: &mut [u8], stride: usize) {
    let mut rows = [[0; 8]; 8];
    for row in 0..8 {
        for lane in 0..8 {
            rows[row][lane] = i32::from(block[8 * row + lane]);
        }
    }
    let columns = pass::<{ CONSTANT_BITS - KEPT_BITS }>(&rows);
    let rows = pass::<{ CONSTANT_BITS + KEPT_BITS + 3 }>(&transposed(&columns));
    let rows = transposed(&rows);
    for (row, samples) in rows.iter().zip(samples.chunks_mut(stride)) {
        let mut bytes = [0; 8];
        for lane in 0..8 {
            bytes[lane] = row[lane].wrapping_add(128).clamp(0, 255) as u8;
        }
        samples[..8].copy_from_slice(&bytes);
    }
}

/// Works as [`inverse`] for a block that has its first coefficient alone.
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

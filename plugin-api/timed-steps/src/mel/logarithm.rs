//! The natural logarithm of many numbers, in a form that compilers make vectors of.

/// Minimum mantissa, 1/sqrt(2) as bits: mantissas are brought to the range around 1 from there to sqrt(2).
const LEAST_MANTISSA: u32 = 0x3f35_04f3;
const MANTISSA_BITS: u32 = 23;
/// ln 2 in two parts; the first times any exponent is exact.
const LN_2_HIGH: f32 = 355.0 / 512.0;
const LN_2_LOW: f32 = -2.121_944_4e-4;
/// ln(1 + x) = x - x^2 / 2 + x^3 P(x) for the range above: the minimax polynomial of the Cephes library, the highest
/// power first.
const POLYNOMIAL: [f32; 9] = [
    7.037_683_6e-2,
    -1.151_461e-1,
    1.167_699_87e-1,
    -1.242_014_1e-1,
    1.424_932_3e-1,
    -1.666_805_7e-1,
    2.000_071_4e-1,
    -2.499_999_4e-1,
    3.333_333e-1,
];

/// Replaces each number by its logarithm, which is off by at most two units in the last place. Numbers are positive,
/// normal and finite.
pub(crate) fn logarithms(numbers: &mut [f32]) {
    for number in numbers {
        let bits = number.to_bits().wrapping_sub(LEAST_MANTISSA);
        let exponent = (bits as i32) >> MANTISSA_BITS;
        let mantissa = f32::from_bits((bits & ((1 << MANTISSA_BITS) - 1)) + LEAST_MANTISSA);
        let x = mantissa - 1.0;
        let polynomial = POLYNOMIAL.iter().fold(0.0, |sum, factor| sum * x + factor);
        let (square, exponent) = (x * x, exponent as f32);
        let rest = square * x * polynomial + exponent * LN_2_LOW - 0.5 * square;
        *number = x + rest + exponent * LN_2_HIGH;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn assert_close(number: f32) {
        let mut got = [number];
        logarithms(&mut got);
        let exact = f64::from(number).ln();
        let unit = f64::from(f32::EPSILON) * exact.abs().max(f64::from(f32::MIN_POSITIVE));
        // Around 1 the logarithm itself is as small as the rounding of its argument.
        assert!((f64::from(got[0]) - exact).abs() <= 2.0 * unit, "{} for {exact} of {number:e}", got[0]);
    }

    #[test]
    fn special_places_are_met() {
        for number in [1e-20, 1e-10, 0.5, 1.0, 2.0, std::f32::consts::E, f32::MIN_POSITIVE, f32::MAX] {
            assert_close(number);
        }
        for near in [std::f32::consts::FRAC_1_SQRT_2, 1.0, std::f32::consts::SQRT_2] {
            for step in 0..100 {
                assert_close(f32::from_bits(near.to_bits() - 50 + step));
            }
        }
    }

    proptest! {
        #[test]
        fn any_number_has_its_logarithm(bits in f32::MIN_POSITIVE.to_bits()..f32::MAX.to_bits()) {
            assert_close(f32::from_bits(bits));
        }
    }
}

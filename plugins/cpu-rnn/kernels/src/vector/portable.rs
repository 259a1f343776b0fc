//! Vectors of plain code: four lanes, which compilers turn into any short vectors that a processor has.

use super::Vector;

/// Four values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain([f32; 4]);

impl Plain {
    #[inline(always)]
    fn map(mut self, function: impl Fn(f32) -> f32) -> Self {
        for value in &mut self.0 {
            *value = function(*value);
        }
        self
    }

    #[inline(always)]
    fn with(mut self, other: Self, function: impl Fn(f32, f32) -> f32) -> Self {
        for (value, other) in self.0.iter_mut().zip(other.0) {
            *value = function(*value, other);
        }
        self
    }
}

/// Computes `2^exponent` for a whole exponent in -126 ..= 127.
#[inline(always)]
fn power_of_two(exponent: f32) -> f32 {
    // A NaN becomes 0 here; the other factor is NaN then.
    f32::from_bits(((exponent as i32 + 127) as u32) << 23)
}

impl Vector for Plain {
    const LANES: usize = 4;
    const ROWS: usize = 2;
    const ZERO_POINT: i32 = 0;
    type Sums = [i32; 4];

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self([value; 4])
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller vouches for the four lanes; the access need not be aligned.
        Self(unsafe { from.cast::<[f32; 4]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        let mut values = [0.0; 4];
        for (lane, value) in values.iter_mut().enumerate().take(count) {
            // SAFETY: `lane < count`, and the caller vouches for `count` values.
            *value = unsafe { *from.add(lane) };
        }
        Self(values)
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller vouches for the four lanes; the access need not be aligned.
        unsafe { to.cast::<[f32; 4]>().write_unaligned(self.0) };
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize) {
        for (lane, value) in self.0.into_iter().enumerate().take(count) {
            // SAFETY: `lane < count`, and the caller vouches for `count` values.
            unsafe { *to.add(lane) = value };
        }
    }

    #[inline(always)]
    unsafe fn load_bf16_pairs(from: *const u8) -> (Self, Self) {
        // SAFETY: the caller vouches for the four lanes; the access need not be aligned.
        let pairs = unsafe { from.cast::<[u32; 4]>().read_unaligned() };
        let (mut first, mut second) = ([0.0; 4], [0.0; 4]);
        for lane in 0..4 {
            first[lane] = f32::from_bits(pairs[lane] << 16);
            second[lane] = f32::from_bits(pairs[lane] & 0xffff_0000);
        }
        (Self(first), Self(second))
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.with(other, |a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.with(other, |a, b| a * b)
    }

    // Two roundings: a fused operation is a call of a library where the processor has none.
    #[inline(always)]
    fn fma(self, factor: Self, addend: Self) -> Self {
        self.mul(factor).add(addend)
    }

    #[inline(always)]
    fn fms(self, factor: Self, minus: Self) -> Self {
        self.mul(factor).sub(minus)
    }

    #[inline(always)]
    fn fnma(self, factor: Self, addend: Self) -> Self {
        addend.sub(self.mul(factor))
    }

    #[inline(always)]
    fn at_least(self, low: Self) -> Self {
        self.with(low, |value, low| if low > value { low } else { value })
    }

    #[inline(always)]
    fn at_most(self, high: Self) -> Self {
        self.with(high, |value, high| if high < value { high } else { value })
    }

    #[inline(always)]
    fn scale(self, exponent: Self) -> Self {
        let half = exponent.map(|value| (value * 0.5).trunc());
        let rest = exponent.sub(half);
        self.mul(half.map(power_of_two)).mul(rest.map(power_of_two))
    }

    #[inline(always)]
    fn reciprocal(self) -> Self {
        self.map(|value| 1.0 / value)
    }

    #[inline(always)]
    unsafe fn no_sums() -> [i32; 4] {
        [0; 4]
    }

    #[inline(always)]
    unsafe fn load_sums(from: *const i32) -> [i32; 4] {
        // SAFETY: the caller vouches for the four lanes; the access need not be aligned.
        unsafe { from.cast::<[i32; 4]>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn add_sums(a: [i32; 4], b: [i32; 4]) -> [i32; 4] {
        [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
    }

    #[inline(always)]
    unsafe fn dot(mut sums: [i32; 4], weights: *const u8, activations: *const u8) -> [i32; 4] {
        // SAFETY: the caller vouches for 16 bytes of weights and 4 of activations; i8 is aligned like u8.
        let (weights, activations) =
            unsafe { (*weights.cast::<[[i8; 4]; 4]>(), *activations.cast::<[i8; 4]>()) };
        for (sum, weights) in sums.iter_mut().zip(weights) {
            for (weight, activation) in weights.into_iter().zip(activations) {
                *sum += i32::from(weight) * i32::from(activation);
            }
        }
        sums
    }

    #[inline(always)]
    unsafe fn sums_to_f32(sums: [i32; 4]) -> Self {
        Self(sums.map(|sum| sum as f32))
    }

    #[inline(always)]
    unsafe fn store_quantised(self, to: *mut u8) {
        let values = self.0.map(|value| value.round_ties_even() as i8 as u8);
        // SAFETY: the caller vouches for the four lanes; the access need not be aligned.
        unsafe { to.cast::<[u8; 4]>().write_unaligned(values) };
    }
}

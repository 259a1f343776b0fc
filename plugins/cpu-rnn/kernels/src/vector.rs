//! Vectors of f32 values: the few operations from which every kernel is made, for each instruction set.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
pub(crate) mod portable;

/// The operations that are one instruction each in both vector sets of x86-64.
#[cfg(target_arch = "x86_64")]
macro_rules! instructions {
    (
        f32: $splat:ident, $load:ident, $store:ident, $max:ident, $min:ident;
        $($operation:ident($($operand:ident),*): $instruction:ident,)*;
        i32($integers:ty): $zero:ident, $load_sums:ident, $add_sums:ident, $to_f32:ident;
        bits: $and:ident, $splat_bits:ident, $shift:ident, $cast:ident;
    ) => {
        type Sums = $integers;

        #[inline(always)]
        unsafe fn splat(value: f32) -> Self {
            // SAFETY: the caller vouches for the instructions.
            Self(unsafe { $splat(value) })
        }

        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: the caller vouches for the instructions and for `LANES` values at `from`, aligned or not.
            Self(unsafe { $load(from) })
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: a value exists, so the processor has the instructions; the caller vouches for room for `LANES`
            // values at `to`, aligned or not.
            unsafe { $store(to, self.0) };
        }

        #[inline(always)]
        unsafe fn load_bf16_pairs(from: *const u8) -> (Self, Self) {
            // SAFETY: the caller vouches for the instructions and for `4 * LANES` bytes at `from`, aligned or not.
            unsafe {
                let pairs = $load_sums(from.cast());
                let high = $and(pairs, $splat_bits(0xffff_0000_u32.cast_signed()));
                (Self($cast($shift::<16>(pairs))), Self($cast(high)))
            }
        }

        $(#[inline(always)]
        fn $operation(self, $($operand: Self),*) -> Self {
            // SAFETY: a value exists, so the processor has the instructions.
            Self(unsafe { $instruction(self.0, $($operand.0),*) })
        })*

        // The second operand comes back if either is a NaN: so the data is second.
        #[inline(always)]
        fn at_least(self, low: Self) -> Self {
            // SAFETY: a value exists, so the processor has the instructions.
            Self(unsafe { $max(low.0, self.0) })
        }

        #[inline(always)]
        fn at_most(self, high: Self) -> Self {
            // SAFETY: a value exists, so the processor has the instructions.
            Self(unsafe { $min(high.0, self.0) })
        }

        #[inline(always)]
        unsafe fn no_sums() -> $integers {
            // SAFETY: the caller vouches for the instructions.
            unsafe { $zero() }
        }

        #[inline(always)]
        unsafe fn load_sums(from: *const i32) -> $integers {
            // SAFETY: the caller vouches for the instructions and for `LANES` values at `from`, aligned or not.
            unsafe { $load_sums(from.cast()) }
        }

        #[inline(always)]
        unsafe fn add_sums(a: $integers, b: $integers) -> $integers {
            // SAFETY: the caller vouches for the instructions.
            unsafe { $add_sums(a, b) }
        }

        #[inline(always)]
        unsafe fn sums_to_f32(sums: $integers) -> Self {
            // SAFETY: the caller vouches for the instructions.
            Self(unsafe { $to_f32(sums) })
        }
    };
}
#[cfg(target_arch = "x86_64")]
use instructions;

/// Minimum number of rows of a tile for a vector with enough registers for wide tiles, and for cells two at a time.
pub(crate) const ROWS_OF_WIDE: usize = 6;

/// A vector register.
///
/// A value can only be made by the unsafe functions, which demand that the processor has the instructions; so a value
/// is the proof that they may be used, and arithmetic on values is safe. Everything is `#[inline(always)]`: the
/// functions become single instructions only once they are inlined into a function with the target features.
pub(crate) trait Vector: Copy {
    /// Number of values.
    const LANES: usize;
    /// Maximum number of rows of a register tile with four vectors of weights.
    const ROWS: usize;
    /// Number added to a quantised activation, so that it fits the signedness of [`Self::dot`].
    const ZERO_POINT: i32;
    /// Vector of i32 sums of the int8 kernels, one for each lane.
    type Sums: Copy;

    /// # Safety
    /// - The processor has the instructions.
    unsafe fn splat(value: f32) -> Self;

    /// # Safety
    /// - The processor has the instructions.
    /// - `LANES` values can be read at `from`.
    unsafe fn load(from: *const f32) -> Self;

    /// Loads `count` values; the others are 0.
    ///
    /// # Safety
    /// - The processor has the instructions.
    /// - `count <= LANES`, and `count` values can be read at `from`.
    unsafe fn load_first(from: *const f32, count: usize) -> Self;

    /// # Safety
    /// - `LANES` values can be written at `to`.
    unsafe fn store(self, to: *mut f32);

    /// Stores the first `count` values.
    ///
    /// # Safety
    /// - `count <= LANES`, and `count` values can be written at `to`.
    unsafe fn store_first(self, to: *mut f32, count: usize);

    /// Loads `LANES` pairs of bf16 and widens them: first the first of each pair, then the second.
    ///
    /// # Safety
    /// - The processor has the instructions.
    /// - `4 * LANES` bytes can be read at `from`.
    unsafe fn load_bf16_pairs(from: *const u8) -> (Self, Self);

    /// Returns `self + other`.
    fn add(self, other: Self) -> Self;
    /// Returns `self - other`.
    fn sub(self, other: Self) -> Self;
    /// Returns `self * other`.
    fn mul(self, other: Self) -> Self;
    /// Returns `self * factor + addend`.
    fn fma(self, factor: Self, addend: Self) -> Self;
    /// Returns `self * factor - minus`.
    fn fms(self, factor: Self, minus: Self) -> Self;
    /// Returns `addend - self * factor`.
    fn fnma(self, factor: Self, addend: Self) -> Self;
    /// Returns `max(self, low)`; a NaN in `self` stays.
    fn at_least(self, low: Self) -> Self;
    /// Returns `min(self, high)`; a NaN in `self` stays.
    fn at_most(self, high: Self) -> Self;
    /// Returns `self * 2^exponent`, for a whole `exponent` in -252 ..= 254.
    fn scale(self, exponent: Self) -> Self;
    /// Returns `1 / self` with a relative error of at most 2^-22, for finite normal values.
    fn reciprocal(self) -> Self;

    /// # Safety
    /// - The processor has the instructions.
    unsafe fn no_sums() -> Self::Sums;

    /// # Safety
    /// - The processor has the instructions.
    /// - `LANES` values can be read at `from`.
    unsafe fn load_sums(from: *const i32) -> Self::Sums;

    /// # Safety
    /// - The processor has the instructions.
    unsafe fn add_sums(a: Self::Sums, b: Self::Sums) -> Self::Sums;

    /// Adds to each lane the dot product of four int8 weights with four quantised activations, each of them
    /// `ZERO_POINT` above its value. Exact.
    ///
    /// # Safety
    /// - The processor has the instructions, VNNI included for AVX-512.
    /// - `4 * LANES` bytes can be read at `weights`, 4 at `activations`.
    unsafe fn dot(sums: Self::Sums, weights: *const u8, activations: *const u8) -> Self::Sums;

    /// Converts sums to f32.
    ///
    /// # Safety
    /// - The processor has the instructions.
    unsafe fn sums_to_f32(sums: Self::Sums) -> Self;

    /// Rounds to integers and stores them as bytes, `ZERO_POINT` added. Values are within -127 ..= 127.
    ///
    /// # Safety
    /// - `LANES` bytes can be written at `to`.
    unsafe fn store_quantised(self, to: *mut u8);

    /// Asks for the cache line at `address` in the second-level cache and returns at once. Any address is allowed.
    #[inline(always)]
    fn prefetch(address: *const u8) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: SSE is part of x86-64, and a prefetch of any address is harmless.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(address.cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _unused = address;
    }
}

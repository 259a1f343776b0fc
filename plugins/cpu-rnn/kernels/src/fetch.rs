//! Requests memory before it is needed.

/// Number of bytes of a cache line.
const LINE_BYTES: usize = 64;

/// Requests the cache lines of `count` values in the first-level cache and returns at once. Lines written by another
/// core take long to arrive, and a kernel would wait for one line after the other. Any address is allowed; on
/// processors other than x86-64 nothing happens.
#[inline]
pub fn fetch(start: *const f32, count: usize) {
    let lines = (count * size_of::<f32>()).div_ceil(LINE_BYTES);
    for line in 0..lines {
        fetch_line(start.wrapping_byte_add(line * LINE_BYTES));
    }
}

#[inline(always)]
fn fetch_line(address: *const f32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64, and a prefetch of any address is harmless.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _unused = address;
}

//! A bound for memory.

/// Number of bytes that a reader may take in addition, for its tables and messages.
const FIXED_BYTES: u64 = 64 << 10;

/// Runs `read` and checks that it never holds more than `factor` times `length` bytes, plus a fixed amount.
pub(crate) fn bounded<T>(length: usize, factor: u64, read: impl FnOnce() -> T) -> T {
    bounded_besides(FIXED_BYTES, length, factor, read)
}

/// Returns the same with another fixed amount.
pub(crate) fn bounded_besides<T>(
    fixed_bytes: u64,
    length: usize,
    factor: u64,
    read: impl FnOnce() -> T,
) -> T {
    let mut result = None;
    let used = allocation_counter::measure(|| result = Some(read()));
    let bound = fixed_bytes + factor * length as u64;
    assert!(used.bytes_max <= bound, "{} bytes held to read {length}, over {bound}", used.bytes_max);
    result.expect("measuring runs it")
}

//! Values as the bytes of a tensor, and back.

/// Returns the bytes of values, row-major, as in a sample.
#[must_use]
pub fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Returns the values of a tensor of f32.
///
/// # Panics
/// If the bytes are no whole number of values.
#[must_use]
pub fn f32_values(bytes: &[u8]) -> Vec<f32> {
    words(bytes).iter().map(|word| f32::from_le_bytes(*word)).collect()
}

/// Returns the bytes of values, row-major, as in a sample.
#[must_use]
pub fn i32_bytes(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Returns the values of a tensor of i32.
///
/// # Panics
/// If the bytes are no whole number of values.
#[must_use]
pub fn i32_values(bytes: &[u8]) -> Vec<i32> {
    words(bytes).iter().map(|word| i32::from_le_bytes(*word)).collect()
}

fn words(bytes: &[u8]) -> &[[u8; 4]] {
    let (words, rest) = bytes.as_chunks();
    assert!(rest.is_empty(), "{} bytes are no whole number of values of four bytes", bytes.len());
    words
}

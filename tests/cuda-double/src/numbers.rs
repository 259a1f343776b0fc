//! Numbers in memory.

use proctor_device::tensor::Tensor;
use proctor_vocabulary::ElementType;

/// Returns the numbers in memory, as TF32 if so specified.
///
/// # Safety
/// There are as many.
pub(crate) unsafe fn numbers(element: ElementType, address: usize, count: usize, is_tf32: bool) -> Vec<f64> {
    // SAFETY: the caller promises it.
    let bytes = unsafe { std::slice::from_raw_parts(address as *const u8, element.bytes_of(count)) };
    let array = Tensor { element, shape: vec![count], bytes: bytes.to_vec().into() }.array();
    let numbers = array.and_then(|array| array.reals().map(<[f64]>::to_vec)).unwrap_or_default();
    let short = |number: f64| f64::from(f32::from_bits((number as f32).to_bits() & 0xFFFF_E000));
    if is_tf32 { numbers.into_iter().map(short).collect() } else { numbers }
}

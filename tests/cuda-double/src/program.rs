//! "Cubins": texts of kernels, with the architecture for which they were compiled.

use std::ffi::CStr;

use proctor_device::kernels;

/// The beginning of a "cubin". A module is given without its length, so that it is a text that ends in a zero.
const MAGIC: &str = "cuda double\n";

/// Returns the text of a kernel as OpenCL C.
///
/// # Errors
/// Returns the reason why it is none of ours.
pub(crate) fn as_opencl(text: &str, headers: &[(String, String)]) -> Result<String, String> {
    let [(name, header)] = headers else {
        return Err(format!("{} headers where one is needed", headers.len()));
    };
    if name != kernels::CUDA_NAME || header != kernels::CUDA {
        return Err(format!("the header {name} is not the prelude for CUDA"));
    }
    if text.matches(kernels::CUDA_INCLUDE).count() != 1 {
        return Err(format!("the text does not include {} once", kernels::CUDA_NAME));
    }
    Ok(text.replace(kernels::CUDA_INCLUDE, kernels::OPENCL))
}

/// Returns the "cubin" of a text.
pub(crate) fn cubin(text: &str, architecture: &str) -> Vec<u8> {
    format!("{MAGIC}{architecture}\n{text}\0").into_bytes()
}

/// Returns the architecture and text of a "cubin".
///
/// # Safety
/// It is one, or at least the magic number can be read.
pub(crate) unsafe fn read(image: *const u8) -> Option<(String, String)> {
    // SAFETY: the caller promises as many bytes.
    let magic = unsafe { std::slice::from_raw_parts(image, MAGIC.len()) };
    if magic != MAGIC.as_bytes() {
        return None;
    }
    // SAFETY: of the same make, it ends in a zero.
    let text = unsafe { CStr::from_ptr(image.cast()) }.to_str().ok()?;
    let (architecture, text) = text.strip_prefix(MAGIC)?.split_once('\n')?;
    Some((architecture.to_owned(), text.to_owned()))
}

//! The functions of `libcuda.so.1`, under their names.

mod context;
pub(crate) mod device;
mod graph;
mod memory;
mod module;
mod stream;

use crate::{errors::CudaError, world::Done};

/// C functions; each is called with the world.
macro_rules! functions {
    ($(fn $name:ident($world:ident $(, $argument:ident: $type:ty)*) $body:block)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
            crate::world::call(stringify!($name), |$world| $body)
        })*
    };
}
use functions;

/// Writes a result to where the caller wants it.
fn give<T>(to: *mut T, value: T) -> Done {
    if to.is_null() {
        return Err(CudaError::ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller of the C function has a place for the result, by CUDA's rules.
    unsafe { to.write(value) };
    Ok(())
}

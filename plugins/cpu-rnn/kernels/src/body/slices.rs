//! exp, sigmoid and tanh of slices, in place.

use super::exp::{Bounds, exp};
use crate::vector::Vector;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Exp,
    Sigmoid,
    Tanh,
}

/// # Safety
/// - The processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn apply<V: Vector>(function: Function, values: &mut [f32]) {
    // SAFETY: a chunk has at most `LANES` values, and no more than its own are read and written. The caller promises
    // the instructions of `V`.
    unsafe {
        let bounds = Bounds::<V>::new(f32::INFINITY);
        let (low, high) = (V::splat(-104.0), V::splat(89.0));
        for chunk in values.chunks_mut(V::LANES) {
            let x = V::load_first(chunk.as_ptr(), chunk.len());
            let y = match function {
                Function::Exp => exp(x.at_least(low).at_most(high)),
                Function::Sigmoid => bounds.sigmoids([x])[0],
                Function::Tanh => bounds.tanhs([x])[0],
            };
            y.store_first(chunk.as_mut_ptr(), chunk.len());
        }
    }
}

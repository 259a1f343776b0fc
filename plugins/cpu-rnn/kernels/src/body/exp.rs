//! exp, sigmoid and tanh of vectors.
//!
//! `e^x = 2^n 2^f` with `n` the integer next to `x / ln 2` and `|f| <= 1/2`; `2^f` is a minimax polynomial of degree 6
//! whose relative error is 2.6e-9 and which is exactly 1 at 0. sigmoid and tanh are quotients of such powers; see
//! [`crate::activation`] for the bounds of the whole.
//!
//! The functions of the cells take several vectors and do each stage for all of them: the latency of one vector's chain
//! of a dozen dependent instructions is hidden by the others, in less of the processor's window than vector after
//! vector.

use crate::vector::Vector;

/// `2^f = C0 + C1 f + ... + C6 f^6` for `|f| <= 1/2`.
const C: [f32; 7] =
    [1.0, 0.693_147_24, 0.240_226_52, 0.055_503_1, 0.009_617_691, 0.001_340_679_7, 1.559_508_1e-4];

/// ln 2 in two parts: the first has 9 bits, so that its product with any `n` is exact.
const LN2_HIGH: f32 = 0.693_359_4;
const LN2_LOW: f32 = -2.121_944_4e-4;

/// Added and subtracted again, it leaves the integer next to anything below 2^22.
const ROUNDER: f32 = 12_582_912.0;

/// A gate's argument is held within this bound: beyond it sigmoid is 0 or 1 to 1e-13, and products of two powers stay
/// finite.
pub(crate) const GATE_BOUND: f32 = 30.0;

/// The same for arguments of tanh, where the exponent is twice the argument.
pub(crate) const TANH_BOUND: f32 = 15.0;

/// Computes `2^f` for `|f| <= 1/2`.
///
/// # Safety
/// - The processor has the instructions of `V`.
#[inline(always)]
unsafe fn polynomial<V: Vector, const M: usize>(f: [V; M]) -> [V; M] {
    // SAFETY: the caller vouches for the instructions of `V`.
    unsafe {
        let mut p = f;
        if M >= 6 {
            // Enough vectors to hide the latency: Horner's rule, the fewest instructions.
            for m in 0..M {
                p[m] = f[m].fma(V::splat(C[6]), V::splat(C[5]));
            }
            for coefficient in [C[4], C[3], C[2], C[1], C[0]] {
                for m in 0..M {
                    p[m] = p[m].fma(f[m], V::splat(coefficient));
                }
            }
        } else {
            // Two halves side by side: one instruction more, a third less latency.
            for m in 0..M {
                let f2 = f[m].mul(f[m]);
                let low = f[m].fma(V::splat(C[1]), V::splat(C[0]));
                let middle = f[m].fma(V::splat(C[3]), V::splat(C[2]));
                let high = f2.fma(V::splat(C[6]), f[m].fma(V::splat(C[5]), V::splat(C[4])));
                p[m] = f2.fma(f2.fma(high, middle), low);
            }
        }
        p
    }
}

/// Computes `e^x` for `|x| <= 104`, with full relative accuracy; a NaN stays one.
///
/// # Safety
/// - The processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn exp<V: Vector>(x: V) -> V {
    // SAFETY: the caller vouches for the instructions of `V`.
    unsafe {
        let rounder = V::splat(ROUNDER);
        let n = x.fma(V::splat(std::f32::consts::LOG2_E), rounder).sub(rounder);
        let r = n.fnma(V::splat(LN2_HIGH), x);
        let r = n.fnma(V::splat(LN2_LOW), r);
        let [power] = polynomial([r.mul(V::splat(std::f32::consts::LOG2_E))]);
        power.scale(n)
    }
}

/// Power of a vector.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `e^-x`.
    Sigmoid,
    /// `e^-2x`.
    Tanh,
}

use Kind::{Sigmoid, Tanh};

/// The bounds of a cell's arguments: the functions' own, or the tighter ones of `clip`.
#[derive(Clone, Copy)]
pub(crate) struct Bounds<V> {
    gate: V,
    minus_gate: V,
    tanh: V,
    minus_tanh: V,
}

impl<V: Vector> Bounds<V> {
    /// # Safety
    /// - The processor has the instructions of `V`.
    #[inline(always)]
    pub(crate) unsafe fn new(clip: f32) -> Self {
        let (gate, tanh) = (clip.min(GATE_BOUND), clip.min(TANH_BOUND));
        // SAFETY: the caller vouches for the instructions of `V`.
        unsafe {
            Self {
                gate: V::splat(gate),
                minus_gate: V::splat(-gate),
                tanh: V::splat(tanh),
                minus_tanh: V::splat(-tanh),
            }
        }
    }

    /// Computes `e^-x` or `e^-2x` of each vector, of the argument held within its bound. The relative error grows to
    /// 3e-7 at the bounds, where the functions are flat; a NaN stays one.
    ///
    /// # Safety
    /// - The processor has the instructions of `V`.
    #[inline(always)]
    pub(crate) unsafe fn powers<const M: usize>(&self, kinds: [Kind; M], mut x: [V; M]) -> [V; M] {
        // SAFETY: the caller vouches for the instructions of `V`.
        unsafe {
            let rounder = V::splat(ROUNDER);
            let mut n = x;
            for m in 0..M {
                let (low, high) = match kinds[m] {
                    Sigmoid => (self.minus_gate, self.gate),
                    Tanh => (self.minus_tanh, self.tanh),
                };
                x[m] = x[m].at_least(low).at_most(high);
            }
            for m in 0..M {
                n[m] = x[m].fma(V::splat(exponent(kinds[m])), rounder);
            }
            for m in 0..M {
                n[m] = n[m].sub(rounder);
            }
            // One rounding: the product itself is exact.
            for m in 0..M {
                x[m] = x[m].fms(V::splat(exponent(kinds[m])), n[m]);
            }
            let mut power = polynomial(x);
            for m in 0..M {
                power[m] = power[m].scale(n[m]);
            }
            power
        }
    }

    /// Computes the sigmoid of each vector.
    ///
    /// # Safety
    /// - The processor has the instructions of `V`.
    #[inline(always)]
    pub(crate) unsafe fn sigmoids<const M: usize>(&self, x: [V; M]) -> [V; M] {
        // SAFETY: the caller vouches for the instructions of `V`.
        unsafe {
            let mut result = self.powers([Sigmoid; M], x);
            for m in 0..M {
                result[m] = result[m].add(V::splat(1.0));
            }
            reciprocals(result)
        }
    }

    /// Computes tanh of each vector.
    ///
    /// # Safety
    /// - The processor has the instructions of `V`.
    #[inline(always)]
    pub(crate) unsafe fn tanhs<const M: usize>(&self, x: [V; M]) -> [V; M] {
        // SAFETY: the caller vouches for the instructions of `V`.
        unsafe { self.gated_tanhs([V::splat(1.0); M], x) }
    }

    /// Computes `tanh(x) / denominator` of each vector, with one reciprocal.
    ///
    /// # Safety
    /// - The processor has the instructions of `V`.
    #[inline(always)]
    pub(crate) unsafe fn gated_tanhs<const M: usize>(&self, denominator: [V; M], x: [V; M]) -> [V; M] {
        // SAFETY: the caller vouches for the instructions of `V`.
        unsafe {
            let one = V::splat(1.0);
            let (mut upper, mut lower) = (self.powers([Tanh; M], x), x);
            for m in 0..M {
                lower[m] = one.add(upper[m]).mul(denominator[m]);
                upper[m] = one.sub(upper[m]);
            }
            lower = reciprocals(lower);
            for m in 0..M {
                upper[m] = upper[m].mul(lower[m]);
            }
            upper
        }
    }
}

/// Returns the factor that turns an argument into an exponent of 2.
#[inline(always)]
fn exponent(kind: Kind) -> f32 {
    match kind {
        Sigmoid => -std::f32::consts::LOG2_E,
        Tanh => -2.0 * std::f32::consts::LOG2_E,
    }
}

/// Returns the reciprocal of each vector.
#[inline(always)]
pub(crate) fn reciprocals<V: Vector, const M: usize>(mut x: [V; M]) -> [V; M] {
    for m in 0..M {
        x[m] = x[m].reciprocal();
    }
    x
}

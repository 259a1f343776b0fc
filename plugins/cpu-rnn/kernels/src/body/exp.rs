//! exp, sigmoid and tanh of a vector.
//!
//! `e^x = 2^n e^r` with `n` the integer next to `x / ln 2` and `|r| <= ln 2 / 2`; `e^r` is a minimax polynomial of degree 6
//! whose relative error is 3.1e-9. sigmoid and tanh are quotients of exponentials; see [`crate::activation`] for the
//! bounds of the whole.

use crate::vector::Vector;

/// `e^r = 1 + r + C2 r^2 + ... + C6 r^6` for `|r| <= ln 2 / 2`.
const C: [f32; 7] = [1.0, 1.0, 0.499_999_94, 0.166_665_2, 0.041_668_393, 0.008_368_781, 0.001_381_446_7];

/// ln 2 in two parts: the first has 9 bits, so that its product with any `n` is exact.
const LN2_HIGH: f32 = 0.693_359_375;
const LN2_LOW: f32 = -2.121_944_4e-4;

/// A gate's argument is held within this bound: beyond it sigmoid is 0 or 1 to 1e-13, and products of two exponentials
/// stay finite.
pub(crate) const GATE_BOUND: f32 = 30.0;

/// The same for arguments of tanh, where the exponent is twice the argument.
pub(crate) const TANH_BOUND: f32 = 15.0;

/// Constants of [`exp`] for one factor.
struct Constants {
    /// `factor / ln 2`.
    log2_e: f32,
    /// `ln 2 / factor` in two parts.
    ln2: [f32; 2],
    /// Coefficients times powers of the factor: exact, for plus or minus a power of two.
    c: [f32; 7],
}

impl Constants {
    const fn new(factor: f32) -> Self {
        let mut c = C;
        let (mut index, mut power) = (0, 1.0);
        while index < c.len() {
            c[index] *= power;
            power *= factor;
            index += 1;
        }
        Self { log2_e: factor * std::f32::consts::LOG2_E, ln2: [LN2_HIGH / factor, LN2_LOW / factor], c }
    }
}

/// `e^(FACTOR * x)` for a factor of 1, -1 or -2 and `|FACTOR * x| <= 104`; a NaN stays one. Scaling by the factor costs
/// nothing: it is in the constants.
///
/// # Safety
/// - The processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn exp<V: Vector, const FACTOR: i32>(x: V) -> V {
    let k = const { Constants::new(FACTOR as f32) };
    // SAFETY: the caller's duty.
    unsafe {
        let n = x.mul(V::splat(k.log2_e)).round();
        let r = n.fnma(V::splat(k.ln2[0]), x);
        let r = n.fnma(V::splat(k.ln2[1]), r);
        // Two halves side by side: a third less latency than Horner's rule.
        let r2 = r.mul(r);
        let low = r.fma(V::splat(k.c[1]), V::splat(1.0));
        let middle = r.fma(V::splat(k.c[3]), V::splat(k.c[2]));
        let high = r2.fma(V::splat(k.c[6]), r.fma(V::splat(k.c[5]), V::splat(k.c[4])));
        r2.fma(r2.fma(high, middle), low).scale(n)
    }
}

/// `1 + e^-x`, the denominator of sigmoid, with `|x|` held within `bound`, at most [`GATE_BOUND`].
///
/// # Safety
/// - The processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn sigmoid_denominator<V: Vector>(x: V, bound: V, minus_bound: V) -> V {
    let x = x.at_least(minus_bound).at_most(bound);
    // SAFETY: the caller's duty.
    unsafe { exp::<V, -1>(x).add(V::splat(1.0)) }
}

/// Numerator `1 - e^-2x` and denominator `1 + e^-2x` of tanh, with `|x|` held within `bound`, at most [`TANH_BOUND`].
///
/// # Safety
/// - The processor has the instructions of `V`.
#[inline(always)]
pub(crate) unsafe fn tanh_fraction<V: Vector>(x: V, bound: V, minus_bound: V) -> (V, V) {
    let x = x.at_least(minus_bound).at_most(bound);
    // SAFETY: the caller's duty.
    unsafe {
        let (one, power) = (V::splat(1.0), exp::<V, -2>(x));
        (one.sub(power), one.add(power))
    }
}

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
        // SAFETY: the caller's duty.
        unsafe {
            Self {
                gate: V::splat(gate),
                minus_gate: V::splat(-gate),
                tanh: V::splat(tanh),
                minus_tanh: V::splat(-tanh),
            }
        }
    }

    /// # Safety
    /// - The processor has the instructions of `V`.
    #[inline(always)]
    pub(crate) unsafe fn sigmoid(&self, x: V) -> V {
        // SAFETY: the caller's duty.
        unsafe { sigmoid_denominator(x, self.gate, self.minus_gate).reciprocal() }
    }

    /// # Safety
    /// - The processor has the instructions of `V`.
    #[inline(always)]
    pub(crate) unsafe fn tanh(&self, x: V) -> V {
        // SAFETY: the caller's duty.
        let (numerator, denominator) = unsafe { tanh_fraction(x, self.tanh, self.minus_tanh) };
        numerator.mul(denominator.reciprocal())
    }

    /// `sigmoid(a) * tanh(b)` with one reciprocal.
    ///
    /// # Safety
    /// - The processor has the instructions of `V`.
    #[inline(always)]
    pub(crate) unsafe fn sigmoid_times_tanh(&self, a: V, b: V) -> V {
        // SAFETY: the caller's duty.
        unsafe {
            let (numerator, denominator) = tanh_fraction(b, self.tanh, self.minus_tanh);
            let gate = sigmoid_denominator(a, self.gate, self.minus_gate);
            numerator.mul(gate.mul(denominator).reciprocal())
        }
    }
}

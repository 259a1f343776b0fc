//! The one place where an instruction set becomes code: each kernel instantiated for each vector and format of weights,
//! and the kernels' common code for each vector.

use proctor_rnn_layer::Precision;

use crate::args::{Grid, Product, Step};
use crate::body::quantise::Quantised;
use crate::body::shared::{Products, Shared};
use crate::body::slices::Function;
use crate::body::units::At;
use crate::body::weights::Weights;
use crate::body::{gru_after, gru_before, lstm, product, quantise, rnn, tile};
use crate::isa::Isa;
use crate::matrix::Matrix;
use crate::packed::PackedWeights;
use crate::panel::{Ahead, Initial, Panel};
use crate::vector::Vector;

/// The kernels of one instruction set and one format of weights. All of them require that the processor has the
/// instructions, and the conditions of [`PackedCell::step`](crate::PackedCell::step) and
/// [`PackedCell::product`](crate::PackedCell::product).
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) product: unsafe fn(&Matrix, &Product),
    pub(crate) lstm: unsafe fn(&PackedWeights, &Step),
    pub(crate) gru: unsafe fn(&PackedWeights, &Step),
    pub(crate) gru_gates: unsafe fn(&PackedWeights, &Step),
    pub(crate) gru_candidate: unsafe fn(&PackedWeights, &Step),
    pub(crate) rnn: unsafe fn(&PackedWeights, &Step),
    /// Function of a slice; does not depend on the format of weights.
    apply: unsafe fn(Function, &mut [f32]),
    /// Number added to quantised activations.
    pub(crate) zero_point: i32,
}

/// Makes the kernels of one vector type, in a module for each format of weights; the attributes are the target
/// features.
macro_rules! kernels {
    ($name:ident, $vector:ty, [$($attribute:meta)?], $($format:ident $weights:ident [$($features:meta)?])*) => {
        pub(super) mod $name {
            use super::super::*;
            type V = $vector;

            /// # Safety
            /// - The processor has the instructions.
            $(#[$attribute])?
            unsafe fn apply(function: Function, values: &mut [f32]) {
                // SAFETY: the caller promises the instructions of `V`, all that the body demands.
                unsafe { crate::body::slices::apply::<V>(function, values) }
            }

            impl Shared for V {
                kernels!(@shared [$($attribute)?]
                    quantise[](grid: &Grid, depth: usize, scratch: *mut u8) -> Quantised, quantise::rows);
                kernels!(@shared [$($attribute)?]
                    lstm_cells[H](cell: &PackedWeights, step: &Step, gates: *const [Self; 4], at: At), lstm::cells);
                kernels!(@shared [$($attribute)?]
                    gru_cells[H](cell: &PackedWeights, step: &Step, gates: *const [Self; 3], inputs: (*const f32, usize),
                    at: At), gru_after::cells);
                kernels!(@shared [$($attribute)?]
                    reset_rows[N](cell: &PackedWeights, step: &Step, sums: *const [Self; N], rows: (usize, usize),
                    block: usize), gru_before::reset_rows);
                kernels!(@shared [$($attribute)?]
                    candidate_rows[N](cell: &PackedWeights, step: &Step, sums: *const [Self; N], rows: (usize, usize),
                    block: usize), gru_before::candidate_rows);
                kernels!(@shared [$($attribute)?]
                    rnn_rows[N](cell: &PackedWeights, step: &Step, sums: *const [Self; N], rows: (usize, usize),
                    block: usize), rnn::rows);
            }

            $(pub(in crate::table) mod $format {
                use super::*;
                use crate::body::weights::$weights as W;

                impl Products<W> for V {
                    $(#[$features])?
                    #[inline(never)]
                    unsafe fn tile<const R: usize, const N: usize, const L: usize>(
                        panel: &Panel<N>,
                        depth: usize,
                        rows: &[<W as Weights>::Row; R],
                        initial: &Initial<N>,
                        to: &[*mut f32; R],
                    ) {
                        // SAFETY: the body demands what the trait's function does, which the caller promises.
                        unsafe { tile::tile::<V, W, R, N, L>(panel, depth, rows, initial, to) }
                    }

                    $(#[$features])?
                    #[inline(never)]
                    unsafe fn dense<const N: usize>(
                        block: (&Matrix, usize),
                        ahead: Ahead,
                        rows: (*const <W as Weights>::Row, *const *mut f32),
                        count: usize,
                        initial: &Initial<N>,
                    ) {
                        // SAFETY: the body demands what the trait's function does, which the caller promises.
                        unsafe { tile::dense::<V, W, N>(block, ahead, rows, count, initial) }
                    }
                }

                pub(in crate::table) static TABLE: Table = Table {
                    product,
                    lstm,
                    gru,
                    gru_gates,
                    gru_candidate,
                    rnn,
                    apply,
                    zero_point: <V as Vector>::ZERO_POINT,
                };

                kernels!(@one [$($features)?] product(Matrix, Product), product::product);
                kernels!(@one [$($features)?] lstm(PackedWeights, Step), lstm::step);
                kernels!(@one [$($features)?] gru(PackedWeights, Step), gru_after::step);
                kernels!(@one [$($features)?] gru_gates(PackedWeights, Step), gru_before::gates);
                kernels!(@one [$($features)?] gru_candidate(PackedWeights, Step), gru_before::candidate);
                kernels!(@one [$($features)?] rnn(PackedWeights, Step), rnn::step);
            })*
        }
    };
    (@shared [$($attribute:meta)?] $name:ident[$($count:ident)?]($($argument:ident: $type:ty),*) $(-> $result:ty)?,
     $module:ident::$body:ident) => {
        $(#[$attribute])?
        #[inline(never)]
        unsafe fn $name$(<const $count: usize>)?($($argument: $type),*) $(-> $result)? {
            // SAFETY: the body demands what the trait's function does, which the caller promises.
            unsafe { $module::$body::<Self $(, $count)?>($($argument),*) }
        }
    };
    (@one [$($features:meta)?] $name:ident($what:ty, $args:ty), $module:ident::$body:ident) => {
        /// # Safety
        /// - As the body's, for this vector and format.
        $(#[$features])?
        unsafe fn $name(what: &$what, args: &$args) {
            // SAFETY: this function demands what the body does, which the caller promises.
            unsafe { $module::$body::<V, W>(what, args) }
        }
    };
}

/// The instantiations, one module for each instruction set.
mod sets {
    kernels!(portable, crate::vector::portable::Plain, [], f32 F32 [] bf16 Bf16 [] int8 Int8 []);
    #[cfg(target_arch = "x86_64")]
    kernels!(
        avx2,
        crate::vector::avx2::Ymm,
        [target_feature(enable = "avx2,fma")],
        f32 F32 [target_feature(enable = "avx2,fma")]
        bf16 Bf16 [target_feature(enable = "avx2,fma")]
        int8 Int8 [target_feature(enable = "avx2,fma")]
    );
    #[cfg(target_arch = "x86_64")]
    kernels!(
        avx512,
        crate::vector::avx512::Zmm,
        [target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")],
        f32 F32 [target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
        bf16 Bf16 [target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
        int8 Int8 [target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    );
}

/// Picks the table of a weight format among an instruction set's tables.
macro_rules! of_set {
    ($isa:expr, $format:ident) => {
        match $isa {
            Isa::Portable => &sets::portable::$format::TABLE,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => &sets::avx2::$format::TABLE,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => &sets::avx512::$format::TABLE,
            #[cfg(not(target_arch = "x86_64"))]
            _ => &sets::portable::$format::TABLE,
        }
    };
}

/// Returns the kernels of an instruction set. int8 weights of AVX-512 need VNNI: see `Isa::for_int8`.
///
/// # Panics
/// If this processor does not have the instructions: what is packed for a set can therefore be run.
pub(crate) fn table(isa: Isa, precision: Precision) -> &'static Table {
    assert!(isa.is_available(), "this processor does not have {}", isa.name());
    match precision {
        Precision::F32 => of_set!(isa, f32),
        Precision::Bf16 => of_set!(isa, bf16),
        Precision::Int8 => of_set!(isa, int8),
    }
}

/// Applies a function to a slice with an instruction set.
///
/// # Panics
/// If this processor does not have the instructions.
pub(crate) fn apply(isa: Isa, function: Function, values: &mut [f32]) {
    // SAFETY: `table` checked that the processor has the instructions.
    unsafe { (table(isa, Precision::F32).apply)(function, values) }
}

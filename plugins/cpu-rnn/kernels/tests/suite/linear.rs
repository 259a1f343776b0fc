//! Products with packed matrices against plain f64 code.

use proctor_rnn_kernels::{Isa, PackedLinear, Product, Rows};
use proctor_rnn_layer::Precision;
use proptest::prelude::*;

use crate::common::Numbers;

/// Sums of at most 150 products below 1.
const F32_ABSOLUTE_ERROR: f64 = 3e-5;

/// Weights are off by 2^-9 of themselves at most.
const BF16_ABSOLUTE_ERROR: f64 = 0.06;

/// Weights and activations are off by 1/254 of the largest at most.
const INT8_ABSOLUTE_ERROR: f64 = 0.15;

fn check(inputs: usize, outputs: usize, rows: usize, precision: Precision, seed: u64) {
    let mut numbers = Numbers(seed);
    let (weights, bias) = (numbers.vector(inputs * outputs, 1.0), numbers.vector(outputs, 1.0));
    let x = numbers.vector(rows * inputs, 1.0);
    let allowed = match precision {
        Precision::F32 => F32_ABSOLUTE_ERROR,
        Precision::Bf16 => BF16_ABSOLUTE_ERROR,
        Precision::Int8 => INT8_ABSOLUTE_ERROR,
    };
    for isa in Isa::available() {
        let layer = PackedLinear::new(isa, precision, &weights, &bias, inputs);
        let mut y = vec![f32::NAN; rows * outputs];
        layer.apply(&x, &mut y);
        for (index, got) in y.iter().enumerate() {
            let (row, column) = (index / outputs, index % outputs);
            let (x, w) = (&x[row * inputs..][..inputs], &weights[column * inputs..][..inputs]);
            let sum: f64 = x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum();
            let expected = sum + f64::from(bias[column]);
            let difference = (expected - f64::from(*got)).abs();
            assert!(
                difference <= allowed,
                "{isa:?} {precision:?} {inputs}x{outputs}, {rows} rows: {difference:e}"
            );
        }
    }
}

#[test]
fn tails_of_columns_and_depth_are_right() {
    for precision in Precision::ALL {
        for outputs in [1, 2, 4, 10, 15, 16, 17, 31, 33, 48, 49, 63, 64, 65, 100] {
            for inputs in [1, 2, 3, 4, 5, 63, 64, 65] {
                check(inputs, outputs, 3, precision, outputs as u64);
            }
        }
    }
}

#[test]
fn no_rows_are_no_work() {
    check(3, 5, 0, Precision::F32, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_product_is_right(
        (inputs, outputs, rows) in (1..150_usize, 1..150_usize, 1..66_usize),
        precision in 0..3_usize,
        seed in any::<u64>(),
    ) {
        check(inputs, outputs, rows, Precision::ALL[precision], seed);
    }
}

#[test]
fn many_rows_of_a_deep_matrix_are_right() {
    for precision in Precision::ALL {
        for rows in [4, 23, 25, 64, 101] {
            check(150, 70, rows, precision, 4);
        }
    }
}

#[test]
fn rows_are_found_by_sample_and_step_in_both_directions_of_time() {
    let (inputs, outputs, samples, steps) = (6, 21, 3, 5);
    let mut numbers = Numbers(11);
    let weights = numbers.vector(inputs * outputs, 1.0);
    let x = numbers.vector(samples * steps * inputs, 1.0);
    for isa in Isa::available() {
        let layer = PackedLinear::new(isa, Precision::F32, &weights, &[], inputs);
        let mut whole = vec![0.0; samples * steps * outputs];
        layer.apply(&x, &mut whole);
        // Sample-major input, the last step first, and time-major output.
        let last = |sample: usize| x[(sample * steps + steps - 1) * inputs..].as_ptr();
        let bases: Vec<_> = (0..samples).map(last).collect();
        let mut y = vec![0.0; samples * steps * outputs];
        let args = Product {
            blocks: 0..layer.blocks(),
            rows: Rows { bases: bases.as_ptr(), offset: 0 },
            samples,
            steps,
            step_stride: -inputs.cast_signed(),
            output: y.as_mut_ptr(),
            output_step_stride: samples * outputs,
            output_row_stride: outputs,
            scratch: std::ptr::null_mut(),
        };
        // SAFETY: the bases point to the last steps, and the stride goes back to the first.
        unsafe { layer.product(&args) };
        for step in 0..steps {
            for sample in 0..samples {
                let got = &y[(step * samples + sample) * outputs..][..outputs];
                let expected = &whole[(sample * steps + steps - 1 - step) * outputs..][..outputs];
                for (a, b) in got.iter().zip(expected) {
                    assert!((a - b).abs() <= 1e-5, "{isa:?}");
                }
            }
        }
    }
}

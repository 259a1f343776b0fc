//! Every kernel of a cell on every instruction set that this processor has, against the same step in plain f64 code.

use proctor_rnn_kernels::{CellSpec, Isa};
use proctor_rnn_layer::{Cell, GruReset, Precision, RnnActivation};
use proptest::prelude::*;

use crate::common::{Manner, Model, Numbers, State, error, reference, run, spec};

/// f32 weights: the bound that peers reach on whole sequences is 5e-6; one step with sums of at most 300 products is
/// better.
const F32_ABSOLUTE_ERROR: f64 = 2e-6;

/// bf16 weights against f32 ones: each weight is off by at most 2^-9 of itself; sums of at most 80 products of weights
/// below 1/sqrt(80) and operands below 1.
const BF16_ABSOLUTE_ERROR: f64 = 2e-2;

/// int8 weights against f32 ones: weights and activations are off by at most 1/254 of the largest.
const INT8_ABSOLUTE_ERROR: f64 = 6e-2;

fn bound(precision: Precision) -> f64 {
    match precision {
        Precision::F32 => F32_ABSOLUTE_ERROR,
        Precision::Bf16 => BF16_ABSOLUTE_ERROR,
        Precision::Int8 => INT8_ABSOLUTE_ERROR,
    }
}

/// Compares one step with the reference, on every set.
fn check(spec: CellSpec, rows: usize, with_hidden: bool, peepholes: bool, manner: Manner, seed: u64) {
    let mut numbers = Numbers(seed);
    let model = Model::new(spec, peepholes && spec.kind == Cell::Lstm, &mut numbers);
    let state = State::new(&spec, rows, with_hidden, &mut numbers);
    for isa in Isa::available() {
        let after = run(&model.pack(isa), &state, manner);
        let error = error(&model, &state, &after);
        assert!(error <= bound(spec.precision), "{isa:?} {spec:?} {rows} rows, seed {seed}: error {error:e}");
    }
}

const PLAIN: Manner = Manner { fused: false, descending: false, cut: 0 };

#[test]
fn every_number_of_units_around_a_vector_is_right() {
    for kind in Cell::ALL {
        for precision in Precision::ALL {
            for hidden in [1, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 31, 32, 33, 63, 64, 65, 80] {
                check(spec(kind, 5, hidden, precision), 1, true, false, PLAIN, hidden as u64);
                check(spec(kind, 5, hidden, precision), 3, true, false, PLAIN, hidden as u64);
            }
        }
    }
}

#[test]
fn every_depth_around_a_group_is_right() {
    for kind in Cell::ALL {
        for precision in Precision::ALL {
            for input in (1..=9).chain([63, 64, 65, 80]) {
                let fused = Manner { fused: true, ..PLAIN };
                check(spec(kind, input, 18, precision), 1, true, false, PLAIN, input as u64);
                check(spec(kind, input, 18, precision), 2, true, false, fused, input as u64);
            }
        }
    }
}

#[test]
fn every_number_of_rows_is_right() {
    for kind in Cell::ALL {
        for precision in Precision::ALL {
            for rows in (1..=14).chain([16, 17, 19, 20, 23, 25, 29, 30, 31, 36, 48, 61, 64]) {
                check(spec(kind, 7, 70, precision), rows, true, false, PLAIN, rows as u64);
                let fused = Manner { fused: true, descending: true, cut: 1 };
                check(spec(kind, 7, 37, precision), rows, true, false, fused, rows as u64);
            }
        }
    }
}

#[test]
fn peepholes_of_a_batch_are_right() {
    for rows in 1..=64 {
        check(spec(Cell::Lstm, 5, 21, Precision::F32), rows, true, true, PLAIN, rows as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_step_is_right(
        (kind, precision) in (0..5_usize, 0..3_usize),
        (input, hidden, rows) in (1..80_usize, 1..80_usize, 1..66_usize),
        (with_hidden, peepholes, fused, descending) in any::<(bool, bool, bool, bool)>(),
        cut in 0..6_usize,
        clip in prop::option::of(0.2..2.0_f32),
        seed in any::<u64>(),
    ) {
        let spec = CellSpec { clip, ..spec(Cell::ALL[kind], input, hidden, Precision::ALL[precision]) };
        check(spec, rows, with_hidden, peepholes, Manner { fused, descending, cut }, seed);
    }
}

#[test]
fn wide_layers_are_right() {
    for kind in Cell::ALL {
        check(spec(kind, 300, 256, Precision::F32), 6, true, false, PLAIN, 1);
    }
}

#[test]
fn int8_sums_are_the_same_on_every_set() {
    let mut numbers = Numbers(7);
    let spec = spec(Cell::Rnn(RnnActivation::Relu), 33, 29, Precision::Int8);
    let model = Model::new(spec, false, &mut numbers);
    let state = State::new(&spec, 5, true, &mut numbers);
    let results: Vec<_> = Isa::available().map(|isa| run(&model.pack(isa), &state, PLAIN).hidden).collect();
    for other in &results[1..] {
        for (a, b) in results[0].iter().flatten().zip(other.iter().flatten()) {
            // The scales are multiplied in f32, fused or not: one rounding of a sum below 4.
            assert!((a - b).abs() <= 4.0 * f32::EPSILON, "{a} and {b}");
        }
    }
}

#[test]
fn a_nan_stays_in_its_row_and_reaches_every_unit() {
    for kind in Cell::ALL {
        for precision in Precision::ALL {
            for isa in Isa::available() {
                let mut numbers = Numbers(3);
                let spec = spec(kind, 6, 21, precision);
                let model = Model::new(spec, false, &mut numbers);
                let mut state = State::new(&spec, 7, true, &mut numbers);
                state.input[2][4] = f32::NAN;
                let after = run(&model.pack(isa), &state, PLAIN);
                assert!(after.hidden[2].iter().all(|h| h.is_nan()), "{isa:?} {kind:?} {precision:?}");
                for row in [0, 1, 3, 4, 5, 6] {
                    let (expected, _) = reference(&model, &state, row);
                    for (expected, got) in expected.iter().zip(&after.hidden[row]) {
                        assert!((expected - f64::from(*got)).abs() <= bound(precision), "{isa:?} {kind:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn huge_inputs_saturate() {
    for kind in [
        Cell::Lstm,
        Cell::Gru(GruReset::AfterProduct),
        Cell::Gru(GruReset::BeforeProduct),
        Cell::Rnn(RnnActivation::Tanh),
    ] {
        for isa in Isa::available() {
            let mut numbers = Numbers(5);
            let spec = spec(kind, 6, 21, Precision::F32);
            let model = Model::new(spec, false, &mut numbers);
            let mut state = State::new(&spec, 4, true, &mut numbers);
            for row in &mut state.input {
                row.iter_mut().for_each(|x| *x *= 1e30);
            }
            // Sums of 1e30 are beyond every bound: sigmoid and tanh are at their ends on both sides.
            let after = run(&model.pack(isa), &state, PLAIN);
            assert!(error(&model, &state, &after) <= F32_ABSOLUTE_ERROR, "{isa:?} {kind:?}");
        }
    }
}

#[test]
fn an_infinite_input_gives_finite_saturated_units() {
    for isa in Isa::available() {
        let mut numbers = Numbers(5);
        let spec = spec(Cell::Lstm, 6, 21, Precision::F32);
        let model = Model::new(spec, false, &mut numbers);
        let mut state = State::new(&spec, 2, true, &mut numbers);
        state.input[1][3] = f32::INFINITY;
        let after = run(&model.pack(isa), &state, PLAIN);
        assert!(error(&model, &state, &after) <= F32_ABSOLUTE_ERROR, "{isa:?}");
    }
}

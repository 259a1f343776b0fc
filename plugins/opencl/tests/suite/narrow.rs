//! Operators and models in f16 and bf16 on a device, compared with the host.
//!
//! The addresses of a kernel's operands do not depend on their type: `operators` tests all shapes in f32. The type
//! decides how numbers are loaded (singly, as vectors, or as bits that are moved) and where results are rounded.
//! So here is a case for each kernel that loads or stores reals, and for each of its ways:
//!
//! | case | kernels | loads and stores |
//! |---|---|---|
//! | a convolution with pools | `columns`, `gemm`, `pool` | moved bits, packed filters, a bias, zeros around |
//! | a convolution of each channel | `depthwise` | single numbers of both factors |
//! | products by a matrix | `gemm`, `elementwise` | vectors of a plain matrix; a result, and one made of it unrounded |
//! | products by a transposed matrix | `gemm`, `elementwise`, `softmax` | moved bits, powers that are not stored |
//! | elements, slices by their indices | `elementwise`, `gather` | single numbers anywhere, bits that are moved |
//! | rows | `reduce`, `softmax`, `layer_normalization`, `arg_max` | single numbers, by one item and by many |
//! | attention with either mask | `attention` | single numbers, vectors of the mask |
//! | the digits' LSTM | `recurrent` | f32 within a layer, rounded at its ends |
//! | the digits' CNN in 8 bits | `gemm`, `columns`, `pool` | integers of 8 bits between narrow numbers |
//! | BERT, Llama | all of a model | masks and epsilons beyond the range of f16, and what adds up over layers |

use proctor_device::program::Tuning;
use proctor_device_cases::{Case, few, models, named, operators};
use proctor_vocabulary::ElementType;

use crate::device::{TUNINGS, device};

/// Greatest difference where a result is rounded once or twice: by two units in the last place.
pub const OF_OPERATORS: [(ElementType, f64); 2] = [(ElementType::F16, 2e-3), (ElementType::Bf16, 1.6e-2)];

/// The same where values between are rounded, too.
const OF_MODELS: [(ElementType, f64); 2] = [(ElementType::F16, 2e-2), (ElementType::Bf16, 1.5e-1)];

/// Vectors of 16 numbers and of 4, rows by one item and by 128.
const WIDTHS: [Tuning; 2] = [Tuning::PROCESSOR, Tuning::GPU];

/// Asserts that the device computes these cases in both types, each with its tolerance, with each tuning.
pub fn assert_near(cases: &[Case], tolerances: [(ElementType, f64); 2], tunings: &[Tuning]) {
    let Some((device, _alone)) = device() else { return };
    for case in cases {
        for (element, tolerance) in tolerances {
            case.check_narrow(&device, tunings, element, tolerance);
        }
    }
}

/// Also with the tuning for a library, whose columns lie in rows.
#[test]
fn convolutions_and_windows_round_as_they_store() {
    let windows = named(&operators::windows(), &[few::WINDOWS]);
    assert_near(&windows, OF_OPERATORS, &TUNINGS);
    assert_near(&named(&operators::depthwise(), &["several results"]), OF_OPERATORS, &WIDTHS);
}

#[test]
fn products_round_as_they_store() {
    assert_near(&few::narrow(), OF_OPERATORS, &WIDTHS);
}

#[test]
fn elements_and_rows_round_as_they_store() {
    assert_near(&[operators::elements(), operators::gathers()].concat(), OF_OPERATORS, &[Tuning::PROCESSOR]);
    assert_near(&operators::rows(), OF_OPERATORS, &WIDTHS);
}

#[test]
fn attention_rounds_as_it_stores() {
    assert_near(&few::attention(), OF_OPERATORS, &WIDTHS);
}

#[test]
fn models_of_the_digits_stay_near() {
    for model in ["digits-cnn-int8", "digits-lstm"] {
        assert_near(&models::trained(model, &[3]), OF_MODELS, &WIDTHS);
    }
}

#[test]
fn generated_models_stay_near() {
    for model in ["bert-tiny", "llama-tiny"] {
        assert_near(&models::generated(model), OF_MODELS, &[Tuning::PROCESSOR]);
    }
}

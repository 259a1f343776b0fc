//! Operators and models in f16 and bf16 on a device, compared with the host.

use proctor_device_cases::{Case, models, operators};
use proctor_vocabulary::ElementType;

use crate::device::{TUNINGS, device};

/// Greatest difference where a result is rounded once or twice: by two units in the last place.
const OF_OPERATORS: [(ElementType, f64); 2] = [(ElementType::F16, 2e-3), (ElementType::Bf16, 1.6e-2)];

/// The same where values between are rounded, too.
const OF_MODELS: [(ElementType, f64); 2] = [(ElementType::F16, 2e-2), (ElementType::Bf16, 1.5e-1)];

fn assert_near(cases: &[Case], tolerances: [(ElementType, f64); 2]) {
    let Some((device, _alone)) = device() else { return };
    for case in cases {
        for (element, tolerance) in tolerances {
            case.check_narrow(&device, &TUNINGS, element, tolerance);
        }
    }
}

#[test]
fn convolutions_and_windows_round_as_they_store() {
    assert_near(&operators::convolutions_of_parts(), OF_OPERATORS);
    assert_near(&operators::windows(), OF_OPERATORS);
}

#[test]
fn products_round_as_they_store() {
    assert_near(&operators::products(), OF_OPERATORS);
}

#[test]
fn elements_and_rows_round_as_they_store() {
    assert_near(&operators::elements(), OF_OPERATORS);
    assert_near(&operators::rows(), OF_OPERATORS);
}

#[test]
fn attention_rounds_as_it_stores() {
    assert_near(&operators::attention(), OF_OPERATORS);
}

#[test]
fn models_of_the_digits_stay_near() {
    models::DIGITS.iter().for_each(|model| assert_near(&models::digits(model, &[3]), OF_MODELS));
}

#[test]
fn generated_models_stay_near() {
    models::GENERATED.iter().for_each(|model| assert_near(&models::generated(model), OF_MODELS));
}

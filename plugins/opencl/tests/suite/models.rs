//! Models on a device compared with the host.

use proctor_device_cases::models::{DIGITS, GENERATED, digits, generated};

use crate::device::{TUNINGS, assert_computed};

#[test]
fn models_of_the_digits() {
    DIGITS.iter().for_each(|model| assert_computed(&digits(model, &[1, 5]), &TUNINGS));
}

#[test]
fn generated_models() {
    GENERATED.iter().for_each(|model| assert_computed(&generated(model), &TUNINGS));
}

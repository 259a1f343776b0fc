//! Models on a device compared with the host.

use proctor_device_cases::models::{DIGITS, FASHION_MNIST, GENERATED, generated, trained};

use crate::device::{TUNINGS, assert_computed};

#[test]
fn models_of_the_digits() {
    DIGITS.iter().for_each(|model| assert_computed(&trained(model, &[1, 5]), &TUNINGS));
}

#[test]
fn models_of_fashion_mnist() {
    FASHION_MNIST.iter().for_each(|model| assert_computed(&trained(model, &[3]), &TUNINGS));
}

#[test]
fn generated_models() {
    GENERATED.iter().for_each(|model| assert_computed(&generated(model), &TUNINGS));
}

//! Models on a device compared with the host.

mod common;

use proctor_device_cases::{Case, models};

fn assert_computed(cases: &[Case]) {
    common::assert_computed(cases, &common::TUNINGS);
}

#[test]
fn the_perceptron_of_the_digits() {
    assert_computed(&models::digits("digits-mlp", &[1, 5]));
}

#[test]
fn the_convolutions_of_the_digits() {
    assert_computed(&models::digits("digits-cnn", &[1, 5]));
}

#[test]
fn the_lstm_of_the_digits() {
    assert_computed(&models::digits("digits-lstm", &[1, 5]));
}

#[test]
fn depthwise_convolutions() {
    assert_computed(&models::generated("mobilenet-v1-tiny"));
}

#[test]
fn residual_convolutions() {
    assert_computed(&models::generated("resnet50-tiny"));
}

#[test]
fn an_encoder() {
    assert_computed(&models::generated("bert-tiny"));
}

#[test]
fn a_decoder() {
    assert_computed(&models::generated("llama-tiny"));
}

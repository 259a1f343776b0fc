//! The plugin behind the real plugin host, as a run has it.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails the test")]

mod bad_input;
mod decoder;
mod digits;
mod fashion_mnist;
mod generated;
mod manifest;
mod small_models;

// The plugin is linked in by being named.
use candle_sut as _;
use proctor_plugin_bed::{Bed, ModelDemand};

/// A loaded model on one thread.
fn bed(demand: &ModelDemand) -> Bed {
    Bed::open("candle", &[("threads", "1")], demand).unwrap()
}

/// The plugin's own words when it refuses to load a model, without the host's before them.
fn refusal(demand: &ModelDemand) -> String {
    let message = Bed::open("candle", &[], demand).expect_err("a demand that does not fit");
    let after_status =
        message.strip_prefix("plugin candle: load_model failed (").expect("the plugin was asked");
    let (_status, words) = after_status.split_once("): ").unwrap();
    words.to_owned()
}

//! Recurrent layers on a device compared with the host.

use std::path::Path;

use proctor_device::{
    program::{Program, Tuning},
    read::Source,
};
use proctor_device_cases::recurrent;
use proctor_onnx_file::{Dim, GraphBuilder};
use proctor_vocabulary::ElementType::F32;

use crate::device::assert_computed;

/// Items in groups as on a graphics processor, here so few that the units of a layer make several panels.
pub const GROUPS: Tuning = Tuning { recurrent_group: 8, ..Tuning::GPU };

/// Products for a library.
const LIBRARY: Tuning = Tuning { has_library: true, ..GROUPS };

/// As many calls as steps, for layers of any size.
pub const STEPS: Tuning = Tuning { recurrent_step_bytes: 0, recurrent_step_group: 4, ..GROUPS };

#[test]
fn layers_compute_what_they_mean() {
    assert_computed(&recurrent::layers(), &[Tuning::PROCESSOR, GROUPS, STEPS, LIBRARY]);
}

#[test]
fn sequences_may_end_before_the_last_step() {
    assert_computed(&recurrent::lengths(), &[Tuning::PROCESSOR, GROUPS, STEPS]);
}

#[test]
fn the_batch_may_come_first() {
    assert_computed(&recurrent::batch_first(), &[Tuning::PROCESSOR, GROUPS, STEPS]);
}

#[test]
fn only_wanted_results_are_written() {
    assert_computed(&recurrent::single_results(), &[Tuning::PROCESSOR, GROUPS, STEPS]);
}

#[test]
fn weights_that_are_inputs_are_refused() {
    let mut builder = GraphBuilder::new("layer");
    let shapes = [vec![7, 2, 5], vec![1, 12, 5], vec![1, 12, 3]];
    for (name, shape) in ["x", "w", "r"].iter().zip(&shapes) {
        builder.input(name, F32, &Dim::fixed(shape));
    }
    let y = builder.node("LSTM", "layer", &["x", "w", "r"], &[("hidden_size", 3.into())]);
    builder.output(&y, F32, &[]);
    let source = Source::from_bytes(Path::new("layer.onnx"), &builder.into_bytes()).unwrap();
    let reason = Program::new(&source.graph(&shapes).unwrap(), Tuning::PROCESSOR).unwrap_err();
    assert!(reason.ends_with("R is not constant"), "{reason}");
}

//! Times of single calls and copies.

use proctor_device::{
    passes,
    profile::{call_times, copy_times},
    program::{Program, Tuning},
    session::Resources,
};
use proctor_device_cases::models;

use crate::device::device;

#[test]
fn each_call_and_each_copy_takes_time() {
    let Some((device, _alone)) = device() else { return };
    let cases = models::trained("digits-cnn", &[5]);
    let mut graph = cases[0].graph.clone();
    passes::apply(&mut graph, None).unwrap();
    let mut program = Program::new(&graph, Tuning::PROCESSOR).unwrap();
    let mut resources = Resources::default();
    resources.prepare(&device, &mut program).unwrap();
    let times_ns = call_times(&device, &resources, &program, 2, 3).unwrap();
    assert_eq!(times_ns.len(), program.calls().len());
    assert!(times_ns.iter().all(|time_ns| *time_ns > 0), "{times_ns:?}");
    assert!(program.calls().iter().all(|call| program.bytes_of(call) > 0));

    let times_ns = copy_times(&device, 1 << 20, 3).unwrap();
    assert!(times_ns.iter().all(|time_ns| *time_ns > 0), "{times_ns:?}");
}

//! Instances that come and go while others execute, behind the real plugin host.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

// Linked in, and so known to the host.
use mock_sut as _;
use proctor_plugin_api::vocabulary::{QuerySample, ResponseId, SampleIndex};
use proctor_plugin_bed::{ModelDemand, Samples, demand, f32_spec, open};
use proctor_plugin_host::Model;

fn batch() -> [QuerySample; 1] {
    [QuerySample { id: ResponseId(1), index: SampleIndex(0) }]
}

/// Makes instances, has each execute a batch, and destroys them, all on this thread.
fn come_and_go(model: &Model) {
    for _ in 0..20 {
        let mut instance = model.create_instance(1).unwrap();
        instance.execute(&batch()).unwrap();
        instance.destroy().unwrap();
    }
}

#[test]
fn instances_come_and_go_beside_others_that_execute() {
    let backend = open("mock", &[("service", "fixed"), ("service_us", "100")]).unwrap();
    let one = demand(Path::new("any.onnx"), &[f32_spec("x", &[2])], &[f32_spec("y", &[3])]);
    let model = backend.load_model(&ModelDemand { instance_count: 2, ..one }).unwrap();
    let mut lasting = model.create_instance(0).unwrap();
    let samples = Samples::of_f32(&[vec![1.0, 2.0]]);
    model.prepare(&[SampleIndex(0)], Arc::new(samples)).unwrap();
    model.start().unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let executing = scope.spawn(|| {
            let mut count = 0;
            while count == 0 || !is_over.load(Relaxed) {
                lasting.execute(&batch()).unwrap();
                count += 1;
            }
            count
        });
        let scaler = thread::Builder::new().name("scaler".to_owned());
        scaler.spawn_scoped(scope, || come_and_go(&model)).unwrap().join().unwrap();
        is_over.store(true, Relaxed);
        assert!(executing.join().unwrap() > 0);
    });
    model.stop().unwrap();
    model.release().unwrap();
    // The remaining instance ends as usual.
    drop(lasting);
    let faults: BTreeMap<_, _> =
        backend.host_side().take_faults().iter().map(|fault| (fault.to_string(), fault.count)).collect();
    assert!(faults.is_empty(), "{faults:?}");
}

#[test]
fn an_instance_takes_time_to_make_and_fails_where_memory_ends() {
    let backend = open("mock", &[("start_us", "20000"), ("instances_max", "2")]).unwrap();
    let one = demand(Path::new("any.onnx"), &[f32_spec("x", &[2])], &[f32_spec("y", &[3])]);
    let model = backend.load_model(&ModelDemand { instance_count: 3, ..one }).unwrap();
    model.prepare(&[SampleIndex(0)], Arc::new(Samples::of_f32(&[vec![1.0, 2.0]]))).unwrap();
    model.start().unwrap();
    let begin = Instant::now();
    let first = model.create_instance(0).unwrap();
    assert!(begin.elapsed() >= Duration::from_millis(20));
    let second = model.create_instance(1).unwrap();
    let Err(error) = model.create_instance(2) else { panic!("there is memory for two") };
    assert!(error.to_string().contains("there is no memory for instance 3"), "{error}");
    // Capacity that one instance leaves is available to another.
    first.destroy().unwrap();
    let third = model.create_instance(2).unwrap();
    drop((second, third));
    model.stop().unwrap();
}

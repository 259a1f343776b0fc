//! Running a batch allocates nothing of ours. (What the runtime allocates in C++ is its own and not seen here.)

use std::sync::Arc;

use proctor_plugin_api::vocabulary::{QuerySample, ResponseId};
use proctor_plugin_bed::{ModelDemand, Samples, digits};

use crate::common::opened;

#[test]
fn a_batch_allocates_nothing_alone_or_together() {
    let Some(backend) = opened(&[("threads", "1")]) else { return };
    let demand = ModelDemand { batch_size_max: 8, ..digits::model("digits-cnn.onnx") };
    let model = backend.load_model(&demand).unwrap();
    let mut instance = model.create_instance(0).unwrap();
    let samples = Samples::of_f32(&vec![vec![0.5; 64]; 8]);
    let indices = samples.indices();
    model.prepare(&indices, Arc::new(samples)).unwrap();
    instance.warm_up(&indices).unwrap();
    model.start().unwrap();
    for batch_size in [1, 8] {
        let batch: Vec<QuerySample> = indices[..batch_size]
            .iter()
            .map(|index| QuerySample { id: ResponseId(index.0 + 1), index: *index })
            .collect();
        let counted = allocation_counter::measure(|| instance.execute(&batch).unwrap());
        assert_eq!(counted.count_total, 0, "batches of {batch_size}");
    }
}

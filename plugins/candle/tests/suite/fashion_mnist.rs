//! The network for Fashion-MNIST gives the logits of its reference in batches of any size.

use proctor_plugin_bed::{
    ModelDemand, Samples,
    digits::predictions,
    fashion_mnist::{MODEL, images, model, reference},
};

use crate::bed;

/// Largest absolute difference of a logit (they reach ±30) from the reference framework's, which adds f32 in another
/// order.
const TOLERANCE: f64 = 1e-3;

#[test]
fn the_logits_and_classes_are_those_of_the_reference_at_every_batch_size() {
    let samples = Samples::of_f32(&images());
    let reference = reference(MODEL);
    for batch_size in [1, 7, 8] {
        let demand = ModelDemand { batch_size_max: 8, ..model("fashion-mnist-cnn.safetensors") };
        let run = bed(&demand).run(&samples, &[batch_size]).unwrap();
        let error = reference.error(run.answers());
        assert!(error <= TOLERANCE, "in batches of {batch_size}: {error}");
        assert_eq!(predictions(run.answers()), reference.predictions[..64]);
    }
}

//! The network for Fashion-MNIST gives the logits of its reference, in 32 bits, in 16 and in 8.

use proctor_plugin_bed::{
    ModelDemand, Samples,
    digits::predictions,
    fashion_mnist::{images, model, reference},
};

use crate::common::{opened, run};

/// Largest absolute difference of a logit (they reach ±30) from the reference, by the same runtime in another way of
/// adding: a step of the last scale in 8 bits, and a unit in the last place in 16.
const TOLERANCES: [(&str, &str, f64); 3] = [
    ("fashion-mnist-cnn", "f32", 1e-3),
    ("fashion-mnist-cnn-int8", "int8", 0.5),
    ("fashion-mnist-cnn-f16", "f16", 0.1),
];

#[test]
fn the_logits_and_classes_are_those_of_the_reference_in_every_precision() {
    let samples = Samples::of_f32(&images());
    for (name, precision, tolerance) in TOLERANCES {
        let reference = reference(name);
        for batch_size_max in [1, 8] {
            let Some(backend) = opened(&[("threads", "1")]) else { return };
            let precision = Some(precision.to_owned());
            let demand = ModelDemand { batch_size_max, precision, ..model(&format!("{name}.onnx")) };
            let run = run(&backend, &demand, &samples).unwrap();
            let error = reference.error(run.answers());
            assert!(error <= tolerance, "{name} in batches of {batch_size_max}: a logit differs by {error}");
            let classes = predictions(run.answers());
            let other = classes.bytes().zip(reference.predictions.bytes()).filter(|(a, b)| a != b).count();
            assert!(other <= usize::from(name != "fashion-mnist-cnn"), "{name}: {other} classes differ");
        }
    }
}

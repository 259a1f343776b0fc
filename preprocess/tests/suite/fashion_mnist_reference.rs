//! The first images of Fashion-MNIST through their pipeline give the inputs that the reference logits were computed
//! from.

use std::{borrow::Cow, fs, path::Path};

use proctor_datasets::{IdxArray, RawSample, sha256_hex};
use proctor_preprocess::build_pipeline;
use proctor_vocabulary::{ElementType, TensorSpec};

#[test]
fn the_first_test_tensors_are_those_of_the_reference() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/fashion-mnist-cnn");
    let reference: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("reference.json")).unwrap()).unwrap();
    let images = IdxArray::parse(fs::read(folder.join("samples.idx3-ubyte")).unwrap(), 3).unwrap();
    let input = TensorSpec { name: "image".into(), element_type: ElementType::F32, shape: vec![1, 28, 28] };
    let pipeline = build_pipeline("fashion-mnist", &[input]).unwrap();

    let mut inputs = Vec::new();
    for number in 0..images.item_count() {
        let image = RawSample {
            element_type: ElementType::U8,
            shape: Cow::Borrowed(images.item_shape()),
            bytes: Cow::Borrowed(images.item(number).unwrap()),
        };
        let mut tensor = vec![0; pipeline.outputs()[0].size_bytes()];
        pipeline.run(&image, &mut [&mut tensor]).unwrap();
        let elements = tensor.as_chunks::<4>().0.iter();
        inputs.extend(elements.flat_map(|element| f32::from_ne_bytes(*element).to_le_bytes()));
    }
    assert_eq!(sha256_hex(&inputs), reference["inputs_sha256"].as_str().unwrap());
}

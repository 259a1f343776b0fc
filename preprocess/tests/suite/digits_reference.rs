//! The digits data set through its pipeline gives the inputs that the reference logits were computed from.

use proctor_datasets::{DataRoot, DigitsPart, SampleStore, open_dataset, sha256_hex};
use proctor_preprocess::build_pipeline;
use proctor_vocabulary::{ElementType, SampleIndex, TensorSpec};

/// Number of samples in `reference.json`.
const SAMPLES: u64 = 16;

#[test]
fn the_first_validation_tensors_are_those_of_the_reference() {
    let root = DataRoot::search();
    let reference = DigitsPart::folder(&root).unwrap().read("reference.json").unwrap();
    let reference: serde_json::Value = serde_json::from_slice(&reference).unwrap();
    let digits = open_dataset("digits", &root).unwrap();
    let samples: Vec<_> = (0..SAMPLES).map(SampleIndex).collect();

    for shape in [vec![8, 8], vec![1, 8, 8], vec![64]] {
        let input = TensorSpec { name: "image".into(), element_type: ElementType::F32, shape };
        let pipeline = build_pipeline("digits", &[input]).unwrap();
        let mut store = SampleStore::new(pipeline.outputs().to_vec(), digits.sample_count(), 1 << 20);
        let fill =
            |index, tensors: &mut [&mut [u8]]| -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
                Ok(pipeline.run(&digits.read(index)?, tensors)?)
            };
        store.load(&samples, fill).unwrap();

        let inputs: Vec<u8> = samples
            .iter()
            .flat_map(|index| store.tensor(*index, 0).unwrap().as_chunks::<4>().0)
            .flat_map(|element| f32::from_ne_bytes(*element).to_le_bytes())
            .collect();
        assert_eq!(sha256_hex(&inputs), reference["inputs_sha256"].as_str().unwrap());
    }
}

//! The benchmark minilm-int8: its file as it is published, on all sentences, against another program.

use proctor_accuracy::{Answers, LabelsRequest, read_labels};
use proctor_datasets::{DataRoot, open_dataset};
use proctor_plugin_api::vocabulary::{ElementType, SampleIndex};
use proctor_plugin_bed::{Bed, ModelDemand, Samples, demand, f32_spec, spec};
use proctor_preprocess::build_pipeline;

use crate::common::{opened, packages};

/// Tokens of a padded sentence, and the tolerance of a value, as in the definition.
const TOKENS: usize = 32;
const TOLERANCE: f64 = 1e-4;

#[test]
fn vectors_of_all_sentences_are_those_of_another_program() {
    let Some(packages) = packages(&["minilm-int8"]) else { return };
    let Some(backend) = opened(&[]) else { return };
    let root = DataRoot::new(Some(&packages));
    let inputs =
        ["input_ids", "attention_mask", "token_type_ids"].map(|name| spec(name, ElementType::I64, &[TOKENS]));
    let (sentences, pipeline) =
        (open_dataset("sentences", &root).unwrap(), build_pipeline("squad-bert", &inputs).unwrap());
    let sample = |index| {
        let mut tensors = vec![vec![0; ElementType::I64.bytes_of(TOKENS)]; inputs.len()];
        let mut places: Vec<&mut [u8]> = tensors.iter_mut().map(Vec::as_mut_slice).collect();
        pipeline.run(&sentences.read(SampleIndex(index)).unwrap(), &mut places).unwrap();
        tensors
    };
    let samples: Vec<_> = (0..sentences.sample_count()).map(sample).collect();
    let Answers::Embeddings { vectors, .. } =
        read_labels("sentences", &LabelsRequest { root: &root, published: None }).unwrap()
    else {
        panic!("vectors");
    };
    // One by one a few are enough: they go the same way.
    for (batch_size, count) in [(8, 200), (1, 20)] {
        let output = f32_spec("sentence_embedding", &[384]);
        let demand = demand(&packages.join("minilm-int8/model.onnx"), &inputs, &[output]);
        let demand = ModelDemand { batch_size_max: u32::try_from(batch_size).unwrap(), ..demand };
        let run = Bed::load(&backend, &demand)
            .unwrap()
            .run(&Samples::new(&samples[..count]), &[batch_size])
            .unwrap();
        assert_eq!((run.answers().len(), vectors.len()), (count, 200));
        for (index, (answer, right)) in run.answers().iter().zip(&vectors).enumerate() {
            let values = answer.f32s(0);
            assert_eq!(values.len(), right.len());
            let errors = values.iter().zip(right).map(|(value, right)| (f64::from(*value) - right).abs());
            let largest = errors.fold(0.0, f64::max);
            assert!(largest <= TOLERANCE, "sentence {index} in batches of {batch_size}: {largest}");
        }
    }
}

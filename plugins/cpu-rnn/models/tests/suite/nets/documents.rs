//! Text similarity of other numbers of documents than the network's own.

use std::sync::Arc;

use proctor_recipes as recipes;
use proctor_rnn_layer::{GruReset, Precision};
use proctor_rnn_models::{LoadError, LoadRequest, Model, SingleThread, load, nets::find};
use proctor_vocabulary::TensorSpec;

use super::common::{team, words};
use crate::common::owned_batch::OwnedBatch;

const ID: &str = "text-similarity-tiny";

/// Loads the network for this many documents, with changed tensors.
fn load_for(documents: usize, change: impl FnOnce(&mut [TensorSpec])) -> Result<Arc<dyn Model>, LoadError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    recipes::write_safetensors(&recipes::recipe(ID).unwrap(), &path, &mut |_| ()).unwrap();
    let network = find(ID).unwrap();
    let (mut inputs, mut outputs) = (network.inputs, network.outputs);
    for tensor in inputs[2..].iter_mut().chain(&mut outputs) {
        tensor.shape[0] = documents;
    }
    change(&mut inputs);
    load(&LoadRequest {
        model: ID,
        safetensors: Some(&path),
        onnx: None,
        vocabulary: None,
        inputs: &inputs,
        outputs: &outputs,
        batch_size_max: 2,
        precision: Precision::F32,
        reset: GruReset::AfterProduct,
        scheduler: &SingleThread,
    })
}

/// The scores of the documents of these samples, all together, against the query of the first.
fn scores(samples: &[u64]) -> Vec<f32> {
    let recipe = recipes::input_recipe(ID).unwrap();
    let sample =
        |index: u64| -> Vec<Vec<u32>> { recipe.sample(index).iter().map(|bytes| words(bytes)).collect() };
    let mut inputs = sample(samples[0]);
    for other in &samples[1..] {
        for (input, more) in inputs[2..].iter_mut().zip(&sample(*other)[2..]) {
            input.extend(more);
        }
    }
    let documents = 3 * samples.len();
    let mut batch = OwnedBatch::default();
    batch.push(inputs, &[documents]);
    load_for(documents, |_| ()).unwrap().instance(team()).unwrap().execute(&mut batch).unwrap();
    batch.output(0, 0)
}

#[test]
fn a_document_has_the_score_that_it_has_among_others() {
    let together = scores(&[4, 0, 1, 2]);
    assert_eq!(together.len(), 12);
    let own = scores(&[4]);
    let near = |ours: &[f32], theirs: &[f32]| ours.iter().zip(theirs).all(|(a, b)| (a - b).abs() < 1e-5);
    assert!(near(&together[..3], &own), "{together:?} {own:?}");
    for (place, other) in [0, 1, 2].into_iter().enumerate() {
        let pair = scores(&[4, other]);
        assert!(near(&together[3 * (place + 1)..][..3], &pair[3..]), "{together:?} {pair:?}");
    }
}

#[test]
fn tensors_that_do_not_go_together_are_refused() {
    let message = |documents, change: fn(&mut [TensorSpec])| match load_for(documents, change) {
        Ok(_) => panic!("{documents} documents are taken"),
        Err(error) => error.to_string(),
    };
    for (documents, change) in [
        (5, (|inputs| inputs[3].shape[0] = 4) as fn(&mut [TensorSpec])),
        (5, |inputs| inputs[2].shape[1] = 7),
        (0, |_| ()),
    ] {
        let message = message(documents, change);
        assert!(message.contains("(else it makes scores f32[k] of any number k of documents)"), "{message}");
    }
    assert!(load_for(1, |_| ()).is_ok());
}

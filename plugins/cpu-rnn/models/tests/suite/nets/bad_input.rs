//! Lengths, words, files and batches that are not what they should be.

use std::fs;

use proctor_recipes::{self as recipes, ModelRecipe};
use proctor_rnn_layer::Precision;
use proctor_rnn_models::{
    RunError,
    nets::{find, networks},
};

use super::common::{batch, load, load_file, team, words};
use crate::common::owned_batch::OwnedBatch;

/// One sample of a network with one input replaced.
fn sample_with(id: &str, input: &str, values: &[i32]) -> OwnedBatch {
    let mut batch = OwnedBatch::default();
    push_with(&mut batch, id, input, values);
    batch
}

/// Adds such a sample to a batch.
fn push_with(batch: &mut OwnedBatch, id: &str, input: &str, values: &[i32]) {
    let (recipe, network) = (recipes::input_recipe(id).unwrap(), find(id).unwrap());
    let mut inputs: Vec<Vec<u32>> = recipe.sample(0).iter().map(|bytes| words(bytes)).collect();
    let place = recipe.tensors.iter().position(|tensor| tensor.name == input).unwrap();
    inputs[place] = values.iter().map(|value| value.cast_unsigned()).collect();
    let room: Vec<usize> = network.outputs.iter().map(|output| output.element_count()).collect();
    batch.push(inputs, &room);
}

fn run(id: &str, batch: &mut OwnedBatch) -> Result<(), RunError> {
    load(id, Precision::F32, 1).instance(team()).unwrap().execute(batch)
}

#[test]
fn sequences_of_length_zero_are_answered() {
    let values = |id: &str, input: &str, lengths: &[i32], output: usize| {
        let mut batch = sample_with(id, input, lengths);
        run(id, &mut batch).unwrap();
        batch.output(0, output)
    };
    let scores = values("text-similarity-tiny", "document_lengths", &[0, 0, 0], 0);
    assert!(scores.iter().all(|score| score.is_finite() && *score == scores[0]), "{scores:?}");
    let scores = values("attention-sum-reader-tiny", "context_lengths", &[0, 0, 0], 0);
    assert_eq!(scores, [0.0; 4]);
    assert_eq!(values("bidaf-tiny", "context_length", &[0], 0), [0.0; 9]);
    let starts = values("bidaf-tiny", "question_length", &[0], 0);
    assert!((starts.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{starts:?}");
    assert!(values("gnmt-tiny", "source_length", &[0], 0).is_empty());
    assert!(values("rnnt-tiny", "feature_length", &[0], 0).is_empty());
}

#[test]
fn a_sequence_of_length_zero_leaves_its_neighbours_alone() {
    for (id, input, count) in [
        ("text-similarity-tiny", "query_length", 1),
        ("attention-sum-reader-tiny", "context_lengths", 3),
        ("bidaf-tiny", "context_length", 1),
        ("gnmt-tiny", "source_length", 1),
        ("rnnt-tiny", "feature_length", 1),
    ] {
        let (mut whole, mut none) = (batch(id, [0]), sample_with(id, input, &vec![0; count]));
        let mut mixed = sample_with(id, input, &vec![0; count]);
        let inputs = recipes::input_recipe(id).unwrap().sample(0);
        let room: Vec<usize> =
            find(id).unwrap().outputs.iter().map(|output| output.element_count()).collect();
        mixed.push(inputs.iter().map(|bytes| words(bytes)).collect(), &room);
        push_with(&mut mixed, id, input, &vec![0; count]);
        let mut instance = load(id, Precision::F32, 3).instance(team()).unwrap();
        for batch in [&mut whole, &mut none, &mut mixed] {
            instance.execute(batch).unwrap();
        }
        for (sample, alone) in [&none, &whole, &none].into_iter().enumerate() {
            let (got, expected) = (mixed.output(sample, 0), alone.output(0, 0));
            assert_eq!(got.len(), expected.len(), "{id} sample {sample}");
            if find(id).unwrap().outputs[0].name == "tokens" {
                assert_eq!(
                    mixed.output_integers(sample, 0),
                    alone.output_integers(0, 0),
                    "{id} sample {sample}"
                );
                continue;
            }
            let near = got.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5);
            assert!(near, "{id} sample {sample}: {got:?} {expected:?}");
        }
    }
}

#[test]
fn lengths_and_words_out_of_range_are_refused_by_name() {
    let message = |id: &str, input: &str, values: &[i32]| {
        run(id, &mut sample_with(id, input, values)).unwrap_err().to_string()
    };
    for (id, input, values, expected) in [
        (
            "text-similarity-tiny",
            "query_length",
            &[7][..],
            "the query of sample 0 holds 7, but only lengths from 0 to 6",
        ),
        ("attention-sum-reader-tiny", "context_lengths", &[1, -1, 1], "the contexts of sample 0 holds -1"),
        ("bidaf-tiny", "context_length", &[i32::MAX], "holds 2147483647, but only lengths from 0 to 9"),
        (
            "bidaf-tiny",
            "question",
            &[40; 4],
            "the question of sample 0 holds 40, but only words from 0 to 39",
        ),
        ("gnmt-tiny", "source", &[-1; 8], "the source of sample 0 holds -1, but only words from 0 to 39"),
        ("rnnt-tiny", "feature_length", &[501], "the feature length of sample 0 holds 501"),
        ("gnmt-tiny", "source", &[3; 7], "the source of sample 0 has 7 values, the model has 8"),
    ] {
        let got = message(id, input, values);
        assert!(got.contains(expected), "{id}: {got}");
    }
}

#[test]
fn words_beyond_the_length_are_not_read() {
    for (id, input, width) in [("gnmt-tiny", "source", 8), ("bidaf-tiny", "context", 9)] {
        let recipe = recipes::input_recipe(id).unwrap();
        let place = recipe.tensors.iter().position(|tensor| tensor.name == input).unwrap();
        let sample = recipe.sample(0);
        let length = words(&sample[place + 1])[0] as usize;
        let mut values: Vec<i32> = words(&sample[place]).iter().map(|word| word.cast_signed()).collect();
        assert!(length < width, "the sample has padding");
        values[length..].fill(i32::MIN);
        let (mut clean, mut dirty) = (batch(id, [0]), sample_with(id, input, &values));
        run(id, &mut clean).unwrap();
        run(id, &mut dirty).unwrap();
        assert_eq!(clean.output_integers(0, 0), dirty.output_integers(0, 0), "{id}");
    }
}

#[test]
fn features_that_are_no_numbers_end_in_an_answer() {
    for value in [f32::NAN, f32::INFINITY] {
        let features = [value.to_bits().cast_signed(); 500 * 240];
        run("rnnt-tiny", &mut sample_with("rnnt-tiny", "features", &features)).unwrap();
    }
}

#[test]
fn too_large_and_empty_batches_are_told_apart() {
    for network in networks().iter().filter(|network| network.id.ends_with("-tiny")) {
        let mut instance = load(network.id, Precision::F32, 2).instance(team()).unwrap();
        let error = instance.execute(&mut batch(network.id, 0..3)).unwrap_err();
        assert_eq!(error, RunError::BatchSize { batch_size: 3, batch_size_max: 2 }, "{}", network.id);
        instance.execute(&mut batch(network.id, [])).unwrap();
    }
}

/// Writes a changed recipe and says why it cannot be loaded.
fn refusal(id: &str, change: impl FnOnce(&mut ModelRecipe)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let mut recipe = recipes::recipe(id).unwrap();
    change(&mut recipe);
    recipes::write_safetensors(&recipe, &path, &mut |_| ()).unwrap();
    load_file(id, &path, Precision::F32, 1).unwrap_err().to_string()
}

#[test]
fn a_file_with_another_model_is_refused_by_tensor() {
    let tensor =
        |recipe: &ModelRecipe, name: &str| recipe.tensors.iter().position(|t| t.name == name).unwrap();
    for network in networks().iter().filter(|network| network.id.ends_with("-tiny")) {
        let id = network.id;
        for removed in recipes::recipe(id).unwrap().tensors {
            let error = refusal(id, |recipe| recipe.tensors.retain(|tensor| tensor.name != removed.name));
            assert!(error.contains(&format!("tensor \"{}\" is missing", removed.name)), "{id}: {error}");
        }
        let error = refusal(id, |recipe| {
            let mut extra = recipe.tensors[0].clone();
            extra.name = "stowaway".into();
            recipe.tensors.push(extra);
        });
        assert!(error.contains(&format!("\"stowaway\" has no place in the model \"{id}\"")), "{error}");
    }
    let error = refusal("gnmt-tiny", |recipe| {
        let place = tensor(recipe, "decoder.lstm2.weight_hh_l0");
        recipe.tensors[place].shape = vec![32, 32];
    });
    assert!(error.contains("decoder.lstm2.weight_hh_l0") && error.contains("[64, 16]"), "{error}");
    let error = refusal("rnnt-tiny", |recipe| {
        let place = tensor(recipe, "joint.net.0.weight");
        recipe.tensors[place].shape.reverse();
    });
    assert!(error.contains("joint.net.0.weight") && error.contains("[9, 17]"), "{error}");
    let error = refusal("bidaf-tiny", |recipe| {
        let place = tensor(recipe, "attention.weight");
        recipe.tensors[place].fills.push(recipes::Fill { start: 3, count: 1, value: f32::NAN });
    });
    assert!(error.contains("\"attention.weight\" holds NaN at element 3"), "{error}");
}

#[test]
fn a_file_cut_short_or_absent_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    recipes::write_safetensors(&recipes::recipe("bidaf-tiny").unwrap(), &path, &mut |_| ()).unwrap();
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
    let error = load_file("bidaf-tiny", &path, Precision::F32, 1).unwrap_err().to_string();
    assert!(error.contains("cut short"), "{error}");
    let error =
        load_file("bidaf-tiny", &folder.path().join("none"), Precision::F32, 1).unwrap_err().to_string();
    assert!(error.contains("cannot read"), "{error}");
}

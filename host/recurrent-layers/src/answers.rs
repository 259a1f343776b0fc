//! Right answers of a layer, computed from its weights after the run, one sample after the other.

use std::{fs, path::Path};

use proctor_accuracy::ComputedAnswersEntry;
use proctor_recipes::{RnnName, input_recipe};
use safetensors::{Dtype, SafeTensors};

use crate::layer::{LayerDirection, LayerState};

inventory::submit! {
    ComputedAnswersEntry {
        models: "single layers, rnn-<cell>-<input>-<hidden>-<batch>-<seq>[-bi]",
        knows: |model| model.parse::<RnnName>().is_ok(),
        compute,
    }
}

/// Limit of the multiplications, which take some seconds; but at least one sample is computed.
const MULTIPLICATIONS_MAX: f64 = 2e9;
/// Limit of the samples.
const SAMPLES_MAX: usize = 8;

/// Returns the outputs for the first samples, at most `sample_count`: `[seq, directions * hidden]` of each.
fn compute(model: &str, weights: &Path, sample_count: usize) -> Result<Vec<Vec<f64>>, String> {
    let (name, inputs) =
        model.parse::<RnnName>().ok().zip(input_recipe(model)).ok_or("the model is no single layer")?;
    let bytes = fs::read(weights).map_err(|error| error.to_string())?;
    let file = SafeTensors::deserialize(&bytes).map_err(|error| error.to_string())?;
    let suffixes = ["", "_reverse"];
    let directions = suffixes[..name.directions()].iter().map(|suffix| read(&file, &name, suffix));
    let directions = directions.collect::<Result<Vec<_>, _>>()?;

    let sample = |index: usize| {
        let bytes = inputs.sample(index as u64).swap_remove(0);
        let x: Vec<f64> =
            bytes.as_chunks().0.iter().map(|value| f64::from(f32::from_ne_bytes(*value))).collect();
        run(&name, &directions, &x)
    };
    Ok((0..judged_count(&name).min(sample_count)).map(sample).collect())
}

/// Returns the number of samples that are computed.
fn judged_count(name: &RnnName) -> usize {
    let per_step = name.cell.gate_count() * name.hidden * (name.input + name.hidden) * name.directions();
    let affordable = MULTIPLICATIONS_MAX / (per_step as f64 * name.seq as f64);
    // The cast saturates, and the number is clamped anyway.
    (affordable as usize).clamp(1, SAMPLES_MAX)
}

/// Returns the weights of one direction from a file with PyTorch's names.
fn read(file: &SafeTensors<'_>, name: &RnnName, suffix: &str) -> Result<LayerDirection, String> {
    let rows = name.cell.gate_count() * name.hidden;
    let tensor = |kind: &str, shape: &[usize]| {
        let tensor_name = format!("{}.{kind}_l0{suffix}", name.cell.prefix());
        let tensor = file.tensor(&tensor_name).map_err(|error| format!("{tensor_name}: {error}"))?;
        if tensor.dtype() != Dtype::F32 || tensor.shape() != shape {
            let (dtype, got) = (tensor.dtype(), tensor.shape());
            return Err(format!("{tensor_name} is {dtype:?}{got:?} instead of F32{shape:?}"));
        }
        Ok(tensor.data().as_chunks().0.iter().map(|value| f32::from_le_bytes(*value)).collect())
    };
    Ok(LayerDirection {
        input: tensor("weight_ih", &[rows, name.input])?,
        hidden: tensor("weight_hh", &[rows, name.hidden])?,
        input_bias: tensor("bias_ih", &[rows])?,
        hidden_bias: tensor("bias_hh", &[rows])?,
    })
}

/// Returns all steps of one sample in all directions: `[seq, directions * hidden]`.
fn run(name: &RnnName, directions: &[LayerDirection], x: &[f64]) -> Vec<f64> {
    let run = |(number, direction): (usize, &LayerDirection)| {
        direction.run(name.cell, x, LayerState::zeros(name.hidden), number == 1)
    };
    let outputs: Vec<_> = directions.iter().enumerate().map(run).collect();
    let row = |step: usize| outputs.iter().flat_map(move |y| &y[step * name.hidden..][..name.hidden]);
    (0..name.seq).flat_map(row).copied().collect()
}

#[cfg(test)]
mod tests {
    use proctor_recipes::{recipe, write_safetensors};

    use super::*;

    fn computed(model: &str, sample_count: usize) -> Vec<Vec<f64>> {
        let folder = tempfile::tempdir().unwrap();
        let weights = folder.path().join("model.safetensors");
        write_safetensors(&recipe(model).unwrap(), &weights, &mut |_| ()).unwrap();
        compute(model, &weights, sample_count).unwrap()
    }

    /// The other implementation is numpy's, in a script next to the recipes.
    #[test]
    fn layers_agree_with_another_implementation() {
        for (model, units) in [("rnn-lstm-3-5-2-4-bi", 10), ("rnn-gru-3-5-2-4", 5)] {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../datasets/recipes/reference");
            let reference = fs::read_to_string(format!("{folder}/{model}.json")).unwrap();
            let reference: serde_json::Value = serde_json::from_str(&reference).unwrap();
            let samples = reference["samples"].as_array().unwrap().iter();
            let expected: Vec<Vec<f64>> =
                samples.map(|sample| serde_json::from_value(sample["y"].clone()).unwrap()).collect();
            let got = computed(model, expected.len());
            assert!(!got.is_empty());
            for (got, expected) in got.iter().zip(&expected) {
                assert_eq!((got.len(), expected.len()), (4 * units, 4 * units));
            }
            for (got, expected) in got.iter().flatten().zip(expected.iter().flatten()) {
                assert!((got - expected).abs() < 1e-8, "{model}: {got} {expected}");
            }
        }
    }

    #[test]
    fn large_layers_have_fewer_samples() {
        let count = |name: &str| judged_count(&name.parse().unwrap());
        assert_eq!(count("rnn-lstm-64-64-1-100"), SAMPLES_MAX);
        assert_eq!(count("rnn-lstm-1024-1024-1-100"), 2);
        assert_eq!(count("rnn-lstm-16384-16384-1-100"), 1);
    }

    #[test]
    fn weights_that_are_not_those_of_the_layer_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let weights = folder.path().join("model.safetensors");
        write_safetensors(&recipe("rnn-lstm-2-3-1-1").unwrap(), &weights, &mut |_| ()).unwrap();
        let error = |model: &str| compute(model, &weights, 1).unwrap_err();
        assert!(error("rnn-lstm-2-4-1-1").contains("lstm.weight_ih_l0 is F32[12, 2] instead of F32[16, 2]"));
        assert!(error("rnn-gru-2-3-1-1").contains("gru.weight_ih_l0"));
        assert!(error("digits-lstm").contains("no single layer"));
        fs::write(&weights, b"short").unwrap();
        assert!(!error("rnn-lstm-2-3-1-1").is_empty());
    }
}

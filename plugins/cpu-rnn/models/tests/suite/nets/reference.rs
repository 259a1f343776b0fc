//! Compares the networks' answers with another implementation: `datasets/recipes/make_reference.py`, in NumPy and f64.

use proctor_recipes as recipes;
use proctor_rnn_engine::Team;
use proctor_rnn_layer::{Mapping, Precision, Schedule};
use proctor_rnn_models::{
    Instance, LayerCalls, Scheduler,
    nets::{find, networks},
};

use super::common::{Reference, batch, load, load_for, team};
use crate::common::owned_batch::OwnedBatch;

/// Largest difference of a value: the answers are probabilities and cosines, computed in f32 against f64.
const TOLERANCE: f64 = 5e-6;

/// Runs samples on one thread in batches of a size and compares each.
fn check(id: &str, batch_size: usize, sample_count: usize) {
    let instance = load(id, Precision::F32, batch_size).instance(team()).unwrap();
    check_instance(instance, id, batch_size, sample_count);
}

fn check_instance(mut instance: Box<dyn Instance>, id: &str, batch_size: usize, sample_count: usize) {
    let reference = Reference::read(id);
    let sample_count = sample_count.min(reference.sample_count());
    let mut largest: f64 = 0.0;
    for first in (0..sample_count).step_by(batch_size) {
        let samples = first..sample_count.min(first + batch_size);
        let mut run = batch(id, samples.clone().map(|sample| sample as u64));
        instance.execute(&mut run).unwrap();
        for (place, sample) in samples.enumerate() {
            largest = largest.max(compare(id, &reference, sample, &run, place));
        }
    }
    println!("{id}, batches of {batch_size}: largest difference {largest:.2e}");
}

/// Compares the answer at a place of a batch; returns the largest difference of a value.
fn compare(id: &str, reference: &Reference, sample: usize, run: &OwnedBatch, place: usize) -> f64 {
    let mut largest: f64 = 0.0;
    for (index, output) in find(id).unwrap().outputs.iter().enumerate() {
        let expected = reference.values(sample, &output.name);
        if output.name == "tokens" {
            let got: Vec<f64> = run.output_integers(place, index).into_iter().map(f64::from).collect();
            assert_eq!(got, expected, "{id}, sample {sample}");
            continue;
        }
        let got = run.output(place, index);
        assert_eq!(got.len(), expected.len(), "{id}, sample {sample}, {}", output.name);
        for (got, expected) in got.iter().zip(expected) {
            let difference = (f64::from(*got) - expected).abs();
            assert!(difference <= TOLERANCE, "{id}, sample {sample}, {}: {got} {expected}", output.name);
            largest = largest.max(difference);
        }
    }
    largest
}

#[test]
fn small_networks_answer_as_the_reference_does_whatever_the_batch() {
    for id in networks().iter().map(|network| network.id).filter(|id| id.ends_with("-tiny")) {
        for batch_size in [1, 2, 3, 16] {
            check(id, batch_size, 16);
        }
    }
}

/// Every layer on all threads of a team, which share its units.
struct Shared(usize);

impl Scheduler for Shared {
    fn plan(&self, calls: &[LayerCalls<'_>]) -> Vec<Schedule> {
        vec![Schedule { threads: self.0, mapping: Mapping::Columns, ..Schedule::SINGLE }; calls.len()]
    }
}

#[test]
fn several_threads_answer_as_one_does() {
    let tiny = networks().into_iter().map(|network| network.id).filter(|id| id.ends_with("-tiny"));
    // The ones above are too small to be split around the recurrent layers; this one is not.
    for (id, batch_size, sample_count) in tiny.map(|id| (id, 3, 16)).chain([("text-similarity", 2, 2)]) {
        for threads in [2, 3] {
            let model = load_for(&Shared(threads), id, Precision::F32, batch_size);
            let instance = model.instance(Team::new(threads)).unwrap();
            check_instance(instance, id, batch_size, sample_count);
        }
    }
}

#[test]
fn the_served_models_answer_as_the_reference_does() {
    for id in ["text-similarity", "attention-sum-reader", "bidaf"] {
        check(id, 2, 4);
    }
    check("text-similarity-33", 1, 1);
}

#[test]
fn the_large_models_answer_as_the_reference_does() {
    check("rnnt", 4, 16);
    check("gnmt", 4, 8);
}

#[test]
fn recipes_and_reference_agree_on_the_weights() {
    for id in recipes::network_names() {
        let recipe = recipes::recipe(id).unwrap();
        let expected = Reference::read(id).tensors();
        let shapes = |list: &[(String, Vec<usize>, f64)]| -> Vec<_> {
            list.iter().map(|(name, shape, _)| (name.clone(), shape.clone())).collect()
        };
        let got: Vec<_> = recipe
            .tensors
            .iter()
            .map(|tensor| {
                let mut first = vec![0.0; tensor.element_count().min(16)];
                tensor.write(recipe.seed, 0, &mut first);
                let sum = first.iter().map(|value| f64::from(*value)).sum::<f64>();
                (tensor.name.clone(), tensor.shape.clone(), sum)
            })
            .collect();
        assert_eq!(shapes(&got), shapes(&expected), "{id}");
        for (got, expected) in got.iter().zip(&expected) {
            assert!((got.2 - expected.2).abs() < 1e-9, "{id} {}: {} {}", got.0, got.2, expected.2);
        }
    }
}

#[test]
fn networks_take_what_their_recipes_make() {
    for network in networks() {
        let recipe = recipes::input_recipe(network.id).unwrap();
        let of_recipe: Vec<_> = recipe
            .tensors
            .iter()
            .map(|tensor| (tensor.name.to_owned(), tensor.element_type, tensor.shape.clone()))
            .collect();
        let of_network: Vec<_> = network
            .inputs
            .iter()
            .map(|input| (input.name.clone(), input.element_type, input.shape.clone()))
            .collect();
        assert_eq!(of_recipe, of_network, "{}", network.id);
    }
}

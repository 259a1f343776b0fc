//! Runs a network with generated weights on generated samples, compares with the reference outputs and prints how long
//! it takes.
//!
//!     cargo run --release -p proctor-rnn-models --example nets -- gnmt [samples] [batch] [threads] [f32|bf16|int8]
//!     [folder]

#[path = "../tests/suite/common/owned_batch.rs"]
mod owned_batch;

use std::{error::Error, path::PathBuf, sync::Arc, time::Instant};

use proctor_recipes as recipes;
use proctor_rnn_engine::Team;
use proctor_rnn_layer::{Directions, GruReset, Mapping, Precision, Schedule};
use proctor_rnn_models::{
    Batch, LayerCalls, LoadRequest, Scheduler,
    nets::{Network, find},
};

use owned_batch::OwnedBatch;

/// A plain rule in place of a search: directions apart where there are two, else columns.
struct Rule {
    threads: usize,
}

impl Scheduler for Rule {
    fn plan(&self, calls: &[LayerCalls<'_>]) -> Vec<Schedule> {
        let schedule = |call: &LayerCalls<'_>| {
            let mapping = match (self.threads, call.shape.directions) {
                (1, _) => Mapping::Single,
                (_, Directions::Bidirectional) => Mapping::Directions,
                _ => Mapping::Columns,
            };
            Schedule { threads: self.threads, mapping, ..Schedule::SINGLE }
        };
        calls.iter().map(schedule).collect()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = |index: usize, default: &str| arguments.get(index).map_or(default, String::as_str).to_owned();
    let network = find(&text(0, "gnmt-tiny")).ok_or("no such network")?;
    let (samples, batch_size): (usize, usize) = (text(1, "16").parse()?, text(2, "1").parse()?);
    let threads = text(3, "1").parse()?;
    let precision = match text(4, "f32").as_str() {
        "f32" => Precision::F32,
        "bf16" => Precision::Bf16,
        "int8" => Precision::Int8,
        other => return Err(format!("no precision {other}").into()),
    };
    let path = PathBuf::from(text(5, "target")).join(format!("{}.safetensors", network.id));
    if !path.exists() {
        let start = Instant::now();
        let recipe = recipes::recipe(network.id).ok_or("no recipe")?;
        recipes::write_safetensors(&recipe, &path, &mut |_| ())?;
        println!("wrote {} in {:.2?}", path.display(), start.elapsed());
    }
    let start = Instant::now();
    let model = network.load(&LoadRequest {
        model: network.id,
        safetensors: Some(&path),
        onnx: None,
        vocabulary: None,
        inputs: &network.inputs,
        outputs: &network.outputs,
        batch_size_max: batch_size,
        precision,
        reset: GruReset::AfterProduct,
        scheduler: &Rule { threads },
    })?;
    println!("loaded in {:.2?}", start.elapsed());
    print!("{}", model.summary());
    let mut instance = Arc::clone(&model).instance(Team::new(threads))?;
    for first in (0..samples).step_by(batch_size) {
        let mut batch = batch(&network, first..samples.min(first + batch_size));
        let start = Instant::now();
        instance.execute(&mut batch)?;
        let took = start.elapsed();
        println!("samples from {first}: {took:.2?}{}", differences(&network, &batch, first)?);
    }
    Ok(())
}

fn batch(network: &Network, samples: std::ops::Range<usize>) -> OwnedBatch {
    let recipe = recipes::input_recipe(network.id).expect("every network has samples");
    let room: Vec<usize> = network.outputs.iter().map(|output| output.element_count()).collect();
    let words = |bytes: &Vec<u8>| bytes.as_chunks().0.iter().map(|word| u32::from_ne_bytes(*word)).collect();
    let mut batch = OwnedBatch::default();
    for sample in samples {
        batch.push(recipe.sample(sample as u64).iter().map(words).collect(), &room);
    }
    batch
}

/// How a batch differs from the reference outputs, in words.
fn differences(network: &Network, batch: &OwnedBatch, first: usize) -> Result<String, Box<dyn Error>> {
    let path = format!("datasets/recipes/reference/{}.json", network.id);
    let reference: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let samples = reference["samples"].as_array().ok_or("no samples")?;
    let mut words = String::new();
    for (place, sample) in samples.iter().skip(first).take(Batch::sample_count(batch)).enumerate() {
        for (index, output) in network.outputs.iter().enumerate() {
            let values = sample[&output.name].as_array().ok_or("no such output")?;
            let expected: Vec<f64> = values.iter().filter_map(serde_json::Value::as_f64).collect();
            if output.name == "tokens" {
                let got: Vec<f64> = batch.output_integers(place, index).into_iter().map(f64::from).collect();
                let same = got.iter().zip(&expected).take_while(|(a, b)| a == b).count();
                words += &format!(", {} tokens, {same} of {} as expected", got.len(), expected.len());
            } else {
                let got = batch.output(place, index);
                let differences = got.iter().zip(&expected).map(|(a, b)| (f64::from(*a) - b).abs());
                words += &format!(", {} off by {:.1e}", output.name, differences.fold(0.0, f64::max));
            }
        }
    }
    Ok(words)
}

//! SmolLM2-135M-Instruct as it is published, against an implementation in NumPy. The file has 98 MB, and a test without
//! it skips itself.

use std::path::{Path, PathBuf};

use candle_core::{Device, Tensor};
use proctor_plugin_api::{
    Host,
    vocabulary::{ElementType::I32, ResponseId, SampleIndex},
};
use proctor_test_needs::{packages, skip};
use serde_json::Value;

use super::{
    attention::Words,
    cache::Capacity,
    config::LlamaConfig,
    decoder::Decoder,
    network::load,
    tests::{numbers, spec},
};
use crate::{
    network::{LoadRequest, Network, NetworkCall, Output},
    precision::Precision,
    weights::{Format, Weights},
};

const FOLDER: &str = "smollm2-135m";
const FILE: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";
const PROMPT: usize = 96;
const TOKENS_MAX: usize = 48;

fn file() -> Option<PathBuf> {
    packages(&[FOLDER]).map(|root| root.join(FOLDER).join(FILE)).map_err(skip).ok()
}

fn weights(path: &Path) -> Weights {
    Weights::open(path, Format::Gguf, Precision::F32, &Device::Cpu).unwrap()
}

fn reference() -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../datasets/recipes/reference");
    let text = std::fs::read_to_string(format!("{folder}/smollm2-135m-generate.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn integers(value: &Value) -> Vec<u32> {
    numbers(value).into_iter().map(|number| number as u32).collect()
}

fn network(path: &Path) -> Box<dyn Network> {
    load(&LoadRequest {
        model: "smollm2-135m-generate",
        weights: &weights(path),
        inputs: &[spec("input_ids", I32, PROMPT), spec("input_length", I32, 1)],
        outputs: &[spec("tokens", I32, TOKENS_MAX)],
        batch_size_max: 8,
        instance_count: 1,
        beam: None,
    })
    .unwrap()
}

fn texts(network: &dyn Network, prompts: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let lengths: Vec<u32> = prompts.iter().map(|prompt| prompt.len() as u32).collect();
    let padded = prompts.iter().flat_map(|prompt| {
        let mut prompt = prompt.clone();
        prompt.resize(PROMPT, 0);
        prompt
    });
    let tensor =
        |values: Vec<u32>, extent| Tensor::from_vec(values, (prompts.len(), extent), &Device::Cpu).unwrap();
    let call = NetworkCall {
        inputs: vec![tensor(padded.collect(), PROMPT), tensor(lengths, 1)],
        samples: (0..prompts.len() as u64).map(ResponseId).collect(),
        indices: (0..prompts.len() as u64).map(SampleIndex).collect(),
        dtype: candle_core::DType::F32,
        device: Device::Cpu,
        host: Host::detached(),
    };
    match network.run(&call).unwrap().remove(0) {
        Output::Tokens(texts) => {
            texts.into_iter().map(|text| text.into_iter().map(i32::cast_unsigned).collect()).collect()
        }
        other @ Output::Tensor(_) => panic!("{other:?}"),
    }
}

#[test]
fn answers_are_those_of_the_reference_alone_and_in_batches() {
    let Some(path) = file() else { return };
    let network = network(&path);
    let reference = reference();
    let samples = reference["samples"].as_array().unwrap();
    let (prompts, right): (Vec<_>, Vec<_>) =
        samples.iter().map(|sample| (integers(&sample["prompt"]), integers(&sample["tokens"]))).unzip();
    assert_eq!(texts(&*network, &prompts[..1]), right[..1]);
    assert_eq!(texts(&*network, &prompts[4..5]), right[4..5]);
    for (index, (prompts, right)) in prompts.chunks(8).zip(right.chunks(8)).enumerate() {
        assert_eq!(texts(&*network, prompts), right, "batch {index}");
    }
}

#[test]
fn the_likelihood_of_a_text_is_that_of_the_reference() {
    let Some(path) = file() else { return };
    let reference = reference();
    let tokens = integers(&reference["text"]["tokens"]);
    let (config, _) = LlamaConfig::of("smollm2-135m").unwrap();
    let decoder = Decoder::load(config, tokens.len(), &weights(&path)).unwrap();
    let capacity = Capacity { prompts: 1, beam: 1, prompt_words: 1, fed_words: tokens.len() - 1 };
    let cache = decoder.cache(capacity).unwrap();
    let (mut logits, prompts) = decoder.read_prompts(&[vec![tokens[0]]], Some(&cache)).unwrap();
    let mut sum = 0.0;
    for (fed, (token, right)) in
        tokens[1..].iter().zip(numbers(&reference["text"]["log_likelihoods"])).enumerate()
    {
        let row: Vec<f32> = logits.flatten_all().unwrap().to_vec1().unwrap();
        let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let total: f64 = row.iter().map(|logit| f64::from(logit - most).exp()).sum();
        let likelihood = f64::from(row[*token as usize] - most) - total.ln();
        assert!((likelihood - right).abs() <= 2e-3, "token {fed}: {likelihood} instead of {right}");
        sum += likelihood;
        let words = Words { beam: 1, fed, positions: decoder.positions(vec![fed as u32 + 1]).unwrap() };
        logits = decoder.feed(&[*token], &prompts, &words, &cache).unwrap();
    }
    let perplexity = (-sum / (tokens.len() - 1) as f64).exp();
    let right = reference["perplexity"].as_f64().unwrap();
    assert!((perplexity / right - 1.0).abs() <= 1e-4, "{perplexity} instead of {right}");
}

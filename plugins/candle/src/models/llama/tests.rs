//! The tiny decoder against the answers of another implementation, and its parts against each other.

use std::sync::LazyLock;

use candle_core::{DType, Device, Tensor};
use proctor_plugin_api::{
    Host,
    vocabulary::{
        ElementType::{F32, I32},
        ResponseId, SampleIndex, TensorSpec,
    },
};
use proctor_recipes::{input_recipe, recipe, write_safetensors};
use serde_json::Value;

use super::{
    attend::{Extent, attend},
    attention::{Attention, Prompts, Words},
    cache::{Capacity, KvCache},
    config::LlamaConfig,
    decoder::Decoder,
    network::load,
    rotary::Rotary,
};
use crate::{
    error::LoadError,
    network::{LoadRequest, Network, NetworkCall, Output},
    precision::Precision,
    weights::{Format, Weights},
};

pub(super) const MODEL: &str = "llama-tiny";
pub(super) const PROMPT: usize = 10;
const TOKENS_MAX: usize = 12;

/// The file of weights, made once.
static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("llama-tiny.safetensors");
    write_safetensors(&recipe(MODEL).unwrap(), &path, &mut |_| ()).unwrap();
    folder
});

pub(super) fn weights(precision: Precision) -> Weights {
    let path = FOLDER.path().join("llama-tiny.safetensors");
    Weights::open(&path, Format::Safetensors, precision, &Device::Cpu).unwrap()
}

pub(super) fn spec(
    name: &str,
    element_type: proctor_plugin_api::vocabulary::ElementType,
    extent: usize,
) -> TensorSpec {
    TensorSpec { name: name.into(), element_type, shape: vec![extent] }
}

/// Loads a use of the decoder, with room for batches of 8.
fn try_network(
    id: &str,
    precision: Precision,
    beam: Option<usize>,
    output: TensorSpec,
) -> Result<Box<dyn Network>, LoadError> {
    load(&LoadRequest {
        model: id,
        weights: &weights(precision),
        inputs: &[spec("input_ids", I32, PROMPT), spec("input_length", I32, 1)],
        outputs: &[output],
        batch_size_max: 8,
        instance_count: 1,
        beam,
    })
}

fn logits_network(precision: Precision) -> Box<dyn Network> {
    try_network(MODEL, precision, None, spec("logits", F32, 96)).unwrap()
}

fn text_network(id: &str, beam: Option<usize>) -> Box<dyn Network> {
    try_network(id, Precision::F32, beam, spec("tokens", I32, TOKENS_MAX)).unwrap()
}

/// A sample as the data set makes it: words with their padding, and how many there are.
fn sample(index: u64) -> (Vec<u32>, u32) {
    let tensors = input_recipe(MODEL).unwrap().sample(index);
    let integers =
        |bytes: &[u8]| -> Vec<u32> { bytes.as_chunks().0.iter().map(|it| u32::from_ne_bytes(*it)).collect() };
    (integers(&tensors[0]), integers(&tensors[1])[0])
}

pub(super) fn prompt(index: u64) -> Vec<u32> {
    let (words, length) = sample(index);
    words[..length as usize].to_vec()
}

fn call(samples: &[(Vec<u32>, u32)]) -> NetworkCall {
    let tensor = |values: Vec<u32>, extent| Tensor::from_vec(values, (samples.len(), extent), &Device::Cpu);
    let words = samples.iter().flat_map(|(words, _)| words.clone()).collect();
    let lengths = samples.iter().map(|(_, length)| *length).collect();
    NetworkCall {
        inputs: vec![tensor(words, PROMPT).unwrap(), tensor(lengths, 1).unwrap()],
        samples: (0..samples.len() as u64).map(ResponseId).collect(),
        indices: (100..100 + samples.len() as u64).map(SampleIndex).collect(),
        dtype: DType::F32,
        device: Device::Cpu,
        host: Host::detached(),
    }
}

fn logits(network: &dyn Network, samples: &[(Vec<u32>, u32)]) -> Vec<Vec<f32>> {
    match network.run(&call(samples)).unwrap().remove(0) {
        Output::Tensor(logits) => logits.to_vec2().unwrap(),
        other @ Output::Tokens(_) => panic!("{other:?}"),
    }
}

fn texts(network: &dyn Network, samples: &[(Vec<u32>, u32)]) -> Vec<Vec<i32>> {
    match network.run(&call(samples)).unwrap().remove(0) {
        Output::Tokens(tokens) => tokens,
        other @ Output::Tensor(_) => panic!("{other:?}"),
    }
}

/// Outputs that `datasets/recipes/make_reference.py` computed: one of each of the first samples.
pub(super) fn reference(id: &str, output: &str) -> Vec<Vec<f64>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../datasets/recipes/reference");
    let text = std::fs::read_to_string(format!("{folder}/{id}.json")).unwrap();
    let reference: Value = serde_json::from_str(&text).unwrap();
    reference["samples"].as_array().unwrap().iter().map(|sample| numbers(&sample[output])).collect()
}

pub(super) fn numbers(values: &Value) -> Vec<f64> {
    values.as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect()
}

pub(super) fn largest_difference<'a>(
    ours: impl IntoIterator<Item = &'a f32>,
    right: impl IntoIterator<Item = f64>,
) -> f64 {
    let pairs = ours.into_iter().zip(right);
    pairs.map(|(ours, right)| (f64::from(*ours) - right).abs()).fold(0.0, f64::max)
}

#[test]
fn logits_are_those_of_another_implementation_in_every_precision() {
    let right = reference(MODEL, "logits");
    let samples: Vec<_> = (0..8).map(sample).collect();
    for (precision, tolerance) in [(Precision::F32, 1e-4), (Precision::F16, 5e-2), (Precision::Bf16, 3e-1)] {
        let network = logits_network(precision);
        for (ours, right) in logits(&*network, &samples).iter().zip(&right) {
            let difference = largest_difference(ours, right.iter().copied());
            assert!(difference <= tolerance, "{precision:?}: {difference}");
            // Less precision is really used.
            assert!(precision == Precision::F32 || difference > 1e-4, "{precision:?}: {difference}");
        }
    }
}

#[test]
fn texts_are_those_of_another_implementation() {
    for id in ["llama-tiny-generate", "llama-tiny-generate-beam4"] {
        let network = text_network(id, None);
        let right = reference(id, "tokens");
        assert!(
            right.iter().any(|text| text.len() < TOKENS_MAX)
                && right.iter().any(|text| text.len() == TOKENS_MAX)
        );
        for (first, right) in (0..).step_by(8).zip(right.chunks(8)) {
            let samples: Vec<_> = (first..first + right.len() as u64).map(sample).collect();
            for (index, (ours, right)) in (first..).zip(texts(&*network, &samples).iter().zip(right)) {
                let ours: Vec<f64> = ours.iter().copied().map(f64::from).collect();
                assert_eq!(ours, *right, "{id}, sample {index}");
            }
        }
    }
}

#[test]
fn the_option_sets_the_width_of_the_beam() {
    let samples: Vec<_> = (0..8).map(sample).collect();
    let of = |id, beam| texts(&*text_network(id, beam), &samples);
    let (greedy, beam) = (of("llama-tiny-generate", None), of("llama-tiny-generate-beam4", None));
    assert_ne!(greedy, beam);
    assert_eq!(of("llama-tiny-generate", Some(4)), beam);
    assert_eq!(of("llama-tiny-generate-beam4", Some(1)), greedy);
    assert!(text_network("llama-tiny-generate", Some(3)).summary().contains("beam of 3"));
}

#[test]
fn a_batch_gives_what_its_samples_give_alone() {
    let samples: Vec<_> = (0..8).map(sample).collect();
    assert!(samples.iter().any(|(_, length)| *length != samples[0].1), "prompts of different lengths");
    let network = logits_network(Precision::F32);
    for (together, sample) in logits(&*network, &samples).iter().zip(&samples) {
        let alone = logits(&*network, std::slice::from_ref(sample));
        assert!(largest_difference(together, alone[0].iter().copied().map(f64::from)) <= 1e-5);
    }
    for id in ["llama-tiny-generate", "llama-tiny-generate-beam4"] {
        let network = text_network(id, None);
        let alone: Vec<_> =
            samples.iter().flat_map(|sample| texts(&*network, std::slice::from_ref(sample))).collect();
        assert_eq!(texts(&*network, &samples), alone, "{id}");
    }
}

#[test]
fn what_lies_beyond_a_prompt_does_not_matter() {
    let network = logits_network(Precision::F32);
    let (words, length) = (0..).map(sample).find(|(_, length)| *length < 8).unwrap();
    let mut other = words.clone();
    other[length as usize..].fill(95);
    assert_eq!(logits(&*network, &[(words, length)]), logits(&*network, &[(other, length)]));
}

/// Feeds texts word by word, with parents that move them, and compares with the whole text read at once.
#[test]
fn the_cache_gives_what_the_whole_text_gives() {
    let (config, _) = LlamaConfig::of(MODEL).unwrap();
    let decoder = Decoder::load(config, PROMPT + 4, &weights(Precision::F32)).unwrap();
    let capacity = Capacity { prompts: 3, beam: 2, prompt_words: PROMPT, fed_words: 4 };
    let cache = decoder.cache(capacity).unwrap();
    let prompts = [prompt(0), prompt(1)];
    assert_ne!(prompts[0].len(), prompts[1].len());
    let (_, batch) = decoder.read_prompts(&prompts, Some(&cache)).unwrap();
    let mut fed: Vec<Vec<u32>> = vec![Vec::new(); 4];
    for (step, (parents, words)) in
        [([0, 1, 2, 3], [5, 6, 7, 8]), ([1, 0, 2, 2], [9, 10, 11, 12]), ([0, 0, 3, 2], [13, 14, 15, 16])]
            .into_iter()
            .enumerate()
    {
        cache.reorder(&parents, step).unwrap();
        fed = parents.iter().map(|parent| fed[*parent as usize].clone()).collect();
        fed.iter_mut().zip(words).for_each(|(text, word)| text.push(word));
        let positions = [0, 0, 1, 1].map(|prompt: usize| (prompts[prompt].len() + step) as u32);
        let words_now =
            Words { beam: 2, fed: step, positions: decoder.positions(positions.to_vec()).unwrap() };
        let with_cache: Vec<Vec<f32>> =
            decoder.feed(&words, &batch, &words_now, &cache).unwrap().to_vec2().unwrap();
        for (text, with_cache) in with_cache.iter().enumerate() {
            let whole = [prompts[text / 2].clone(), fed[text].clone()].concat();
            let (without, _) = decoder.read_prompts(&[whole], None).unwrap();
            let without: Vec<Vec<f32>> = without.to_vec2().unwrap();
            let difference = largest_difference(with_cache, without[0].iter().copied().map(f64::from));
            assert!(difference <= 1e-5, "step {step}, text {text}: {difference}");
        }
    }
}

/// On the CPU a word's attention is computed over the cache itself, elsewhere by the engine's operations.
#[test]
fn both_ways_of_attention_agree() {
    let (config, _) = LlamaConfig::of(MODEL).unwrap();
    let capacity = Capacity { prompts: 3, beam: 2, prompt_words: 9, fed_words: 5 };
    for (dtype, tolerance) in [(DType::F32, 1e-6), (DType::F16, 2e-3)] {
        let random = |shape: &[usize]| {
            let values = Tensor::randn(0f32, 1.0, shape, &Device::Cpu).unwrap();
            values.to_dtype(dtype).unwrap()
        };
        let cache = KvCache::new(&config, capacity, dtype, &Device::Cpu).unwrap();
        let layer = &cache.layers[1];
        layer.keep_prompts(&random(&[2, 2, 7, 8]), &random(&[2, 2, 7, 8])).unwrap();
        (0..3).for_each(|fed| layer.keep_words(&random(&[4, 2, 1, 8]), &random(&[4, 2, 1, 8]), fed).unwrap());
        let hidden = f32::NEG_INFINITY;
        let padding =
            Tensor::new(&[[0f32; 7], [0.0, 0.0, 0.0, hidden, hidden, hidden, hidden]], &Device::Cpu);
        let prompts = Prompts {
            count: 2,
            words: 7,
            lengths: vec![7, 3],
            causal: Tensor::zeros((7, 7), DType::F32, &Device::Cpu).unwrap(),
            padding: padding.unwrap().reshape((2, 1, 1, 7)).unwrap(),
        };
        let positions = Tensor::zeros(4, DType::U32, &Device::Cpu).unwrap();
        let words = Words { beam: 2, fed: 2, positions };
        let rotary = Rotary::new(config.rope_theta, config.head_dim(), 12, dtype, &Device::Cpu).unwrap();
        let q = random(&[4, 4, 1, 8]);
        let by_products = Attention::new(&config, rotary).by_products(&q, &prompts, &words, layer).unwrap();
        let extent = Extent { lengths: &prompts.lengths, beam: 2, words: 3, kv_heads: 2 };
        let [at_once, by_products] = [attend(&q, layer, extent).unwrap(), by_products].map(|mixed| {
            mixed.to_dtype(DType::F32).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap()
        });
        let difference = largest_difference(&at_once, by_products.iter().copied().map(f64::from));
        assert!(difference <= tolerance, "{dtype:?}: {difference}");
    }
}

#[test]
fn a_prompt_that_is_none_is_an_error_with_its_sample() {
    let good = sample(0);
    let error = |bad: (Vec<u32>, u32)| {
        let networks = [logits_network(Precision::F32), text_network("llama-tiny-generate", None)];
        let samples = [good.clone(), bad];
        let errors = networks.map(|network| network.run(&call(&samples)).unwrap_err().to_string());
        assert_eq!(errors[0], errors[1]);
        errors[0].lines().next().unwrap().to_owned()
    };
    let words = |place: usize, word: u32| {
        let mut words = vec![3; PROMPT];
        words[place] = word;
        words
    };
    assert_eq!(error((words(0, 3), 0)), "sample 101: input_length is 0, not from 1 to 10");
    assert_eq!(error((words(0, 3), 11)), "sample 101: input_length is 11, not from 1 to 10");
    assert_eq!(error((words(0, 3), u32::MAX)), "sample 101: input_length is -1, not from 1 to 10");
    assert_eq!(error((words(4, 96), 5)), "sample 101: input_ids[4] is 96, which is none of the 96 words");
    assert_eq!(
        error((words(1, u32::MAX), 5)),
        "sample 101: input_ids[1] is -1, which is none of the 96 words"
    );
    // Words beyond the length are not read.
    assert!(logits_network(Precision::F32).run(&call(&[(words(5, 96), 5)])).is_ok());
}

#[test]
fn a_model_that_does_not_fit_is_refused() {
    let refused = |id: &str, output| try_network(id, Precision::F32, None, output).unwrap_err().to_string();
    let tokens = |extent| spec("tokens", I32, extent);
    assert!(
        refused("llama-tiny-generate-beam99", tokens(4)).contains("no model \"llama-tiny-generate-beam99\"")
    );
    assert!(refused("llama-tiny-generate", tokens(1)).contains("2 tokens or more"));
    assert!(refused("llama-tiny-generate", spec("logits", F32, 96)).contains("tokens i32[any]"));
    assert!(refused(MODEL, spec("logits", F32, 97)).contains("logits f32[96]"));
    // The weights of another decoder.
    let error = refused("llama-small", spec("logits", F32, 8192));
    assert!(error.contains("model.embed_tokens.weight") && error.contains("[8192, 512]"), "{error}");
}

#[test]
fn a_missing_tensor_is_named() {
    let mut short = recipe(MODEL).unwrap();
    short.tensors.retain(|tensor| tensor.name != "model.layers.1.mlp.up_proj.weight");
    let path = FOLDER.path().join("short.safetensors");
    write_safetensors(&short, &path, &mut |_| ()).unwrap();
    let weights = Weights::open(&path, Format::Safetensors, Precision::F32, &Device::Cpu).unwrap();
    let (config, _) = LlamaConfig::of(MODEL).unwrap();
    let error = Decoder::load(config, PROMPT, &weights).unwrap_err().to_string();
    assert!(
        error.contains("short.safetensors") && error.contains("model.layers.1.mlp.up_proj.weight"),
        "{error}"
    );
}

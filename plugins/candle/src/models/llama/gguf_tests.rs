//! The tiny decoder from a GGUF file that is made here, in numbers and in blocks.

use std::{fs, path::PathBuf};

use candle_core::{Device, Tensor};
use gemm::f16;
use proptest::prelude::*;
use tempfile::TempDir;

use super::{
    config::LlamaConfig,
    decoder::Decoder,
    tests::{MODEL, PROMPT, largest_difference, prompt, reference, weights},
};
use crate::{
    error::LoadError,
    ops::blocks::Blocks,
    precision::Precision,
    weights::{Format, Weights},
};

/// How tensors are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// In f32.
    Plain,
    /// Matrices whose rows are whole blocks in Q4_1, but embedding and head in Q8_0.
    Blocks,
    /// In f32, the values of those blocks.
    ValuesOfBlocks,
}

/// The tensors: their names in the file, those in a checkpoint, and their shapes.
fn tensors(config: &LlamaConfig) -> Vec<(String, String, Vec<usize>)> {
    let (hidden, inside) = (config.hidden_size, config.intermediate_size);
    let kv = config.num_key_value_heads * config.head_dim();
    let named = |ours: &str, theirs: &str, shape: &[usize]| {
        (format!("{ours}.weight"), format!("{theirs}.weight"), shape.to_vec())
    };
    let mut tensors = vec![
        named("token_embd", "model.embed_tokens", &[config.vocab_size, hidden]),
        named("output_norm", "model.norm", &[hidden]),
        named("output", "lm_head", &[config.vocab_size, hidden]),
    ];
    for layer in 0..config.num_hidden_layers {
        tensors.extend(
            [
                ("attn_norm", "input_layernorm", &[hidden][..]),
                ("attn_q", "self_attn.q_proj", &[hidden, hidden]),
                ("attn_k", "self_attn.k_proj", &[kv, hidden]),
                ("attn_v", "self_attn.v_proj", &[kv, hidden]),
                ("attn_output", "self_attn.o_proj", &[hidden, hidden]),
                ("ffn_norm", "post_attention_layernorm", &[hidden]),
                ("ffn_gate", "mlp.gate_proj", &[inside, hidden]),
                ("ffn_up", "mlp.up_proj", &[inside, hidden]),
                ("ffn_down", "mlp.down_proj", &[hidden, inside]),
            ]
            .map(|(ours, theirs, shape)| {
                named(&format!("blk.{layer}.{ours}"), &format!("model.layers.{layer}.{theirs}"), shape)
            }),
        );
    }
    tensors
}

/// Returns the rows of a head so that the two values that are turned together lie side by side.
fn side_by_side(values: &[f32], heads: usize, columns: usize) -> Vec<f32> {
    let rows: Vec<&[f32]> = values.chunks_exact(columns).collect();
    let width = rows.len() / heads;
    let of_head = |head: &[&[f32]]| -> Vec<f32> {
        (0..width / 2).flat_map(|pair| [head[pair], head[pair + width / 2]].concat()).collect()
    };
    rows.chunks_exact(width).flat_map(of_head).collect()
}

fn halves(block: &[f32]) -> Vec<u8> {
    let least = block.iter().copied().fold(f32::INFINITY, f32::min);
    let most = block.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let scale = ((most - least) / 15.0).max(1e-6);
    let step = |value: f32| ((value - least) / scale).round().clamp(0.0, 15.0) as u8;
    let steps = (0..16).map(|at| step(block[at]) | step(block[at + 16]) << 4);
    [scale, least]
        .map(|value| f16::from_f32(value).to_le_bytes())
        .as_flattened()
        .iter()
        .copied()
        .chain(steps)
        .collect()
}

fn bytes(block: &[f32]) -> Vec<u8> {
    let most = block.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    let scale = (most / 127.0).max(1e-6);
    let steps =
        block.iter().map(|value| (value / scale).round().clamp(-127.0, 127.0) as i8).map(i8::cast_unsigned);
    f16::from_f32(scale).to_le_bytes().into_iter().chain(steps).collect()
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

/// The bytes of a file of the tiny decoder, with the sizes that `declared` has.
fn file(kept: Kept, declared: &LlamaConfig) -> Vec<u8> {
    let (config, _) = LlamaConfig::of(MODEL).unwrap();
    let weights = weights(Precision::F32);
    let (mut infos, mut data) = (Vec::new(), Vec::new());
    let tensors = tensors(&config);
    for (ours, theirs, shape) in &tensors {
        let columns = shape[shape.len() - 1];
        let values: Vec<f32> =
            weights.exact(theirs, shape).unwrap().flatten_all().unwrap().to_vec1().unwrap();
        let values = match ours.split('.').nth(2) {
            Some("attn_q") => side_by_side(&values, config.num_attention_heads, columns),
            Some("attn_k") => side_by_side(&values, config.num_key_value_heads, columns),
            _ => values,
        };
        let in_blocks = shape.len() == 2 && columns.is_multiple_of(32) && kept != Kept::Plain;
        let plain = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        let rows: Vec<usize> = (0..values.len() / columns).collect();
        let (kind, bytes) = if !in_blocks {
            (0_u32, plain(&values))
        } else if ours.starts_with("blk.") {
            (3, values.chunks_exact(32).flat_map(halves).collect())
        } else {
            (8, values.chunks_exact(32).flat_map(bytes).collect())
        };
        let (kind, bytes) = match (kept, kind) {
            (Kept::ValuesOfBlocks, 3 | 8) => {
                let of: fn(&[u8], usize, &[usize]) -> Blocks =
                    if kind == 3 { Blocks::of_q4_1 } else { Blocks::of_q8_0 };
                let values = of(&bytes, columns, &rows).unpack(&rows).unwrap();
                (0, plain(&values.flatten_all().unwrap().to_vec1::<f32>().unwrap()))
            }
            _ => (kind, bytes),
        };
        infos.extend([text(ours), (shape.len() as u32).to_le_bytes().to_vec()].concat());
        shape.iter().rev().for_each(|extent| infos.extend((*extent as u64).to_le_bytes()));
        infos.extend(kind.to_le_bytes());
        infos.extend((data.len() as u64).to_le_bytes());
        data.extend(bytes);
        data.resize(data.len().next_multiple_of(32), 0);
    }
    let mut values = vec![[text("general.architecture"), vec![8, 0, 0, 0], text("llama")].concat()];
    for (name, size) in [
        ("block_count", declared.num_hidden_layers),
        ("embedding_length", declared.hidden_size),
        ("feed_forward_length", declared.intermediate_size),
        ("attention.head_count", declared.num_attention_heads),
        ("attention.head_count_kv", declared.num_key_value_heads),
    ] {
        values.push(
            [text(&format!("llama.{name}")), vec![4, 0, 0, 0], (size as u32).to_le_bytes().to_vec()].concat(),
        );
    }
    for (name, number) in
        [("attention.layer_norm_rms_epsilon", declared.rms_norm_eps), ("rope.freq_base", declared.rope_theta)]
    {
        let number = (number as f32).to_le_bytes().to_vec();
        values.push([text(&format!("llama.{name}")), vec![6, 0, 0, 0], number].concat());
    }
    let counts = [tensors.len() as u64, values.len() as u64].map(u64::to_le_bytes);
    let mut file = [b"GGUF\x03\0\0\0", counts.as_flattened(), &values.concat(), &infos].concat();
    file.resize(file.len().next_multiple_of(32), 0);
    [file, data].concat()
}

fn config() -> LlamaConfig {
    LlamaConfig::of(MODEL).unwrap().0
}

/// Writes a file, and loads it.
fn load(bytes: &[u8], precision: Precision) -> (TempDir, PathBuf, Result<Decoder, LoadError>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.gguf");
    fs::write(&path, bytes).unwrap();
    let decoder = Weights::open(&path, Format::Gguf, precision, &Device::Cpu)
        .and_then(|weights| Decoder::load(config(), PROMPT, &weights));
    (folder, path, decoder)
}

fn logits(bytes: &[u8], precision: Precision) -> Vec<f32> {
    let decoder = load(bytes, precision).2.unwrap();
    let prompts: Vec<Vec<u32>> = (0..8).map(prompt).collect();
    let (logits, _): (Tensor, _) = decoder.read_prompts(&prompts, None).unwrap();
    logits.flatten_all().unwrap().to_vec1().unwrap()
}

#[test]
fn a_file_in_numbers_gives_the_logits_of_the_checkpoint() {
    let right = reference(MODEL, "logits").into_iter().take(8).flatten();
    let difference = largest_difference(&logits(&file(Kept::Plain, &config()), Precision::F32), right);
    assert!(difference <= 1e-4, "{difference}");
}

#[test]
fn blocks_give_what_their_values_give_in_every_precision() {
    let [blocks, values] = [Kept::Blocks, Kept::ValuesOfBlocks].map(|kept| file(kept, &config()));
    assert!(blocks.len() < values.len() / 2);
    let right: Vec<f64> = logits(&values, Precision::F32).into_iter().map(f64::from).collect();
    for (precision, tolerance) in [(Precision::F32, 1e-4), (Precision::F16, 5e-2), (Precision::Bf16, 3e-1)] {
        let difference = largest_difference(&logits(&blocks, precision), right.iter().copied());
        assert!(difference <= tolerance, "{precision:?}: {difference}");
    }
    let unrounded = reference(MODEL, "logits").into_iter().take(8).flatten();
    assert!(largest_difference(&logits(&blocks, Precision::F32), unrounded) > 1e-3, "4 bits are coarse");
}

#[test]
fn a_file_of_another_network_is_refused_by_what_differs() {
    let refused = |bytes: &[u8]| load(bytes, Precision::F32).2.unwrap_err().to_string();
    let other = LlamaConfig { rope_theta: 1e5, ..config() };
    let error = refused(&file(Kept::Plain, &other));
    assert!(error.ends_with("tiny.gguf has 100000 for rope.freq_base, not 10000"), "{error}");
    let sound = file(Kept::Plain, &config());
    let replaced = |from: &[u8], to: &[u8]| {
        let at = sound.windows(from.len()).position(|bytes| bytes == from).unwrap();
        [&sound[..at], to, &sound[at + to.len()..]].concat()
    };
    let error = refused(&replaced(b"\x05\0\0\0\0\0\0\0llama", b"\x05\0\0\0\0\0\0\0gpt-2"));
    assert!(error.contains("has a network of the kind gpt-2"), "{error}");
    let error = refused(&replaced(b"llama.block_count", b"llama.block-count"));
    assert!(error.contains("tiny.gguf has no value \"llama.block_count\""), "{error}");
    let error = refused(&replaced(b"blk.1.ffn_up", b"blk.1.ffn-up"));
    assert!(error.contains("has no tensor \"model.layers.1.mlp.up_proj.weight\""), "{error}");
    let error = refused(&sound[..sound.len() - 32]);
    assert!(error.contains("truncated"), "{error}");
    for heads in [0, 5, 3_000_000_000] {
        let other = LlamaConfig { num_attention_heads: heads, ..config() };
        let error = refused(&file(Kept::Plain, &other));
        assert!(error.contains("for attention.head_count, not 4"), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn changed_bytes_of_a_header_are_read_or_refused(
        changes in prop::collection::vec((0..1500_usize, any::<u8>()), 1..4),
    ) {
        let mut bytes = file(Kept::Blocks, &config());
        changes.into_iter().for_each(|(at, byte)| bytes[at] = byte);
        if let Ok(decoder) = load(&bytes, Precision::F32).2 {
            prop_assert!(decoder.read_prompts(&[prompt(0)], None).is_ok());
        }
    }
}

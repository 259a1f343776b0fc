//! A decoder of the Llama family: weights with the names of its usual checkpoints, and prompts for it.
//!
//! What the tensors mean is written in `datasets/recipes/llama.md`.

use proctor_vocabulary::ElementType::I32;

use super::{Fill, InputRecipe, InputTensor, InputValues, ModelRecipe, TensorRecipe, rnn::root};

/// The decoders that there are recipes for. The `-tiny` one is the same with small sizes, for tests.
pub const LLAMAS: [&str; 2] = ["llama-small", "llama-tiny"];

/// Sizes of a decoder, and the scales that make what it says lively.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LlamaSizes {
    /// Number of words.
    pub vocabulary: usize,
    /// Width of the stream between the layers.
    pub hidden: usize,
    /// Number of layers.
    pub layers: usize,
    /// Heads of the queries; `hidden / heads` is the width of each.
    pub heads: usize,
    /// Heads of keys and values, each for `heads / kv_heads` neighbouring heads of queries.
    pub kv_heads: usize,
    /// Width inside the feed-forward network.
    pub intermediate: usize,
    /// Most words of a prompt.
    pub prompt: usize,
    /// Fewest words of a prompt.
    prompt_low: usize,
    /// Every weight of the row of the end of the text: see "Weights that end" in `llama.md`.
    end_weight: f32,
}

/// Base of the rotary position embedding.
pub const LLAMA_ROPE_THETA: f64 = 10_000.0;

/// What is added to the mean of squares in a norm.
pub const LLAMA_NORM_EPSILON: f64 = 1e-5;

/// The word that ends a text. Words 0 to 2 mean something special: a prompt has none of them.
pub const LLAMA_END: u32 = 2;

const SMALL: LlamaSizes = LlamaSizes {
    vocabulary: 8192,
    hidden: 512,
    layers: 8,
    heads: 8,
    kv_heads: 2,
    intermediate: 1408,
    prompt: 64,
    prompt_low: 8,
    end_weight: 0.25,
};

const TINY: LlamaSizes = LlamaSizes {
    vocabulary: 96,
    hidden: 32,
    layers: 2,
    heads: 4,
    kv_heads: 2,
    intermediate: 48,
    prompt: 10,
    prompt_low: 2,
    end_weight: 1.0,
};

/// The sizes of a decoder by the name of its recipe.
#[must_use]
pub fn llama_sizes(name: &str) -> Option<LlamaSizes> {
    match name {
        "llama-small" => Some(SMALL),
        "llama-tiny" => Some(TINY),
        _ => None,
    }
}

/// The tensors in the order of the layers. A scale of `a * root(width)` gives outputs a deviation of `a / sqrt(3)` for
/// inputs of deviation 1.
pub(super) fn recipe(name: &str) -> Option<ModelRecipe> {
    let sizes = llama_sizes(name)?;
    let LlamaSizes { vocabulary, hidden, intermediate, .. } = sizes;
    let kv = sizes.kv_heads * (hidden / sizes.heads);
    let mut recipe = ModelRecipe::new(name);
    let mut add = |name: String, shape: Vec<usize>, scale: f32| {
        recipe.tensors.push(TensorRecipe { name, shape, scale, fills: Vec::new() });
    };
    add("model.embed_tokens.weight".to_owned(), vec![vocabulary, hidden], 1.0);
    for layer in 0..sizes.layers {
        let mut add = |part: &str, shape: &[usize], scale: f32| {
            let width = shape.get(1).map_or(1.0, |width| root(*width));
            add(format!("model.layers.{layer}.{part}.weight"), shape.to_vec(), scale * width);
        };
        add("input_layernorm", &[hidden], NORM);
        add("self_attn.q_proj", &[hidden, hidden], 2.5);
        add("self_attn.k_proj", &[kv, hidden], 2.5);
        add("self_attn.v_proj", &[kv, hidden], 2.0);
        add("self_attn.o_proj", &[hidden, hidden], 2.0);
        add("post_attention_layernorm", &[hidden], NORM);
        add("mlp.gate_proj", &[intermediate, hidden], 2.5);
        add("mlp.up_proj", &[intermediate, hidden], 2.0);
        add("mlp.down_proj", &[hidden, intermediate], 2.0);
    }
    add("model.norm.weight".to_owned(), vec![hidden], NORM);
    add("lm_head.weight".to_owned(), vec![vocabulary, hidden], 5.0 * root(hidden));
    let head = recipe.tensors.last_mut()?;
    head.fills.push(Fill { start: LLAMA_END as usize * hidden, count: hidden, value: sizes.end_weight });
    Some(recipe)
}

/// Scale of the weights of the norms: their deviation is 1.
const NORM: f32 = 1.75;

/// Prompts: the ids of the words, those that are common in most places, and how many there are.
///
/// `<name>-generate`, with or without a width of the beam behind it, takes the same ones as `<name>`.
pub(super) fn input_recipe(name: &str) -> Option<InputRecipe> {
    let model = name.split_once("-generate").map_or(name, |(model, _)| model);
    let sizes = llama_sizes(model)?;
    let bound = |count: usize| u32::try_from(count).expect("sizes are small");
    let words =
        InputValues::Words { vocabulary: bound(sizes.vocabulary), first: LLAMA_END + 1, lengths: "input_length" };
    let lengths = InputValues::Lengths { low: bound(sizes.prompt_low), high: bound(sizes.prompt) };
    let tensor = |name, extent, values| InputTensor { name, element_type: I32, shape: vec![extent], values };
    Some(InputRecipe::new(
        model,
        vec![tensor("input_ids", sizes.prompt, words), tensor("input_length", 1, lengths)],
    ))
}

//! A decoder of the Llama family (Touvron et al. 2023): the logits after a prompt; the names are Hugging Face's.
//!
//! `datasets/recipes/llama.md` says what is computed, also of the texts that a plugin makes with the same weights.

use proctor_vocabulary::ElementType::I32;

use super::{Model, net::Net};
use crate::{
    inputs::{InputRecipe, InputTensor, InputValues},
    rnn_layer::root,
    weights::{Fill, ModelRecipe},
};

/// Sizes of a decoder, and of its prompts.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    name: &'static str,
    vocabulary: usize,
    width: usize,
    layers: usize,
    /// Number of heads of queries.
    heads: usize,
    /// Number of heads of keys and values, each for `heads / kv_heads` neighbouring heads of queries.
    kv_heads: usize,
    /// Width inside the feed-forward network.
    inner: usize,
    /// Number of places of a prompt.
    steps: usize,
    /// The shortest prompt.
    shortest: u32,
    /// Every weight of the end's row of the last layer: see "Weights that end" in `llama.md`.
    end_weight: f32,
}

pub(super) const SMALL: Sizes = Sizes {
    name: "llama-small",
    vocabulary: 8192,
    width: 512,
    layers: 8,
    heads: 8,
    kv_heads: 2,
    inner: 1408,
    steps: 64,
    shortest: 8,
    end_weight: 0.22,
};

pub(super) const TINY: Sizes = Sizes {
    name: "llama-tiny",
    vocabulary: 96,
    width: 32,
    layers: 2,
    heads: 4,
    kv_heads: 2,
    inner: 48,
    steps: 10,
    shortest: 2,
    end_weight: 0.7,
};

/// Base of the rotary position embedding.
const THETA: f64 = 10_000.0;

const EPSILON: f32 = 1e-5;

/// The word that ends a text. Words 0 to 2 have a special meaning and do not occur in a prompt.
const END: usize = 2;

/// Number added to the scores of later places: so low that their share is 0, and not minus infinity, which not every
/// engine's exponential takes.
const MASKED: f32 = -1e9;

impl Sizes {
    fn head_width(&self) -> usize {
        self.width / self.heads
    }

    fn layer_name(index: usize) -> String {
        format!("model.layers.{index}")
    }
}

impl Model for Sizes {
    /// Returns the recipe of the weights. Outputs of a linear layer have `a / sqrt(3)` times the deviation of its
    /// inputs; `a` is the gain here.
    fn weights(&self) -> ModelRecipe {
        let (width, inner, kv) = (self.width, self.inner, self.kv_heads * self.head_width());
        let mut recipe = ModelRecipe::new(self.name);
        recipe.add("model.embed_tokens.weight", &[self.vocabulary, width], 1.0);
        for layer in (0..self.layers).map(Self::layer_name) {
            recipe.add_gains(&format!("{layer}.input_layernorm"), width);
            recipe.add_projection(&format!("{layer}.self_attn.q_proj"), [width, width], 2.5);
            recipe.add_projection(&format!("{layer}.self_attn.k_proj"), [kv, width], 2.5);
            recipe.add_projection(&format!("{layer}.self_attn.v_proj"), [kv, width], 2.0);
            recipe.add_projection(&format!("{layer}.self_attn.o_proj"), [width, width], 2.0);
            recipe.add_gains(&format!("{layer}.post_attention_layernorm"), width);
            recipe.add_projection(&format!("{layer}.mlp.gate_proj"), [inner, width], 2.5);
            recipe.add_projection(&format!("{layer}.mlp.up_proj"), [inner, width], 2.0);
            recipe.add_projection(&format!("{layer}.mlp.down_proj"), [width, inner], 2.0);
        }
        recipe.add_gains("model.norm", width);
        recipe.add_projection("lm_head", [self.vocabulary, width], 5.0);
        if let Some(head) = recipe.tensors.last_mut() {
            head.fills.push(Fill { start: END * width, count: width, value: self.end_weight });
        }
        recipe
    }

    fn inputs(&self) -> Vec<InputTensor> {
        let bound = |count: usize| u32::try_from(count).expect("sizes are small");
        let (vocabulary, first) = (bound(self.vocabulary), bound(END) + 1);
        let words = InputValues::Words { vocabulary, first, lengths: "input_length" };
        let lengths = InputValues::Lengths { low: self.shortest, high: bound(self.steps) };
        [("input_ids", self.steps, words), ("input_length", 1, lengths)]
            .map(|(name, count, values)| InputTensor { name, element_type: I32, shape: vec![count], values })
            .to_vec()
    }

    fn compute(&self, net: &mut Net) {
        let embedding = net.weight("model.embed_tokens.weight");
        let mut x = net.node("Gather", "words", &[&embedding, "input_ids"], &[("axis", 0.into())]);
        let tables = self.tables(net);
        for layer in (0..self.layers).map(Self::layer_name) {
            let y = rms_norm(net, &format!("{layer}.input_layernorm"), &x);
            let y = self.attend(net, &format!("{layer}.self_attn"), &y, &tables);
            x = net.node("Add", &format!("{layer}.attended"), &[&x, &y], &[]);
            let y = rms_norm(net, &format!("{layer}.post_attention_layernorm"), &x);
            let y = feed_forward(net, &format!("{layer}.mlp"), &y);
            x = net.node("Add", &format!("{layer}.output"), &[&x, &y], &[]);
        }
        let last = self.last_word(net, &x);
        let last = rms_norm(net, "model.norm", &last);
        projection(net, "lm_head", "logits", &last);
        net.output("logits", &[self.vocabulary]);
    }
}

/// Names of the constants that all layers share.
struct Tables {
    cos: String,
    sin: String,
    /// `[heads / kv_heads * step, step]`: the mask of one head for each that shares keys.
    mask: String,
}

impl Sizes {
    #[expect(clippy::cast_possible_truncation, reason = "rounded once, from f64")]
    fn tables(&self, net: &mut Net) -> Tables {
        let (steps, half) = (self.steps, self.head_width() / 2);
        let exponent = |index: usize| -2.0 * index as f64 / self.head_width() as f64;
        let angles = (0..steps).flat_map(|step| (0..half).map(move |index| (step, index)));
        let angles: Vec<f64> =
            angles.map(|(step, index)| step as f64 * THETA.powf(exponent(index))).collect();
        let mut table = |name: &str, of: fn(f64) -> f64| {
            let values: Vec<f32> = angles.iter().map(|angle| of(*angle) as f32).collect();
            net.constant(name, &[steps, half], &values)
        };
        let (cos, sin) = (table("cos", f64::cos), table("sin", f64::sin));
        let rows = self.heads / self.kv_heads * steps;
        let places = (0..rows).flat_map(|row| (0..steps).map(move |column| (row % steps, column)));
        let mask: Vec<f32> = places.map(|(row, column)| if column <= row { 0.0 } else { MASKED }).collect();
        Tables { cos, sin, mask: net.constant("mask", &[rows, steps], &mask) }
    }

    /// Adds the attention of all heads. Heads that share keys lie side by side, as one head with more rows.
    fn attend(&self, net: &mut Net, name: &str, x: &str, tables: &Tables) -> String {
        let (steps, width, kv_heads) = (self.steps as i64, self.head_width() as i64, self.kv_heads as i64);
        let turned = [("perm", [0, 2, 1, 3].into())];
        let mut heads = |part: &str, count: usize| {
            let part = format!("{name}.{part}_proj");
            let y = projection(net, &part, &part, x);
            let split = net.ints(&[0, 0, count as i64, width]);
            let y = net.node("Reshape", &format!("{part}.heads"), &[&y, &split], &[]);
            net.node("Transpose", &format!("{part}.turned"), &[&y], &turned)
        };
        let (q, k, v) = (heads("q", self.heads), heads("k", self.kv_heads), heads("v", self.kv_heads));
        let q = rotate(net, &format!("{name}.q"), &q, self.head_width(), tables);
        let k = rotate(net, &format!("{name}.k"), &k, self.head_width(), tables);
        let shared = net.ints(&[0, kv_heads, self.heads as i64 / kv_heads * steps, width]);
        let q = net.node("Reshape", &format!("{name}.q.shared"), &[&q, &shared], &[]);
        let k = net.node("Transpose", &format!("{name}.k.turned"), &[&k], &[("perm", [0, 1, 3, 2].into())]);
        let scores = net.node("MatMul", &format!("{name}.products"), &[&q, &k], &[]);
        let scale = net.float(root(self.head_width()));
        let scores = net.node("Mul", &format!("{name}.scores"), &[&scores, &scale], &[]);
        let scores = net.node("Add", &format!("{name}.masked"), &[&scores, &tables.mask], &[]);
        let shares = net.node("Softmax", &format!("{name}.shares"), &[&scores], &[("axis", (-1).into())]);
        let sums = net.node("MatMul", &format!("{name}.sums"), &[&shares, &v], &[]);
        let apart = net.ints(&[0, self.heads as i64, steps, width]);
        let sums = net.node("Reshape", &format!("{name}.apart"), &[&sums, &apart], &[]);
        let sums = net.node("Transpose", &format!("{name}.turned"), &[&sums], &turned);
        let joined = net.ints(&[0, 0, self.width as i64]);
        let sums = net.node("Reshape", &format!("{name}.joined"), &[&sums, &joined], &[]);
        let part = format!("{name}.o_proj");
        projection(net, &part, &part, &sums)
    }

    /// Returns the values at each prompt's last word, `[batch, width]`: a product with a row that is 1 there and 0
    /// elsewhere.
    fn last_word(&self, net: &mut Net, x: &str) -> String {
        let places: Vec<i64> = (1..=self.steps as i64).collect();
        let (places, second) = (net.ints(&places), net.ints(&[1]));
        let length = net.node("Cast", "length", &["input_length"], &[("to", 7.into())]);
        let is_last = net.node("Equal", "is_last", &[&places, &length], &[]);
        let is_last = net.node("Cast", "is_last.real", &[&is_last], &[("to", 1.into())]);
        let is_last = net.node("Unsqueeze", "is_last.row", &[&is_last, &second], &[]);
        let last = net.node("MatMul", "last.row", &[&is_last, x], &[]);
        net.node("Squeeze", "last", &[&last, &second], &[])
    }
}

/// Rotates the pairs of values of each head, which has `width` of them, by the angles of their places.
fn rotate(net: &mut Net, name: &str, heads: &str, width: usize, tables: &Tables) -> String {
    let half = width as i64 / 2;
    let halves = net.split(&format!("{name}.halves"), heads, 3, &[half, half]);
    let (a, b) = (&halves[0], &halves[1]);
    let mut times =
        |end: &str, x: &str, table: &str| net.node("Mul", &format!("{name}.{end}"), &[x, table], &[]);
    let (a_cos, b_sin) = (times("a_cos", a, &tables.cos), times("b_sin", b, &tables.sin));
    let (b_cos, a_sin) = (times("b_cos", b, &tables.cos), times("a_sin", a, &tables.sin));
    let first = net.node("Sub", &format!("{name}.first"), &[&a_cos, &b_sin], &[]);
    let second = net.node("Add", &format!("{name}.second"), &[&b_cos, &a_sin], &[]);
    net.node("Concat", &format!("{name}.rotated"), &[&first, &second], &[("axis", (-1).into())])
}

/// Adds `down(silu(gate(x)) * up(x))`.
fn feed_forward(net: &mut Net, name: &str, x: &str) -> String {
    let mut of = |part: &str, x: &str| {
        let part = format!("{name}.{part}_proj");
        projection(net, &part, &part, x)
    };
    let (gate, up) = (of("gate", x), of("up", x));
    let sigmoid = net.node("Sigmoid", &format!("{name}.sigmoid"), &[&gate], &[]);
    let silu = net.node("Mul", &format!("{name}.silu"), &[&gate, &sigmoid], &[]);
    let inner = net.node("Mul", &format!("{name}.inner"), &[&silu, &up], &[]);
    let part = format!("{name}.down_proj");
    projection(net, &part, &part, &inner)
}

/// Returns a linear layer without bias on the last dimension, with the output `output`.
fn projection(net: &mut Net, layer: &str, output: &str, x: &str) -> String {
    let weight = net.transposed(&format!("{layer}.weight"));
    net.node("MatMul", output, &[x, &weight], &[])
}

/// Adds `x / sqrt(mean(x^2) + epsilon) * weight`, in the operations that engines know as one.
fn rms_norm(net: &mut Net, name: &str, x: &str) -> String {
    let weight = net.weight(&format!("{name}.weight"));
    let (two, epsilon) = (net.float(2.0), net.float(EPSILON));
    let square = net.node("Pow", &format!("{name}.square"), &[x, &two], &[]);
    let axes = [("axes", [-1].into()), ("keepdims", 1.into())];
    let mean = net.node("ReduceMean", &format!("{name}.mean"), &[&square], &axes);
    let mean = net.node("Add", &format!("{name}.above_zero"), &[&mean, &epsilon], &[]);
    let root = net.node("Sqrt", &format!("{name}.root"), &[&mean], &[]);
    let y = net.node("Div", &format!("{name}.normalised"), &[x, &root], &[]);
    net.node("Mul", name, &[&y, &weight], &[])
}

impl ModelRecipe {
    /// Adds a linear layer `[outputs, inputs]` without bias.
    fn add_projection(&mut self, name: &str, shape: [usize; 2], gain: f32) {
        self.add(&format!("{name}.weight"), &shape, gain * root(shape[1]));
    }

    /// Adds the weights of a norm.
    fn add_gains(&mut self, name: &str, width: usize) {
        self.add_around(&format!("{name}.weight"), &[width], 1.0, 0.5);
    }
}

/// Returns the samples of a decoder by the id of one of its uses: all have the samples of the decoder itself.
pub(super) fn input_recipe(name: &str) -> Option<InputRecipe> {
    let (decoder, usage) = name.split_once("-generate")?;
    let width = usage.strip_prefix("-beam").unwrap_or(usage);
    let is_use = usage.is_empty() || (width != usage && width.parse::<u16>().is_ok_and(|width| width > 0));
    let sizes = [SMALL, TINY].into_iter().find(|sizes| is_use && sizes.name == decoder)?;
    Some(InputRecipe::new(sizes.name, sizes.inputs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalogue::{input_recipe, recipe},
        models::onnx,
    };

    #[test]
    fn the_sizes_are_those_of_the_table() {
        let count = |name: &str| recipe(name).unwrap().parameter_count();
        assert_eq!((count("llama-small"), count("llama-tiny")), (30_941_696, 21_664));
        for Sizes { name, width, heads, kv_heads, .. } in [SMALL, TINY] {
            assert!(width.is_multiple_of(2 * heads) && heads.is_multiple_of(kv_heads), "{name}");
        }
    }

    #[test]
    fn all_uses_have_the_same_prompts() {
        let samples = |name: &str| input_recipe(name).map(|recipe| (recipe.sample(0), recipe.sample(5)));
        let prompts = samples("llama-tiny").unwrap();
        for name in ["llama-tiny-generate", "llama-tiny-generate-beam4"] {
            assert_eq!(samples(name).as_ref(), Some(&prompts), "{name}");
        }
        for name in [
            "llama-tiny-generate4",
            "llama-tiny-generate-beam",
            "llama-tiny-generate-beam0",
            "llama-generate",
        ] {
            assert_eq!(samples(name), None, "{name}");
        }
        assert!(onnx("llama-tiny").is_some() && onnx("llama-tiny-generate").is_none());
    }
}

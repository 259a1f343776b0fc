//! BERT (Devlin et al. 2019) with the head for questions and answers, or as an embedding of sentences; the names are
//! Hugging Face's.

use proctor_vocabulary::ElementType::I32;

use super::{Model, net::Net};
use crate::{
    inputs::{InputTensor, InputValues},
    weights::ModelRecipe,
};

/// Sizes of an encoder, and its use.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    /// Name of the file of weights.
    file: &'static str,
    vocabulary: usize,
    positions: usize,
    width: usize,
    layers: usize,
    heads: usize,
    /// Number of places of a sample.
    steps: usize,
    task: Task,
    /// Bounds of a sample's length: how many places have a word.
    lengths: [u32; 2],
    /// Bounds of the length of its first segment.
    first_segments: [u32; 2],
    /// The smallest word that occurs in samples; lower ones have a special meaning, or are rare characters.
    first_word: u32,
}

/// The output that is computed from the last layer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    /// Start and end of the answer to a question.
    QuestionAnswering,
    /// A vector for the whole text.
    Embedding,
}

pub(super) const BASE: Sizes = Sizes {
    file: "bert-base",
    vocabulary: 30_522,
    positions: 512,
    width: 768,
    layers: 12,
    heads: 12,
    steps: 384,
    task: Task::QuestionAnswering,
    lengths: [128, 384],
    first_segments: [8, 24],
    first_word: 999,
};

pub(super) const LARGE: Sizes = Sizes { file: "bert-large", width: 1024, layers: 24, heads: 16, ..BASE };

/// The same inputs and outputs at a thousandth of the cost.
pub(super) const LARGE_NARROW: Sizes =
    Sizes { file: "bert-large-narrow", width: 32, layers: 2, heads: 4, ..LARGE };

pub(super) const TINY: Sizes = Sizes {
    file: "bert-tiny",
    vocabulary: 100,
    positions: 24,
    width: 32,
    layers: 2,
    heads: 4,
    steps: 16,
    lengths: [6, 16],
    first_segments: [2, 5],
    first_word: 10,
    ..BASE
};

/// All of a sentence is its first segment.
pub(super) const BASE_EMBEDDING: Sizes =
    Sizes { steps: 128, task: Task::Embedding, lengths: [16, 128], first_segments: [128, 128], ..BASE };

pub(super) const TINY_EMBEDDING: Sizes =
    Sizes { task: Task::Embedding, lengths: [4, 16], first_segments: [16, 16], ..TINY };

const EPSILON: f32 = 1e-12;

/// Number added to the scores of padded places, as in the published program.
const MASKED: f32 = -10_000.0;

/// The gain of queries and keys: each place attends to a few others, and not to all alike.
const SHARPNESS: f32 = 2.0;

/// The gain of the additions to a layer's input. At 1 all places would be the same after some layers.
const BRANCH_GAIN: f32 = 0.5;

impl Sizes {
    fn head_width(&self) -> usize {
        self.width / self.heads
    }

    fn layer_name(index: usize) -> String {
        format!("bert.encoder.layer.{index}")
    }
}

impl Model for Sizes {
    fn weights(&self) -> ModelRecipe {
        let (width, inner) = (self.width, 4 * self.width);
        let mut recipe = ModelRecipe::new(self.file);
        for (kind, rows, scale) in
            [("word", self.vocabulary, 1.0), ("position", self.positions, 1.0), ("token_type", 2, 0.5)]
        {
            recipe.add(&format!("bert.embeddings.{kind}_embeddings.weight"), &[rows, width], scale);
        }
        recipe.add_layer_norm("bert.embeddings.LayerNorm", width);
        for layer in (0..self.layers).map(Self::layer_name) {
            let parts = [
                ("self.query", SHARPNESS),
                ("self.key", SHARPNESS),
                ("self.value", 1.0),
                ("output.dense", BRANCH_GAIN),
            ];
            for (part, gain) in parts {
                recipe.add_linear(&format!("{layer}.attention.{part}"), width, width, gain);
            }
            recipe.add_layer_norm(&format!("{layer}.attention.output.LayerNorm"), width);
            recipe.add_linear(&format!("{layer}.intermediate.dense"), inner, width, 1.0);
            recipe.add_linear(&format!("{layer}.output.dense"), width, inner, BRANCH_GAIN);
            recipe.add_layer_norm(&format!("{layer}.output.LayerNorm"), width);
        }
        recipe.add_linear("qa_outputs", 2, width, 1.0);
        recipe
    }

    fn inputs(&self) -> Vec<InputTensor> {
        let vocabulary = u32::try_from(self.vocabulary).expect("vocabularies are small");
        let words = InputValues::Words { vocabulary, first: self.first_word, lengths: "input_mask" };
        let mask = InputValues::Mask { low: self.lengths[0], high: self.lengths[1] };
        let [low, high] = self.first_segments;
        let segments = InputValues::Segments { mask: "input_mask", low, high };
        [("input_ids", words), ("input_mask", mask), ("segment_ids", segments)]
            .map(|(name, values)| InputTensor { name, element_type: I32, shape: vec![self.steps], values })
            .to_vec()
    }

    fn compute(&self, net: &mut Net) {
        let mut x = self.embed(net);
        let bias = mask_bias(net);
        for layer in (0..self.layers).map(Self::layer_name) {
            let y = self.attend(net, &format!("{layer}.attention"), &x, &bias);
            let y = net.linear(&format!("{layer}.attention.output.dense"), &y);
            x = add_and_norm(net, &format!("{layer}.attention.output"), &x, &y);
            let inner = net.linear(&format!("{layer}.intermediate.dense"), &x);
            let inner = gelu(net, &format!("{layer}.gelu"), &inner);
            let y = net.linear(&format!("{layer}.output.dense"), &inner);
            x = add_and_norm(net, &format!("{layer}.output"), &x, &y);
        }
        match self.task {
            Task::QuestionAnswering => self.answer(net, &x),
            Task::Embedding => self.pool(net, &x),
        }
    }
}

impl Sizes {
    /// Returns the sum of the three embeddings, normalised: `[batch, step, width]`.
    fn embed(&self, net: &mut Net) -> String {
        let [words, positions, segments] = ["word", "position", "token_type"]
            .map(|kind| net.weight(&format!("bert.embeddings.{kind}_embeddings.weight")));
        let words = net.node("Gather", "words", &[&words, "input_ids"], &[("axis", 0.into())]);
        let segments = net.node("Gather", "segments", &[&segments, "segment_ids"], &[("axis", 0.into())]);
        let (start, end) = (net.ints(&[0]), net.ints(&[self.steps as i64]));
        let positions = net.node("Slice", "positions", &[&positions, &start, &end, &start], &[]);
        let sum = net.node("Add", "words_and_segments", &[&words, &segments], &[]);
        let sum = net.node("Add", "embeddings", &[&sum, &positions], &[]);
        net.layer_norm("bert.embeddings.LayerNorm", &sum, EPSILON)
    }

    /// Adds the attention of all heads, without the dense layer behind it.
    fn attend(&self, net: &mut Net, name: &str, x: &str, bias: &str) -> String {
        let split = net.ints(&[0, 0, self.heads as i64, self.head_width() as i64]);
        // Keys are turned round for the product: [batch, head, width, step].
        let [query, key, value] = [("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])]
            .map(|(part, order)| {
                let part = format!("{name}.self.{part}");
                let y = net.linear(&part, x);
                let y = net.node("Reshape", &format!("{part}.heads"), &[&y, &split], &[]);
                net.node("Transpose", &format!("{part}.turned"), &[&y], &[("perm", order.into())])
            });
        let scores = net.node("MatMul", &format!("{name}.products"), &[&query, &key], &[]);
        let root = net.float(root(self.head_width()));
        let scores = net.node("Div", &format!("{name}.scores"), &[&scores, &root], &[]);
        let scores = net.node("Add", &format!("{name}.masked"), &[&scores, bias], &[]);
        let weights = net.node("Softmax", &format!("{name}.weights"), &[&scores], &[("axis", (-1).into())]);
        let sums = net.node("MatMul", &format!("{name}.sums"), &[&weights, &value], &[]);
        let order = [("perm", [0, 2, 1, 3].into())];
        let turned = net.node("Transpose", &format!("{name}.turned"), &[&sums], &order);
        let joined = net.ints(&[0, 0, self.width as i64]);
        net.node("Reshape", &format!("{name}.joined"), &[&turned, &joined], &[])
    }

    /// Adds the start and end of the answer.
    fn answer(&self, net: &mut Net, x: &str) {
        let logits = net.linear("qa_outputs", x);
        let both = net.split("both", &logits, 2, &[1, 1]);
        let last = net.ints(&[2]);
        for (name, part) in ["start_logits", "end_logits"].into_iter().zip(&both) {
            net.node("Squeeze", name, &[part, &last], &[]);
            net.output(name, &[self.steps]);
        }
    }

    /// Adds the mean over the places that are not padded.
    fn pool(&self, net: &mut Net, x: &str) {
        let (steps, last) = (net.ints(&[1]), net.ints(&[2]));
        let mask = net.node("Cast", "pool.mask", &["input_mask"], &[("to", 1.into())]);
        let column = net.node("Unsqueeze", "pool.column", &[&mask, &last], &[]);
        let masked = net.node("Mul", "pool.masked", &[x, &column], &[]);
        let drop = [("keepdims", 0.into())];
        let sum = net.node("ReduceSum", "pool.sum", &[&masked, &steps], &drop);
        let count = net.node("ReduceSum", "pool.count", &[&column, &steps], &drop);
        net.node("Div", "embedding", &[&sum, &count], &[]);
        net.output("embedding", &[self.width]);
    }
}

/// Numbers added to the scores of each key, `[batch, 1, 1, step]`.
fn mask_bias(net: &mut Net) -> String {
    let (axes, one, masked) = (net.ints(&[1, 2]), net.float(1.0), net.float(MASKED));
    let mask = net.node("Unsqueeze", "mask", &["input_mask", &axes], &[]);
    let mask = net.node("Cast", "mask.real", &[&mask], &[("to", 1.into())]);
    let padded = net.node("Sub", "mask.padded", &[&one, &mask], &[]);
    net.node("Mul", "mask.bias", &[&padded, &masked], &[])
}

/// Returns a dense layer's output added to the input of the layers before it, and normalised.
fn add_and_norm(net: &mut Net, name: &str, residual: &str, y: &str) -> String {
    let sum = net.node("Add", &format!("{name}.sum"), &[y, residual], &[]);
    net.layer_norm(&format!("{name}.LayerNorm"), &sum, EPSILON)
}

/// Adds `x (1 + erf(x / sqrt(2))) / 2`.
fn gelu(net: &mut Net, name: &str, x: &str) -> String {
    let (root, one, half) = (net.float(std::f32::consts::SQRT_2), net.float(1.0), net.float(0.5));
    let y = net.node("Div", &format!("{name}.scaled"), &[x, &root], &[]);
    let y = net.node("Erf", &format!("{name}.erf"), &[&y], &[]);
    let y = net.node("Add", &format!("{name}.plus"), &[&y, &one], &[]);
    let y = net.node("Mul", &format!("{name}.times"), &[x, &y], &[]);
    net.node("Mul", name, &[&y, &half], &[])
}

#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^24")]
fn root(width: usize) -> f32 {
    (width as f32).sqrt()
}

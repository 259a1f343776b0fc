//! BERT by the names of Hugging Face's `BertForQuestionAnswering`: the encoder of candle-transformers, with embeddings
//! and two kinds of heads.
//!
//! The embeddings and the mask are made here: the mask of candle-transformers is the least f32 where nothing is to be
//! seen, which is infinite in f16, and an infinity times zero, where something is, is NaN.
//!
//! Source: Devlin et al. 2018, "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding".

use std::fmt;

use candle_core::{D, DType, Result, Tensor, bail};
use candle_nn::{Embedding, LayerNorm, Module};
use candle_transformers::models::bert::{BertEncoder, Config};
use proctor_plugin_api::vocabulary::ElementType;

use super::{
    layers::Linear,
    tensors::{Expected, fit_inputs, fit_outputs},
};
use crate::{
    error::LoadError,
    network::{LoadRequest, Network, NetworkCall, Output},
    weights::Weights,
};

/// Addend of the score of a masked position, as in the reference code of the paper. Its exponential is 0 compared with
/// any other score, and f16 can represent it.
const HIDDEN_SCORE: f64 = -10_000.0;

/// Width of a head in the published sizes of BERT.
const HEAD_WIDTH: usize = 64;

/// Number of heads of the variant for tests, which is narrower than such a head.
const HEADS_OF_TINY: usize = 4;

/// Embeddings and layers, from words to a vector for each place.
struct Bert {
    words: Embedding,
    positions: Tensor,
    segments: Embedding,
    norm: LayerNorm,
    encoder: BertEncoder,
    config: Config,
    inputs: Inputs,
}

/// Position of each of the model's inputs among the benchmark's, and the number of positions of a sample.
#[derive(Debug, Clone, Copy)]
struct Inputs {
    ids: usize,
    mask: usize,
    segments: usize,
    places: usize,
}

/// Two logits for each place: that the answer begins there, that it ends there.
#[derive(Debug)]
struct Answers {
    bert: Bert,
    head: Linear,
    start: usize,
}

/// The mean of the vectors of all places that are no padding.
#[derive(Debug)]
struct SentenceEmbedding {
    bert: Bert,
}

type Loaded = std::result::Result<Box<dyn Network>, LoadError>;

/// Loads `bert-base` and its like from `bert` and `qa_outputs`.
pub(super) fn answers(request: &LoadRequest<'_>) -> Loaded {
    let bert = Bert::load(request)?;
    let head = Linear::load(request.weights, "qa_outputs", bert.config.hidden_size)?;
    if head.width() != 2 {
        return Err(request.weights.misshapen("qa_outputs.weight", "[2, hidden]: start and end"));
    }
    let places = bert.inputs.places;
    let [start, _] = fit_outputs(
        request.outputs,
        [Expected::f32("start_logits", &[places]), Expected::f32("end_logits", &[places])],
    )?;
    Ok(Box::new(Answers { bert, head, start }))
}

/// Loads `bert-base-embedding` and its like from `bert`.
pub(super) fn embedding(request: &LoadRequest<'_>) -> Loaded {
    let bert = Bert::load(request)?;
    fit_outputs(request.outputs, [Expected::f32("embedding", &[bert.config.hidden_size])])?;
    Ok(Box::new(SentenceEmbedding { bert }))
}

impl Bert {
    fn load(request: &LoadRequest<'_>) -> std::result::Result<Self, LoadError> {
        let weights = request.weights;
        // A file of the encoder alone has no prefix.
        let prefix = if weights.contains("embeddings.word_embeddings.weight") { "" } else { "bert." };
        let config = sizes(weights, prefix, request.model)?;
        let inputs = Inputs::fit(request, config.max_position_embeddings)?;
        let name = |part: &str| format!("{prefix}embeddings.{part}");
        let (hidden, vocabulary) = (config.hidden_size, config.vocab_size);
        let words = weights.tensor(&name("word_embeddings.weight"), &[vocabulary, hidden])?;
        let segments =
            weights.tensor(&name("token_type_embeddings.weight"), &[config.type_vocab_size, hidden])?;
        let positions =
            weights.tensor(&name("position_embeddings.weight"), &[config.max_position_embeddings, hidden])?;
        let positions = positions.narrow(0, 0, inputs.places).map_err(|error| weights.refused(error))?;
        let norm = LayerNorm::new(
            weights.tensor(&name("LayerNorm.weight"), &[hidden])?,
            weights.tensor(&name("LayerNorm.bias"), &[hidden])?,
            config.layer_norm_eps,
        );
        let builder = weights.builder();
        let builder = if prefix.is_empty() { builder } else { builder.pp("bert") };
        let encoder =
            BertEncoder::load(builder.pp("encoder"), &config).map_err(|error| weights.refused(error))?;
        let (words, segments) = (Embedding::new(words, hidden), Embedding::new(segments, hidden));
        Ok(Self { words, positions, segments, norm, encoder, config, inputs })
    }

    /// Returns `[batch, places, hidden]`.
    fn forward(&self, call: &NetworkCall) -> Result<Tensor> {
        let words = look_up(&self.words, &call.inputs[self.inputs.ids], "input_ids")?;
        let segments = look_up(&self.segments, &call.inputs[self.inputs.segments], "segment_ids")?;
        let x = (words + segments)?.broadcast_add(&self.positions)?;
        let x = self.norm.forward(&x)?;
        let mask = call.input(self.inputs.mask)?;
        // 0 where it is 1, and the hidden score where it is 0, for all heads and all places that look.
        let mask = mask.affine(-HIDDEN_SCORE, HIDDEN_SCORE)?.unsqueeze(1)?.unsqueeze(1)?;
        self.encoder.forward(&x, &mask)
    }

    fn summary(&self) -> String {
        let Config { num_hidden_layers, hidden_size, num_attention_heads, vocab_size, .. } = self.config;
        format!(
            "BERT of {num_hidden_layers} layers, {hidden_size} wide, {num_attention_heads} heads, {vocab_size} words"
        )
    }
}

/// Returns the rows of a table by their indices. The engine returns a row of zeros for the largest possible index,
/// which is what -1 becomes, and on some devices it checks none.
fn look_up(table: &Embedding, indices: &Tensor, name: &str) -> Result<Tensor> {
    let largest = indices.flatten_all()?.max(0)?.to_scalar::<u32>()?;
    let rows = table.embeddings().dim(0)?;
    if usize::try_from(largest).is_ok_and(|largest| largest < rows) {
        return table.forward(indices);
    }
    bail!("{name} has the element {}, but the model has {rows} of them, from 0", largest.cast_signed())
}

impl Inputs {
    fn fit(request: &LoadRequest<'_>, places_max: usize) -> std::result::Result<Self, LoadError> {
        let places = request.inputs.first().and_then(|spec| spec.shape.first()).copied();
        let row = |name| Expected::new(name, ElementType::I32, &[places]);
        let [ids, mask, segments] =
            fit_inputs(request.inputs, [row("input_ids"), row("input_mask"), row("segment_ids")])?;
        match places {
            Some(places) if (1..=places_max).contains(&places) => Ok(Self { ids, mask, segments, places }),
            _ => {
                let model = format!("takes 1 to {places_max} places");
                Err(LoadError::tensors(&model, &request.inputs[ids].to_string()))
            }
        }
    }
}

/// Returns the sizes, from the shapes of the tensors.
fn sizes(weights: &Weights, prefix: &str, model: &str) -> std::result::Result<Config, LoadError> {
    let rows = |part: &str| weights.dims::<2>(&format!("{prefix}embeddings.{part}_embeddings.weight"));
    let [vocab_size, hidden_size] = rows("word")?;
    let [max_position_embeddings, _] = rows("position")?;
    let [type_vocab_size, _] = rows("token_type")?;
    let layer = |index: usize, part: &str| format!("{prefix}encoder.layer.{index}.{part}.weight");
    let [intermediate_size, _] = weights.dims(&layer(0, "intermediate.dense"))?;
    let there_are = |index: &usize| weights.contains(&layer(*index, "attention.self.query"));
    let num_hidden_layers = (0..).take_while(there_are).count();
    // Nothing in a file says how many heads there are.
    let heads = if model.contains("-tiny") { HEADS_OF_TINY } else { hidden_size / HEAD_WIDTH };
    if heads == 0 || hidden_size % heads != 0 {
        let name = format!("{prefix}embeddings.word_embeddings.weight");
        return Err(weights.misshapen(&name, &format!("[any, a multiple of {HEAD_WIDTH}]")));
    }
    Ok(Config {
        vocab_size,
        hidden_size,
        num_hidden_layers,
        num_attention_heads: heads,
        intermediate_size,
        max_position_embeddings,
        type_vocab_size,
        ..Config::default()
    })
}

impl Network for Answers {
    fn run(&self, call: &NetworkCall) -> Result<Vec<Output>> {
        let logits = self.head.forward(&self.bert.forward(call)?)?;
        let (start, end) = (logits.narrow(D::Minus1, 0, 1)?, logits.narrow(D::Minus1, 1, 1)?);
        let mut outputs = vec![Output::Tensor(start), Output::Tensor(end)];
        if self.start == 1 {
            outputs.swap(0, 1);
        }
        Ok(outputs)
    }

    fn summary(&self) -> String {
        format!("{}, start and end of an answer", self.bert.summary())
    }
}

impl Network for SentenceEmbedding {
    fn run(&self, call: &NetworkCall) -> Result<Vec<Output>> {
        let x = self.bert.forward(call)?.to_dtype(DType::F32)?;
        let mask = call.inputs[self.bert.inputs.mask].to_dtype(DType::F32)?;
        // A sample without any word has a sum of zeros, which stays one.
        let count = mask.sum_keepdim(1)?.maximum(1.0)?;
        let sum = mask.unsqueeze(1)?.matmul(&x)?.squeeze(1)?;
        Ok(vec![Output::Tensor(sum.broadcast_div(&count)?)])
    }

    fn summary(&self) -> String {
        format!("{}, mean of its places", self.bert.summary())
    }
}

impl fmt::Debug for Bert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary())
    }
}

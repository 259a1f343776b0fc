//! The decoder: words in, logits of the word after them out.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::ops::rms_norm;

use super::{
    attention::{Attention, Prompts, Words},
    cache::{Capacity, KvCache},
    config::LlamaConfig,
    rotary::Rotary,
};
use crate::{error::LoadError, ops::matrix::Matrix, weights::Weights};

/// The weights of a decoder, shared by its instances.
#[derive(Debug)]
pub(super) struct Decoder {
    config: LlamaConfig,
    /// `[word, hidden]`
    embedding: Matrix,
    layers: Vec<Layer>,
    attention: Attention,
    norm: Tensor,
    /// `[word, hidden]`
    head: Matrix,
    dtype: DType,
    device: Device,
}

/// Weights of one layer. Projections that read the same values share a matrix: fewer, larger products.
#[derive(Debug)]
struct Layer {
    input_norm: Tensor,
    /// Queries, keys, values: `[(heads + 2 kv_heads) * head_dim, hidden]`.
    qkv: Matrix,
    o: Matrix,
    post_attention_norm: Tensor,
    /// `[2 * intermediate, hidden]`
    gate_up: Matrix,
    down: Matrix,
}

impl Decoder {
    /// Takes the weights, under the names of the family's checkpoints. No text will have more words than `positions`,
    /// its prompt counted.
    ///
    /// # Errors
    /// If a tensor is missing or has another shape, or the file declares other sizes.
    pub(super) fn load(
        config: LlamaConfig,
        positions: usize,
        weights: &Weights,
    ) -> std::result::Result<Self, LoadError> {
        let words = [config.vocab_size, config.hidden_size];
        let (theta, width) = (config.rope_theta, config.head_dim());
        let rotary = Rotary::new(theta, width, positions, weights.dtype(), weights.device())
            .map_err(|error| weights.refused(error))?;
        config.check(weights)?;
        let embedding = weights.matrix("model.embed_tokens.weight", words)?;
        let head = if config.tie_word_embeddings {
            embedding.clone()
        } else {
            weights.matrix("lm_head.weight", words)?
        };
        Ok(Self {
            config,
            embedding,
            layers: (0..config.num_hidden_layers)
                .map(|layer| Layer::load(&config, &format!("model.layers.{layer}"), weights))
                .collect::<std::result::Result<_, _>>()?,
            attention: Attention::new(&config, rotary),
            norm: weights.tensor("model.norm.weight", &words[1..])?,
            head,
            dtype: weights.dtype(),
            device: weights.device().clone(),
        })
    }

    pub(super) fn config(&self) -> &LlamaConfig {
        &self.config
    }

    fn device(&self) -> &Device {
        &self.device
    }

    /// Returns room for the keys and values of one instance.
    pub(super) fn cache(&self, capacity: Capacity) -> Result<KvCache> {
        KvCache::new(&self.config, capacity, self.dtype, self.device())
    }

    /// Reads whole prompts and gives the logits after each, f32`[prompt, word]`. Keys and values go into the cache, if
    /// the texts will continue.
    ///
    /// # Panics
    /// If there is no prompt, or an empty one.
    pub(super) fn read_prompts(
        &self,
        prompts: &[Vec<u32>],
        cache: Option<&KvCache>,
    ) -> Result<(Tensor, Prompts)> {
        let lengths: Vec<usize> = prompts.iter().map(Vec::len).collect();
        let words = lengths.iter().copied().max().expect("a batch has at least one sample");
        let padded: Vec<u32> = prompts.iter().flat_map(|prompt| padded(prompt, words)).collect();
        let prompts =
            Prompts {
                count: prompts.len(),
                words,
                lengths: lengths.clone(),
                causal: self.mask((words, words), |row, column| column <= row)?,
                padding: self
                    .mask((prompts.len(), words), |prompt, word| word < lengths[prompt])?
                    .reshape((prompts.len(), 1, 1, words))?,
            };
        let mut x = self.embedding.rows(&padded)?;
        for (index, layer) in self.layers.iter().enumerate() {
            let cache = cache.map(|cache| &cache.layers[index]);
            let mixed = self.attention.of_prompts(&self.qkv(layer, &x)?, &prompts, cache)?;
            x = self.after_attention(layer, &x, &mixed)?;
        }
        let last = |(prompt, length): (usize, &usize)| (prompt * words + length - 1) as u32;
        let last: Vec<u32> = lengths.iter().enumerate().map(last).collect();
        let logits = self.logits(&x.index_select(&Tensor::new(last, self.device())?, 0)?)?;
        Ok((logits, prompts))
    }

    /// Feeds one more word to each text and gives the logits after it, f32`[text, word]`.
    pub(super) fn feed(
        &self,
        next: &[u32],
        prompts: &Prompts,
        words: &Words,
        cache: &KvCache,
    ) -> Result<Tensor> {
        let mut x = self.embedding.rows(next)?;
        for (layer, cache) in self.layers.iter().zip(&cache.layers) {
            let mixed = self.attention.of_words(&self.qkv(layer, &x)?, prompts, words, cache)?;
            x = self.after_attention(layer, &x, &mixed)?;
        }
        self.logits(&x)
    }

    /// Returns the positions of texts on this device.
    pub(super) fn positions(&self, positions: Vec<u32>) -> Result<Tensor> {
        Tensor::new(positions, self.device())
    }

    fn logits(&self, x: &Tensor) -> Result<Tensor> {
        self.head.times(&self.norm(x, &self.norm)?)?.to_dtype(DType::F32)
    }

    /// Returns the queries, keys and values of a layer's attention, for each row of `x`.
    fn qkv(&self, layer: &Layer, x: &Tensor) -> Result<Tensor> {
        layer.qkv.times(&self.norm(x, &layer.input_norm)?)
    }

    /// Returns the rest of a layer. `mixed` is the output of the attention.
    fn after_attention(&self, layer: &Layer, x: &Tensor, mixed: &Tensor) -> Result<Tensor> {
        let x = layer.o.times_plus(mixed, x)?;
        let gate_up = layer.gate_up.times(&self.norm(&x, &layer.post_attention_norm)?)?;
        let inside = self.config.intermediate_size;
        let gate = gate_up.narrow(1, 0, inside)?.silu()?;
        layer.down.times_plus(&(gate * gate_up.narrow(1, inside, inside)?)?, &x)
    }

    #[expect(clippy::cast_possible_truncation, reason = "an epsilon of f32")]
    fn norm(&self, x: &Tensor, weight: &Tensor) -> Result<Tensor> {
        rms_norm(x, weight, self.config.rms_norm_eps as f32)
    }

    /// Returns a mask: 0 for visible places, minus infinity elsewhere.
    fn mask(&self, shape: (usize, usize), sees: impl Fn(usize, usize) -> bool) -> Result<Tensor> {
        let value = |row, column| if sees(row, column) { 0.0 } else { f32::NEG_INFINITY };
        let (rows, columns) = shape;
        let values: Vec<f32> = (0..rows)
            .flat_map(|row| (0..columns).map(move |column| (row, column)))
            .map(|(r, c)| value(r, c))
            .collect();
        Tensor::from_vec(values, shape, self.device())
    }
}

impl Layer {
    fn load(config: &LlamaConfig, layer: &str, weights: &Weights) -> std::result::Result<Self, LoadError> {
        let (hidden, inside) = (config.hidden_size, config.intermediate_size);
        let kv = config.num_key_value_heads * config.head_dim();
        let tensor = |part: &str, shape: &[usize]| weights.tensor(&format!("{layer}.{part}.weight"), shape);
        let matrix = |part: &str, shape| weights.matrix(&format!("{layer}.{part}.weight"), shape);
        let one = |parts: Vec<Matrix>| Matrix::stack(parts).map_err(|error| weights.refused(error));
        Ok(Self {
            input_norm: tensor("input_layernorm", &[hidden])?,
            qkv: one(vec![
                matrix("self_attn.q_proj", [hidden, hidden])?,
                matrix("self_attn.k_proj", [kv, hidden])?,
                matrix("self_attn.v_proj", [kv, hidden])?,
            ])?,
            o: matrix("self_attn.o_proj", [hidden, hidden])?,
            post_attention_norm: tensor("post_attention_layernorm", &[hidden])?,
            gate_up: one(vec![
                matrix("mlp.gate_proj", [inside, hidden])?,
                matrix("mlp.up_proj", [inside, hidden])?,
            ])?,
            down: matrix("mlp.down_proj", [hidden, inside])?,
        })
    }
}

/// Pads the prompts: word 0 follows the end of a prompt and is never read.
fn padded(prompt: &[u32], words: usize) -> impl Iterator<Item = u32> {
    prompt.iter().copied().chain(std::iter::repeat_n(0, words - prompt.len()))
}

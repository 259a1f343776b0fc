//! The decoder: words in, logits of the word after them out.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::ops::rms_norm;

use super::{
    attention::{Attention, Prompts, Words},
    cache::{Capacity, KvCache},
    config::LlamaConfig,
    rotary::Rotary,
};
use crate::{LoadError, Weights};

/// The weights of a decoder, shared by its instances.
#[derive(Debug)]
pub(super) struct Decoder {
    config: LlamaConfig,
    /// `[word, hidden]`
    embedding: Tensor,
    layers: Vec<Layer>,
    attention: Attention,
    norm: Tensor,
    /// `[word, hidden]`
    head: Tensor,
}

/// Weights of one layer. Those that read the same values are one matrix: fewer, larger products.
#[derive(Debug)]
struct Layer {
    input_norm: Tensor,
    /// Queries, keys, values: `[(heads + 2 kv_heads) * head_dim, hidden]`.
    qkv: Tensor,
    o: Tensor,
    post_attention_norm: Tensor,
    /// `[2 * intermediate, hidden]`
    gate_up: Tensor,
    down: Tensor,
}

impl Decoder {
    /// Takes the weights, under the names of the family's checkpoints. No text will have more words than `positions`,
    /// its prompt counted.
    ///
    /// # Errors
    /// A tensor is missing or has another shape.
    pub(super) fn load(
        config: LlamaConfig,
        positions: usize,
        weights: &Weights,
    ) -> std::result::Result<Self, LoadError> {
        let words = [config.vocab_size, config.hidden_size];
        let (theta, width) = (config.rope_theta, config.head_dim());
        let rotary = Rotary::new(theta, width, positions, weights.dtype(), weights.device())
            .map_err(|error| weights.refused(error))?;
        Ok(Self {
            config,
            embedding: weights.tensor("model.embed_tokens.weight", &words)?,
            layers: (0..config.num_hidden_layers)
                .map(|layer| Layer::load(&config, &format!("model.layers.{layer}"), weights))
                .collect::<std::result::Result<_, _>>()?,
            attention: Attention::new(&config, rotary),
            norm: weights.tensor("model.norm.weight", &words[1..])?,
            head: weights.tensor("lm_head.weight", &words)?,
        })
    }

    pub(super) fn config(&self) -> &LlamaConfig {
        &self.config
    }

    fn device(&self) -> &Device {
        self.embedding.device()
    }

    /// Room for the keys and values of one instance.
    pub(super) fn cache(&self, capacity: Capacity) -> Result<KvCache> {
        KvCache::new(&self.config, capacity, self.embedding.dtype(), self.device())
    }

    /// Reads whole prompts and gives the logits after each, f32`[prompt, word]`. Keys and values go into the cache, if
    /// the texts will go on.
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
                causal: self.mask((words, words), |row, column| column <= row)?,
                padding: self
                    .mask((prompts.len(), words), |prompt, word| word < lengths[prompt])?
                    .reshape((prompts.len(), 1, 1, words))?,
            };
        let mut x = self.embedding.index_select(&Tensor::new(padded, self.device())?, 0)?;
        for (index, layer) in self.layers.iter().enumerate() {
            let cache = cache.map(|cache| &cache.layers[index]);
            let mixed = self.attention.of_prompts(&layer.qkv(&x, &self.config)?, &prompts, cache)?;
            x = layer.after_attention(&x, &mixed, &self.config)?;
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
        let mut x = self.embedding.index_select(&Tensor::new(next, self.device())?, 0)?;
        for (layer, cache) in self.layers.iter().zip(&cache.layers) {
            let mixed = self.attention.of_words(&layer.qkv(&x, &self.config)?, prompts, words, cache)?;
            x = layer.after_attention(&x, &mixed, &self.config)?;
        }
        self.logits(&x)
    }

    /// The positions of texts on this device.
    pub(super) fn positions(&self, positions: Vec<u32>) -> Result<Tensor> {
        Tensor::new(positions, self.device())
    }

    fn logits(&self, x: &Tensor) -> Result<Tensor> {
        linear(&norm(x, &self.norm, &self.config)?, &self.head)?.to_dtype(DType::F32)
    }

    /// 0 where something is seen, minus infinity where not.
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
        let one = |parts: &[Tensor]| Tensor::cat(parts, 0).map_err(|error| weights.refused(error));
        Ok(Self {
            input_norm: tensor("input_layernorm", &[hidden])?,
            qkv: one(&[
                tensor("self_attn.q_proj", &[hidden, hidden])?,
                tensor("self_attn.k_proj", &[kv, hidden])?,
                tensor("self_attn.v_proj", &[kv, hidden])?,
            ])?,
            o: tensor("self_attn.o_proj", &[hidden, hidden])?,
            post_attention_norm: tensor("post_attention_layernorm", &[hidden])?,
            gate_up: one(&[
                tensor("mlp.gate_proj", &[inside, hidden])?,
                tensor("mlp.up_proj", &[inside, hidden])?,
            ])?,
            down: tensor("mlp.down_proj", &[hidden, inside])?,
        })
    }

    /// What the attention starts from, for each row of `x`.
    fn qkv(&self, x: &Tensor, config: &LlamaConfig) -> Result<Tensor> {
        linear(&norm(x, &self.input_norm, config)?, &self.qkv)
    }

    /// The rest of the layer. `mixed` is what the attention gave.
    fn after_attention(&self, x: &Tensor, mixed: &Tensor, config: &LlamaConfig) -> Result<Tensor> {
        let x = (x + linear(mixed, &self.o)?)?;
        let gate_up = linear(&norm(&x, &self.post_attention_norm, config)?, &self.gate_up)?;
        let inside = config.intermediate_size;
        let gate = gate_up.narrow(1, 0, inside)?.silu()?;
        x + linear(&(gate * gate_up.narrow(1, inside, inside)?)?, &self.down)?
    }
}

/// `y = W x` for each row of `x`.
fn linear(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    x.matmul(&weight.t()?)
}

#[expect(clippy::cast_possible_truncation, reason = "an epsilon of f32")]
fn norm(x: &Tensor, weight: &Tensor, config: &LlamaConfig) -> Result<Tensor> {
    rms_norm(x, weight, config.rms_norm_eps as f32)
}

/// Word 0 stands beyond the end of a prompt; nobody looks at it.
fn padded(prompt: &[u32], words: usize) -> impl Iterator<Item = u32> {
    prompt.iter().copied().chain(std::iter::repeat_n(0, words - prompt.len()))
}

//! Attention with fewer heads of keys and values than of queries, over whole prompts or one word more.

use candle_core::{D, DType, Result, Tensor};
use candle_nn::ops::softmax_last_dim;

use super::{
    attend::{Extent, attend},
    cache::LayerCache,
    config::LlamaConfig,
    rotary::Rotary,
};

/// The prompts of a batch, padded to the longest.
#[derive(Debug, Clone)]
pub(super) struct Prompts {
    /// Number of prompts.
    pub count: usize,
    /// Number of words of the longest prompt.
    pub words: usize,
    /// Words of each.
    pub lengths: Vec<usize>,
    /// f32`[words, words]`: 0 where a word (row) sees another one (column), minus infinity where not.
    pub causal: Tensor,
    /// f32`[prompt, 1, 1, words]`: 0 where a prompt has a word, minus infinity beyond.
    pub padding: Tensor,
}

/// One more word of each text.
#[derive(Debug, Clone)]
pub(super) struct Words {
    /// Number of texts of each prompt.
    pub beam: usize,
    /// Number of words fed back before.
    pub fed: usize,
    /// u32`[text]`: the position of the word.
    pub positions: Tensor,
}

/// Properties that all layers have in common.
#[derive(Debug)]
pub(super) struct Attention {
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) head_dim: usize,
    pub(super) rotary: Rotary,
}

impl Attention {
    pub(super) fn new(config: &LlamaConfig, rotary: Rotary) -> Self {
        Self {
            heads: config.num_attention_heads,
            kv_heads: config.num_key_value_heads,
            head_dim: config.head_dim(),
            rotary,
        }
    }

    /// Computes the attention over whole prompts. `qkv` is `[prompt * word, (heads + 2 kv_heads) * head_dim]`; gives
    /// `[prompt * word, hidden]`.
    ///
    /// A word sees none after it, so what lies beyond a prompt's end changes nothing before it.
    pub(super) fn of_prompts(
        &self,
        qkv: &Tensor,
        prompts: &Prompts,
        cache: Option<&LayerCache>,
    ) -> Result<Tensor> {
        let Prompts { count, words, .. } = *prompts;
        let all_heads = self.heads + 2 * self.kv_heads;
        let qkv = qkv.reshape((count, words, all_heads, self.head_dim))?.transpose(1, 2)?;
        let [q, k, v] = self.split(&qkv)?;
        let (q, k) = (self.rotary.turn_prompts(&q)?, self.rotary.turn_prompts(&k)?);
        if let Some(cache) = cache {
            cache.keep_prompts(&k, &v)?;
        }

        // The heads of queries that share one of keys lie side by side.
        let groups = count * self.kv_heads;
        let q = q.reshape((groups, self.heads / self.kv_heads * words, self.head_dim))?;
        let flat = |heads: &Tensor| heads.reshape((groups, words, self.head_dim));
        let scores = self.scaled(&q.matmul(&flat(&k)?.t()?)?)?;
        let scores = scores.reshape((count * self.heads, words, words))?.broadcast_add(&prompts.causal)?;
        let shares = softmax_last_dim(&scores)?.to_dtype(v.dtype())?.reshape((groups, (), words))?;
        let mixed = shares.matmul(&flat(&v)?)?.reshape((count, self.heads, words, self.head_dim))?;
        mixed.transpose(1, 2)?.reshape((count * words, self.heads * self.head_dim))
    }

    /// Computes the attention over one more word of each text. `qkv` is `[text, (heads + 2 kv_heads) * head_dim]`;
    /// gives `[text, hidden]`.
    pub(super) fn of_words(
        &self,
        qkv: &Tensor,
        prompts: &Prompts,
        words: &Words,
        cache: &LayerCache,
    ) -> Result<Tensor> {
        let (texts, kv_heads, head_dim) = (prompts.count * words.beam, self.kv_heads, self.head_dim);
        let qkv = qkv.reshape((texts, self.heads + 2 * kv_heads, 1, head_dim))?;
        let [q, k, v] = self.split(&qkv)?;
        let turn = |heads: &Tensor| self.rotary.turn_words(heads, &words.positions);
        let (q, k) = (turn(&q)?, turn(&k)?);
        cache.keep_words(&k, &v, words.fed)?;
        if q.device().is_cpu() {
            let extent =
                Extent { lengths: &prompts.lengths, beam: words.beam, words: words.fed + 1, kv_heads };
            return attend(&q, cache, extent);
        }
        self.by_products(&q, prompts, words, cache)
    }

    /// [`of_words`](Self::of_words) by the engine's operations. `q` is `[text, head, 1, head_dim]`.
    pub(super) fn by_products(
        &self,
        q: &Tensor,
        prompts: &Prompts,
        words: &Words,
        cache: &LayerCache,
    ) -> Result<Tensor> {
        let (texts, group) = (prompts.count * words.beam, self.heads / self.kv_heads);
        let (kv_heads, head_dim) = (self.kv_heads, self.head_dim);
        let [prompt_k, prompt_v] = cache.prompts(prompts.count, prompts.words)?;
        let [word_k, word_v] = cache.words(texts, words.fed + 1)?;

        // Of the prompt, once for all of its texts; of the words, for each text: [prompt, kv head, beam * group, word].
        let by_text = q.reshape((texts, kv_heads, group, head_dim))?;
        let of_prompt = self.by_prompt(&by_text, words.beam)?.matmul(&prompt_k.t()?)?;
        let of_prompt = self.scaled(&of_prompt)?.broadcast_add(&prompts.padding)?;
        let of_words = self.scaled(&self.by_prompt(&by_text.matmul(&word_k.t()?)?, words.beam)?)?;
        let shares =
            softmax_last_dim(&Tensor::cat(&[of_prompt, of_words], D::Minus1)?)?.to_dtype(q.dtype())?;

        let of_prompt = shares.narrow(D::Minus1, 0, prompts.words)?.matmul(&prompt_v)?;
        let of_words = shares.narrow(D::Minus1, prompts.words, words.fed + 1)?;
        let of_words = self.by_text(&of_words, words.beam)?.matmul(&word_v)?;
        let mixed = (self.by_text(&of_prompt, words.beam)? + of_words)?;
        mixed.reshape((texts, self.heads * head_dim))
    }

    /// Returns the queries, keys and values of `[text, head, word, head_dim]`.
    fn split(&self, qkv: &Tensor) -> Result<[Tensor; 3]> {
        let part = |start, count| qkv.narrow(1, start, count)?.contiguous();
        Ok([
            part(0, self.heads)?,
            part(self.heads, self.kv_heads)?,
            part(self.heads + self.kv_heads, self.kv_heads)?,
        ])
    }

    /// Scales in f32 even if the weights are narrower: sums of shares are too coarse in 16 bits.
    fn scaled(&self, scores: &Tensor) -> Result<Tensor> {
        scores.to_dtype(DType::F32)? / (self.head_dim as f64).sqrt()
    }

    /// Turns `[prompt * beam, kv head, group, x]` into `[prompt, kv head, beam * group, x]`.
    fn by_prompt(&self, heads: &Tensor, beam: usize) -> Result<Tensor> {
        if beam == 1 {
            return Ok(heads.clone());
        }
        let (texts, kv_heads, group, width) = heads.dims4()?;
        let heads = heads.reshape((texts / beam, beam, kv_heads, group, width))?.transpose(1, 2)?;
        heads.reshape((texts / beam, kv_heads, beam * group, width))
    }

    /// Turns `[prompt, kv head, beam * group, x]` into `[prompt * beam, kv head, group, x]`.
    fn by_text(&self, heads: &Tensor, beam: usize) -> Result<Tensor> {
        if beam == 1 {
            return heads.contiguous();
        }
        let (prompts, kv_heads, rows, width) = heads.dims4()?;
        let heads = heads.reshape((prompts, kv_heads, beam, rows / beam, width))?.transpose(1, 2)?;
        heads.reshape((prompts * beam, kv_heads, rows / beam, width))
    }
}

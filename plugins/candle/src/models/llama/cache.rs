//! Keys and values of the words so far, in memory that is made once.

use candle_core::{DType, Device, Result, Tensor};

use super::config::LlamaConfig;

/// Number and length of the texts that a cache has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Capacity {
    /// Prompts of a batch.
    pub prompts: usize,
    /// Number of texts searched for each prompt.
    pub beam: usize,
    /// Number of words of a prompt.
    pub prompt_words: usize,
    /// Number of words fed back: one fewer than in an answer, whose last word is not fed back.
    pub fed_words: usize,
}

/// The cache of a decoder: one for each layer.
///
/// The texts of a beam share their prompt, so it is kept once, and only the words that were added are moved when a text
/// continues from another one.
#[derive(Debug)]
pub(super) struct KvCache {
    pub(super) layers: Vec<LayerCache>,
}

/// Keys and values of one layer.
#[derive(Debug)]
pub(super) struct LayerCache {
    /// Keys and values of the prompts, `[prompt, head, word, head_dim]`.
    pub(super) prompt: [Tensor; 2],
    /// Keys and values of the words fed back, `[prompt * beam, head, word, head_dim]`.
    pub(super) fed: [Tensor; 2],
}

impl KvCache {
    pub(super) fn new(
        config: &LlamaConfig,
        capacity: Capacity,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        let (heads, width) = (config.num_key_value_heads, config.head_dim());
        let room =
            |texts: usize, words: usize| Tensor::zeros((texts, heads, words.max(1), width), dtype, device);
        let layer = |_| {
            let prompt = || room(capacity.prompts, capacity.prompt_words);
            let fed = || room(capacity.prompts * capacity.beam, capacity.fed_words);
            Ok(LayerCache { prompt: [prompt()?, prompt()?], fed: [fed()?, fed()?] })
        };
        Ok(Self { layers: (0..config.num_hidden_layers).map(layer).collect::<Result<_>>()? })
    }

    /// Lets each text continue from another one: text `i` gets the `fed` words of text `parents[i]`.
    pub(super) fn reorder(&self, parents: &[u32], fed: usize) -> Result<()> {
        let stays = (0..).zip(parents).all(|(text, parent): (u32, _)| text == *parent);
        if stays || fed == 0 {
            return Ok(());
        }
        for room in self.layers.iter().flat_map(|layer| &layer.fed) {
            let texts = room.narrow(0, 0, parents.len())?;
            let indices = Tensor::new(parents, room.device())?;
            let moved = texts.narrow(2, 0, fed)?.contiguous()?.index_select(&indices, 0)?;
            texts.slice_set(&moved, 2, 0)?;
        }
        Ok(())
    }
}

impl LayerCache {
    /// Keeps keys and values of whole prompts, `[prompt, head, word, head_dim]`.
    pub(super) fn keep_prompts(&self, keys: &Tensor, values: &Tensor) -> Result<()> {
        for (room, new) in self.prompt.iter().zip([keys, values]) {
            room.narrow(0, 0, new.dim(0)?)?.slice_set(new, 2, 0)?;
        }
        Ok(())
    }

    /// Keeps the keys and values of the word number `fed` that is fed back, `[text, head, 1, head_dim]`.
    pub(super) fn keep_words(&self, keys: &Tensor, values: &Tensor, fed: usize) -> Result<()> {
        for (room, new) in self.fed.iter().zip([keys, values]) {
            room.narrow(0, 0, new.dim(0)?)?.slice_set(new, 2, fed)?;
        }
        Ok(())
    }

    /// Returns the keys and values of the prompts: as many prompts, and words of each.
    pub(super) fn prompts(&self, prompts: usize, words: usize) -> Result<[Tensor; 2]> {
        part(&self.prompt, prompts, words)
    }

    /// Returns the keys and values of the words fed back: as many texts, and words of each.
    pub(super) fn words(&self, texts: usize, words: usize) -> Result<[Tensor; 2]> {
        part(&self.fed, texts, words)
    }
}

fn part([keys, values]: &[Tensor; 2], texts: usize, words: usize) -> Result<[Tensor; 2]> {
    let of = |room: &Tensor| room.narrow(0, 0, texts)?.narrow(2, 0, words);
    Ok([of(keys)?, of(values)?])
}

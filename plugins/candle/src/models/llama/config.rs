//! The configuration of a decoder, and the task that a model id names.

use crate::{error::LoadError, weights::Weights};

/// Sizes of a decoder, under the names of the family's `config.json`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LlamaConfig {
    /// Number of words that it knows.
    pub vocab_size: usize,
    /// Width of the stream between the layers.
    pub hidden_size: usize,
    /// Width inside the feed-forward network.
    pub intermediate_size: usize,
    /// Number of layers.
    pub num_hidden_layers: usize,
    /// Number of heads of the queries.
    pub num_attention_heads: usize,
    /// Number of heads of keys and values.
    pub num_key_value_heads: usize,
    /// Base of the rotary embedding.
    pub rope_theta: f64,
    /// Addition to the mean of squares in a norm.
    pub rms_norm_eps: f64,
    /// The word that ends a text.
    pub eos_token_id: u32,
    /// Whether the embedding is the last matrix, too.
    pub tie_word_embeddings: bool,
}

/// The task of a decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// The logits of the word after the prompt.
    Logits,
    /// A text, by a search of this width; 1 is greedy.
    Generate {
        /// Number of texts kept at a time.
        beam: usize,
    },
}

/// Maximum number of texts of a beam.
pub(crate) const BEAM_MAX: usize = 16;

/// The decoders whose sizes are known.
const DECODERS: [(&str, LlamaConfig); 3] = [
    (
        "llama-small",
        LlamaConfig {
            vocab_size: 8192,
            hidden_size: 512,
            intermediate_size: 1408,
            num_hidden_layers: 8,
            num_attention_heads: 8,
            num_key_value_heads: 2,
            ..COMMON
        },
    ),
    (
        "llama-tiny",
        LlamaConfig {
            vocab_size: 96,
            hidden_size: 32,
            intermediate_size: 48,
            num_hidden_layers: 2,
            num_attention_heads: 4,
            num_key_value_heads: 2,
            ..COMMON
        },
    ),
    (
        "smollm2-135m",
        LlamaConfig {
            vocab_size: 49_152,
            hidden_size: 576,
            intermediate_size: 1536,
            num_hidden_layers: 30,
            num_attention_heads: 9,
            num_key_value_heads: 3,
            rope_theta: 100_000.0,
            tie_word_embeddings: true,
            ..COMMON
        },
    ),
];

/// Values that several have in common.
const COMMON: LlamaConfig = LlamaConfig {
    vocab_size: 0,
    hidden_size: 0,
    intermediate_size: 0,
    num_hidden_layers: 0,
    num_attention_heads: 1,
    num_key_value_heads: 1,
    rope_theta: 10_000.0,
    rms_norm_eps: 1e-5,
    eos_token_id: 2,
    tie_word_embeddings: false,
};

impl LlamaConfig {
    /// Parses a model id into the decoder and its task: `<decoder>`, `<decoder>-generate` or
    /// `<decoder>-generate-beam<width>`. `None` for any other id.
    pub(crate) fn of(id: &str) -> Option<(Self, Use)> {
        let (decoder, usage) = match id.split_once("-generate") {
            None => (id, Use::Logits),
            Some((decoder, "")) => (decoder, Use::Generate { beam: 1 }),
            Some((decoder, width)) => {
                (decoder, Use::Generate { beam: parse_width(width.strip_prefix("-beam")?)? })
            }
        };
        let (_, config) = DECODERS.into_iter().find(|(name, _)| *name == decoder)?;
        Some((config, usage))
    }

    /// Checks that a file which declares sizes has these.
    ///
    /// # Errors
    /// [`LoadError::Weights`] with the first that is another one.
    pub(crate) fn check(&self, weights: &Weights) -> Result<(), LoadError> {
        let sizes = [
            ("block_count", self.num_hidden_layers as f64),
            ("embedding_length", self.hidden_size as f64),
            ("feed_forward_length", self.intermediate_size as f64),
            ("attention.head_count", self.num_attention_heads as f64),
            ("attention.head_count_kv", self.num_key_value_heads as f64),
            ("attention.layer_norm_rms_epsilon", self.rms_norm_eps),
            ("rope.freq_base", self.rope_theta),
        ];
        for (name, expected) in sizes {
            // A file has numbers of floating point in f32.
            let is_same = |got: f64| (got - expected).abs() <= 1e-6 * expected;
            if let Some(got) = weights.number(name).filter(|got| !is_same(*got)) {
                let path = weights.path().display();
                return Err(LoadError::Weights(format!("{path} has {got} for {name}, not {expected}")));
            }
        }
        Ok(())
    }

    /// Returns the width of a head.
    pub(crate) fn head_dim(&self) -> usize {
        self.hidden_size / self.num_attention_heads
    }
}

/// Returns a width without sign or leading zeros, so that a search has one name.
fn parse_width(text: &str) -> Option<usize> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|width| plain && (1..=BEAM_MAX).contains(width))
}

/// The ids that a manifest names; an asterisk matches any width.
pub(crate) const IDS: &[&str] = &[
    "llama-small",
    "llama-small-generate",
    "llama-small-generate-beam*",
    "llama-tiny",
    "llama-tiny-generate",
    "llama-tiny-generate-beam*",
    "smollm2-135m",
    "smollm2-135m-generate",
    "smollm2-135m-generate-beam*",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_which_decoder_and_what_for() {
        let of = |id| LlamaConfig::of(id).map(|(config, usage)| (config.vocab_size, usage));
        assert_eq!(of("llama-tiny"), Some((96, Use::Logits)));
        assert_eq!(of("llama-tiny-generate"), Some((96, Use::Generate { beam: 1 })));
        assert_eq!(of("llama-small-generate-beam4"), Some((8192, Use::Generate { beam: 4 })));
        for id in [
            "llama",
            "llama-tiny-",
            "llama-tiny-generate-",
            "llama-tiny-generate4",
            "llama-tiny-generate-beam",
            "llama-tiny-generate-beam0",
            "llama-tiny-generate-beam04",
            "llama-tiny-generate-beam17",
            "llama-tiny-generate-beam+4",
        ] {
            assert_eq!(of(id), None, "{id}");
        }
    }

    #[test]
    fn every_id_of_the_manifest_is_one() {
        for id in IDS {
            assert!(LlamaConfig::of(&id.replace('*', "16")).is_some(), "{id}");
        }
    }

    #[test]
    fn heads_divide_the_sizes() {
        for (name, config) in DECODERS {
            assert_eq!(config.head_dim() * config.num_attention_heads, config.hidden_size, "{name}");
            assert!(config.num_attention_heads.is_multiple_of(config.num_key_value_heads), "{name}");
            assert!(config.head_dim().is_multiple_of(2), "{name}: values are turned in pairs");
            assert!(config.vocab_size >= 2 * BEAM_MAX, "{name}: a beam looks at twice its width");
        }
    }
}

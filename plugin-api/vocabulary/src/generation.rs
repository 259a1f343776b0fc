//! How a model in two files answers with tokens, one after the other.

/// Greedy generation by an encoder and a decoder, as a definition declares it, with the names of the files' tensors.
///
/// The encoder turns a sample into states. The decoder is called for each token with the one before it: the most likely
/// token is the next, until it is the end, or there are as many as a sample of this length may have.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Generation {
    /// The encoder.
    pub encoder: Encoder,
    /// The decoder.
    pub decoder: Decoder,
    /// Token that goes before the first one.
    pub start_token: u32,
    /// Token after which there is no other; it belongs to the answer.
    pub end_token: u32,
    /// Values of a sample's first input in a second.
    pub sample_rate: u32,
    /// Maximum number of tokens for each second of a sample.
    pub tokens_per_second: f64,
    /// Number of tokens on top of these.
    pub tokens_more: u32,
    /// Format of the file with the text of each token, if answers may be text.
    #[cfg_attr(feature = "serde", serde(default))]
    pub pieces: Option<String>,
}

/// The file that is called once for a sample. Its batch is the first dimension, and has one sample.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Encoder {
    /// Format of the file.
    pub file: String,
    /// Input f32 `[1, n]`: the first `n` values of the sample's first input, where its second one is `n`.
    pub input: String,
    /// Input i64 `[1, n]`, if there is one, of ones.
    #[cfg_attr(feature = "serde", serde(default))]
    pub mask: Option<String>,
    /// Output: the states.
    pub states: String,
}

/// The file that is called for each token.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Decoder {
    /// Format of the file.
    pub file: String,
    /// Input i64 `[1, 1]`: the token before.
    pub tokens: String,
    /// Input: the states of the encoder.
    pub states: String,
    /// Input i64 `[1, n]`, if there is one: the mask of the encoder.
    #[cfg_attr(feature = "serde", serde(default))]
    pub mask: Option<String>,
    /// Input bool `[1]`, if there is one: whether the caches hold something, as in all calls but the first.
    #[cfg_attr(feature = "serde", serde(default))]
    pub use_cache: Option<String>,
    /// Output f32 `[1, 1, tokens]`.
    pub logits: String,
    /// Tensors that go from call to call.
    pub caches: Vec<Cache>,
}

/// An output that is an input of the next call, in each layer. It is empty in the first call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Cache {
    /// Name of the input, with a `*` for the number of the layer.
    pub past: String,
    /// Name of the output, with a `*` for the same.
    pub present: String,
    /// Whether it comes of the first call alone, and stays as it is.
    #[cfg_attr(feature = "serde", serde(default))]
    pub once: bool,
}

impl Generation {
    /// Name of the format of the file that a host hands it over in: JSON of this structure.
    pub const FORMAT: &str = "generation";

    /// Returns the formats of the files that it needs.
    pub fn formats(&self) -> impl Iterator<Item = &str> {
        let files = [&self.encoder.file, &self.decoder.file];
        files.into_iter().chain(&self.pieces).map(String::as_str)
    }

    /// Returns the maximum number of tokens for a sample of this many values.
    #[must_use]
    pub fn tokens_max(&self, value_count: usize) -> usize {
        let seconds = value_count as f64 / f64::from(self.sample_rate.max(1));
        ((seconds * self.tokens_per_second) as usize).saturating_add(self.tokens_more as usize)
    }
}

impl Cache {
    /// Returns the output that goes with an input; `None` if it is no such input.
    #[must_use]
    pub fn present_of(&self, input: &str) -> Option<String> {
        let (before, after) = self.past.split_once('*')?;
        let layer = input.strip_prefix(before)?.strip_suffix(after)?;
        Some(self.present.replacen('*', layer, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_tokens_are_a_number_whatever_is_declared() {
        let generation = |tokens_per_second, tokens_more| Generation {
            encoder: Encoder { file: "a".into(), input: "x".into(), mask: None, states: "s".into() },
            decoder: Decoder {
                file: "b".into(),
                tokens: "t".into(),
                states: "s".into(),
                mask: None,
                use_cache: None,
                logits: "l".into(),
                caches: Vec::new(),
            },
            start_token: 1,
            end_token: 2,
            sample_rate: 16_000,
            tokens_per_second,
            tokens_more,
            pieces: None,
        };
        assert_eq!(generation(6.5, 3).tokens_max(32_000), 16);
        assert_eq!(generation(f64::MAX, 1).tokens_max(32_000), usize::MAX);
        assert_eq!((generation(f64::NAN, 1).tokens_max(1), generation(-1.0, 0).tokens_max(16_000)), (1, 0));
    }

    #[test]
    fn an_output_goes_with_the_input_of_the_same_layer() {
        let cache = Cache { past: "past.*.key".to_owned(), present: "now.*.key".to_owned(), once: false };
        assert_eq!(cache.present_of("past.11.key").as_deref(), Some("now.11.key"));
        assert_eq!(cache.present_of("past.11.value"), None);
        assert_eq!(cache.present_of("past.key"), None);
    }
}

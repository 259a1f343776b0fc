//! Single recurrent layers, named by their sizes.

use std::{fmt, str::FromStr};

use proctor_vocabulary::{ElementType, did_you_mean};

use crate::{
    inputs::{InputRecipe, InputTensor, InputValues},
    weights::{ModelRecipe, TensorRecipe},
};

/// The form of the names of single recurrent layers, see [`RnnName`].
pub const RNN_PATTERN: &str = "rnn-<cell>-<input>-<hidden>-<batch>-<seq>[-bi]";

/// Kind of a recurrent layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RnnCell {
    /// `lstm`: long short-term memory.
    Lstm,
    /// `gru`: gated recurrent unit whose reset gate acts on the hidden product, as in PyTorch.
    Gru,
    /// `gru0`: gated recurrent unit whose reset gate acts on the state before the product.
    Gru0,
    /// `rnn`: vanilla, with tanh.
    Rnn,
}

/// A layer as its name gives it: `rnn-<cell>-<input>-<hidden>-<batch>-<seq>`, with `-bi` at the end if bidirectional.
///
/// One sample is one sequence: input `x` f32`[seq, input]`, output `y` f32`[seq, directions * hidden]`. `batch` is how
/// many sequences a run puts into one batch; it changes neither weights nor samples' shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RnnName {
    /// Kind of the cell.
    pub cell: RnnCell,
    /// Width of the input, 1 to 16384.
    pub input: usize,
    /// Number of units of one direction, 1 to 16384.
    pub hidden: usize,
    /// Number of sequences of a batch, 1 to 16384.
    pub batch: usize,
    /// Time steps, 1 to 16384.
    pub seq: usize,
    /// Whether there are two directions.
    pub bidirectional: bool,
}

/// Each number of a name is at most this: far above any layer that fits a machine, and products of two fit an integer.
const SIZE_MAX: usize = 16_384;

impl RnnCell {
    const ALL: [Self; 4] = [Self::Lstm, Self::Gru, Self::Gru0, Self::Rnn];

    /// Returns the word in a name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lstm => "lstm",
            Self::Gru => "gru",
            Self::Gru0 => "gru0",
            Self::Rnn => "rnn",
        }
    }

    /// Returns the start of the names of the tensors.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Lstm => "lstm",
            Self::Gru | Self::Gru0 => "gru",
            Self::Rnn => "rnn",
        }
    }

    /// Returns the number of gates.
    #[must_use]
    pub fn gate_count(self) -> usize {
        match self {
            Self::Lstm => 4,
            Self::Gru | Self::Gru0 => 3,
            Self::Rnn => 1,
        }
    }
}

impl FromStr for RnnName {
    /// A sentence on the mistake in a name, with the near match or the grammar.
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let grammar = format!("names of this family are {RNN_PATTERN}, such as rnn-lstm-256-256-1-100");
        let parts: Vec<_> = name.strip_prefix("rnn-").unwrap_or_default().split('-').collect();
        let (word, [input, hidden, batch, seq], bidirectional) = match parts[..] {
            [word, input, hidden, batch, seq] => (word, [input, hidden, batch, seq], false),
            [word, input, hidden, batch, seq, "bi"] => (word, [input, hidden, batch, seq], true),
            _ => return Err(grammar),
        };
        let known = RnnCell::ALL.map(RnnCell::name);
        let cell = RnnCell::ALL.into_iter().find(|cell| cell.name() == word).ok_or_else(|| {
            format!("the cell \"{word}\" is none of {}{}", known.join(", "), did_you_mean(word, known))
        })?;
        let size = |what: &str, text: &str| {
            parse_size(text).ok_or_else(|| {
                format!(
                    "<{what}> is \"{text}\", but has to be a whole number from 1 to {SIZE_MAX}; {grammar}"
                )
            })
        };
        let (input, hidden) = (size("input", input)?, size("hidden", hidden)?);
        let (batch, seq) = (size("batch", batch)?, size("seq", seq)?);
        Ok(Self { cell, input, hidden, batch, seq, bidirectional })
    }
}

impl fmt::Display for RnnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cell, input, hidden, batch, seq, bidirectional } = *self;
        let end = if bidirectional { "-bi" } else { "" };
        write!(f, "rnn-{}-{input}-{hidden}-{batch}-{seq}{end}", cell.name())
    }
}

/// Returns a number without sign or leading zeros, so that a layer has one name.
fn parse_size(text: &str) -> Option<usize> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|size| plain && (1..=SIZE_MAX).contains(size))
}

impl RnnName {
    /// Returns the number of directions.
    #[must_use]
    pub fn directions(&self) -> usize {
        if self.bidirectional { 2 } else { 1 }
    }

    /// Returns the weights, with PyTorch's names and its initial scale.
    pub(crate) fn recipe(&self, name: &str) -> ModelRecipe {
        let mut recipe = ModelRecipe::new(name);
        let layer =
            layer_tensors(self.cell, self.cell.prefix(), 0, self.input, self.hidden, self.bidirectional);
        recipe.tensors.extend(layer);
        recipe
    }

    /// Returns the samples: values in [-1, 1).
    pub(crate) fn input_recipe(&self, name: &str) -> InputRecipe {
        InputRecipe::new(
            name,
            vec![InputTensor {
                name: "x",
                element_type: ElementType::F32,
                shape: vec![self.seq, self.input],
                values: InputValues::Uniform { scale: 1, lengths: None },
            }],
        )
    }
}

/// Returns the tensors of layer `index` of a stack, scaled by `1 / sqrt(hidden)`.
pub(crate) fn layer_tensors(
    cell: RnnCell,
    prefix: &str,
    index: usize,
    input: usize,
    hidden: usize,
    bidirectional: bool,
) -> Vec<TensorRecipe> {
    let scale = root(hidden);
    let gates = cell.gate_count() * hidden;
    let suffixes: &[&str] = if bidirectional { &["", "_reverse"] } else { &[""] };
    let mut tensors = Vec::new();
    for suffix in suffixes {
        let kinds = [
            ("weight_ih", vec![gates, input]),
            ("weight_hh", vec![gates, hidden]),
            ("bias_ih", vec![gates]),
            ("bias_hh", vec![gates]),
        ];
        tensors.extend(kinds.map(|(kind, shape)| {
            let name = format!("{prefix}.{kind}_l{index}{suffix}");
            TensorRecipe { name, shape, scale, center: 0.0, fills: Vec::new() }
        }));
    }
    tensors
}

/// Returns `1 / sqrt(width)`, in f32 throughout.
#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^24")]
pub(crate) fn root(width: usize) -> f32 {
    1.0 / (width as f32).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_as_written() {
        let layer: RnnName = "rnn-gru0-64-256-10-100-bi".parse().unwrap();
        let expected =
            RnnName { cell: RnnCell::Gru0, input: 64, hidden: 256, batch: 10, seq: 100, bidirectional: true };
        assert_eq!(layer, expected);
        assert!("rnn-lstm-1-1-1-1".parse::<RnnName>().is_ok());
    }

    #[test]
    fn other_names_are_refused() {
        for name in [
            "rnn-lstm-64-64-1",
            "rnn-lstm-64-64-1-100-",
            "rnn-lstm-64-64-1-100-bi-bi",
            "rnn-lstm-0-64-1-100",
            "rnn-lstm-+4-64-1-100",
            "rnn-lstm-04-64-1-100",
            "rnn-lstm-16385-64-1-100",
            "rnn-cnn-64-64-1-100",
            "lstm-64-64-1-100",
            "",
        ] {
            assert!(name.parse::<RnnName>().is_err(), "{name}");
        }
    }

    #[test]
    fn a_layer_has_the_tensors_of_pytorch() {
        let recipe = crate::catalogue::recipe("rnn-gru-5-4-3-2-bi").unwrap();
        let tensors: Vec<_> =
            recipe.tensors.iter().map(|tensor| (tensor.name.as_str(), tensor.shape.as_slice())).collect();
        let expected: [(&str, &[usize]); 8] = [
            ("gru.weight_ih_l0", &[12, 5]),
            ("gru.weight_hh_l0", &[12, 4]),
            ("gru.bias_ih_l0", &[12]),
            ("gru.bias_hh_l0", &[12]),
            ("gru.weight_ih_l0_reverse", &[12, 5]),
            ("gru.weight_hh_l0_reverse", &[12, 4]),
            ("gru.bias_ih_l0_reverse", &[12]),
            ("gru.bias_hh_l0_reverse", &[12]),
        ];
        assert_eq!(tensors, expected);
        assert!(recipe.values("gru.weight_hh_l0").unwrap().iter().all(|value| value.abs() <= 0.5));
    }
}

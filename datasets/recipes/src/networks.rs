//! The weights of the networks around recurrent layers: the tensors that
//! `plugins/cpu-rnn/models/src/nets/README.md` describes, with scales that make their answers lively.

mod inputs;

use crate::{
    inputs::{InputRecipe, InputTensor},
    rnn_layer::{RnnCell, layer_tensors, root},
    weights::ModelRecipe,
};

/// A network: the makers of its weights and of the inputs of one sample.
struct Network {
    name: &'static str,
    /// The recipe is named after its file, which several networks may share.
    weights: fn(&str) -> ModelRecipe,
    inputs: fn() -> Vec<InputTensor>,
}

/// The networks. A `-tiny` one has small sizes, for tests.
static NETWORKS: [Network; 11] = [
    Network {
        name: "text-similarity",
        weights: |name| text_similarity(name, 50_000, 200, 512, 128),
        inputs: || inputs::text_similarity(50_000, 20, 10),
    },
    // The same weights for the documents that the paper's service ranks for a query.
    Network {
        name: "text-similarity-33",
        weights: |_| text_similarity("text-similarity", 50_000, 200, 512, 128),
        inputs: || inputs::text_similarity(50_000, 20, 33),
    },
    Network {
        name: "text-similarity-tiny",
        weights: |name| text_similarity(name, 50, 12, 16, 8),
        inputs: || inputs::text_similarity(50, 6, 3),
    },
    Network {
        name: "attention-sum-reader",
        weights: |name| attention_sum_reader(name, 20_000, 200, 256),
        inputs: || inputs::attention_sum_reader(20_000, 20, 10, 100, 10),
    },
    Network {
        name: "attention-sum-reader-tiny",
        weights: |name| attention_sum_reader(name, 30, 12, 16),
        inputs: || inputs::attention_sum_reader(30, 5, 3, 9, 4),
    },
    Network {
        name: "bidaf",
        weights: |name| bidaf(name, 50_000, 50, 100),
        inputs: || inputs::bidaf(50_000, 15, 100),
    },
    Network { name: "bidaf-tiny", weights: |name| bidaf(name, 40, 6, 5), inputs: || inputs::bidaf(40, 4, 9) },
    Network { name: "gnmt", weights: |name| gnmt(name, &GNMT), inputs: || inputs::gnmt(32_317, 50) },
    Network { name: "gnmt-tiny", weights: |name| gnmt(name, &GNMT_TINY), inputs: || inputs::gnmt(40, 8) },
    Network { name: "rnnt", weights: |name| rnnt(name, &RNNT), inputs: || inputs::rnnt(240, 500) },
    Network { name: "rnnt-tiny", weights: |name| rnnt(name, &RNNT_TINY), inputs: || inputs::rnnt(240, 500) },
];

/// The end of a translation.
const END: usize = 2;

/// A bias at which a gate is open: `sigmoid(20)` is 1 in f32.
const OPEN: f32 = 20.0;

/// Returns the names of the networks around recurrent layers.
pub fn network_names() -> impl Iterator<Item = &'static str> {
    NETWORKS.iter().map(|network| network.name)
}

fn find(name: &str) -> Option<&'static Network> {
    NETWORKS.iter().find(|network| network.name == name)
}

pub(crate) fn recipe(name: &str) -> Option<ModelRecipe> {
    find(name).map(|network| (network.weights)(name))
}

pub(crate) fn input_recipe(name: &str) -> Option<InputRecipe> {
    find(name).map(|network| InputRecipe::new(name, (network.inputs)()))
}

fn text_similarity(name: &str, vocabulary: usize, width: usize, hidden: usize, dense: usize) -> ModelRecipe {
    let mut recipe = ModelRecipe::new(name);
    recipe.add("embedding.weight", &[vocabulary, width], 1.0);
    recipe.stack(RnnCell::Gru, "gru", &[(width, hidden)], true);
    recipe.add("dense.weight", &[dense, 2 * hidden], root(2 * hidden));
    recipe.add("dense.bias", &[dense], root(2 * hidden));
    recipe
}

fn attention_sum_reader(name: &str, vocabulary: usize, width: usize, hidden: usize) -> ModelRecipe {
    let mut recipe = ModelRecipe::new(name);
    recipe.add("embedding.weight", &[vocabulary, width], 1.0);
    recipe.stack(RnnCell::Gru, "question", &[(width, hidden)], true);
    recipe.stack(RnnCell::Gru, "context", &[(width, hidden)], true);
    recipe
}

fn bidaf(name: &str, vocabulary: usize, width: usize, hidden: usize) -> ModelRecipe {
    let mut recipe = ModelRecipe::new(name);
    recipe.add("embedding.weight", &[vocabulary, width], 1.0);
    for layer in 0..2 {
        for part in ["transform", "gate"] {
            recipe.add(&format!("highway.{layer}.{part}.weight"), &[width, width], root(width));
            recipe.add(&format!("highway.{layer}.{part}.bias"), &[width], root(width));
        }
    }
    recipe.stack(RnnCell::Lstm, "phrase", &[(width, hidden)], true);
    recipe.add("attention.weight", &[6 * hidden], 3.0);
    recipe.stack(RnnCell::Lstm, "modeling", &[(8 * hidden, hidden), (2 * hidden, hidden)], true);
    recipe.stack(RnnCell::Lstm, "output", &[(14 * hidden, hidden)], true);
    recipe.add("start.weight", &[10 * hidden], 3.0);
    recipe.add("end.weight", &[10 * hidden], 3.0);
    recipe
}

/// Sizes and scales of a translation model.
struct GnmtSizes {
    vocabulary: usize,
    hidden: usize,
    /// Scale of the layers and the attention: 0.1 is the reference's initial scale.
    scale: f32,
    output_scale: f32,
    /// The attention's gain, so that it focuses on a few words and not evenly on all.
    sharpness: f32,
    /// The step in which unit 0 counts, and its weight for the end of the sentence: see the README, "Weights that
    /// count".
    count_step: f32,
    end_weight: f32,
}

const GNMT: GnmtSizes = GnmtSizes {
    vocabulary: 32_317,
    hidden: 1024,
    scale: 0.1,
    output_scale: 0.1,
    sharpness: 8.0,
    count_step: 0.0625,
    end_weight: 25.0,
};

const GNMT_TINY: GnmtSizes = GnmtSizes {
    vocabulary: 40,
    hidden: 16,
    scale: 0.5,
    output_scale: 3.0,
    sharpness: 4.0,
    count_step: 0.125,
    end_weight: 40.0,
};

fn gnmt(name: &str, sizes: &GnmtSizes) -> ModelRecipe {
    let GnmtSizes { vocabulary, hidden, scale, count_step, .. } = *sizes;
    let mut recipe = ModelRecipe::new(name);
    let lstm = RnnCell::Lstm;
    recipe.add("encoder.embedding.weight", &[vocabulary, hidden], 1.0);
    recipe.stack(lstm, "encoder.lstm0", &[(hidden, hidden)], true);
    recipe.stack(lstm, "encoder.lstm1", &[(2 * hidden, hidden)], false);
    recipe.stack(lstm, "encoder.lstm2", &[(hidden, hidden)], false);
    recipe.stack(lstm, "encoder.lstm3", &[(hidden, hidden)], false);
    recipe.add("attention.memory.weight", &[hidden, hidden], scale);
    recipe.add("attention.query.weight", &[hidden, hidden], scale);
    recipe.add("attention.v", &[hidden], 1.0);
    recipe.add("attention.g", &[1], 1.0);
    recipe.fill("attention.g", 0, 1, sizes.sharpness);
    recipe.add("attention.bias", &[hidden], scale);
    recipe.add("decoder.embedding.weight", &[vocabulary, hidden], 1.0);
    for layer in 0..4 {
        recipe.stack(lstm, &format!("decoder.lstm{layer}"), &[(2 * hidden, hidden)], false);
    }
    recipe.add("decoder.output.weight", &[vocabulary, hidden], sizes.output_scale);
    recipe.fill("decoder.output.weight", END * hidden, 1, sizes.end_weight);
    recipe.scale_layers("", "", scale);
    recipe.unit_alone("encoder.lstm3", 0, hidden, hidden, -count_step);
    recipe.unit_alone("decoder.lstm1", 0, 2 * hidden, hidden, 0.0);
    recipe.unit_alone("decoder.lstm2", 0, 2 * hidden, hidden, 0.0);
    recipe.unit_alone("decoder.lstm3", 0, 2 * hidden, hidden, count_step);
    recipe
}

/// Sizes and scales of a transducer.
struct RnntSizes {
    width: usize,
    hidden: usize,
    prediction: usize,
    joint: usize,
    labels: usize,
    /// Scale of the input weights of the encoder's layers, so that one row differs from the next.
    encoder_scale: f32,
    prediction_scale: f32,
    joint_scale: f32,
    output_scale: f32,
    /// Steps by which unit 0 of the encoder counts frames and unit 0 of the prediction counts symbols, and the weights
    /// of both for and against the blank.
    frame_step: f32,
    symbol_step: f32,
    pace_weight: f32,
}

const RNNT: RnntSizes = RnntSizes {
    width: 240,
    hidden: 1024,
    prediction: 320,
    joint: 512,
    labels: 28,
    encoder_scale: 0.3,
    prediction_scale: 1.0,
    joint_scale: 0.2,
    output_scale: 0.1,
    frame_step: 0.003_906_25,
    symbol_step: 1.25 * 0.003_906_25,
    pace_weight: 16.0,
};

const RNNT_TINY: RnntSizes = RnntSizes {
    hidden: 10,
    prediction: 7,
    joint: 9,
    joint_scale: 1.0,
    output_scale: 3.0,
    pace_weight: 8.0,
    ..RNNT
};

fn rnnt(name: &str, sizes: &RnntSizes) -> ModelRecipe {
    let RnntSizes { width, hidden, prediction, joint, labels: blank, pace_weight, .. } = *sizes;
    let mut recipe = ModelRecipe::new(name);
    let (pre, post) = ("encoder.pre_rnn.lstm", "encoder.post_rnn.lstm");
    recipe.stack(RnnCell::Lstm, pre, &[(width, hidden), (hidden, hidden)], false);
    recipe.stack(RnnCell::Lstm, post, &[(2 * hidden, hidden), (hidden, hidden), (hidden, hidden)], false);
    recipe.add("prediction.embed.weight", &[blank, prediction], 1.0);
    recipe.stack(RnnCell::Lstm, "prediction.dec_rnn.lstm", &[(prediction, prediction); 2], false);
    recipe.scale_layers("encoder.", ".weight_ih_", sizes.encoder_scale);
    recipe.scale_layers("prediction.", ".weight_ih_", sizes.prediction_scale);
    recipe.unit_alone(post, 2, hidden, hidden, sizes.frame_step);
    recipe.unit_alone("prediction.dec_rnn.lstm", 1, prediction, prediction, sizes.symbol_step);

    // Units 0 and 1 of the joint network see how far the symbols are ahead of the rows, and how far behind.
    let inputs = hidden + prediction;
    recipe.add("joint.net.0.weight", &[joint, inputs], sizes.joint_scale);
    recipe.fill("joint.net.0.weight", 0, 2 * inputs, 0.0);
    for (start, value) in
        [(0, -pace_weight), (hidden, pace_weight), (inputs, pace_weight), (inputs + hidden, -pace_weight)]
    {
        recipe.fill("joint.net.0.weight", start, 1, value);
    }
    recipe.add("joint.net.0.bias", &[joint], 0.1);
    recipe.fill("joint.net.0.bias", 0, 2, 0.0);
    recipe.add("joint.net.3.weight", &[blank + 1, joint], sizes.output_scale);
    recipe.fill("joint.net.3.weight", blank * joint, 1, pace_weight);
    recipe.fill("joint.net.3.weight", blank * joint + 1, 1, -pace_weight);
    recipe.add("joint.net.3.bias", &[blank + 1], 0.1);
    recipe.fill("joint.net.3.bias", blank, 1, 1.0);
    recipe
}

impl ModelRecipe {
    /// Adds the layers of a stack, each with its input and hidden width.
    fn stack(&mut self, cell: RnnCell, prefix: &str, sizes: &[(usize, usize)], bidirectional: bool) {
        for (index, (input, hidden)) in sizes.iter().enumerate() {
            self.tensors.extend(layer_tensors(cell, prefix, index, *input, *hidden, bidirectional));
        }
    }

    /// Gives the tensors of recurrent layers another scale: those that begin with `start` and have `part` in their
    /// names.
    fn scale_layers(&mut self, start: &str, part: &str, scale: f32) {
        let kinds = [".weight_ih_", ".weight_hh_", ".bias_ih_", ".bias_hh_"];
        let of_layer = |name: &str| kinds.iter().any(|kind| name.contains(kind));
        for tensor in &mut self.tensors {
            if of_layer(&tensor.name) && tensor.name.starts_with(start) && tensor.name.contains(part) {
                tensor.scale = scale;
            }
        }
    }

    /// Makes unit 0 of an LSTM layer depend only on the number of steps: its cell grows by `tanh(step)` in each, and
    /// its output is `tanh(cell)`.
    fn unit_alone(&mut self, prefix: &str, layer: usize, width: usize, hidden: usize, step: f32) {
        for (gate, bias) in [OPEN, OPEN, step, OPEN].into_iter().enumerate() {
            let row = gate * hidden;
            self.fill(&format!("{prefix}.weight_ih_l{layer}"), row * width, width, 0.0);
            self.fill(&format!("{prefix}.weight_hh_l{layer}"), row * hidden, hidden, 0.0);
            self.fill(&format!("{prefix}.bias_ih_l{layer}"), row, 1, bias);
            self.fill(&format!("{prefix}.bias_hh_l{layer}"), row, 1, 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::weights::Fill;

    #[test]
    fn the_models_have_their_true_sizes() {
        let count = |name| recipe(name).unwrap().parameter_count();
        let lstm = |input: u64, hidden: u64| 4 * hidden * (input + hidden + 2);
        let layers = 4 * lstm(1024, 1024) + 5 * lstm(2048, 1024);
        assert_eq!(count("gnmt"), 3 * 32_317 * 1024 + layers + 2 * 1024 * 1024 + 2 * 1024 + 1);
        let encoder = lstm(240, 1024) + 3 * lstm(1024, 1024) + lstm(2048, 1024);
        let joint = 512 * (1344 + 1) + 29 * (512 + 1);
        assert_eq!(count("rnnt"), encoder + 28 * 320 + 2 * lstm(320, 320) + joint);
        assert_eq!(count("text-similarity"), 10_000_000 + 2 * (1536 * (200 + 512) + 3072) + 128 * 1025);
    }

    #[test]
    fn names_are_unique_and_fills_lie_within_their_tensors() {
        for name in network_names() {
            let recipe = recipe(name).unwrap();
            let names: HashSet<_> = recipe.tensors.iter().map(|tensor| &tensor.name).collect();
            assert_eq!(names.len(), recipe.tensors.len(), "{name}");
            for tensor in &recipe.tensors {
                let within = |fill: &Fill| fill.start + fill.count <= tensor.element_count();
                assert!(tensor.fills.iter().all(within), "{name} {}", tensor.name);
            }
        }
        assert_eq!(crate::catalogue::recipe("no-such-model"), None);
    }
}

//! The models by name. A new one is a module with a function of type [`Load`](crate::Load) and a row in [`MODELS`].

mod bert;
mod digits;
mod layers;
pub(crate) mod llama;
mod lstm;
mod lstm_stack;
mod mobilenet;
mod resnet;
mod tensors;

use crate::{network::Known, precision::Precision};

/// Every model that the plugin knows.
pub const MODELS: &[Known] = &[
    Known { ids: &["digits-cnn"], precisions: Precision::ALL, load: digits::cnn },
    Known { ids: &["digits-lstm"], precisions: Precision::ALL, load: digits::lstm },
    Known { ids: &["digits-mlp"], precisions: Precision::ALL, load: digits::mlp },
    Known { ids: &["resnet50", "resnet50-tiny"], precisions: Precision::ALL, load: resnet::load },
    Known { ids: &["mobilenet-v1", "mobilenet-v1-tiny"], precisions: Precision::ALL, load: mobilenet::load },
    Known { ids: &["bert-base", "bert-large", "bert-tiny"], precisions: Precision::ALL, load: bert::answers },
    Known {
        ids: &["bert-base-embedding", "bert-large-embedding", "bert-tiny-embedding"],
        precisions: Precision::ALL,
        load: bert::embedding,
    },
    Known { ids: &["lstm-stack", "lstm-stack-tiny"], precisions: Precision::ALL, load: lstm_stack::load },
    Known { ids: llama::config::IDS, precisions: Precision::ALL, load: llama::network::load },
];

/// The model with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Known> {
    let means = |known: &str| known.strip_suffix('*').map_or(known == id, |start| id.starts_with(start));
    MODELS.iter().find(|known| known.ids.iter().any(|known| means(known)))
}

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

use crate::network::Known;

/// Every model that the plugin knows.
pub const MODELS: &[Known] = &[
    Known { ids: &["digits-cnn"], load: digits::cnn },
    Known { ids: &["digits-lstm"], load: digits::lstm },
    Known { ids: &["digits-mlp"], load: digits::mlp },
    Known { ids: &["resnet50", "resnet50-tiny"], load: resnet::load },
    Known { ids: &["mobilenet-v1", "mobilenet-v1-tiny"], load: mobilenet::load },
    Known { ids: &["bert-base", "bert-large", "bert-tiny"], load: bert::answers },
    Known {
        ids: &["bert-base-embedding", "bert-large-embedding", "bert-tiny-embedding"],
        load: bert::embedding,
    },
    Known { ids: &["lstm-stack", "lstm-stack-tiny"], load: lstm_stack::load },
    Known { ids: llama::config::IDS, load: llama::network::load },
];

/// Returns the model with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Known> {
    let means = |known: &str| known.strip_suffix('*').map_or(known == id, |start| id.starts_with(start));
    MODELS.iter().find(|known| known.ids.iter().any(|known| means(known)))
}

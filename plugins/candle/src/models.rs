//! The models by name. A new one is a module with a function of type [`Load`](crate::Load) and a row in [`MODELS`].

mod bert;
mod cnn;
mod digits;
mod layers;
pub(crate) mod llama;
mod lstm;
mod lstm_stack;
mod mobilenet;
mod resnet;
pub(crate) mod tensors;

use crate::{
    network::Known,
    weights::Format::{self, Gguf, Safetensors},
};

/// The only format of most models.
const SAFETENSORS: &[Format] = &[Safetensors];

/// Every model that the plugin knows.
pub const MODELS: &[Known] = &[
    Known { ids: &["digits-cnn"], formats: SAFETENSORS, load: cnn::digits },
    Known { ids: &["digits-lstm"], formats: SAFETENSORS, load: digits::lstm },
    Known { ids: &["digits-mlp"], formats: SAFETENSORS, load: digits::mlp },
    Known { ids: &["fashion-mnist-cnn"], formats: SAFETENSORS, load: cnn::fashion_mnist },
    Known { ids: &["resnet50", "resnet50-tiny"], formats: SAFETENSORS, load: resnet::load },
    Known { ids: &["mobilenet-v1", "mobilenet-v1-tiny"], formats: SAFETENSORS, load: mobilenet::load },
    Known { ids: &["bert-base", "bert-large", "bert-tiny"], formats: SAFETENSORS, load: bert::answers },
    Known {
        ids: &["bert-base-embedding", "bert-large-embedding", "bert-tiny-embedding"],
        formats: SAFETENSORS,
        load: bert::embedding,
    },
    Known { ids: &["lstm-stack", "lstm-stack-tiny"], formats: SAFETENSORS, load: lstm_stack::load },
    Known { ids: llama::config::IDS, formats: &[Safetensors, Gguf], load: llama::network::load },
];

/// Returns the model with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Known> {
    let means = |known: &str| known.strip_suffix('*').map_or(known == id, |start| id.starts_with(start));
    MODELS.iter().find(|known| known.ids.iter().any(|known| means(known)))
}

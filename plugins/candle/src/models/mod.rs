//! The models by name. A new one is a module with a function of type [`Load`](crate::Load) and a row in [`MODELS`].

mod digits;
mod layers;
mod lstm;
mod tensors;

use crate::{Known, Precision};

/// Every model that the plugin knows, and with `-tiny` at the end of its id each of these again: sizes are read from the
/// shapes of the tensors, so a smaller model of the same kind needs no code of its own.
pub const MODELS: &[Known] = &[
    Known { id: "digits-cnn", precisions: Precision::ALL, load: digits::cnn },
    Known { id: "digits-lstm", precisions: Precision::ALL, load: digits::lstm },
    Known { id: "digits-mlp", precisions: Precision::ALL, load: digits::mlp },
];

/// The model with this id, with or without `-tiny`.
#[must_use]
pub fn find(id: &str) -> Option<&'static Known> {
    let name = id.strip_suffix("-tiny").unwrap_or(id);
    MODELS.iter().find(|known| known.id == id || known.id == name)
}

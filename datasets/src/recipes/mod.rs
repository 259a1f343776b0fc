//! Models and inputs that are made, not downloaded: the same bytes everywhere from a name.
//!
//! [`recipe`] knows the models by name, [`write_safetensors`] writes the file that every vendor can load, [`onnx`] makes the graph
//! of those that have one, [`input_recipe`] makes the samples. All values come from one counter-based stream, [`Stream`], so that another program can make them
//! too: `datasets/recipes/make_reference.py` does, and computes what the models must answer.
//!
//! What the tensors mean is written in `plugins/cpu-rnn/models/src/nets/README.md` and `datasets/recipes/models.md`.
//!
//! # Example
//! ```
//! use proctor_datasets::recipes;
//!
//! let folder = tempfile::tempdir()?;
//! let recipe = recipes::recipe("rnn-lstm-8-16-1-4").ok_or("no such model")?;
//! assert_eq!(recipe.tensors[0].name, "lstm.weight_ih_l0");
//! assert_eq!(recipe.tensors[0].shape, [64, 8]);
//! recipes::write_safetensors(&recipe, &folder.path().join("model.safetensors"), &mut |_| ())?;
//!
//! let inputs = recipes::input_recipe("rnn-lstm-8-16-1-4").ok_or("no such model")?;
//! assert_eq!(inputs.sample(3)[0].len(), 4 * 8 * size_of::<f32>());
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod inputs;
mod model;
mod models;
mod networks;
mod rnn;
mod samples;
mod stream;
mod write;

pub use inputs::{InputRecipe, InputTensor, InputValues};
pub use model::{Fill, ModelRecipe, TensorRecipe};
pub use models::{MODELS, onnx};
pub use networks::NETWORKS;
pub use rnn::{RnnCell, RnnName};
pub use stream::{Stream, fnv1a64};
pub use write::{Progress, RecipeError, write_safetensors};

/// The weights of a model: one of [`NETWORKS`] or [`MODELS`], or a layer named as [`RnnName`] says.
///
/// The recipe's own name is that of the file, which models may share.
#[must_use]
pub fn recipe(name: &str) -> Option<ModelRecipe> {
    let network = networks::recipe(name).or_else(|| models::recipe(name));
    network.or_else(|| name.parse::<RnnName>().ok().map(|layer| layer.recipe(name)))
}

/// The samples of the same model.
#[must_use]
pub fn input_recipe(name: &str) -> Option<InputRecipe> {
    let network = samples::input_recipe(name).or_else(|| models::input_recipe(name));
    network.or_else(|| name.parse::<RnnName>().ok().map(|layer| layer.input_recipe(name)))
}

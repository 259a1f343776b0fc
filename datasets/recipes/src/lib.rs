//! Generates models and samples from a name, with the same bytes everywhere: weights, graphs and inputs.
//!
//! [`recipe`] finds the weights of a model by name, [`onnx`] makes the graph of a model that has one, and
//! [`input_recipe`] makes its samples. [`find_or_make_model`] keeps the files on disk, and the data set `generated`
//! returns the samples.
//!
//! # Where things are
//! - `weights`, `inputs`, `stream`: the values; `catalogue`, `networks`, `rnn_layer`: the names;
//! - `models`: a file for each with its ONNX graph, those that find boxes in `models/detection`;
//! - `files`, `write`: the files on disk; `dataset`: the data set `generated`;
//! - `prompts`: texts of our own for a published model, the data set `smollm2-prompts`.
//!
//! # Choices
//! - All values come from one counter-based stream, [`Stream`], so other programs can generate them too: the scripts in
//!   this folder do, and compute the expected outputs of the models (`reference/`).
//! - Weights are written as safetensors, which every engine can load. A graph refers to them as external data, so there
//!   is one copy of the weights on disk.
//! - A file is never trusted without proof: [`make_model`] compares checksums and regenerates damaged files.
//!
//! The tensors are specified in `plugins/cpu-rnn/models/src/nets/README.md`, `models.md` and `llama.md`.
//!
//! # Example
//! ```
//! let folder = tempfile::tempdir()?;
//! let recipe = proctor_recipes::recipe("rnn-lstm-8-16-1-4").ok_or("no such model")?;
//! assert_eq!(recipe.tensors[0].name, "lstm.weight_ih_l0");
//! assert_eq!(recipe.tensors[0].shape, [64, 8]);
//! proctor_recipes::write_safetensors(&recipe, &folder.path().join("model.safetensors"), &mut |_| ())?;
//!
//! let inputs = proctor_recipes::input_recipe("rnn-lstm-8-16-1-4").ok_or("no such model")?;
//! assert_eq!(inputs.sample(3)[0].len(), 4 * 8 * size_of::<f32>());
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! Weights are f32. A program that needs the data set `generated` or `smollm2-prompts` must link this crate.

#![forbid(unsafe_code)]

mod catalogue;
mod dataset;
mod error;
mod files;
mod inputs;
mod models;
mod networks;
mod prompts;
mod rnn_layer;
mod stream;
mod weights;
mod write;

pub use catalogue::{input_recipe, model_names, recipe};
pub use dataset::GENERATED;
pub use error::RecipeError;
pub use files::{GeneratedFile, GeneratedModel, check_format, find_model, find_or_make_model, make_model};
pub use inputs::{InputRecipe, InputTensor, InputValues};
pub use models::onnx;
pub use networks::network_names;
pub use rnn_layer::{RNN_PATTERN, RnnCell, RnnName};
pub use stream::{Stream, fnv1a64};
pub use weights::{Fill, ModelRecipe, TensorRecipe};
pub use write::{Progress, write_safetensors};

//! Every recipe by its name.

use proctor_vocabulary::did_you_mean;

use crate::{
    error::RecipeError,
    inputs::InputRecipe,
    models,
    networks::{self, network_names},
    rnn_layer::{RNN_PATTERN, RnnName},
    weights::ModelRecipe,
};

/// Returns the names of all models except the single recurrent layers, which are unlimited in number.
pub fn model_names() -> impl Iterator<Item = &'static str> {
    network_names().chain(models::names())
}

/// Returns the weights of the model of this name: one of [`model_names`], or a layer named as [`RnnName`] says.
///
/// The recipe's own name is the name of the file, which models may share.
#[must_use]
pub fn recipe(name: &str) -> Option<ModelRecipe> {
    let network = networks::recipe(name).or_else(|| models::recipe(name));
    network.or_else(|| name.parse::<RnnName>().ok().map(|layer| layer.recipe(name)))
}

/// Returns the samples of the model of this name.
#[must_use]
pub fn input_recipe(name: &str) -> Option<InputRecipe> {
    let network = networks::input_recipe(name).or_else(|| models::input_recipe(name));
    network.or_else(|| name.parse::<RnnName>().ok().map(|layer| layer.input_recipe(name)))
}

/// Returns the error for a model without a recipe.
pub(crate) fn no_recipe(model: &str) -> RecipeError {
    let known = model_names().chain([RNN_PATTERN]).collect::<Vec<_>>().join(", ");
    RecipeError::NoRecipe(model.to_owned(), did_you_mean(model, model_names()), known)
}

//! The data set `generated`: samples that are made from a seed, the same everywhere, by the recipe of a model.

use std::borrow::Cow;

use proctor_datasets::{Dataset, DatasetEntry, DatasetError, DatasetRequest, Open, RawSample};
use proctor_vocabulary::{ElementType, SampleIndex, TensorSpec};

use crate::{
    catalogue::{input_recipe, no_recipe},
    error::RecipeError,
    inputs::InputRecipe,
};

/// Name of the data set.
pub const GENERATED: &str = "generated";

inventory::submit! {
    DatasetEntry {
        name: GENERATED,
        about: "the inputs of a model, from a fixed seed",
        open: Open::Made {
            layout: "\
The program that runs a benchmark makes the samples by the recipe of the model, from a fixed seed: the same on every
machine. The benchmark says how many (qsl.total_sample_count). No file is needed, and none is written.
",
            open: |request| Ok(Box::new(Generated::open(request)?)),
        },
    }
}

/// Samples of a recipe.
///
/// A raw sample is all input tensors of the model, one after another without gaps, as bytes.
struct Generated {
    recipe: InputRecipe,
    /// One extent: the bytes of a sample.
    shape: [usize; 1],
    sample_count: u64,
}

impl Generated {
    /// Finds the recipe and checks that it makes what the benchmark needs.
    fn open(request: &DatasetRequest<'_>) -> Result<Self, RecipeError> {
        let recipe = input_recipe(request.model).ok_or_else(|| no_recipe(request.model))?;
        let tensors: Vec<TensorSpec> = recipe
            .tensors
            .iter()
            .map(|tensor| TensorSpec {
                name: tensor.name.to_owned(),
                element_type: tensor.element_type,
                shape: tensor.shape.clone(),
            })
            .collect();
        if tensors != request.inputs {
            let list =
                |specs: &[TensorSpec]| specs.iter().map(TensorSpec::to_string).collect::<Vec<_>>().join(", ");
            return Err(RecipeError::Inputs(request.model.to_owned(), list(&tensors), list(request.inputs)));
        }
        let shape = [tensors.iter().map(TensorSpec::size_bytes).sum()];
        Ok(Self { recipe, shape, sample_count: request.sample_count })
    }
}

impl Dataset for Generated {
    fn name(&self) -> &str {
        GENERATED
    }

    fn sample_count(&self) -> u64 {
        self.sample_count
    }

    fn read(&self, index: SampleIndex) -> Result<RawSample<'_>, DatasetError> {
        if index.0 >= self.sample_count {
            return Err(self.no_such_sample(index));
        }
        let bytes = self.recipe.sample(index.0).concat();
        Ok(RawSample {
            element_type: ElementType::U8,
            shape: Cow::Borrowed(&self.shape),
            bytes: Cow::Owned(bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use proctor_datasets::{DataRoot, open_dataset_for};

    use super::*;

    fn open(model: &str, inputs: &[TensorSpec]) -> Result<Box<dyn Dataset>, DatasetError> {
        let root = DataRoot::search();
        open_dataset_for(GENERATED, &DatasetRequest { root: &root, model, inputs, sample_count: 5 })
    }

    fn spec(name: &str, element_type: ElementType, shape: &[usize]) -> TensorSpec {
        TensorSpec { name: name.into(), element_type, shape: shape.to_vec() }
    }

    #[test]
    fn a_sample_holds_all_inputs_and_is_the_same_again() {
        let inputs = [spec("source", ElementType::I32, &[8]), spec("source_length", ElementType::I32, &[1])];
        let samples = |dataset: &dyn Dataset| -> Vec<Vec<u8>> {
            (0..5).map(|index| dataset.read(SampleIndex(index)).unwrap().bytes.into_owned()).collect()
        };
        let dataset = open("gnmt-tiny", &inputs).unwrap();
        let first = samples(&*dataset);
        assert!(first.iter().all(|sample| sample.len() == 36));
        assert!(first[1..].iter().all(|sample| *sample != first[0]));
        assert_eq!(first, samples(&*open("gnmt-tiny", &inputs).unwrap()));
        let error = dataset.read(SampleIndex(5)).unwrap_err();
        assert!(matches!(error, DatasetError::NoSuchSample { sample_count: 5, .. }));
    }

    #[test]
    fn a_benchmark_that_does_not_fit_the_recipe_is_refused() {
        let inputs = [spec("x", ElementType::F32, &[3, 4])];
        assert!(open("rnn-lstm-4-5-1-3", &inputs).is_ok());
        let text = open("rnn-lstm-4-5-1-2", &inputs).err().unwrap().to_string();
        assert!(text.contains("x f32[2, 4]") && text.contains("x f32[3, 4]"), "{text}");
        let text = open("gmnt", &inputs).err().unwrap().to_string();
        assert!(text.contains("did you mean \"gnmt\"?"), "{text}");
    }
}

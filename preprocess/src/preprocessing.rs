//! The preprocessing that a definition of a benchmark asks for: a pipeline by its name, or steps of its own.

use proctor_vocabulary::TensorSpec;
use serde::{Deserialize, Serialize};

use crate::{
    error::PreprocessError,
    image::{ImageSteps, image_steps_entry},
    pipeline::{Pipeline, build_pipeline, pipeline_version},
};

/// The preprocessing of a benchmark. Written down, it is the name, or the table of the steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Preprocessing {
    /// A registered pipeline, by its name.
    Named(String),
    /// Steps of the definition's own, on pictures.
    Image(ImageSteps),
}

impl Preprocessing {
    /// The word in a definition for steps of its own.
    pub const IMAGE: &str = "image";

    /// Returns the word in the definition: the name of the pipeline, or [`Preprocessing::IMAGE`].
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::Image(_) => Self::IMAGE,
        }
    }

    /// Returns the version of the code that makes the tensors.
    ///
    /// # Errors
    /// [`PreprocessError::Unknown`] with a suggestion, or [`PreprocessError::NoDecoders`].
    pub fn version(&self) -> Result<u32, PreprocessError> {
        match self {
            Self::Named(name) => pipeline_version(name),
            Self::Image(_) => Ok(image_steps_entry()?.version),
        }
    }

    /// Builds the pipeline for a model that takes `inputs`.
    ///
    /// # Errors
    /// [`PreprocessError::Unknown`] with a suggestion, [`PreprocessError::NoDecoders`], or
    /// [`PreprocessError::Outputs`].
    pub fn build(&self, inputs: &[TensorSpec]) -> Result<Box<dyn Pipeline>, PreprocessError> {
        match self {
            Self::Named(name) => build_pipeline(name, inputs),
            Self::Image(steps) => (image_steps_entry()?.build)(steps, inputs),
        }
    }
}

impl From<&str> for Preprocessing {
    fn from(name: &str) -> Self {
        Self::Named(name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::ResizeMethod;

    #[test]
    fn it_is_written_as_a_name_or_as_a_table() {
        let named = Preprocessing::from("digits");
        assert_eq!(serde_json::to_string(&named).unwrap(), "\"digits\"");
        let own = Preprocessing::Image(ImageSteps {
            short_side: Some(256),
            scale: 255.0,
            mean: [0.485, 0.456, 0.406],
            ..ImageSteps::bytes(ResizeMethod::OpencvLinear)
        });
        let text = serde_json::to_string(&own).unwrap();
        let expected = r#"{"resize":"opencv-linear","short_side":256,"channels":"rgb","scale":255.0,"mean":[0.485,0.456,0.406],"deviation":[1.0,1.0,1.0]}"#;
        assert_eq!(text, expected);
        for preprocessing in [named, own] {
            let text = serde_json::to_string(&preprocessing).unwrap();
            assert_eq!(serde_json::from_str::<Preprocessing>(&text).unwrap(), preprocessing);
        }
    }

    #[test]
    fn a_program_without_decoders_says_who_has_them() {
        let own = Preprocessing::Image(ImageSteps::bytes(ResizeMethod::OpencvLinear));
        assert_eq!(own.name(), "image");
        let error = own.build(&[]).err().unwrap();
        assert_eq!(own.version(), Err(error.clone()));
        assert!(error.to_string().contains("preprocessing \"image\" reads JPEG files"), "{error}");
        assert_eq!(Preprocessing::from("copy").version(), Ok(1));
    }
}

//! The models that a test asks a plugin to load.

use std::path::Path;

use proctor_plugin_api::vocabulary::{ElementType, Intent, Scenario, TensorSpec};
use proctor_plugin_host::ModelDemand;

/// Returns a tensor of one sample.
#[must_use]
pub fn spec(name: &str, element_type: ElementType, shape: &[usize]) -> TensorSpec {
    TensorSpec { name: name.into(), element_type, shape: shape.to_vec() }
}

/// Returns a tensor of one sample, of f32.
#[must_use]
pub fn f32_spec(name: &str, shape: &[usize]) -> TensorSpec {
    spec(name, ElementType::F32, shape)
}

/// Returns a demand for the model in a file: for one instance and batches of one, on the first device and in the first
/// precision that the plugin declares.
///
/// Takes the format from the file's extension and the name of the model from the file, which is right for
/// `digits-cnn.safetensors`; change the result where that is wrong:
/// `ModelDemand { batch_size_max: 8, ..demand(..) }`.
///
/// # Panics
/// If the file has no extension, or its name is no text.
#[must_use]
pub fn demand(file: &Path, inputs: &[TensorSpec], outputs: &[TensorSpec]) -> ModelDemand {
    let text = |part: Option<&std::ffi::OsStr>| {
        let part = part.and_then(std::ffi::OsStr::to_str);
        part.unwrap_or_else(|| panic!("{} is not a name with an extension", file.display())).to_owned()
    };
    ModelDemand {
        model: text(file.file_stem()),
        precision: None,
        device: None,
        files: vec![(text(file.extension()), file.to_owned())],
        inputs: inputs.to_vec(),
        outputs: outputs.to_vec(),
        last_output_varies: false,
        inputs_vary: false,
        scenario: Scenario::Offline,
        batch_size_max: 1,
        instance_count: 1,
        intent: Intent::default(),
        placements: Vec::new(),
    }
}

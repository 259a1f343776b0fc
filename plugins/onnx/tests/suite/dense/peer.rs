//! Generated models, random samples, and the answers of NumPy.

use std::{
    fs,
    path::{Path, PathBuf},
};

use proctor_plugin_api::vocabulary::ElementType;
use proctor_plugin_bed::{Samples, f32_bytes, i32_bytes};
use proctor_recipes::{Stream, make_model};
use proctor_test_needs::python;
use serde_json::json;
use tempfile::TempDir;

/// An input of a sample.
#[derive(Debug, Clone)]
pub struct Input {
    pub element_type: ElementType,
    pub shape: Vec<u64>,
    pub bytes: Vec<u8>,
}

impl Input {
    /// Uniform numbers within `scale` of 0, or of 0 and above it.
    pub fn reals(stream: Stream, shape: &[u64], scale: f32) -> Self {
        let count: u64 = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|position| stream.uniform(position, scale)).collect();
        Self { element_type: ElementType::F32, shape: shape.to_vec(), bytes: f32_bytes(&values) }
    }

    /// Uniform integers from 0 to `count`.
    pub fn integers(stream: Stream, shape: &[u64], count: u32) -> Self {
        let positions = 0..shape.iter().product();
        let values: Vec<i32> =
            positions.map(|position| stream.below(position, count).cast_signed()).collect();
        Self { element_type: ElementType::I32, shape: shape.to_vec(), bytes: i32_bytes(&values) }
    }
}

/// Samples as a host has them.
pub fn samples(inputs: &[Vec<Input>]) -> Samples {
    fn each<T>(inputs: &[Vec<Input>], of: fn(&Input) -> T) -> Vec<Vec<T>> {
        inputs.iter().map(|sample| sample.iter().map(of).collect()).collect()
    }
    let shape = |input: &Input| input.shape.iter().map(|&extent| extent as usize).collect::<Vec<_>>();
    Samples::new(&each(inputs, |input| input.bytes.clone())).with_shapes(each(inputs, shape))
}

/// A generated model in a folder of its own.
pub struct Made {
    folder: TempDir,
    weights: PathBuf,
    pub onnx: PathBuf,
}

impl Made {
    pub fn new(model: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = make_model(model, folder.path(), &mut |_, _| ()).unwrap();
        Self { folder, weights: made.safetensors.path.clone(), onnx: made.onnx.unwrap().path }
    }

    /// The answers of NumPy, each as the bytes of the file; `None` where there is no Python with it, which is said.
    pub fn answers(&self, task: &str, extent: u64, inputs: &[Vec<Input>]) -> Option<Answers> {
        let folder = self.folder.path();
        let tensor = |sample: usize, number: usize, input: &Input| {
            let file = format!("input-{sample}-{number}.bin");
            fs::write(folder.join(&file), &input.bytes).unwrap();
            json!({ "type": input.element_type.name(), "shape": input.shape, "file": file })
        };
        let list: Vec<Vec<_>> = (inputs.iter().enumerate())
            .map(|(sample, inputs)| {
                inputs.iter().enumerate().map(|(number, input)| tensor(sample, number, input)).collect()
            })
            .collect();
        let weights = self.weights.file_name().unwrap().to_str().unwrap();
        let case = json!({ "task": task, "weights": weights, "extent": extent, "samples": list });
        fs::write(folder.join("case.json"), case.to_string()).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/dense/peer.py");
        python(&script, &[&folder], "NumPy")?;
        Some(Answers(folder.to_owned()))
    }
}

/// The files of NumPy's answers.
pub struct Answers(PathBuf);

impl Answers {
    pub fn bytes(&self, sample: usize) -> Vec<u8> {
        fs::read(self.0.join(format!("answer-{sample}.bin"))).unwrap()
    }

    pub fn reals(&self, sample: usize) -> Vec<f32> {
        proctor_plugin_bed::f32_values(&self.bytes(sample))
    }

    /// How far the best class of each voxel is ahead of the second.
    pub fn gaps(&self, sample: usize) -> Vec<f32> {
        proctor_plugin_bed::f32_values(&fs::read(self.0.join(format!("gap-{sample}.bin"))).unwrap())
    }
}

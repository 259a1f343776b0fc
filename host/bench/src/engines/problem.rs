//! The samples of a case in files, for a system that cannot read the data set.

use std::{
    fs,
    path::{Path, PathBuf},
};

use proctor_config::Settings;
use proctor_datasets::DataRoot;
use proctor_vocabulary::{ElementType, SampleIndex, TensorSpec};
use serde_json::{Value, json};

use crate::answers::{distance, floats};
use proctor_bed::{model_files::find as find_model_files, read_samples};
use proctor_display::Terminal;
use proctor_words::{CommandError, HostError, output};

/// Number of different batches, large enough that none is still in the nearest cache at its next turn.
const BATCH_COUNT: u64 = 8;
/// The precision of requested plugins none.
const PRECISION: &str = "f32";
/// Format of the file that the package reads.
const FORMAT: &str = "onnx";

/// A case as the package needs it, with its files.
#[derive(Debug)]
pub(super) struct Problem {
    /// ONNX file; `None` if the benchmark has no such file.
    pub(super) model: Option<PathBuf>,
    pub(super) inputs: Vec<TensorSpec>,
    pub(super) outputs: Vec<TensorSpec>,
    /// Files of the inputs, in their order: the samples of all batches, one after another.
    pub(super) files: Vec<PathBuf>,
    pub(super) batch: usize,
    /// Number of samples to draw from.
    pub(super) sample_count: u64,
}

impl Problem {
    /// Reads the first samples of the benchmark into files of `folder`, and finds or makes the model.
    ///
    /// # Errors
    /// If data or model are missing or damaged, or `folder` cannot be written.
    pub(super) fn new(settings: &Settings, batch: usize, folder: &Path) -> Result<Self, HostError> {
        let benchmark = &settings.benchmark;
        let there = benchmark.qsl.performance_sample_count;
        if (batch as u64) > there {
            return Err(CommandError::Batch { batch, benchmark: benchmark.id.clone(), count: there }.into());
        }
        let sample_count = (there / batch as u64).min(BATCH_COUNT) * batch as u64;
        let root = DataRoot::new(settings.run.data_root.as_deref());
        let precision = settings.run.precision.as_deref().unwrap_or(PRECISION);
        let observer = Terminal::observer();
        let model =
            find_model_files(settings, &root, precision, observer.as_ref(), |format| format == FORMAT)?;
        let indices: Vec<_> = (0..sample_count).map(SampleIndex).collect();
        let samples = read_samples(settings, &indices)?;
        let mut files = Vec::new();
        for input in 0..benchmark.inputs.len() {
            let path = folder.join(format!("input-{input}.bin"));
            let tensor = |index: &SampleIndex| samples.tensor(*index, input);
            let bytes: Result<Vec<&[u8]>, _> = indices.iter().map(tensor).collect();
            let bytes = bytes.map_err(HostError::data)?.concat();
            fs::write(&path, bytes).map_err(|source| output(&path, source))?;
            files.push(path);
        }
        Ok(Self {
            model: model.into_iter().next().map(|file| file.path),
            inputs: benchmark.inputs.clone(),
            outputs: benchmark.outputs.clone(),
            files,
            batch,
            sample_count,
        })
    }

    /// Returns the problem as the package reads it, which works in `folder`.
    pub(super) fn spec(&self, threads: usize, cpus: &[usize], folder: &Path) -> Value {
        let tensor = |spec: &TensorSpec| json!({ "name": spec.name, "element_type": spec.element_type.name(), "shape": spec.shape });
        let inputs = self.inputs.iter().zip(&self.files).map(|(spec, file)| {
            let mut input = tensor(spec);
            input["file"] = json!(file);
            input
        });
        json!({
            "model": self.model,
            "batch": self.batch,
            "threads": threads,
            "cpus": cpus,
            "folder": folder,
            "inputs": inputs.collect::<Vec<_>>(),
            "outputs": self.outputs.iter().map(tensor).collect::<Vec<_>>(),
        })
    }

    /// Returns the largest difference between two outputs of the first batch, relative to the largest value
    /// of `right`. If they are not all f32, or differ in size, it is 0 if they are equal, else infinite.
    pub(super) fn difference(&self, left: &[u8], right: &[u8]) -> f64 {
        let is_f32 = self.outputs.iter().all(|output| output.element_type == ElementType::F32);
        if !is_f32 || left.len() != right.len() {
            return if left == right { 0.0 } else { f64::INFINITY };
        }
        let (left, right) = (floats(left), floats(right));
        let largest = f64::from(right.iter().fold(0.0, |largest: f32, value| largest.max(value.abs())));
        let difference = distance(&left, &right);
        if difference == 0.0 { 0.0 } else { difference / largest }
    }
}

#[cfg(test)]
mod tests {
    use proctor_config::Loader;

    use super::*;
    use crate::answers::bytes;

    fn digits(batch: usize, folder: &Path) -> Result<Problem, HostError> {
        let settings = Loader::new().flag("--benchmark", "benchmark", "digits-cnn").load().unwrap();
        Problem::new(&settings, batch, folder)
    }

    #[test]
    fn the_first_samples_are_in_a_file_for_each_input() {
        let folder = tempfile::tempdir().unwrap();
        let problem = digits(8, folder.path()).unwrap();
        assert_eq!(problem.sample_count, 64);
        assert_eq!(fs::read(&problem.files[0]).unwrap().len(), 64 * 4 * 64);
        assert!(problem.model.as_ref().is_some_and(|path| path.ends_with("digits-cnn.onnx")));
        let spec = problem.spec(2, &[1, 0], folder.path());
        assert_eq!(spec["inputs"][0]["name"], "image");
        assert_eq!(
            (&spec["inputs"][0]["shape"], &spec["outputs"][0]["shape"]),
            (&json!([1, 8, 8]), &json!([10]))
        );
        assert_eq!((&spec["threads"], &spec["cpus"]), (&json!(2), &json!([1, 0])));
    }

    #[test]
    fn more_samples_than_there_are_cannot_be_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let error = digits(601, folder.path()).unwrap_err().to_string();
        assert_eq!(error, "--batch 601: digits-cnn has 600 samples to draw from");
    }

    #[test]
    fn outputs_differ_by_a_share_of_the_largest_value() {
        let folder = tempfile::tempdir().unwrap();
        let mut problem = digits(1, folder.path()).unwrap();
        let right = bytes(&[1.0, -4.0, 2.0]);
        assert_eq!(problem.difference(&bytes(&[1.0, -4.0, 3.0]), &right), 0.25);
        assert_eq!(problem.difference(&right, &right), 0.0);
        assert!(problem.difference(&bytes(&[1.0, f32::NAN, 2.0]), &right).is_infinite());
        assert!(problem.difference(&bytes(&[1.0, -4.0]), &right).is_infinite());
        problem.outputs[0].element_type = ElementType::I32;
        assert!(problem.difference(&bytes(&[1.0, -4.0, 2.5]), &right).is_infinite());
    }
}

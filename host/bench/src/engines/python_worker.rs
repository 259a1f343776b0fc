//! The package onnxruntime, called directly from Python.

use std::path::Path;

use super::problem::Problem;
use crate::worker::{Worker, python_command};

/// Runs a session. It is handed to Python after the part that is the same for all.
const SCRIPT: &str = include_str!("python_worker.py");

/// Has Python run the model of a problem on these processors, with times and output in `folder`.
///
/// # Errors
/// Why it does not start: mostly that the package is not there.
pub(super) fn start(
    python: &Path,
    problem: &Problem,
    threads: usize,
    cpus: &[usize],
    folder: &Path,
) -> Result<Worker, String> {
    if problem.model.is_none() {
        return Err("the benchmark has no ONNX file".to_owned());
    }
    let pinned = &cpus[cpus.len().saturating_sub(threads)..];
    let command = python_command(python, SCRIPT, &problem.spec(threads, pinned, folder), threads);
    Worker::start(command, threads, cpus.to_vec(), folder)
}

/// Advice about a package that no Python has.
pub(super) fn advice(why: &[String]) -> String {
    let why = why.join("; ");
    format!(
        "{why}; to have it: python3 -m venv venv && venv/bin/pip install numpy onnxruntime, and --python venv/bin/python"
    )
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use proctor_config::Loader;
    use proctor_test_needs::skip;

    use super::*;
    use crate::{
        engines::request::{Figures, Loaded, OUTPUT, Request, Way},
        timing::Window,
        worker::{put_modules_first, pythons},
    };

    /// A package that stands in for onnxruntime and gives back sums: what the script itself does can be seen anywhere.
    const FAKE: &str = r#"
import numpy
__version__ = "9.9"
class SessionOptions:
    pass
class Tensor:
    def __init__(self, name): self.name = name
class Binding:
    def bind_cpu_input(self, name, values):
        assert name == "pixels" and values.ctypes.data % 64 == 0
        self.values = values
    def bind_output(self, name, device, number, dtype, shape, address):
        assert (name, device, tuple(shape)) == ("logits", "cpu", (8, 10))
class InferenceSession:
    def __init__(self, model, options, providers):
        assert open(model, "rb").read(1) == b"\x08"
        assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)
    def get_inputs(self): return [Tensor("pixels")]
    def get_outputs(self): return [Tensor("logits")]
    def io_binding(self): return Binding()
    def run(self, names, inputs):
        assert names == ["logits"] and inputs["pixels"].shape == (8, 1, 8, 8)
        sums = inputs["pixels"].reshape(8, 64).sum(axis=1)
        return [numpy.repeat(sums, 10).reshape(8, 10)]
    def run_with_iobinding(self, binding): assert binding.values.shape == (8, 1, 8, 8)
"#;

    fn problem(folder: &Path) -> Problem {
        let settings = Loader::new().flag("--benchmark", "benchmark", "digits-cnn").load().unwrap();
        Problem::new(&settings, 8, folder).unwrap()
    }

    fn measure(worker: &mut Worker, way: Way, folder: &Path) -> Vec<u64> {
        let window = Window { warm_up_s: 0.0, least_s: 0.0, least_calls: 20, most_s: 5.0 };
        worker.measure::<Figures>(&Request::Measure { way, window }, folder).unwrap().times_ns
    }

    #[test]
    fn the_script_runs_what_goes_by_the_name_of_the_package() {
        let has_numpy = Command::new("python3").args(["-c", "import numpy"]).output();
        if !has_numpy.is_ok_and(|output| output.status.success()) {
            return skip("python3 has no module numpy; `cargo xtask test` brings it");
        }
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("capi")).unwrap();
        fs::write(folder.path().join("capi/libonnxruntime.so.9"), "").unwrap();
        fs::write(folder.path().join("onnxruntime.py"), FAKE).unwrap();
        let problem = problem(folder.path());
        let cpus = proctor_rnn_layer::allowed_cores();
        let spec = problem.spec(1, &cpus[..1], folder.path());
        let mut command = python_command(Path::new("python3"), SCRIPT, &spec, 1);
        put_modules_first(&mut command, folder.path());
        let mut worker = Worker::start(command, 1, vec![cpus[0]], folder.path()).unwrap();
        assert_eq!(worker.version, "9.9");
        let loaded: Loaded = worker.ask(&Request::Load).unwrap();
        assert!(loaded.library.is_some_and(|path| path.ends_with("capi/libonnxruntime.so.9")));
        // The sums of the pixels of each sample, ten times.
        let floats = |path: &Path| -> Vec<f32> {
            fs::read(path).unwrap().as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
        };
        let pixels = floats(&problem.files[0]);
        let sums: Vec<f32> = pixels.chunks(64).take(8).map(|sample| sample.iter().sum()).collect();
        let output = floats(&folder.path().join(OUTPUT));
        assert_eq!(output.len(), 80);
        assert!(
            output.chunks(10).zip(sums).all(|(row, sum)| row.iter().all(|value| (value - sum).abs() < 1e-4))
        );
        for way in [Way::Run, Way::Binding] {
            assert!(measure(&mut worker, way, folder.path()).len() >= 20);
        }
    }

    #[test]
    fn the_package_gives_the_outputs_of_the_file_in_both_ways() {
        let folder = tempfile::tempdir().unwrap();
        let problem = problem(folder.path());
        let cpus = proctor_rnn_layer::allowed_cores();
        let started = pythons(&[])
            .iter()
            .map(|python| start(python, &problem, 1, &cpus, folder.path()))
            .find_map(Result::ok);
        let Some(mut worker) = started else {
            return skip("no python3 has the package onnxruntime; `cargo xtask test` brings it");
        };
        let loaded: Loaded = worker.ask(&Request::Load).unwrap();
        assert!(loaded.call_ms > 0.0);
        assert_eq!(fs::read(folder.path().join(OUTPUT)).unwrap().len(), 8 * 40);
        for way in [Way::Run, Way::Binding] {
            assert!(measure(&mut worker, way, folder.path()).iter().all(|time_ns| *time_ns > 0));
        }
    }

    #[test]
    fn a_package_that_is_not_there_is_named_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let problem = problem(folder.path());
        let error = start(Path::new("./no-such-python"), &problem, 1, &[0], folder.path()).unwrap_err();
        assert!(error.contains("No such file"), "{error}");
        assert!(advice(&[error]).contains("pip install numpy onnxruntime"));
        let none = Problem { model: None, ..problem };
        assert_eq!(
            start(Path::new("python3"), &none, 1, &[0], folder.path()).unwrap_err(),
            "the benchmark has no ONNX file"
        );
    }
}

//! The package onnxruntime, called directly from Python.

use std::path::Path;

use super::problem::Problem;
use crate::worker::Worker;

/// Packages that the worker needs.
pub(super) const PACKAGES: &str = "numpy onnxruntime";
/// Runs a session. It is handed to Python after the part that is the same for all.
const SCRIPT: &str = include_str!("python_worker.py");

/// Runs the model of a problem in Python on these processors, with times and output in `folder`.
///
/// # Errors
/// If it does not start: mostly because the package is missing.
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
    let spec = problem.spec(threads, pinned, folder);
    Worker::start_python(python, SCRIPT, &spec, threads, cpus, folder)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proctor_config::Loader;
    use proctor_test_needs::skip;

    use super::*;
    use crate::{
        answers::floats,
        engines::request::{Figures, Loaded, OUTPUT, Request, Way},
        timing::Window,
        worker::{
            in_first_python,
            tests::{has_numpy, start_with_modules},
        },
    };

    /// A package that stands in for onnxruntime and returns sums: it shows the script's own behaviour anywhere.
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
        if !has_numpy() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("capi")).unwrap();
        fs::write(folder.path().join("capi/libonnxruntime.so.9"), "").unwrap();
        fs::write(folder.path().join("onnxruntime.py"), FAKE).unwrap();
        let problem = problem(folder.path());
        let cpu = proctor_rnn_layer::allowed_cores()[0];
        let spec = problem.spec(1, &[cpu], folder.path());
        let mut worker = start_with_modules(folder.path(), SCRIPT, &spec, cpu).unwrap();
        assert_eq!(worker.version, "9.9");
        let loaded: Loaded = worker.ask(&Request::Load).unwrap();
        assert!(loaded.library.is_some_and(|path| path.ends_with("capi/libonnxruntime.so.9")));
        // The sums of the pixels of each sample, ten times.
        let pixels = floats(&fs::read(&problem.files[0]).unwrap());
        let sums: Vec<f32> = pixels.chunks(64).take(8).map(|sample| sample.iter().sum()).collect();
        let output = floats(&fs::read(folder.path().join(OUTPUT)).unwrap());
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
        let started =
            in_first_python(&[], PACKAGES, |python| start(python, &problem, 1, &cpus, folder.path()));
        let Ok(mut worker) = started else {
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
        let error = in_first_python(&["./no-such-python".into()], PACKAGES, |python| {
            start(python, &problem, 1, &[0], folder.path())
        });
        let error = error.unwrap_err();
        assert!(error.starts_with("./no-such-python: No such file"), "{error}");
        assert!(error.contains("pip install numpy onnxruntime"), "{error}");
        let none = Problem { model: None, ..problem };
        assert_eq!(
            start(Path::new("python3"), &none, 1, &[0], folder.path()).unwrap_err(),
            "the benchmark has no ONNX file"
        );
    }
}

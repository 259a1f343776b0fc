//! Runs the systems that ours is compared with: packages of Python, found where they are installed.

use std::path::Path;

use serde_json::json;

use crate::worker::Worker;

/// Runs one system. It is handed to Python after the part that is the same for all.
const SCRIPT: &str = include_str!("python_worker.py");

/// Starts Python with one system on a number of threads.
///
/// # Errors
/// If it does not start: mostly because the package is missing.
pub(super) fn start(
    system: &str,
    python: &Path,
    threads: usize,
    cpus: &[usize],
    folder: &Path,
) -> Result<Worker, String> {
    let spec = json!({ "system": system, "threads": threads, "cpus": cpus });
    Worker::start_python(python, SCRIPT, &spec, threads, cpus, folder)
}

/// Returns advice about a system that no Python has.
pub(super) fn advice(name: &str, why: &[String]) -> String {
    let why = why.join("; ");
    format!(
        "skipped: {name} ({why}); to have it beside ours: python3 -m venv venv && venv/bin/pip install numpy {name}, and \
         --python venv/bin/python"
    )
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use proctor_rnn_layer::Precision;
    use proctor_test_needs::skip;

    use super::*;
    use crate::rnn::{
        answer::{TOLERANCE, answer},
        cases::{Kind, LayerCase},
        problem::{OUTPUT, Problem},
        request::{Reply, Request},
    };
    use crate::{
        answers::{distance, floats},
        timing::Window,
        worker::{
            pythons,
            tests::{has_numpy, start_with_modules},
        },
    };

    const LAYERS: [LayerCase; 3] = [
        LayerCase { kind: Kind::Lstm, bidirectional: true, input: 5, hidden: 3, batch: 2, time: 4 },
        LayerCase { kind: Kind::Gru, bidirectional: false, input: 2, hidden: 7, batch: 1, time: 1 },
        LayerCase { kind: Kind::Gru0, bidirectional: false, input: 4, hidden: 4, batch: 3, time: 5 },
    ];

    /// Loads a layer, calls it, and holds its answer against ours.
    fn check(worker: &mut Worker, layer: LayerCase) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let problem = Problem::new(layer);
        problem.write(folder.path()).unwrap();
        let (path, has_initial_state) = (folder.path().to_owned(), layer.has_initial_state());
        let precision = Precision::F32;
        worker.ask::<Reply>(&Request::Load {
            folder: path,
            layer,
            precision,
            has_initial_state,
            on_engine: None,
        })?;
        let output = floats(&fs::read(folder.path().join(OUTPUT)).unwrap());
        let error = distance(&output, &answer(&problem));
        assert!(error < TOLERANCE, "{layer:?}: {error}");
        let times = measure(worker, folder.path())?;
        assert!(!times.is_empty() && times.iter().all(|time| *time > 0));
        worker.ask::<Reply>(&Request::Unload).map(drop)
    }

    fn measure(worker: &mut Worker, folder: &Path) -> Result<Vec<u64>, String> {
        let measured = worker.measure::<Reply>(&Request::Measure { window: Window::QUICK }, folder)?;
        Ok(measured.times_ns)
    }

    /// A system in the first Python that has its package, started in a folder.
    fn started(name: &str, folder: &Path) -> Option<Worker> {
        let cpus = proctor_rnn_layer::allowed_cores();
        pythons(&[]).iter().find_map(|python| start(name, python, 1, &cpus[..1], folder).ok())
    }

    #[test]
    fn onnx_runtime_gives_the_f64_answer() {
        let folder = tempfile::tempdir().unwrap();
        match started("onnxruntime", folder.path()) {
            Some(mut worker) => LAYERS.into_iter().for_each(|layer| check(&mut worker, layer).unwrap()),
            None => skip("no python3 has the package onnxruntime; `cargo xtask test` brings it"),
        }
    }

    /// A package that stands in for onnxruntime and returns zeros: it shows the script's own behaviour
    /// anywhere.
    const FAKE: &str = r#"
__version__ = "9.9"
class SessionOptions:
    pass
class Binding:
    def bind_cpu_input(self, name, values): pass
    def bind_output(self, *_): pass
class InferenceSession:
    def __init__(self, model, options, providers):
        assert open(model, "rb").read().count(b"LSTM") == 1
        assert options.intra_op_num_threads == 1
    def io_binding(self): return Binding()
    def run_with_iobinding(self, binding): pass
"#;

    #[test]
    fn the_script_runs_what_goes_by_the_name_of_a_system() {
        if !has_numpy() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("onnxruntime.py"), FAKE).unwrap();
        let cpu = proctor_rnn_layer::allowed_cores()[0];
        let spec = json!({ "system": "onnxruntime", "threads": 1, "cpus": [cpu] });
        let mut worker = start_with_modules(folder.path(), SCRIPT, &spec, cpu).unwrap();
        assert_eq!(worker.version, "9.9");
        Problem::new(LAYERS[0]).write(folder.path()).unwrap();
        let request = Request::Load {
            folder: folder.path().to_owned(),
            layer: LAYERS[0],
            precision: Precision::F32,
            has_initial_state: false,
            on_engine: None,
        };
        assert!(worker.ask::<Reply>(&request).unwrap().load_ms.is_some());
        assert_eq!(fs::read(folder.path().join(OUTPUT)).unwrap().len(), 4 * 4 * 2 * 6);
        assert!(measure(&mut worker, folder.path()).unwrap().len() >= 5);
        worker.ask::<Reply>(&Request::Unload).unwrap();
        // Nothing will be loaded from here on.
        assert!(measure(&mut worker, folder.path()).unwrap_err().contains("Error"));
    }

    #[test]
    fn a_package_that_is_not_there_is_named_with_what_to_do() {
        if Command::new("python3").arg("--version").output().is_err() {
            return skip("there is no python3");
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("torch.py"), "raise ImportError('not this one')").unwrap();
        let cpu = proctor_rnn_layer::allowed_cores()[0];
        let spec = json!({ "system": "torch", "threads": 1, "cpus": [cpu] });
        let error = start_with_modules(folder.path(), SCRIPT, &spec, cpu).unwrap_err();
        assert_eq!(error, "ImportError: not this one");
        let advice = advice("torch", &[error]);
        assert!(advice.starts_with("skipped: torch (ImportError: not this one); "), "{advice}");
        assert!(advice.contains("pip install numpy torch"));
    }
}

//! Shared by the tests: the plugin, where there is a library for it, and a small model.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

// Linked in, and so known to the host.
use onnx_sut as _;
use proctor_onnx_file::{Dim, GraphBuilder};
use proctor_plugin_api::vocabulary::ElementType;
use proctor_plugin_bed::{Bed, ModelDemand, Run, Samples, Stage};
use proctor_plugin_host::Backend;
use proctor_test_needs::skip;

/// Opens the plugin, as a host does.
pub fn open(options: &[(&str, &str)]) -> Result<Backend, String> {
    proctor_plugin_bed::open("onnx", options)
}

/// The opened plugin; `None`, and said so, where there is no runtime library.
pub fn opened(options: &[(&str, &str)]) -> Option<Backend> {
    match open(options) {
        Ok(backend) => Some(backend),
        Err(error) if error.contains("found no ONNX Runtime") => {
            skip(&error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Loads a model and runs all samples in batches as large as demanded; every batch has its stages.
pub fn run(backend: &Backend, demand: &ModelDemand, samples: &Samples) -> Result<Run, String> {
    let batch_size = usize::try_from(demand.batch_size_max).expect("a small number");
    let run = Bed::load(backend, demand)?.run(samples, &[batch_size])?;
    assert_staged(&run);
    Ok(run)
}

/// Asserts that the plugin has reported all stages of every batch. (The host checks their order.)
pub fn assert_staged(run: &Run) {
    for stages in run.stages() {
        let names: Vec<_> = stages.iter().map(Stage::name).collect();
        assert_eq!(names, ["copy_in", "compute", "copy_out"]);
    }
}

/// The file of `y = 2 x` over tensors of these extents.
pub fn doubling(dims: &[Dim]) -> Vec<u8> {
    let mut graph = GraphBuilder::new("doubling");
    graph.input("x", ElementType::F32, dims);
    graph.node("Add", "y", &["x", "x"], &[]);
    graph.output("y", ElementType::F32, dims);
    graph.into_bytes()
}

/// The data root with models or data of packages; `None`, and said so, where one is not there.
pub fn packages(names: &[&str]) -> Option<PathBuf> {
    proctor_test_needs::packages(names).map_err(skip).ok()
}

/// A library from some C; `None`, and said so, without a compiler.
pub fn compiled(folder: &Path, name: &str, code: &str) -> Option<PathBuf> {
    let (source, library) = (folder.join("library.c"), folder.join(name));
    fs::write(&source, code).unwrap();
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    match compiled {
        Ok(status) if status.success() => Some(library),
        Ok(status) => panic!("cc failed: {status}"),
        Err(error) => {
            skip(format!("cannot start cc ({error}); `cargo xtask setup` installs one"));
            None
        }
    }
}

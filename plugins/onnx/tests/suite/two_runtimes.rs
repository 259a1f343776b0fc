//! A second runtime in the process is refused, no matter where the first came from. Libraries stay loaded to the end of
//! the process, so no other test can share it.

use std::{fs, path::PathBuf};

use proctor_plugin_bed::digits;

use crate::common::{self, opened};

/// The file of the runtime that this process has loaded.
fn loaded() -> PathBuf {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let line = maps.lines().find(|line| line.contains("libonnxruntime.so")).expect("a runtime is loaded");
    PathBuf::from(&line[line.find('/').unwrap()..])
}

#[test]
fn a_second_runtime_is_refused_by_the_next_open_and_the_next_load() {
    let Some(first) = opened(&[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("libonnxruntime.so.1.0");
    fs::copy(loaded(), &other).unwrap();

    // Asked for by option: nothing is loaded, and the first goes on.
    let error = common::open(&[("library", other.to_str().unwrap())]).map(drop).unwrap_err();
    for part in [other.to_str().unwrap(), loaded().to_str().unwrap(), "one library"] {
        assert!(error.contains(part), "{error}");
    }
    let demand = digits::model("digits-mlp.onnx");
    drop(first.load_model(&demand).unwrap());

    // Brought in by another plugin, as it might be.
    // SAFETY: it is the library that is loaded already, from another file; its initialisers ask for nothing.
    let _stays = std::mem::ManuallyDrop::new(unsafe { libloading::Library::new(&other) }.unwrap());
    for error in [
        common::open(&[]).map(drop).unwrap_err(),
        first.load_model(&demand).map(drop).unwrap_err().to_string(),
    ] {
        assert!(
            error.contains("this process has ONNX Runtime") && error.contains("libonnxruntime.so.1.0"),
            "{error}"
        );
    }
}

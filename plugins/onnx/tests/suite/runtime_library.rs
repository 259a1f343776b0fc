//! Libraries that are not there, or are not the right ones.

use std::{fs, path::Path};

use proctor_plugin_api::linked_plugins;
use proctor_plugin_host::{LoadedPlugin, PluginLocation};

use crate::common::{self, compiled};

fn refusal(library: &Path) -> String {
    common::open(&[("library", library.to_str().unwrap())]).map(drop).unwrap_err()
}

#[test]
fn the_manifest_needs_no_library() {
    assert!(linked_plugins().any(|plugin| (plugin.name)() == "onnx"));
    let plugin = LoadedPlugin::load(&PluginLocation::Linked("onnx")).unwrap();
    let first = &plugin.manifest().models[0];
    assert_eq!((first.model.as_str(), first.format.as_str()), ("*", "onnx"));
    assert_eq!((first.precision.as_str(), first.device.as_str()), ("f32", "cpu"));
}

#[test]
fn a_library_that_is_absent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libonnxruntime.so");
    let error = refusal(&path);
    for part in [path.to_str().unwrap(), "option library", "cargo xtask setup", "pip install onnxruntime"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_file_that_is_no_library() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libonnxruntime.so");
    fs::write(&path, "ELF it is not").unwrap();
    let error = refusal(&path);
    assert!(error.contains("cannot load") && error.contains("libonnxruntime.so"), "{error}");
}

#[test]
fn a_library_that_lacks_what_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let code = "int missing(void); int something(void) { return missing(); } int (*always)(void) = missing;";
    let Some(path) = compiled(folder.path(), "libneedy.so", code) else { return };
    let error = refusal(&path);
    assert!(error.contains("cannot load") && error.contains("undefined symbol: missing"), "{error}");
}

#[test]
fn a_library_of_something_else() {
    let folder = tempfile::tempdir().unwrap();
    let Some(path) = compiled(folder.path(), "libsomething.so", "int something(void) { return 1; }") else {
        return;
    };
    let error = refusal(&path);
    assert!(error.contains("libsomething.so is a library, but not an ONNX Runtime"), "{error}");
}

#[test]
fn a_library_that_is_too_old() {
    let folder = tempfile::tempdir().unwrap();
    // Nothing else is needed from a library before its version is known.
    let code = r#"
        static const void *get_api(unsigned version) { (void)version; return 0; }
        static const char *get_version(void) { return "1.10.0"; }
        static const struct { const void *(*api)(unsigned); const char *(*version)(void); } base = {get_api, get_version};
        const void *OrtGetApiBase(void) { return &base; }
    "#;
    let Some(path) = compiled(folder.path(), "libold.so", code) else { return };
    let error = refusal(&path);
    assert!(error.contains("libold.so is ONNX Runtime 1.10.0, but 1.17 or a later 1.x is needed"), "{error}");
    assert!(error.contains("cargo xtask setup"), "{error}");
}

//! Execution providers that are libraries, with a double in C that takes no node and says what it was given.

use std::{
    fs,
    path::{Path, PathBuf},
};

use proctor_plugin_bed::{Samples, digits};
use proctor_plugin_host::Backend;

use crate::common::{compiled, opened, run};

const DOUBLE: &str = include_str!("../../../../tests/fixtures/c/execution_provider.c");

/// The double, built with these definitions; `None` without a compiler.
fn double(folder: &Path, name: &str, definitions: &[&str]) -> Option<PathBuf> {
    let defined: String = definitions.iter().map(|name| format!("#define {name}\n")).collect();
    compiled(folder, name, &format!("{defined}{DOUBLE}"))
}

/// The plugin with a library and other options; `None` where there is no runtime.
fn opened_with(library: &Path, options: &[(&str, &str)]) -> Option<Backend> {
    let library = library.to_str().unwrap();
    opened(&[&[("ep_library", library), ("threads", "1")], options].concat())
}

/// Why the plugin does not load a model with a library and other options.
fn refusal(library: &Path, options: &[(&str, &str)]) -> Option<String> {
    let backend = opened_with(library, options)?;
    let refused = backend.load_model(&digits::model("digits-mlp.onnx")).map(drop);
    Some(refused.expect_err("the library cannot be used").to_string())
}

#[test]
fn a_provider_gets_its_options_and_what_it_leaves_runs_on_the_processor() {
    let folder = tempfile::tempdir().unwrap();
    let Some(library) = double(folder.path(), "libdouble_ep.so", &[]) else { return };
    let told = folder.path().join("told");
    let options = format!("tell={};mode=quiet", told.display());
    let Some(backend) = opened_with(&library, &[("ep_options", &options)]) else { return };
    let samples = Samples::of_f32(&digits::images()[..8]);
    let ran = run(&backend, &digits::model("digits-mlp.onnx"), &samples).unwrap();
    assert!(digits::reference("digits-mlp").error(ran.answers()) <= 1e-4);
    let text = fs::read_to_string(&told).unwrap();
    assert!(text.starts_with("DoubleExecutionProvider as proctor."), "{text}");
    assert!(text.ends_with(": devices 1, mode \"quiet\"\n"), "{text}");

    let model = backend.load_model(&digits::model("digits-mlp.onnx")).unwrap();
    let explanation = model.explain().unwrap().unwrap();
    let expected = format!(
        "execution provider DoubleExecutionProvider of Proctor, device 0 of 1, from {} with tell={};mode=quiet; what it \
         does not take runs on cpu",
        library.canonicalize().unwrap().display(),
        told.display()
    );
    assert!(explanation.contains(&expected), "no \"{expected}\" in:\n{explanation}");
}

#[test]
fn of_two_providers_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let Some(library) = double(folder.path(), "libtwo_ep.so", &["TWO_PROVIDERS"]) else { return };
    let Some(error) = refusal(&library, &[]) else { return };
    let both = "DoubleExecutionProvider, OtherExecutionProvider";
    assert!(
        error.contains(&format!("several providers; choose one with --set onnx.ep_name=...: {both}")),
        "{error}"
    );
    let error = refusal(&library, &[("ep_name", "Third")]).unwrap();
    assert!(error.contains("has no provider \"Third\"") && error.contains(both), "{error}");
    let error = refusal(&library, &[("ep_name", "OtherExecutionProvider"), ("ep_device", "3")]).unwrap();
    assert!(error.contains("ep_device = 3, but provider OtherExecutionProvider of "), "{error}");
    let backend = opened_with(&library, &[("ep_name", "OtherExecutionProvider")]).unwrap();
    let model = backend.load_model(&digits::model("digits-mlp.onnx")).unwrap();
    let explanation = model.explain().unwrap().unwrap();
    assert!(explanation.contains("execution provider OtherExecutionProvider of Proctor"), "{explanation}");
}

#[test]
fn a_provider_that_refuses_the_session_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let Some(library) = double(folder.path(), "libdouble_ep.so", &[]) else { return };
    let Some(error) = refusal(&library, &[("ep_options", "mode=refuse")]) else { return };
    assert!(error.contains("the double was told to refuse this session"), "{error}");
}

#[test]
fn libraries_that_are_no_provider_are_named_with_what_they_lack() {
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone.so");
    let Some(error) = refusal(&gone, &[]) else { return };
    assert!(error.contains("gone.so, which option ep_library names"), "{error}");
    let text = folder.path().join("libtext.so");
    fs::write(&text, "no library").unwrap();
    let error = refusal(&text, &[]).unwrap();
    assert!(error.contains("libtext.so as an execution provider: "), "{error}");
    for (name, definition, expected) in [
        ("libhalf.so", "WITHOUT_RELEASE", "it has no function ReleaseEpFactory"),
        ("librefusing.so", "REFUSES", "librefusing.so: the double has no licence for this machine"),
        ("liblater.so", "API_VERSION 99", "liblater.so: the double is of another version of the functions"),
        ("libidle.so", "NO_DEVICES", "libidle.so offers no device on this machine"),
    ] {
        let Some(library) = double(folder.path(), name, &[definition]) else { return };
        let error = refusal(&library, &[]).unwrap();
        assert!(error.contains(expected), "{error}");
    }
    let Some(other) = compiled(folder.path(), "libother.so", "int something(void) { return 1; }") else {
        return;
    };
    let error = refusal(&other, &[]).unwrap();
    assert!(error.contains("it has no function CreateEpFactories"), "{error}");
    let error = refusal(&other, &[("provider", "cuda")]).unwrap();
    assert!(error.contains("provider = cuda and ep_library are two providers"), "{error}");
}

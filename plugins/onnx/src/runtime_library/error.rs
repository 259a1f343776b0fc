//! Errors of the runtime library.

use std::path::PathBuf;

/// Advice on getting a library, at the end of messages.
const HOW_TO_GET: &str = "get one by `pip install onnxruntime` and \
                          --set onnx.library=<site-packages>/onnxruntime/capi, or, in the source tree, by \
                          `cargo xtask setup`";

/// Reason why there is no runtime to work with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RuntimeLibraryError {
    #[error("found no ONNX Runtime (libonnxruntime.so) in {}; {HOW_TO_GET}", list(searched))]
    NotFound { searched: Vec<PathBuf> },
    #[error("there is no ONNX Runtime at {}, which {by} names; {HOW_TO_GET}", path.display())]
    Missing { by: &'static str, path: PathBuf },
    #[error("cannot load {} as ONNX Runtime: {reason}; {HOW_TO_GET}", path.display())]
    NotLoadable { path: PathBuf, reason: String },
    #[error("{} is a library, but not an ONNX Runtime: it has no OrtGetApiBase; {HOW_TO_GET}", path.display())]
    NotOnnxRuntime { path: PathBuf },
    #[error("{} is ONNX Runtime {version}, but 1.{minor_min} or a later 1.x is needed; {HOW_TO_GET}", path.display())]
    WrongVersion { path: PathBuf, version: String, minor_min: u32 },
    #[error(
        "{} cannot be loaded: this process has ONNX Runtime {} loaded already, and two of them disturb each other; let \
         all plugins of a run use one library (--set onnx.library=...)",
        path.display(),
        list(loaded)
    )]
    Second { path: PathBuf, loaded: Vec<PathBuf> },
    #[error("ONNX Runtime {version} ({}) does not start: {reason}", path.display())]
    NotStarted { path: PathBuf, version: String, reason: String },
}

/// Returns the dynamic linker's own words, which the error only wraps.
pub(crate) fn innermost(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}

//! The Python package `proctor` of a build.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::PathBuf,
    process::Command,
};

use crate::python::python_packages;

/// The folder of NumPy and ONNX Runtime for Python, as [`python_packages`] takes it.
pub const NUMPY_PACKAGE: &str = "target/python-onnxruntime-1.31.1";

/// The folder of scikit-learn, which has a NumPy of the same version beside it, as [`python_packages`] takes it.
pub const SCIKIT_LEARN_PACKAGE: &str = "target/python-pycocotools-2.0.11";

/// The folder beside the programs of a build in which `cargo xtask test` assembles the package.
const ASSEMBLED: &str = "python";

/// An interpreter that finds the package `proctor` of this build, and others that a test asks for.
#[derive(Debug, Clone)]
pub struct PythonModule {
    path: OsString,
}

impl PythonModule {
    /// Returns the start of the interpreter, which writes no bytecode; the caller adds arguments such as `-m proctor`.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new("python3");
        command.arg("-B").env("PYTHONPATH", &self.path);
        command
    }

    /// Returns the value of `PYTHONPATH`, for a program that starts the interpreter itself.
    #[must_use]
    pub fn path(&self) -> &OsStr {
        &self.path
    }
}

/// Returns the available python3 with the package `proctor` that belongs to the running test, and with the packages
/// that `cargo xtask setup` installed into these folders, such as [`NUMPY_PACKAGE`].
///
/// # Errors
/// Returns the reason why something is not there, for [`skip`](crate::skip).
pub fn python_module(packages: &[&str]) -> Result<PythonModule, String> {
    let folder = assembled()?;
    let others = packages.iter().map(|packages| python_packages(packages)).collect::<Result<Vec<_>, _>>()?;
    let path = env::join_paths([folder].iter().chain(&others));
    path.map(|path| PythonModule { path }).map_err(|error| format!("PYTHONPATH cannot be set: {error}"))
}

/// Returns the folder that has the package.
fn assembled() -> Result<PathBuf, String> {
    let test = env::current_exe().map_err(|error| format!("the running test has no path: {error}"))?;
    // A test program lies in the folder `deps` of the folder of its profile.
    let build = test.ancestors().nth(2).ok_or("the running test lies in no target folder")?;
    let folder = build.join(ASSEMBLED);
    // The link leads to the library, which another build may have removed.
    if folder.join("proctor/_native.abi3.so").is_file() {
        return Ok(folder);
    }
    Err(format!("the Python package is not in {}; `cargo xtask test` assembles it there", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip;

    #[test]
    fn the_package_of_the_build_is_found_and_what_is_missing_is_named() {
        let missing = python_module(&["target/no-such-packages"]).unwrap_err();
        assert!(missing.contains("cargo xtask") || missing.contains("python3"), "{missing}");
        let module = match python_module(&[]) {
            Ok(module) => module,
            Err(missing) => return skip(missing),
        };
        let output =
            module.command().args(["-c", "import proctor; print(proctor.__version__)"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), env!("CARGO_PKG_VERSION"));
    }
}

//! Scripts of Python, whose answers tests compare with.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

use crate::skip;

/// Exit code of a script that lacks a package.
const LACKS_PACKAGE: i32 = 3;

/// Runs a script with the python3 that is found, and returns what it has printed.
///
/// `None` where there is no python3, or where the script has printed which package it lacks and ended with 3: the test
/// has then said that it skips itself. `packages` are those that `cargo xtask setup` gets for it.
///
/// # Panics
/// If the script fails, with its output; and as [`skip`].
#[must_use]
pub fn python(script: &Path, arguments: &[&dyn AsRef<OsStr>], packages: &str) -> Option<String> {
    let mut command = Command::new("python3");
    command.arg("-B").arg(script).args(arguments.iter().map(|argument| argument.as_ref()));
    let Ok(output) = command.output() else {
        skip("python3 cannot be started");
        return None;
    };
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.code() == Some(LACKS_PACKAGE) {
        skip(format!("{}; `cargo xtask setup` gets {packages}", printed.trim()));
        return None;
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {printed}{errors}", script.display());
    Some(printed)
}

/// Where `cargo xtask setup` has put packages for the python3 that is found: below `folder`, a path from the workspace,
/// is one folder for each version of Python.
///
/// # Errors
/// The reason why they are not there.
pub fn python_packages(folder: &str) -> Result<PathBuf, String> {
    let output = Command::new("python3")
        .args(["-c", "import sys; print(sys.implementation.cache_tag)"])
        .output()
        .map_err(|error| format!("python3 cannot be started: {error}"))?;
    let tag = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).join(&tag);
    if path.is_dir() {
        return Ok(path);
    }
    Err(format!("there are no packages of Python in {folder}/{tag}; `cargo xtask setup` gets them"))
}

#[cfg(test)]
mod tests {
    use std::{env, fs};

    use super::*;

    /// Runs a script of this text.
    fn run(text: &str) -> Option<String> {
        let script = env::temp_dir().join(format!("proctor-needs-{}.py", std::process::id()));
        fs::write(&script, text).unwrap();
        let printed = std::panic::catch_unwind(|| python(&script, &[&"7"], "nothing"));
        fs::remove_file(&script).unwrap();
        printed.unwrap_or_else(|panic| Some(panic.downcast_ref::<String>().unwrap().clone()))
    }

    #[test]
    fn a_script_answers_or_fails() {
        let Some(printed) = run("import sys; print(int(sys.argv[1]) + 1)") else { return };
        assert_eq!(printed, "8\n");
        let failed = run("print('half'); raise ValueError('this value')").unwrap();
        assert!(failed.contains("half") && failed.contains("ValueError: this value"), "{failed}");
    }

    #[test]
    fn packages_that_are_not_there_are_named() {
        let missing = python_packages("target/no-such-packages").unwrap_err();
        assert!(missing.contains("target/no-such-packages/") || missing.contains("python3"), "{missing}");
    }
}

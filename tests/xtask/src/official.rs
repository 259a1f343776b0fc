//! The Python package of the official LoadGen, with which the differential test compares ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command::{cargo, run as run_command, succeeds, workspace_root};

pub(crate) const LONG_ABOUT: &str = "Compare the load generator with the official one in random settings.

The same comparison as in cargo xtask test, with as many cases as wanted. It needs the Python package mlcommons-loadgen, \
which is set up first. A difference that is not listed ends it with the smallest case that shows it, to be run alone.";

pub(crate) const EXAMPLES: &str = "Examples:
  cargo xtask differential --cases 2000 --seed 7";

/// Where the package goes, under the workspace whatever the target folder is: below it is one folder for each version
/// of Python. The test looks there.
const PACKAGE_FOLDER: &str = "target/mlcommons-loadgen-6.0.17";

/// Its version and the digests of its wheels.
const REQUIREMENTS: &str = "host/loadgen/tests/differential/requirements.txt";

/// How to get wheels and nothing else, giving up soon where there is no network.
const PIP_INSTALL: &str = "-m pip install --quiet --disable-pip-version-check --no-input --no-deps --only-binary :all: \
                           --require-hashes --retries 1 --timeout 20";

/// Installs the package for the python3 found, unless it is there, and says so. Without it the differential test skips
/// itself, or fails where the variable `CI` is set, so nothing here is an error.
pub(crate) fn set_up() {
    let outcome = match set_up_for_python() {
        Ok(outcome) => outcome.to_owned(),
        Err(error) => format!(
            "not available ({error:#}); the differential test will skip itself, or fail where CI is set"
        ),
    };
    println!("setup: python package mlcommons-loadgen (the official LoadGen, to compare with): {outcome}");
}

fn set_up_for_python() -> Result<&'static str> {
    let folder = workspace_root().join(PACKAGE_FOLDER).join(python_tag()?);
    if has_module(&folder) {
        return Ok("found");
    }
    let partial = folder.with_extension("partial");
    for leftover in [&partial, &folder].into_iter().filter(|path| path.exists()) {
        fs::remove_dir_all(leftover).with_context(|| format!("cannot remove {}", leftover.display()))?;
    }
    let mut pip = Command::new("python3");
    pip.args(PIP_INSTALL.split_whitespace())
        .arg("--target")
        .arg(&partial)
        .arg("--requirement")
        .arg(REQUIREMENTS);
    run_command(pip.current_dir(workspace_root()))?;
    if !has_module(&partial) {
        bail!("the module does not load");
    }
    fs::rename(&partial, &folder).with_context(|| format!("cannot rename {}", partial.display()))?;
    Ok("installed")
}

/// Returns what tells versions of Python apart, such as `cpython-311`.
fn python_tag() -> Result<PathBuf> {
    let mut python = Command::new("python3");
    let output = python.args(["-c", "import sys; print(sys.implementation.cache_tag)"]).output();
    let output = output.context("cannot start python3")?;
    let tag = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() || tag.is_empty() {
        bail!("python3 does not run");
    }
    Ok(tag.into())
}

fn has_module(folder: &Path) -> bool {
    let load = "import sys; sys.path.insert(0, sys.argv[1]); import mlperf_loadgen";
    folder.is_dir() && succeeds(Command::new("python3").args(["-c", load]).arg(folder))
}

/// Runs the differential test alone.
///
/// # Errors
/// If it cannot be run, or finds a difference.
pub(crate) fn compare(cases: u32, seed: u64) -> Result<()> {
    set_up();
    run_command(
        cargo("test -p proctor-loadgen --test differential -- --nocapture")
            .env("PROCTOR_DIFFERENTIAL_CASES", cases.to_string())
            .env("PROCTOR_DIFFERENTIAL_SEED", seed.to_string()),
    )
}

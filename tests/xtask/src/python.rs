//! Packages for the python3 that is found here, in the target folder: no system is changed.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use proctor_test_needs::{LOADGEN_PACKAGE, NUMPY_PACKAGE, SCIKIT_LEARN_PACKAGE};

use crate::command::{run as run_command, succeeds, workspace_root};

/// Wheels that are installed together.
pub(crate) struct Wheels {
    /// Name, for the reader.
    name: &'static str,
    /// Purpose of the packages.
    purpose: &'static str,
    /// A module that loads if they are installed.
    module: &'static str,
    /// Folder under the workspace, for any target folder: below it is one folder for each version of Python. It is
    /// named after the versions, so that others go elsewhere.
    folder: &'static str,
    /// Versions and digests of the wheels.
    requirements: &'static str,
}

/// The official LoadGen; the differential test looks for it by its folder.
pub(crate) const LOADGEN: Wheels = Wheels {
    name: "mlcommons-loadgen",
    purpose: "the official LoadGen, to compare with",
    module: "mlperf_loadgen",
    folder: LOADGEN_PACKAGE,
    requirements: "host/loadgen/tests/suite/differential/requirements.txt",
};

/// The engines that `host bench` compares with; tests of the Python package take NumPy and ONNX Runtime from there.
const ENGINES: Wheels = Wheels {
    name: "onnxruntime, numpy",
    purpose: "what host bench compares with",
    module: "onnxruntime",
    folder: NUMPY_PACKAGE,
    requirements: "host/bench/requirements.txt",
};

/// OpenCV and Pillow, whose pixels preprocessing must match; the differential test finds them in their folder, `host
/// bench data` through `PYTHONPATH`.
const IMAGES: Wheels = Wheels {
    name: "opencv-python-headless, pillow, numpy",
    purpose: "decode and resize pictures, to compare with",
    module: "cv2",
    folder: "target/python-opencv-python-headless-4.14.0.94",
    requirements: "preprocess/images/tests/suite/differential/requirements.txt",
};

/// The compiler of CUDA, with which a test compiles every kernel; no GPU is needed for that.
const NVRTC: Wheels = Wheels {
    name: "nvidia-cuda-nvrtc-cu12",
    purpose: "compiles the kernels for CUDA",
    module: "nvidia.cuda_nvrtc",
    folder: "target/python-nvidia-cuda-nvrtc-12.9.86",
    requirements: "plugins/cuda/tests/suite/kernels/requirements.txt",
};

/// Readers and numerics that the preprocessing of volumes is compared with.
const VOLUMES: Wheels = Wheels {
    name: "nibabel, scipy",
    purpose: "what prepared volumes are compared with",
    module: "nibabel",
    folder: "target/python-nibabel-5.4.2",
    requirements: "preprocess/volumes/tests/suite/differential/requirements.txt",
};

/// Independent implementations of the scores of accuracy; the differential test looks for them by their folder.
const SCORES: Wheels = Wheels {
    name: "pycocotools, jiwer, scikit-learn",
    purpose: "other scores, to compare with",
    module: "pycocotools",
    folder: SCIKIT_LEARN_PACKAGE,
    requirements: "accuracy/scores/tests/suite/differential/requirements.txt",
};

/// The linker that makes programs for an older C library, for `cargo xtask package`.
pub(crate) const ZIG: Wheels = Wheels {
    name: "ziglang, cargo-zigbuild",
    purpose: "link programs for an older glibc",
    module: "ziglang",
    folder: "target/python-ziglang-0.15.2",
    requirements: "tests/xtask/zig-requirements.txt",
};

/// The builder of the Python package, for `cargo xtask wheel`.
pub(crate) const MATURIN: Wheels = Wheels {
    name: "maturin",
    purpose: "builds the Python package",
    module: "maturin",
    folder: "target/python-maturin-1.16.0",
    requirements: "tests/xtask/maturin-requirements.txt",
};

/// The tokenizer and the features that ours are compared with.
const TRANSFORMERS: Wheels = Wheels {
    name: "transformers",
    purpose: "BERT's tokenizer, to compare with",
    module: "transformers",
    folder: "target/python-transformers-4.57.6",
    requirements: "datasets/text/tests/suite/differential/requirements.txt",
};

/// Features of sound and readers of sound files that ours are compared with.
const LIBROSA: Wheels = Wheels {
    name: "librosa, soundfile",
    purpose: "mel features and sound files, to compare with",
    module: "librosa.feature",
    folder: "target/python-librosa-0.11.0",
    requirements: "plugin-api/timed-steps/tests/suite/mel/requirements.txt",
};

/// The checker of accessibility for pages; the test finds its one script by its folder.
const AXE: Wheels = Wheels {
    name: "axe-playwright-python",
    purpose: "checks whether everybody can use a page",
    module: "axe_playwright_python",
    folder: "target/python-axe-playwright-python-0.1.8",
    requirements: "tests/tests/suite/report/requirements.txt",
};

/// The list of Python's stable ABI, which the module of the wheel is held against.
const STABLE_ABI: Wheels = Wheels {
    name: "abi3info",
    purpose: "lists Python's stable ABI",
    module: "abi3info",
    folder: "target/python-abi3info-2026.9.25",
    requirements: "tests/tests/suite/wheel/requirements.txt",
};

/// Wheels that tests use.
pub(crate) const OF_TESTS: [&Wheels; 10] =
    [&LOADGEN, &ENGINES, &TRANSFORMERS, &LIBROSA, &VOLUMES, &IMAGES, &SCORES, &NVRTC, &AXE, &STABLE_ABI];

/// Options for installing wheels only, giving up soon without a network.
const PIP_INSTALL: &str = "-m pip install --quiet --disable-pip-version-check --no-input --no-deps --only-binary :all: \
                           --require-hashes --retries 1 --timeout 20";

/// Installs wheels for the python3 found, unless they exist, and says so. Without them tests skip themselves, or fail
/// if the variable `CI` is set, so nothing here is an error.
pub(crate) fn set_up(wheels: &Wheels) {
    let outcome = match set_up_for_python(wheels) {
        Ok(outcome) => outcome.to_owned(),
        Err(error) => format!(
            "not available ({error:#}); tests that need it will skip themselves, or fail where CI is set"
        ),
    };
    println!("setup: python package {} ({}): {outcome}", wheels.name, wheels.purpose);
}

/// Installs wheels for the python3 found, unless they exist, for a task that requires them, and returns their folder.
///
/// # Errors
/// If there is no python3 with pip, or the package index cannot be reached.
pub(crate) fn require(wheels: &Wheels) -> Result<PathBuf> {
    set_up_for_python(wheels).with_context(|| format!("python3 with pip has to install {}", wheels.name))?;
    Ok(workspace_root().join(wheels.folder).join(python_tag()?))
}

/// Returns the value of `PYTHONPATH` that gives the python3 found the wheels, in addition to its own packages.
///
/// # Errors
/// If there is no python3.
pub(crate) fn module_path(all: &[&Wheels]) -> Result<OsString> {
    let tag = python_tag()?;
    let folders = all.iter().map(|wheels| workspace_root().join(wheels.folder).join(&tag));
    let others = env::var_os("PYTHONPATH").unwrap_or_default();
    let folders: Vec<_> = folders.chain(env::split_paths(&others)).collect();
    env::join_paths(folders).context("a folder of Python modules has a colon in its name")
}

fn set_up_for_python(wheels: &Wheels) -> Result<&'static str> {
    let folder = workspace_root().join(wheels.folder).join(python_tag()?);
    if has_module(&folder, wheels.module) {
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
        .arg(wheels.requirements);
    run_command(pip.current_dir(workspace_root()))?;
    if !has_module(&partial, wheels.module) {
        bail!("the module {} does not load", wheels.module);
    }
    fs::rename(&partial, &folder).with_context(|| format!("cannot rename {}", partial.display()))?;
    Ok("installed")
}

/// Returns the tag of the Python version, such as `cpython-311`.
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

fn has_module(folder: &Path, module: &str) -> bool {
    let load = "import importlib, sys; sys.path.insert(0, sys.argv[1]); importlib.import_module(sys.argv[2])";
    folder.is_dir() && succeeds(Command::new("python3").args(["-c", load]).arg(folder).arg(module))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folders_are_named_after_the_pinned_versions() {
        for wheels in OF_TESTS.into_iter().chain([&ZIG, &MATURIN]) {
            let requirements = fs::read_to_string(workspace_root().join(wheels.requirements)).unwrap();
            let (_, version) = wheels.folder.rsplit_once('-').unwrap();
            assert!(requirements.contains(&format!("=={version} ")), "{}: {requirements}", wheels.folder);
            assert!(requirements.contains("--hash=sha256:"));
        }
    }
}

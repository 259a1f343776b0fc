//! The library of ONNX Runtime, with which the plugin `onnx` computes.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::command::{run as run_command, target_folder, workspace_root};

/// The version in [`REQUIREMENTS`].
const VERSION: &str = "1.31.1";

/// The wheel's version and the digests of its files.
const REQUIREMENTS: &str = "plugins/onnx/runtime/requirements.txt";

/// The folder in the target folder that the plugin searches.
const FOLDER: &str = "onnxruntime";

/// Files of the wheel other than the library, in its folder `onnxruntime`: the licences under which it may be
/// distributed.
const LICENSES: [&str; 2] = ["LICENSE", "ThirdPartyNotices.txt"];

/// Command that downloads the wheel for any version of Python, giving up soon if there is no network.
const PIP_DOWNLOAD: &str = "-m pip download --quiet --disable-pip-version-check --no-input --no-deps --only-binary :all: \
                            --require-hashes --retries 1 --timeout 20 --implementation cp --python-version 3.12 --abi cp312";

/// Unpacks the library into the target folder, unless it is there, and says so. Without it the tests of the plugin skip
/// themselves, so nothing here is an error.
pub(crate) fn set_up() {
    let outcome = match set_up_in_target() {
        Ok(outcome) => outcome.to_owned(),
        Err(error) => format!(
            "not available ({error:#}); it needs python3 with pip, and the package index. What needs it will skip itself"
        ),
    };
    println!("setup: library onnxruntime {VERSION} (computes for the plugin onnx): {outcome}");
}

fn set_up_in_target() -> Result<&'static str> {
    let target = target_folder()?;
    let folder = target.join(FOLDER);
    if folder.join(library()).is_file() {
        return Ok("found");
    }
    let partial = folder.with_extension("partial");
    for leftover in [&partial, &folder].into_iter().filter(|path| path.exists()) {
        fs::remove_dir_all(leftover).with_context(|| format!("cannot remove {}", leftover.display()))?;
    }
    let unpacked = partial.join("wheel");
    fs::create_dir_all(&unpacked).with_context(|| format!("cannot make {}", unpacked.display()))?;
    let wheel = download(&partial)?;
    run_command(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&unpacked))?;
    let package = unpacked.join("onnxruntime");
    let taken = LICENSES.iter().map(|name| (package.join(name), (*name).to_owned()));
    let taken = taken.chain([(package.join("capi").join(library()), library())]);
    for (from, name) in taken {
        let to = partial.join(name);
        fs::rename(&from, &to).with_context(|| format!("{} is not in the wheel", from.display()))?;
    }
    for leftover in [&unpacked, &wheel] {
        let removed =
            if leftover.is_dir() { fs::remove_dir_all(leftover) } else { fs::remove_file(leftover) };
        removed.with_context(|| format!("cannot remove {}", leftover.display()))?;
    }
    fs::rename(&partial, &folder).with_context(|| format!("cannot rename {}", partial.display()))?;
    Ok("unpacked")
}

/// Returns the name of the library in the wheel.
fn library() -> String {
    format!("libonnxruntime.so.{VERSION}")
}

/// Downloads the wheel into a folder and returns its path.
fn download(folder: &Path) -> Result<PathBuf> {
    let mut pip = Command::new("python3");
    pip.args(PIP_DOWNLOAD.split_whitespace())
        .arg("--platform")
        .arg(format!("manylinux_2_28_{}", env::consts::ARCH))
        .arg("--dest")
        .arg(folder)
        .arg("--requirement")
        .arg(REQUIREMENTS);
    run_command(pip.current_dir(workspace_root()))?;
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    match paths.find(|path| path.extension().is_some_and(|extension| extension == "whl")) {
        Some(wheel) => Ok(wheel),
        None => bail!("pip left no wheel in {}", folder.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requirements_pin_the_version_by_two_digests() {
        let requirements = fs::read_to_string(workspace_root().join(REQUIREMENTS)).unwrap();
        assert!(requirements.contains(&format!("onnxruntime=={VERSION}")), "{requirements}");
        assert_eq!(requirements.matches("--hash=sha256:").count(), 2);
    }
}

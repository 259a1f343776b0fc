//! `cargo xtask gpu-check`: a folder to take to a machine with a GPU, where its script checks and measures the plugin
//! cuda.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::{
    command::workspace_root,
    package::{
        Programs,
        layout::{self, PLUGINS, Plugin, Program, RUNNING},
        remove,
        symbols::{self, GlibcVersion},
    },
};

pub(crate) const LONG_ABOUT: &str = "Build a folder that checks and measures the plugin cuda on a machine with a GPU.

The folder has the program, the plugins cuda, opencl and onnx, the digits, small benchmarks and the script gpu_check.py. \
The GPU machine needs no Rust and no network. The folder is small enough to copy quickly; the weights of large models \
are generated there. See docs/gpu.md.";

pub(crate) const EXAMPLES: &str = "Examples:
  cargo xtask gpu-check                                target/gpu-check, for glibc 2.28 and later
  cargo xtask gpu-check --built target/release         an existing build, for the glibc of this machine and later
  python3 target/gpu-check/gpu_check.py --quick        run it";

/// The folder under the workspace.
const OUTPUT: &str = "target/gpu-check";

/// Plugins that are compared: ours for the device, the same kernels by OpenCL, and ONNX Runtime.
const COMPARED: [&str; 3] = ["cuda", "onnx", "opencl"];

/// Programs that measure the device itself, and each call of a model on it.
const MEASURING: [Program; 2] = [
    Program { name: "gpu-profile-cuda", cargo_package: "proctor-gpu-profile" },
    Program { name: "gpu-profile-opencl", cargo_package: "proctor-gpu-profile" },
];

/// Files and folders that are copied, and their places.
const COPIES: [(&str, &str); 4] = [
    ("LICENSE", "LICENSE"),
    ("datasets/digits", "datasets/digits"),
    ("tests/gpu-check/gpu_check.py", "gpu_check.py"),
    ("tests/gpu-check/checks", "checks"),
];

/// The folder of the benchmarks of tiny models, which the program does not have itself.
const BENCHMARKS: &str = "tests/fixtures/benchmarks";

/// Compiled Python, which stays behind.
const PYTHON_CACHE: &str = "checks/__pycache__";

/// Flags of `cargo xtask gpu-check`.
#[derive(Args)]
pub(crate) struct GpuCheckArgs {
    /// Folder to create or replace [default: target/gpu-check]
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Use the program and plugins in this folder and build nothing
    #[arg(long, value_name = "FOLDER")]
    built: Option<PathBuf>,
    /// Newest glibc the program and plugins may need [default: 2.28; with --built any]
    #[arg(long, value_name = "VERSION")]
    glibc: Option<GlibcVersion>,
    /// Maximum size of the folder; borrowed machines accept only small uploads
    #[arg(long, value_name = "MB", default_value_t = 80)]
    size_max_mb: u64,
}

/// Makes the folder.
///
/// # Errors
/// If something is not built, cannot be read or written, needs a newer glibc than is allowed, or if all of it is too
/// large.
pub(crate) fn run(args: &GpuCheckArgs) -> Result<()> {
    let plugins: Vec<Plugin> = PLUGINS.into_iter().filter(|plugin| COMPARED.contains(&plugin.name)).collect();
    let taken = [&RUNNING[..], &MEASURING].concat();
    let packages = layout::cargo_packages(&taken, &plugins);
    let programs = Programs::get(args.built.as_deref(), args.glibc.as_ref(), &packages)?;
    let output = args.output.clone().unwrap_or_else(|| workspace_root().join(OUTPUT));
    ensure_ours(&output)?;
    let partial = output.with_extension("partial");
    remove(&partial)?;
    let files = layout::lay_out_programs(&programs.folder, &taken, &plugins, &partial)?;
    for (from, to) in COPIES {
        layout::copy(&workspace_root().join(from), &partial.join(to))?;
    }
    remove(&partial.join(PYTHON_CACHE))?;
    copy_benchmarks(&partial.join("benchmarks"))?;
    let glibc = symbols::check(&partial, &files, env::consts::ARCH, programs.newest_glibc.as_ref())?;
    let size = size_of(&partial)?;
    ensure!(
        size <= args.size_max_mb * 1_000_000,
        "{} takes {:.1} MB, more than {} MB",
        partial.display(),
        size as f64 / 1e6,
        args.size_max_mb
    );
    remove(&output)?;
    fs::rename(&partial, &output).with_context(|| format!("cannot rename {}", partial.display()))?;
    println!("{} takes {:.1} MB and needs glibc {glibc} or later", output.display(), size as f64 / 1e6);
    Ok(())
}

/// # Errors
/// If the folder exists and was not made here: then it must not be replaced.
fn ensure_ours(folder: &Path) -> Result<()> {
    if folder.exists() && !folder.join("gpu_check.py").is_file() {
        bail!("{} is there and has no gpu_check.py: name another folder by --output", folder.display());
    }
    Ok(())
}

/// Copies the benchmarks whose models come as ONNX, which the compared plugins read.
fn copy_benchmarks(to: &Path) -> Result<()> {
    for file in layout::entries(&workspace_root().join(BENCHMARKS))? {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        if let Some(name) = file.file_name()
            && text.contains("[model.files.onnx]")
        {
            layout::copy(&file, &to.join(name))?;
        }
    }
    Ok(())
}

fn size_of(path: &Path) -> Result<u64> {
    if path.is_dir() {
        layout::entries(path)?.iter().map(|entry| size_of(entry)).sum()
    } else {
        Ok(path.metadata().with_context(|| format!("cannot look at {}", path.display()))?.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_there_and_every_plugin_is_ours() {
        for (from, _) in COPIES {
            assert!(workspace_root().join(from).exists(), "{from}");
        }
        for name in COMPARED {
            assert!(Plugin::named(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn only_benchmarks_with_onnx_files_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        copy_benchmarks(folder.path()).unwrap();
        assert!(folder.path().join("resnet50-tiny.toml").is_file());
        assert!(!folder.path().join("gnmt-tiny.toml").exists());
        assert!(size_of(folder.path()).unwrap() > 1000);
    }

    #[test]
    fn a_folder_of_somebody_else_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        assert!(ensure_ours(folder.path()).is_err());
        assert!(ensure_ours(&folder.path().join("new")).is_ok());
        fs::write(folder.path().join("gpu_check.py"), "").unwrap();
        assert!(ensure_ours(folder.path()).is_ok());
    }
}

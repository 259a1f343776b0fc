//! `cargo xtask wheel`: the Python package `proctor` with the programs, plugins and the digits, as a wheel.
//!
//! `parts` gets what goes into it, `metadata` describes it, and a script packs it. `assembly` puts the package of a
//! build together from links, for tests.

pub(crate) mod assembly;
mod metadata;
mod parts;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use clap::Args;

use self::{
    assembly::{PYTHON_FILES, python_files},
    metadata::{Project, Tag},
    parts::Parts,
};
use crate::{
    command::{run as run_command, workspace_root},
    package::{
        layout::{self, Plugin},
        machine::triple,
        of_workspace, remove,
        symbols::{self, GlibcVersion},
    },
};

pub(crate) const LONG_ABOUT: &str = "Build the Python package as a wheel, which needs no Rust and no source tree.

The wheel has the module proctor, the programs (host, also as proctor), our plugins and the digits. maturin builds the \
module for every Python from 3.10 on and zig links for glibc 2.28; pip installs both into target/. The command checks \
that nothing needs a newer one. Nothing is published: `pip install ./proctor-*.whl` installs the file. See \
docs/python.md.";

pub(crate) const EXAMPLES: &str = "Examples:
  cargo xtask wheel                                    target/wheel/proctor-<version>-cp310-abi3-manylinux_2_28_<machine>.whl
  cargo xtask wheel --plugin mock                      with one plugin besides cpu-rnn, a faster build
  cargo xtask wheel --built target/release             an existing build, for the glibc of this machine and later
  cargo xtask wheel --python python3.13t               for this interpreter alone, such as a free-threaded one
  cargo xtask wheel --target aarch64-unknown-linux-gnu for another machine; untried";

/// Folder of wheels, in the workspace.
const OUTPUT: &str = "target/wheel";

/// Plugins of a wheel by default; cpu-rnn is linked in.
const PLUGINS: [&str; 5] = ["cuda", "mock", "null", "onnx", "opencl"];

/// The data and models of a wheel, in the workspace, and their place below the plugins, where programs look for them.
const DATA: [[&str; 2]; 2] = [
    ["datasets/digits", "lib/proctor/datasets/digits"],
    ["datasets/fashion-mnist-cnn", "lib/proctor/datasets/fashion-mnist-cnn"],
];

/// The script that starts the program under the name of the package.
const SCRIPT: [&str; 2] = ["tests/xtask/wheel/proctor.sh", "proctor"];

/// The script that packs a folder into a wheel.
const PACK: &str = "tests/xtask/wheel/pack.py";

/// Machines that a wheel can be built for.
const ARCHS: [&str; 2] = ["x86_64", "aarch64"];

/// Flags of `cargo xtask wheel`.
#[derive(Args)]
pub(crate) struct WheelArgs {
    /// Folder for the wheel [default: target/wheel]
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Use the programs, plugins and module in this folder and build nothing
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["python", "target"])]
    built: Option<PathBuf>,
    /// Include this plugin; may be repeated [default: cuda, mock, null, onnx, opencl; cpu-rnn is linked in]
    #[arg(long = "plugin", value_name = "NAME", value_parser = Plugin::named)]
    plugins: Vec<Plugin>,
    /// Build for this interpreter alone [default: for every Python from 3.10 on that is not free-threaded]
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// Build for this machine, if Rust's library for it is installed [default: this one]
    #[arg(long, value_name = "TRIPLE", value_parser = arch_of)]
    target: Option<&'static str>,
    /// Newest glibc that programs, plugins and module may need [default: 2.28; with --built any]
    #[arg(long, value_name = "VERSION")]
    glibc: Option<GlibcVersion>,
}

/// Returns the name of the machine with this triple.
///
/// # Errors
/// If no wheel can be built for it.
fn arch_of(target: &str) -> Result<&'static str, String> {
    let known = ARCHS.into_iter().find(|arch| triple(arch) == target);
    known.ok_or_else(|| format!("there are {}", ARCHS.map(triple).join(" and ")))
}

/// Makes the wheel.
///
/// # Errors
/// If something is not built, cannot be read or written, or needs a newer glibc than is allowed.
pub(crate) fn run(args: &WheelArgs) -> Result<()> {
    let output = args.output.clone().unwrap_or_else(|| workspace_root().join(OUTPUT));
    let arch = args.target.unwrap_or(env::consts::ARCH);
    let plugins = args.plugins()?;
    let parts = match &args.built {
        Some(folder) => Parts::built(folder, args.glibc.clone()),
        None => {
            let glibc = args.glibc.clone().unwrap_or_else(|| crate::package::GLIBC.into());
            parts::build(&parts::packages(&plugins), arch, glibc, args.python.as_deref(), &output)?
        }
    };
    let project = Project::read(&of_workspace("version")?)?;
    let folder = output.join(format!("{}.partial", project.stem()));
    remove(&folder)?;
    let files = lay_out(&parts, &project, &plugins, &folder)?;
    let found = symbols::check(&folder, &files, arch, parts.newest_glibc.as_ref())?;
    let glibc = parts.newest_glibc.as_ref().unwrap_or(&found);
    let tag = Tag {
        python: parts.python_tag.clone(),
        platform: format!("manylinux_{glibc}_{arch}").replace('.', "_"),
    };
    project.describe(&folder, &tag)?;
    let wheel = output.join(format!("{}-{tag}.whl", project.stem()));
    run_command(Command::new("python3").arg(workspace_root().join(PACK)).arg(&folder).arg(&wheel))?;
    remove(&folder)?;
    println!("{} needs glibc {found} or later", wheel.display());
    Ok(())
}

impl WheelArgs {
    /// # Errors
    /// If there is no plugin of a name.
    fn plugins(&self) -> Result<Vec<Plugin>> {
        if !self.plugins.is_empty() {
            return Ok(self.plugins.clone());
        }
        let named = PLUGINS.into_iter().map(Plugin::named);
        named.collect::<Result<_, _>>().map_err(anyhow::Error::msg)
    }
}

/// Places everything but the description in a folder as a wheel has it, and returns programs and libraries, relative to
/// the folder.
fn lay_out(parts: &Parts, project: &Project, plugins: &[Plugin], folder: &Path) -> Result<Vec<String>> {
    let native = format!("proctor/{}", parts.native_name);
    layout::copy_built(&parts.native, &folder.join(&native), parts::MODULE)?;
    for file in python_files()? {
        layout::copy(&workspace_root().join(PYTHON_FILES).join(&file), &folder.join("proctor").join(&file))?;
    }
    // Files in `data` are installed below the prefix of the environment, scripts in its folder for programs.
    let data = format!("{}.data/data", project.stem());
    let scripts = format!("{}.data/scripts", project.stem());
    let placed = layout::lay_out_programs(&parts.programs, &layout::PROGRAMS, plugins, &folder.join(&data))?;
    let from = folder.join(&data).join("bin");
    fs::rename(&from, folder.join(&scripts)).with_context(|| format!("cannot rename {}", from.display()))?;
    let [from, to] = SCRIPT;
    layout::copy(&workspace_root().join(from), &folder.join(&scripts).join(to))?;
    for [from, to] in DATA {
        layout::copy(&workspace_root().join(from), &folder.join(&data).join(to))?;
    }
    let licenses = folder.join(project.licenses());
    layout::copy(&workspace_root().join("LICENSE"), &licenses.join("LICENSE"))?;
    layout::write_licenses(&parts::packages(plugins), &licenses)?;
    if let Some(license) = &parts.linker_license {
        layout::copy(license, &licenses.join("zig.txt"))?;
    }
    let placed = placed.into_iter().map(|file| match file.strip_prefix("bin/") {
        Some(program) => format!("{scripts}/{program}"),
        None => format!("{data}/{file}"),
    });
    Ok(placed.chain([native]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_is_for_machines_that_there_are() {
        assert_eq!(arch_of("aarch64-unknown-linux-gnu"), Ok("aarch64"));
        let refusal = arch_of("riscv64gc-unknown-linux-gnu").unwrap_err();
        assert_eq!(refusal, "there are x86_64-unknown-linux-gnu and aarch64-unknown-linux-gnu");
    }

    #[test]
    fn the_default_plugins_are_there() {
        assert!(PLUGINS.iter().all(|name| Plugin::named(name).is_ok()));
    }
}

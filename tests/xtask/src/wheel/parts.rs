//! The parts of a wheel that are built: programs, plugins and the native part of the module.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{
    command::{output, run as run_command, workspace_root},
    package::{
        build, layout,
        layout::{Plugin, entries, name_of},
        machine::triple,
        remove,
        symbols::GlibcVersion,
    },
    python,
};

/// The package of the workspace that is the native part of the module, and its manifest.
pub(super) const MODULE: &str = "proctor-python";
const MANIFEST: &str = "host/python/Cargo.toml";

/// The library of the module in a build, its name in the package, and the interpreters that load it.
const LIBRARY: &str = "libproctor_native.so";
const NATIVE: &str = "_native.abi3.so";
const STABLE_ABI: &str = "cp310-abi3";

/// The built parts of a wheel.
pub(super) struct Parts {
    /// The folder of programs and plugins.
    pub(super) programs: PathBuf,
    /// The native part of the module, and its name in the package.
    pub(super) native: PathBuf,
    pub(super) native_name: String,
    /// Interpreters that load it, and by which ABI, as in the name of a wheel.
    pub(super) python_tag: String,
    /// Licence of the code that the linker adds.
    pub(super) linker_license: Option<PathBuf>,
    /// Newest glibc that they may need; `None` for any.
    pub(super) newest_glibc: Option<GlibcVersion>,
}

impl Parts {
    /// Takes the products of cargo from a folder such as `target/release`.
    pub(super) fn built(folder: &Path, newest_glibc: Option<GlibcVersion>) -> Self {
        Self {
            programs: folder.to_owned(),
            native: folder.join(LIBRARY),
            native_name: NATIVE.to_owned(),
            python_tag: STABLE_ABI.to_owned(),
            linker_license: None,
            newest_glibc,
        }
    }
}

/// Returns the packages of the workspace whose products are in a wheel with these plugins.
pub(super) fn packages(plugins: &[Plugin]) -> Vec<&'static str> {
    let mut packages = layout::cargo_packages(&layout::PROGRAMS, plugins);
    packages.push(MODULE);
    packages
}

/// Builds programs, plugins and the module for a machine and this glibc; the module for `python` alone, if it is given.
/// The wheel that maturin makes of the module alone is kept in `output`, in the folder `module`.
///
/// # Errors
/// If Rust's library for the machine or a tool is missing, or the build fails.
pub(super) fn build(
    packages: &[&str],
    arch: &str,
    glibc: GlibcVersion,
    python: Option<&Path>,
    output: &Path,
) -> Result<Parts> {
    require_target(arch)?;
    let maturin = python::require(&python::MATURIN)?;
    let programs: Vec<_> = packages.iter().copied().filter(|package| *package != MODULE).collect();
    let built = build::build(&programs, &glibc, arch)?;
    let folder = output.join("module");
    remove(&folder)?;
    let mut command = Command::new(maturin.join("bin/maturin"));
    command.args(["build", "--release", "--locked", "--target", &triple(arch)]);
    command.args([
        "--compatibility",
        &format!("manylinux_{glibc}").replace('.', "_"),
        "--manifest-path",
        MANIFEST,
    ]);
    if let Some(python) = python {
        command.args(["--no-default-features", "--interpreter"]).arg(python);
    }
    command.arg("--out").arg(&folder).current_dir(workspace_root());
    build::link_as(&built, &mut command, arch)?;
    run_command(&mut command)?;
    let wheel = only_file(&folder, "whl")?;
    let unpacked = folder.join("unpacked");
    run_command(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&unpacked))?;
    let native = only_file(&unpacked.join("proctor"), "so")?;
    Ok(Parts {
        programs: built.folder,
        native_name: name_of(&native),
        native,
        python_tag: python_tag(&name_of(&wheel))?,
        linker_license: Some(built.linker_license),
        newest_glibc: Some(glibc),
    })
}

/// Returns interpreter and ABI from the name of a wheel.
fn python_tag(wheel: &str) -> Result<String> {
    let parts: Vec<_> = wheel.split('-').collect();
    match parts[..] {
        [_, _, python, abi, _] => Ok(format!("{python}-{abi}")),
        _ => bail!("{wheel} has no name of a wheel"),
    }
}

/// Returns the one file in a folder with this extension.
fn only_file(folder: &Path, extension: &str) -> Result<PathBuf> {
    let mut files = entries(folder)?;
    files.retain(|file| file.extension().is_some_and(|it| it == extension));
    match files.len() {
        1 => files.pop().context("there is one"),
        count => bail!("{} has {count} files *.{extension} where there should be one", folder.display()),
    }
}

/// # Errors
/// If the toolchain cannot build for the machine, with what installs the library for it.
fn require_target(arch: &str) -> Result<()> {
    let mut rustc = Command::new("rustc");
    let sysroot = output(rustc.args(["--print", "sysroot"]).current_dir(workspace_root()))?;
    let triple = triple(arch);
    if arch == env::consts::ARCH
        || Path::new(sysroot.trim_end()).join("lib/rustlib").join(&triple).join("lib").is_dir()
    {
        return Ok(());
    }
    bail!(
        "Rust's library for {triple} is not installed: `rustup target add {triple}` installs it; \
         the compiler and tools of GNU for it are Debian's gcc-{}-linux-gnu",
        arch.replace('_', "-")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreter_and_abi_are_in_the_name_of_a_wheel() {
        let tag = |name: &str| python_tag(name).ok();
        assert_eq!(tag("proctor-0.2.0-cp310-abi3-manylinux_2_28_x86_64.whl").as_deref(), Some("cp310-abi3"));
        assert_eq!(tag("proctor-0.2.0-cp313-cp313t-linux_x86_64.whl").as_deref(), Some("cp313-cp313t"));
        assert_eq!(tag("proctor.whl"), None);
    }

    #[test]
    fn a_machine_without_a_library_says_what_to_install() {
        let refusal = require_target("mips64").unwrap_err().to_string();
        assert!(refusal.contains("`rustup target add mips64-unknown-linux-gnu`"), "{refusal}");
        assert!(require_target(env::consts::ARCH).is_ok());
    }
}

//! Programs and plugins, built for an older C library than this machine's.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::{
    command::{output, run as run_command, target_folder, workspace_root},
    package::{
        layout::{entries, name_of},
        machine::{compiler, triple},
        symbols::GlibcVersion,
    },
    python,
};

/// The folder of scripts that call zig, in the target folder.
const SCRIPTS: &str = "zig";

/// Place of a build, its linker, and the licence of the linker's additions.
pub(crate) struct Built {
    pub(crate) folder: PathBuf,
    pub(crate) linker: PathBuf,
    pub(crate) linker_license: PathBuf,
}

/// Builds these packages of the workspace to run on this machine with this glibc and any later one.
///
/// # Errors
/// If zig cannot be had, or the build fails.
pub(crate) fn build(packages: &[&str], glibc: &GlibcVersion, arch: &str) -> Result<Built> {
    let zig = zig()?;
    let target = triple(arch);
    let mut command = Command::new(zig.join("bin/cargo-zigbuild"));
    command.current_dir(workspace_root());
    prepare(&mut command, arch)?;
    let scripts = target_folder()?.join(SCRIPTS);
    command.env("CARGO_ZIGBUILD_CACHE_DIR", &scripts);
    command.args(["zigbuild", "--release", "--locked", "--target"]).arg(format!("{target}.{glibc}"));
    for package in packages {
        command.args(["--package", package]);
    }
    run_command(&mut command)?;
    let linker = newest(&scripts, &format!("zigcc-{target}.{glibc}-"))?;
    let folder = target_folder()?.join(target).join("release");
    let linker = linker.with_context(|| format!("cargo-zigbuild left no linker in {}", scripts.display()))?;
    Ok(Built { folder, linker, linker_license: zig.join("ziglang/LICENSE") })
}

/// Lets another builder use the linker of a build: cargo then takes everything that the build has compiled.
///
/// # Errors
/// As [`prepare`].
pub(crate) fn link_as(built: &Built, command: &mut Command, arch: &str) -> Result<()> {
    prepare(command, arch)?;
    command.env(variable(arch, "LINKER"), &built.linker);
    Ok(())
}

/// Returns the newest file below a folder whose name begins like this: older versions of the tools leave theirs there.
fn newest(folder: &Path, beginning: &str) -> Result<Option<PathBuf>> {
    let mut found = None;
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in entries(&folder)? {
            if entry.is_dir() {
                open.push(entry);
            } else if name_of(&entry).starts_with(beginning) {
                let time = entry.metadata().and_then(|metadata| metadata.modified());
                found = found.max(Some((time.context("a file has no time")?, entry)));
            }
        }
    }
    Ok(found.map(|(_, file)| file))
}

/// Returns the folder of zig.
///
/// Zig has the symbols of every glibc since 2.17, so what is linked by it needs none that is newer than asked for.
fn zig() -> Result<PathBuf> {
    python::require(&python::ZIG).context(
        "cannot build for an older glibc; `--built target/release` takes what is built for this machine's own",
    )
}

/// Lets a command that builds for a machine find zig, with the flags that its links need.
///
/// # Errors
/// If there is no python3, or no compiler for the machine.
fn prepare(command: &mut Command, arch: &str) -> Result<()> {
    command.env("PYTHONPATH", python::module_path(&[&python::ZIG])?);
    command.env(variable(arch, "RUSTFLAGS"), shared_unwinder(arch)?);
    Ok(())
}

/// Returns the variable by which cargo takes a setting for a machine.
fn variable(arch: &str, setting: &str) -> String {
    format!("CARGO_TARGET_{}_{setting}", triple(arch).to_uppercase().replace('-', "_"))
}

/// Returns the flags of the compiler by which programs and plugins unwind by the library libgcc_s of the system, as
/// every plugin in C++ does.
///
/// Zig would link an unwinder of its own into each of them. An exception that leaves a plugin would then cross the host
/// by one unwinder and have its frames read by another. The library of this machine may itself need a newer glibc,
/// which says nothing of the one that a program will meet.
fn shared_unwinder(arch: &str) -> Result<String> {
    let library = output(Command::new(compiler(arch)).arg("-print-file-name=libgcc_s.so.1"))?;
    Ok(format!("-C link-arg={} -C link-arg=-Wl,--allow-shlib-undefined", library.trim_end()))
}

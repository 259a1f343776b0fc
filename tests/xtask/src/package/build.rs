//! Programs and plugins, built for an older C library than this machine's.

use std::{env, path::PathBuf, process::Command};

use anyhow::{Context, Result};

use crate::{
    command::{output, run as run_command, target_folder, workspace_root},
    package::symbols::GlibcVersion,
    python,
};

/// Place of a build, and the licence of its linker's additions.
pub(crate) struct Built {
    pub(crate) folder: PathBuf,
    pub(crate) linker_license: PathBuf,
}

/// Builds these packages of the workspace to run with this glibc and any later one.
///
/// Zig has the symbols of every glibc since 2.17, so what is linked by it needs none that is newer than asked for.
///
/// # Errors
/// If zig cannot be had, or the build fails.
pub(crate) fn build(packages: &[&str], glibc: &GlibcVersion) -> Result<Built> {
    let zig = python::require(&python::ZIG).context(
        "cannot build for an older glibc; `--built target/release` takes what is built for this machine's own",
    )?;
    let target = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    let mut command = Command::new(zig.join("bin/cargo-zigbuild"));
    command.env("PYTHONPATH", python::module_path(&[&python::ZIG])?).current_dir(workspace_root());
    let flags = format!("CARGO_TARGET_{}_RUSTFLAGS", target.to_uppercase().replace('-', "_"));
    command.env(flags, shared_unwinder()?);
    command.args(["zigbuild", "--release", "--locked", "--target"]).arg(format!("{target}.{glibc}"));
    for package in packages {
        command.args(["--package", package]);
    }
    run_command(&mut command)?;
    let folder = target_folder()?.join(target).join("release");
    Ok(Built { folder, linker_license: zig.join("ziglang/LICENSE") })
}

/// Returns the flags of the compiler by which programs and plugins unwind by the library libgcc_s of the system, as
/// every plugin in C++ does.
///
/// Zig would link an unwinder of its own into each of them. An exception that leaves a plugin would then cross the host
/// by one unwinder and have its frames read by another. The library of this machine may itself need a newer glibc,
/// which says nothing of the one that a program will meet.
fn shared_unwinder() -> Result<String> {
    let library = output(Command::new("cc").arg("-print-file-name=libgcc_s.so.1"))?;
    Ok(format!("-C link-arg={} -C link-arg=-Wl,--allow-shlib-undefined", library.trim_end()))
}

//! Program and plugins, built for an older C library than this machine's.

use std::{env, path::PathBuf, process::Command};

use anyhow::{Context, Result};

use crate::{
    command::{run as run_command, target_folder, workspace_root},
    package::{layout::Plugin, symbols::GlibcVersion},
    python,
};

/// Builds the program and these plugins to run with this glibc and any later one, and returns the folder that they are
/// in.
///
/// Zig has the symbols of every glibc since 2.17, so what is linked by it needs none that is newer than asked for.
///
/// # Errors
/// If zig cannot be had, or the build fails.
pub(crate) fn build(plugins: &[Plugin], glibc: &GlibcVersion) -> Result<PathBuf> {
    let zig = python::require(&python::ZIG).context(
        "cannot build for an older glibc; `--built target/release` takes what is built for this machine's own",
    )?;
    let target = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    let mut command = Command::new(zig.join("bin/cargo-zigbuild"));
    command.env("PYTHONPATH", python::module_path(&[&python::ZIG])?).current_dir(workspace_root());
    command.args(["zigbuild", "--release", "--locked", "--target"]).arg(format!("{target}.{glibc}"));
    command.args(["--package", "host"]);
    for plugin in plugins {
        command.args(["--package", plugin.package]);
    }
    run_command(&mut command)?;
    Ok(target_folder()?.join(target).join("release"))
}

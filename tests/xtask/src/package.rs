//! `cargo xtask package`: a folder with the program, plugins and everything to build plugins with, and an archive of
//! it.
//!
//! `build` makes program and plugins for an older C library, `layout` puts all files in their places, with `crates` and
//! `licenses` for those that are written, and `symbols` looks at what the programs then need. `gpu_check` makes another
//! folder of the same programs, to be checked on a machine with a GPU.

pub(crate) mod build;
mod crates;
pub(crate) mod gpu_check;
pub(crate) mod layout;
mod licenses;
pub(crate) mod machine;
pub(crate) mod symbols;

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use clap::Args;

use crate::{
    command::{run as run_command, workspace_root},
    package::{
        layout::{Package, Plugin},
        symbols::GlibcVersion,
    },
};

pub(crate) const LONG_ABOUT: &str = "Build a folder that works without the source tree, and an archive of it.

The folder is relocatable. It has the program, our plugins, the digits, everything to build plugins with (C and C++ \
headers, files for CMake and pkg-config, Rust crates, examples) and the licences of everything that is linked in. zig, \
which pip installs into target/, builds for glibc 2.28; the command checks that nothing needs a newer one. See \
docs/packaging.md.";

pub(crate) const EXAMPLES: &str = "Examples:
  cargo xtask package                                  target/package/proctor-<version>-<machine>-linux and its .tar.gz
  cargo xtask package --plugin mock --plugin onnx      only these plugins, a faster build
  cargo xtask package --built target/release           an existing build, for the glibc of this machine and later
  cargo xtask package --built target/debug --plugin mock --no-archive --output /tmp/try";

/// Newest version of glibc that program and plugins may need, unless another is given: the version of Debian 10, Ubuntu
/// 18.10 and RHEL 8.
pub(crate) const GLIBC: [u32; 2] = [2, 28];

/// Folder of packages, in the workspace.
const OUTPUT: &str = "target/package";

/// Flags of `cargo xtask package`.
#[derive(Args)]
pub(crate) struct PackageArgs {
    /// Folder for the package [default: target/package]
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Use the program and plugins in this folder and build nothing
    #[arg(long, value_name = "FOLDER")]
    built: Option<PathBuf>,
    /// Include this plugin; may be repeated [default: all of ours]
    #[arg(long = "plugin", value_name = "NAME", value_parser = Plugin::named)]
    plugins: Vec<Plugin>,
    /// Newest glibc the program and plugins may need [default: 2.28; with --built any]
    #[arg(long, value_name = "VERSION")]
    glibc: Option<GlibcVersion>,
    /// Build only the folder
    #[arg(long)]
    no_archive: bool,
}

/// Makes the package.
///
/// # Errors
/// If something is not built, cannot be read or written, or needs a newer glibc than is allowed.
pub(crate) fn run(args: &PackageArgs) -> Result<()> {
    let plugins = if args.plugins.is_empty() { layout::PLUGINS.to_vec() } else { args.plugins.clone() };
    let programs = Programs::get(
        args.built.as_deref(),
        args.glibc.as_ref(),
        &layout::cargo_packages(&layout::PROGRAMS, &plugins),
    )?;
    let output = args.output.clone().unwrap_or_else(|| workspace_root().join(OUTPUT));
    let version = of_workspace("version")?;
    let name = format!("proctor-{version}-{}-linux", env::consts::ARCH);
    let folder = output.join(&name);
    let package = Package { folder: output.join(format!("{name}.partial")), version, plugins };
    remove(&package.folder)?;
    let files = package.lay_out(&programs.folder)?;
    if let Some(license) = &programs.linker_license {
        package.add_license(license, "zig.txt")?;
    }
    let glibc = symbols::check(&package.folder, &files, env::consts::ARCH, programs.newest_glibc.as_ref())?;
    package.write_readme(&glibc, &of_workspace("rust-version")?)?;
    remove(&folder)?;
    fs::rename(&package.folder, &folder)
        .with_context(|| format!("cannot rename {}", package.folder.display()))?;
    println!("{} needs glibc {glibc} or later", folder.display());
    if args.no_archive { Ok(()) } else { archive(&output, &name) }
}

/// Program and plugins, built.
struct Programs {
    folder: PathBuf,
    /// Licence of the code that the linker adds.
    linker_license: Option<PathBuf>,
    /// Newest glibc that they may need; `None` for any.
    newest_glibc: Option<GlibcVersion>,
}

impl Programs {
    /// Uses the `built` files, or builds these packages of the workspace for this glibc.
    ///
    /// # Errors
    /// As [`build::build`].
    fn get(built: Option<&Path>, glibc: Option<&GlibcVersion>, packages: &[&str]) -> Result<Self> {
        if let Some(folder) = built {
            return Ok(Self { folder: folder.into(), linker_license: None, newest_glibc: glibc.cloned() });
        }
        let glibc = glibc.cloned().unwrap_or_else(|| GLIBC.into());
        let built = build::build(packages, &glibc, env::consts::ARCH)?;
        let linker_license = Some(built.linker_license);
        Ok(Self { folder: built.folder, linker_license, newest_glibc: Some(glibc) })
    }
}

/// Returns a field of the packages of the workspace that they have in common.
///
/// # Errors
/// If there is none.
pub(crate) fn of_workspace(field: &str) -> Result<String> {
    let workspace = layout::read_manifest(Path::new("Cargo.toml"))?;
    let value = workspace.get("workspace").and_then(|it| it.get("package")?.get(field)?.as_str());
    value.map(str::to_owned).with_context(|| format!("Cargo.toml has no workspace.package.{field}"))
}

/// Removes a folder, if it is there.
///
/// # Errors
/// If it cannot be removed.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Packs the folder of this name into an archive next to it; its files have no particular owner.
fn archive(output: &Path, name: &str) -> Result<()> {
    let archive = output.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--create", "--gzip", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--file"]);
    run_command(tar.arg(&archive).arg("--directory").arg(output).arg(name))?;
    println!("{}", archive.display());
    Ok(())
}

//! Every file of a package, in its place.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use toml::Table;

use crate::{
    command::{output, workspace_root},
    frozen,
    package::{crates, licenses, symbols::GlibcVersion},
};

/// A plugin of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plugin {
    /// As `host run --plugin` takes it.
    name: &'static str,
    /// The package that makes the library.
    pub(crate) package: &'static str,
}

/// Those that a package has unless others are asked for.
pub(crate) const PLUGINS: [Plugin; 6] = [
    Plugin { name: "candle", package: "proctor-candle" },
    Plugin { name: "cpu-rnn", package: "proctor-cpu-rnn" },
    Plugin { name: "mock", package: "proctor-mock" },
    Plugin { name: "null", package: "proctor-null-export" },
    Plugin { name: "onnx", package: "proctor-onnx" },
    Plugin { name: "tract", package: "proctor-tract" },
];

impl Plugin {
    /// # Errors
    /// If there is none of this name, with those that there are.
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        let found = PLUGINS.into_iter().find(|plugin| plugin.name == name);
        let names = PLUGINS.map(|plugin| plugin.name).join(", ");
        found.ok_or_else(|| format!("there is no plugin {name:?}; ours are {names}"))
    }

    fn library(self) -> String {
        format!("lib{}_sut.so", self.name.replace('-', "_"))
    }
}

/// Files and folders that are copied as they are: from where in the workspace to where in the package.
const COPIES: &[(&str, &str)] = &[
    ("LICENSE", "LICENSE"),
    ("datasets/digits", "datasets/digits"),
    ("docs/find-max.md", "docs/find-max.md"),
    ("docs/rules.md", "docs/rules.md"),
    ("docs/run-folder.md", "docs/run-folder.md"),
    ("plugin-api/CHANGELOG.md", "plugin-api/CHANGELOG.md"),
    ("plugins/mock/README.md", "examples/mock/README.md"),
    ("tests/fixtures/c/null_plugin.c", "examples/null_plugin.c"),
];

/// Crates that a plugin in Rust needs, and one that is a plugin, with their places in the package. They lie as deep as
/// in the workspace, so that their ways to each other stay the same.
const CRATES: [(&str, &str); 3] = [
    ("plugin-api", "plugin-api"),
    ("plugin-api/vocabulary", "plugin-api/vocabulary"),
    ("plugins/mock", "examples/mock"),
];

/// The folder of the files that are filled in, in the workspace.
const TEMPLATES: &str = "tests/xtask/package";

/// Files that are filled in, but for the README, and their places in the package.
const FILLED_IN: [(&str, &str); 4] = [
    ("ProctorConfig.cmake", "lib/cmake/Proctor/ProctorConfig.cmake"),
    ("ProctorConfigVersion.cmake", "lib/cmake/Proctor/ProctorConfigVersion.cmake"),
    ("proctor-plugin.pc", "lib/pkgconfig/proctor-plugin.pc"),
    ("examples/CMakeLists.txt", "examples/CMakeLists.txt"),
];

/// The folder of the headers in the workspace; the folder of kept versions below it stays behind.
const HEADERS: &str = "plugin-api/include";

/// The licences of Rust's standard library, which is linked into everything, in the folder of the toolchain.
const STANDARD_LIBRARY: &str = "share/doc/rust/COPYRIGHT-library.html";

/// A package that is being made.
pub(crate) struct Package {
    /// The folder, which is not there yet.
    pub(crate) folder: PathBuf,
    /// Its version.
    pub(crate) version: String,
    /// Its plugins.
    pub(crate) plugins: Vec<Plugin>,
}

impl Package {
    /// Puts everything but the README in its place, with program and plugins out of the folder `built`, and returns
    /// these, relative to the package.
    ///
    /// # Errors
    /// If something is not there, or cannot be read or written.
    pub(crate) fn lay_out(&self, built: &Path) -> Result<Vec<String>> {
        let mut programs = vec!["bin/host".to_owned()];
        copy_built(&built.join("host"), &self.folder.join(&programs[0]), "host")?;
        for plugin in &self.plugins {
            let place = format!("lib/proctor/{}", plugin.library());
            copy_built(&built.join(plugin.library()), &self.folder.join(&place), plugin.package)?;
            programs.push(place);
        }
        for (from, to) in COPIES {
            copy(&workspace_root().join(from), &self.folder.join(to))?;
        }
        for header in files_in(&workspace_root().join(HEADERS))? {
            copy(&header, &self.folder.join("include").join(header.file_name().unwrap_or_default()))?;
        }
        let workspace = read_manifest(Path::new("Cargo.toml"))?;
        for (from, to) in CRATES {
            let from = Path::new(from);
            copy(&workspace_root().join(from).join("src"), &self.folder.join(to).join("src"))?;
            let manifest =
                crates::standing_alone(&workspace, &read_manifest(&from.join("Cargo.toml"))?, from)?;
            write(&self.folder.join(to).join("Cargo.toml"), &toml::to_string(&manifest)?)?;
        }
        for (template, to) in FILLED_IN {
            self.fill_in(template, to, &[])?;
        }
        self.write_licenses()?;
        Ok(programs)
    }

    /// Writes the page that is read first.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn write_readme(&self, glibc: &GlibcVersion) -> Result<()> {
        self.fill_in("README.md", "README.md", &[("GLIBC", &glibc.to_string())])
    }

    fn write_licenses(&self) -> Result<()> {
        let packages: Vec<&str> =
            ["host"].into_iter().chain(self.plugins.iter().map(|plugin| plugin.package)).collect();
        write(&self.folder.join("licenses/third-party.txt"), &licenses::page(&packages)?)?;
        let toolchain =
            output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(workspace_root()))?;
        let from = Path::new(toolchain.trim_end()).join(STANDARD_LIBRARY);
        copy(&from, &self.folder.join("licenses/rust-standard-library.html"))
    }

    /// Writes a file with values in the place of the names between `@`.
    fn fill_in(&self, template: &str, to: &str, more: &[(&str, &str)]) -> Result<()> {
        let from = workspace_root().join(TEMPLATES).join(template);
        let text = fs::read_to_string(&from).with_context(|| format!("cannot read {}", from.display()))?;
        let [major, minor] = frozen::version()?;
        let abi = format!("{major}.{minor}");
        let shared = [
            ("VERSION", self.version.as_str()),
            ("ARCH", env::consts::ARCH),
            ("ABI", &abi),
            ("ABI_MAJOR", &major),
        ];
        let values = shared.iter().chain(more);
        write(
            &self.folder.join(to),
            &values.fold(text, |text, (name, value)| text.replace(&format!("@{name}@"), value)),
        )
    }
}

/// Reads a manifest of the workspace.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn read_manifest(path: &Path) -> Result<Table> {
    let path = workspace_root().join(path);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    text.parse().with_context(|| path.display().to_string())
}

fn copy_built(from: &Path, to: &Path, package: &str) -> Result<()> {
    if !from.is_file() {
        bail!(
            "{} is not built: build the package {package}, or name those plugins that are built with --plugin",
            from.display()
        );
    }
    copy(from, to)
}

/// Copies a file, or a folder with all that is below it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        for entry in entries(from)? {
            copy(&entry, &to.join(entry.file_name().unwrap_or_default()))?;
        }
        return Ok(());
    }
    make_room(to)?;
    fs::copy(from, to)
        .map(drop)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    make_room(path)?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Makes the folder that a file goes into.
fn make_room(file: &Path) -> Result<()> {
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(entries(folder)?.into_iter().filter(|path| path.is_file()).collect())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_goes_by_its_name() {
        assert_eq!(Plugin::named("cpu-rnn").unwrap().library(), "libcpu_rnn_sut.so");
        assert!(Plugin::named("cpu_rnn").unwrap_err().contains("ours are candle, cpu-rnn, mock"));
    }

    #[test]
    fn each_plugin_is_a_package_that_makes_its_library() {
        for plugin in PLUGINS {
            let folder = match plugin.name {
                "null" => "plugins/null/export".to_owned(),
                name => format!("plugins/{name}"),
            };
            let manifest = read_manifest(&Path::new(&folder).join("Cargo.toml")).unwrap();
            assert_eq!(manifest["package"]["name"].as_str(), Some(plugin.package));
            let library = manifest["lib"]["name"].as_str().unwrap();
            assert_eq!(plugin.library(), format!("lib{library}.so"));
        }
    }
}

//! Every file of a package, in its place. A package of the workspace is what cargo calls one.

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
    /// Name as `host run --plugin` takes it.
    pub(crate) name: &'static str,
    /// The package of the workspace that makes the library.
    cargo_package: &'static str,
}

/// A program of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// The package of the workspace that makes it.
    pub(crate) cargo_package: &'static str,
}

/// Programs that run a plugin: the host, and the process of a plugin that has one of its own.
pub(crate) const RUNNING: [Program; 2] = [
    Program { name: "host", cargo_package: "host" },
    Program { name: "proctor-worker", cargo_package: "proctor-worker" },
];

/// The programs of a package: those, and the one that looks after data sets.
pub(crate) const PROGRAMS: [Program; 3] =
    [RUNNING[0], RUNNING[1], Program { name: "host-data", cargo_package: "proctor-data" }];

/// Default plugins of a package.
pub(crate) const PLUGINS: [Plugin; 8] = [
    Plugin { name: "candle", cargo_package: "proctor-candle" },
    Plugin { name: "cpu-rnn", cargo_package: "proctor-cpu-rnn" },
    Plugin { name: "cuda", cargo_package: "proctor-cuda" },
    Plugin { name: "host-probe", cargo_package: "proctor-host-probe" },
    Plugin { name: "mock", cargo_package: "proctor-mock" },
    Plugin { name: "null", cargo_package: "proctor-null-export" },
    Plugin { name: "onnx", cargo_package: "proctor-onnx" },
    Plugin { name: "opencl", cargo_package: "proctor-opencl" },
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

/// Files and folders that are copied unchanged, to the same place.
const COPIES: [&str; 5] = [
    "LICENSE",
    "datasets/digits",
    "datasets/fashion-mnist-cnn",
    "datasets/photographs",
    "plugin-api/CHANGELOG.md",
];

/// The folder of the pages for users.
const PAGES: &str = "docs";

/// Pages that speak of the source tree: how parts of it are made, and figures that its programs have measured.
const PAGES_LEFT_BEHIND: [&str; 7] =
    ["benchmarks.md", "engines.md", "gpu.md", "packaging.md", "performance.md", "rnn-engine.md", "rnn.md"];

/// Crates that a plugin in Rust needs. Their places in the package are those in the workspace, and so are their paths
/// to each other.
const CRATES: [&str; 2] = ["plugin-api", "plugin-api/vocabulary"];

/// Files that are filled in, except the README, and their places in the package.
const FILLED_IN: [(&str, &str); 4] = [
    ("tests/xtask/package/ProctorConfig.cmake", "lib/cmake/Proctor/ProctorConfig.cmake"),
    ("tests/xtask/package/ProctorConfigVersion.cmake", "lib/cmake/Proctor/ProctorConfigVersion.cmake"),
    ("tests/xtask/package/proctor-plugin.pc", "lib/pkgconfig/proctor-plugin.pc"),
    ("tests/xtask/package/examples/CMakeLists.txt", "examples/CMakeLists.txt"),
];

/// The page to read first.
const README: &str = "tests/xtask/package/README.md";

/// Templates of `host new-plugin`, a folder for each language; filled in, they are the examples.
const EXAMPLES: &str = "host/src/templates";

/// Template that is left out: it builds against headers in its own folder, not the package's.
const BUILD_SCRIPT: &str = "build.sh";

/// The folder of the headers in the workspace; the folder of kept versions below it stays behind.
const HEADERS: &str = "plugin-api/include";

/// Folders of the headers in a package: for compilers, and for readers of the crate.
const HEADER_PLACES: [&str; 2] = ["include", HEADERS];

/// The licences of Rust's standard library, which is linked into everything, in the folder of the toolchain.
const STANDARD_LIBRARY: &str = "share/doc/rust/COPYRIGHT-library.html";

/// A package that is being made.
pub(crate) struct Package {
    /// The folder, which is not there yet.
    pub(crate) folder: PathBuf,
    pub(crate) version: String,
    pub(crate) plugins: Vec<Plugin>,
}

impl Package {
    /// Places everything but the README, with programs and plugins from the folder `built`, and returns these, relative
    /// to the package.
    ///
    /// # Errors
    /// If something is not there, or cannot be read or written.
    pub(crate) fn lay_out(&self, built: &Path) -> Result<Vec<String>> {
        let files = lay_out_programs(built, &PROGRAMS, &self.plugins, &self.folder)?;
        for path in COPIES {
            copy(&workspace_root().join(path), &self.folder.join(path))?;
        }
        for page in entries(&workspace_root().join(PAGES))? {
            if !PAGES_LEFT_BEHIND.contains(&&*name_of(&page)) {
                copy(&page, &self.folder.join(PAGES).join(name_of(&page)))?;
            }
        }
        for header in entries(&workspace_root().join(HEADERS))?.iter().filter(|path| path.is_file()) {
            for place in HEADER_PLACES {
                copy(header, &self.folder.join(place).join(name_of(header)))?;
            }
        }
        let workspace = read_manifest(Path::new("Cargo.toml"))?;
        for folder in CRATES {
            copy(&workspace_root().join(folder).join("src"), &self.folder.join(folder).join("src"))?;
            let manifest = read_manifest(&Path::new(folder).join("Cargo.toml"))?;
            let manifest = crates::standing_alone(&workspace, &manifest, Path::new(folder))?;
            write(&self.folder.join(folder).join("Cargo.toml"), &toml::to_string(&manifest)?)?;
        }
        for (template, to) in FILLED_IN {
            self.fill_in(Path::new(template), to, &[])?;
        }
        self.write_examples()?;
        write_licenses(&cargo_packages(&PROGRAMS, &self.plugins), &self.folder.join("licenses"))?;
        Ok(files)
    }

    /// Adds the licence of another linked component.
    ///
    /// # Errors
    /// If it cannot be copied.
    pub(crate) fn add_license(&self, file: &Path, name: &str) -> Result<()> {
        copy(file, &self.folder.join("licenses").join(name))
    }

    /// Writes the page that is read first, with the oldest glibc and Rust that will do.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn write_readme(&self, glibc: &GlibcVersion, rust: &str) -> Result<()> {
        self.fill_in(Path::new(README), "README.md", &[("GLIBC", &glibc.to_string()), ("RUST", rust)])
    }

    fn write_examples(&self) -> Result<()> {
        for language in entries(&workspace_root().join(EXAMPLES))?.iter().filter(|path| path.is_dir()) {
            let name = name_of(language);
            let (plugin, file) = (format!("digits-{name}"), format!("digits_{name}"));
            // The path has the quotes of a string of TOML, as `host new-plugin` writes it.
            let values = [("NAME", &*plugin), ("FILE", &file), ("PLUGIN_API", r#""../../plugin-api""#)];
            for template in entries(language)?.iter().filter(|path| !path.ends_with(BUILD_SCRIPT)) {
                // Cargo would take a manifest of this name for one of the workspace.
                let file = name_of(template).replace(".toml.txt", ".toml");
                self.fill_in(template, &format!("examples/{name}/{file}"), &values)?;
            }
        }
        Ok(())
    }

    /// Writes a file with values instead of the names between `@`.
    fn fill_in(&self, template: &Path, to: &str, more: &[(&str, &str)]) -> Result<()> {
        let from = workspace_root().join(template);
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

/// Writes the licences of everything from elsewhere that is linked into the products of these packages of the
/// workspace, but for what a linker adds, into a folder.
///
/// # Errors
/// If one is not there, or cannot be written.
pub(crate) fn write_licenses(packages: &[&str], folder: &Path) -> Result<()> {
    write(&folder.join("third-party.txt"), &licenses::page(packages)?)?;
    let toolchain = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(workspace_root()))?;
    let from = Path::new(toolchain.trim_end()).join(STANDARD_LIBRARY);
    copy(&from, &folder.join("rust-standard-library.html"))
}

/// Puts these programs and plugins out of the folder `built` in their places in `folder`, and returns these,
/// relative to it.
///
/// # Errors
/// If something is not there, or cannot be copied.
pub(crate) fn lay_out_programs(
    built: &Path,
    programs: &[Program],
    plugins: &[Plugin],
    folder: &Path,
) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for program in programs {
        let place = format!("bin/{}", program.name);
        copy_built(&built.join(program.name), &folder.join(&place), program.cargo_package)?;
        files.push(place);
    }
    for plugin in plugins {
        let place = format!("lib/proctor/{}", plugin.library());
        copy_built(&built.join(plugin.library()), &folder.join(&place), plugin.cargo_package)?;
        files.push(place);
    }
    Ok(files)
}

/// Returns the packages of the workspace that make these programs and plugins.
pub(crate) fn cargo_packages(programs: &[Program], plugins: &[Plugin]) -> Vec<&'static str> {
    let programs = programs.iter().map(|program| program.cargo_package);
    programs.chain(plugins.iter().map(|plugin| plugin.cargo_package)).collect()
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

/// Copies a product of a package of the workspace.
///
/// # Errors
/// If it is not built, or cannot be copied.
pub(crate) fn copy_built(from: &Path, to: &Path, package: &str) -> Result<()> {
    if !from.is_file() {
        bail!(
            "{} is not built: build the package {package}, or name those plugins that are built with --plugin",
            from.display()
        );
    }
    copy(from, to)
}

/// Copies a file, or a folder with everything below it.
///
/// # Errors
/// If something cannot be read or written.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        for entry in entries(from)? {
            copy(&entry, &to.join(name_of(&entry)))?;
        }
        return Ok(());
    }
    make_room(to)?;
    fs::copy(from, to)
        .map(drop)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

/// Writes a file, whose folder need not be there.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    make_room(path)?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Makes the folder for a file.
fn make_room(file: &Path) -> Result<()> {
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// Returns the last part of a path.
pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the content of a folder.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_goes_by_its_name() {
        assert_eq!(Plugin::named("cpu-rnn").unwrap().library(), "libcpu_rnn_sut.so");
        assert!(Plugin::named("cpu_rnn").unwrap_err().contains("ours are candle, cpu-rnn, cuda, host-probe"));
    }

    #[test]
    fn each_plugin_is_a_package_that_makes_its_library() {
        for plugin in PLUGINS {
            let folder = match plugin.name {
                "null" => "plugins/null/export".to_owned(),
                name => format!("plugins/{name}"),
            };
            let manifest = read_manifest(&Path::new(&folder).join("Cargo.toml")).unwrap();
            assert_eq!(manifest["package"]["name"].as_str(), Some(plugin.cargo_package));
            let library = manifest["lib"]["name"].as_str().unwrap();
            assert_eq!(plugin.library(), format!("lib{library}.so"));
        }
    }
}

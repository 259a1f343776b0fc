//! Digests of everything that the tests of a group depend on.
//!
//! A group that passed need not run again while its inputs are the same: the sources of its packages and of the
//! workspace packages that they use, the versions of all others, the files of its tests, profile, toolchain and filter.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::group::Group;
use crate::command::{git, metadata, output, workspace_root};

/// Digests by name: of a package, a file or folder of tests, or one of the constants below.
pub(crate) type Inputs = BTreeMap<String, String>;

const FILTER: &str = "filter";
const BUILD: &str = "toolchain and profile";
const OTHERS: &str = "packages from registries";

/// Files at the root of a package that no test reads.
const PAGES: [&str; 2] = ["README.md", "CHANGELOG.md"];

/// Folders of a package that its dependents never see.
const OWN_FOLDERS: [&str; 3] = ["tests", "benches", "examples"];

/// The workspace in its current state.
pub(crate) struct Workspace {
    packages: BTreeMap<String, Package>,
    /// Identity of each member's package by its name.
    members: BTreeMap<String, String>,
    /// Files that are in the repository, or would be after `git add --all`, relative to the workspace.
    files: Vec<PathBuf>,
    build: String,
}

/// A package and its dependencies.
struct Package {
    name: String,
    /// Folder relative to the workspace, if it is one of ours.
    folder: Option<PathBuf>,
    features: String,
    /// Identities of the packages that it is built with.
    uses: Vec<String>,
    /// Identities of the additional packages of its tests.
    tests_use: Vec<String>,
}

impl Workspace {
    /// Reads the workspace.
    ///
    /// # Errors
    /// If cargo or git fails.
    pub(crate) fn read() -> Result<Self> {
        let packages = packages(&metadata()?)?;
        let members = packages.iter().filter(|(_, package)| package.folder.is_some());
        let members = members.map(|(id, package)| (package.name.clone(), id.clone())).collect();
        let listed = output(&mut git("ls-files -z --cached --others --exclude-standard"))?;
        let exists = |path: &PathBuf| workspace_root().join(path).is_file();
        let files = listed.split_terminator('\0').map(PathBuf::from).filter(exists).collect();
        Ok(Self { packages, members, files, build: build()? })
    }

    /// Returns the inputs of a group.
    ///
    /// # Errors
    /// If the group names what is not there, or if a file cannot be read.
    pub(crate) fn inputs(&self, group: &Group) -> Result<Inputs> {
        let mut inputs = Inputs::new();
        inputs.insert(FILTER.to_owned(), digest([group.filter.as_bytes()]));
        inputs.insert(BUILD.to_owned(), self.build.clone());
        let mut others = BTreeSet::new();
        for id in self.reached(group)? {
            let package = &self.packages[&id];
            if let Some(folder) = &package.folder {
                let content = self.content(folder, |path| !is_own(path, folder))?;
                inputs
                    .insert(package.name.clone(), digest([content.as_bytes(), package.features.as_bytes()]));
            } else {
                others.insert(format!("{id} {}\n", package.features));
            }
        }
        inputs.insert(OTHERS.to_owned(), digest(others.iter().map(String::as_bytes)));
        for path in &group.files {
            let content = self.content(Path::new(path), |_| true)?;
            inputs.insert(path.clone(), digest([content.as_bytes()]));
        }
        Ok(inputs)
    }

    /// Returns the packages of a group and everything that they are built with.
    fn reached(&self, group: &Group) -> Result<BTreeSet<String>> {
        let mut reached = BTreeSet::new();
        let mut next = Vec::new();
        for name in &group.packages {
            let id = self.members.get(name);
            let id = id.with_context(|| format!("group `{}`: there is no package `{name}`", group.name))?;
            next.push(id);
            next.extend(&self.packages[id].tests_use);
        }
        while let Some(id) = next.pop() {
            if reached.insert(id.clone()) {
                next.extend(&self.packages[id].uses);
            }
        }
        Ok(reached)
    }

    /// Returns the paths and digests of the files below `folder`, or of that file, except those in their own packages.
    fn content(&self, folder: &Path, counts: impl Fn(&Path) -> bool) -> Result<String> {
        let inner: Vec<_> = (self.packages.values().filter_map(|package| package.folder.as_deref()))
            .filter(|other| other.starts_with(folder) && *other != folder)
            .collect();
        let mut content = String::new();
        for path in self.files.iter().filter(|path| path.starts_with(folder) && counts(path)) {
            if !inner.iter().any(|other| path.starts_with(other)) {
                let bytes = fs::read(workspace_root().join(path));
                let bytes = bytes.with_context(|| format!("cannot read {}", path.display()))?;
                content += &format!("{} {}\n", path.display(), digest([bytes.as_slice()]));
            }
        }
        anyhow::ensure!(!content.is_empty(), "there is no file in `{}`", folder.display());
        Ok(content)
    }
}

/// Returns whether a file of the package in `folder` is irrelevant to its dependents.
fn is_own(path: &Path, folder: &Path) -> bool {
    let within = path.strip_prefix(folder).unwrap_or(path);
    let first = within.iter().next().and_then(|name| name.to_str()).unwrap_or_default();
    let is_at_root = within.iter().count() == 1;
    if is_at_root { PAGES.contains(&first) } else { OWN_FOLDERS.contains(&first) }
}

/// Returns the digest of everything that determines the build.
fn build() -> Result<String> {
    let read = |path: &str| {
        fs::read_to_string(workspace_root().join(path)).with_context(|| format!("cannot read {path}"))
    };
    let manifest: toml::Table = read("Cargo.toml")?.parse().context("Cargo.toml is no TOML")?;
    let profile = manifest.get("profile").and_then(|profiles| profiles.get("dev"));
    let profile = profile.context("Cargo.toml has no profile dev")?.to_string();
    let [toolchain, cargo] = [read("rust-toolchain.toml")?, read(".cargo/config.toml")?];
    Ok(digest([profile.as_bytes(), toolchain.as_bytes(), cargo.as_bytes()]))
}

/// Returns the packages of cargo's metadata by their identities.
fn packages(metadata: &Value) -> Result<BTreeMap<String, Package>> {
    let root = metadata["workspace_root"].as_str().context("cargo metadata names no workspace")?;
    let all = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let nodes = metadata["resolve"]["nodes"].as_array().context("cargo metadata resolves nothing")?;
    let mut packages = BTreeMap::new();
    for package in all {
        let manifest = Path::new(text(package, "manifest_path"));
        let folder = manifest.parent().and_then(|folder| folder.strip_prefix(root).ok());
        let folder = folder.filter(|_| package["source"].is_null());
        let entry = Package {
            name: text(package, "name").to_owned(),
            folder: folder.map(Path::to_owned),
            features: String::new(),
            uses: Vec::new(),
            tests_use: Vec::new(),
        };
        packages.insert(text(package, "id").to_owned(), entry);
    }
    for node in nodes {
        let package =
            packages.get_mut(text(node, "id")).context("cargo metadata resolves an unknown package")?;
        package.features = node["features"].to_string();
        for dependency in node["deps"].as_array().into_iter().flatten() {
            let kinds = dependency["dep_kinds"].as_array().into_iter().flatten();
            let is_of_tests = kinds.map(|kind| kind["kind"] == "dev").collect::<Vec<_>>();
            let used = text(dependency, "pkg").to_owned();
            if is_of_tests.contains(&true) {
                package.tests_use.push(used.clone());
            }
            if is_of_tests.contains(&false) {
                package.uses.push(used);
            }
        }
    }
    Ok(packages)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Returns sixteen digits of a digest of the parts.
fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(packages: &[&str], files: &[&str]) -> Group {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Group {
            name: "g".to_owned(),
            packages: owned(packages),
            files: owned(files),
            filter: "all()".to_owned(),
        }
    }

    #[test]
    fn inputs_reach_through_packages_and_stay_the_same() {
        let workspace = Workspace::read().unwrap();
        let of_scheduler = group(&["proctor-scheduler"], &["tests/needs"]);
        let inputs = workspace.inputs(&of_scheduler).unwrap();
        for name in [FILTER, BUILD, OTHERS, "proctor-scheduler", "proctor-vocabulary", "tests/needs"] {
            assert!(inputs.contains_key(name), "{name} is not in {inputs:?}");
        }
        assert!(!inputs.contains_key("proctor-opencl"), "{inputs:?}");
        assert_eq!(Workspace::read().unwrap().inputs(&of_scheduler).unwrap(), inputs);
        let other = Group { filter: "none()".to_owned(), ..of_scheduler };
        let changed = workspace.inputs(&other).unwrap();
        let differ: Vec<_> = inputs.iter().filter(|(name, digest)| changed[*name] != **digest).collect();
        assert_eq!(differ.len(), 1, "the filter alone: {differ:?}");
    }

    #[test]
    fn what_is_not_there_is_named() {
        let workspace = Workspace::read().unwrap();
        let error = workspace.inputs(&group(&["proctor-none"], &[])).unwrap_err().to_string();
        assert!(error.contains("no package `proctor-none`"), "{error}");
        let error = workspace.inputs(&group(&["host"], &["tests/nowhere"])).unwrap_err().to_string();
        assert!(error.contains("no file in `tests/nowhere`"), "{error}");
    }

    #[test]
    fn pages_and_tests_of_a_package_are_its_own() {
        let folder = Path::new("plugins/opencl");
        for own in ["README.md", "tests/suite/main.rs", "benches/product.rs"] {
            assert!(is_own(&folder.join(own), folder), "{own}");
        }
        for seen in ["src/lib.rs", "Cargo.toml", "src/tests/rows.rs", "kernels/README.md"] {
            assert!(!is_own(&folder.join(seen), folder), "{seen}");
        }
    }

    #[test]
    fn tests_and_code_are_built_with_what_each_of_them_uses() {
        let metadata = serde_json::json!({
            "workspace_root": "/w",
            "packages": [
                {"id": "a", "name": "a", "source": null, "manifest_path": "/w/a/Cargo.toml"},
                {"id": "b", "name": "b", "source": "registry", "manifest_path": "/r/b/Cargo.toml"},
            ],
            "resolve": {"nodes": [
                {"id": "a", "features": ["x"], "deps": [
                    {"pkg": "b", "dep_kinds": [{"kind": null}, {"kind": "dev"}]},
                    {"pkg": "a", "dep_kinds": [{"kind": "dev"}]},
                ]},
                {"id": "b", "features": [], "deps": []},
            ]},
        });
        let packages = packages(&metadata).unwrap();
        let a = &packages["a"];
        assert_eq!((a.folder.as_deref(), packages["b"].folder.as_deref()), (Some(Path::new("a")), None));
        assert_eq!(
            (a.uses.as_slice(), a.tests_use.as_slice()),
            (&["b".to_owned()][..], &["b".to_owned(), "a".to_owned()][..])
        );
        assert_eq!(a.features, "[\"x\"]");
    }
}

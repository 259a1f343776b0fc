//! Copies of the workspace with changes, built by tests.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::place::{profile_folder, workspace};

/// Folders at the top of the workspace that are no part of it.
const FOREIGN: [&str; 3] = ["target", "runs", "datasets/generated"];

/// Returns the contents of all files of the workspace, by path.
///
/// # Panics
/// If one cannot be read.
#[must_use]
pub fn files_of_workspace() -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(workspace().join(&folder)).unwrap().map(Result::unwrap) {
            let path = folder.join(entry.file_name());
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            if is_hidden || FOREIGN.iter().any(|foreign| path == Path::new(foreign)) {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = fs::read(entry.path()) {
                // A temporary file of another test may be gone.
                files.insert(path, bytes);
            }
        }
    }
    files
}

/// A copy of the workspace with changes. It and its target folder are kept between runs, so that only the first one
/// builds everything.
pub struct WorkspaceCopy {
    folder: PathBuf,
}

impl WorkspaceCopy {
    /// Makes `folder/workspace` hold exactly these files, with a target folder beside it, which begins with the
    /// registry crates that this workspace has built. Its own crates are not optimised: nothing here computes for long,
    /// and optimising takes three quarters of the build.
    ///
    /// # Panics
    /// If the files cannot be written.
    #[must_use]
    pub fn write(folder: &Path, files: BTreeMap<PathBuf, Vec<u8>>) -> Self {
        Self::write_with(folder, files, &profile_folder())
    }

    /// Works as [`write`](Self::write), with the crates of another profile's folder, such as `target/x/debug`: for a
    /// copy that needs few of them, or needs them with other features.
    ///
    /// # Panics
    /// If the files cannot be written.
    #[must_use]
    pub fn write_with(folder: &Path, mut files: BTreeMap<PathBuf, Vec<u8>>, built: &Path) -> Self {
        let copy = Self { folder: folder.to_owned() };
        let manifest = files.get_mut(Path::new("Cargo.toml")).unwrap();
        *manifest = without_own_profiles(str::from_utf8(manifest).unwrap()).into_bytes();
        write_all(&copy.workspace(), &files);
        seed(&copy.target(), &files, built);
        copy
    }

    /// Returns the folder of the copy.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.folder.join("workspace")
    }

    /// Returns the target folder.
    #[must_use]
    pub fn target(&self) -> PathBuf {
        self.folder.join("target")
    }

    /// Runs cargo in the copy.
    ///
    /// # Panics
    /// If it fails.
    pub fn cargo(&self, arguments: &[&str]) {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(arguments).arg("--offline").current_dir(self.workspace());
        command.env("CARGO_TARGET_DIR", self.target());
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo {}\n{stderr}", arguments.join(" "));
    }
}

/// Returns the manifest of the workspace without the optimisation of its own crates.
fn without_own_profiles(manifest: &str) -> String {
    let is_own = |line: &&str| line.starts_with("proctor-") && line.contains("opt-level");
    manifest.lines().filter(|line| !is_own(line)).flat_map(|line| [line, "\n"]).collect()
}

/// Makes a folder hold exactly these files. Files that are right already stay untouched, so that cargo does not
/// rebuild.
fn write_all(folder: &Path, files: &BTreeMap<PathBuf, Vec<u8>>) {
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder.join(&below)) else { continue };
        for entry in entries.map(Result::unwrap) {
            let path = below.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if !files.contains_key(&path) {
                fs::remove_file(entry.path()).unwrap();
            }
        }
    }
    for (path, bytes) in files {
        let path = folder.join(path);
        if fs::read(&path).is_ok_and(|found| found == *bytes) {
            continue;
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// Fills the target folder of the copy with the crates from registries that were built in a folder of a profile: cargo
/// knows them again, whereas it builds the crates of the copy again.
fn seed(target: &Path, files: &BTreeMap<PathBuf, Vec<u8>>, profile: &Path) {
    if target.exists() {
        return;
    }
    let manifests = files.iter().filter(|(path, _)| path.ends_with("Cargo.toml"));
    let manifests: Vec<String> =
        manifests.map(|(_, bytes)| String::from_utf8_lossy(bytes).replace('-', "_")).collect();
    let is_own = |name: &str| manifests.iter().any(|text| text.contains(&format!("name = \"{name}\"")));
    for folder in ["deps", "build", ".fingerprint"] {
        let built = fs::read_dir(profile.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let foreign = built.filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().replace('-', "_");
            let name = name.rsplit_once('_').map_or("", |(name, _)| name);
            let is_program = path.is_file() && path.extension().is_none();
            !is_program && !is_own(name) && !is_own(name.trim_start_matches("lib"))
        });
        let place = target.join("debug").join(folder);
        fs::create_dir_all(&place).unwrap();
        // With their times, by which cargo sees that they are fresh.
        let status = Command::new("cp").arg("-a").args(foreign).arg(place).status().unwrap();
        assert!(status.success(), "cp: {status}");
    }
}

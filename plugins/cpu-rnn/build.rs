//! Hands a fingerprint of the sources on to the plugin, which puts it into the key of cached plans: a changed kernel is
//! measured again, also where the version stays the same.
//!
//! It covers the crates that decide which schedule is the fastest, and the level of optimisation. The compiler and the
//! crates from the registry are left out.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The sources that count, from the folder of this crate.
pub const FOLDERS: [&str; 4] = ["engine/src", "kernels/src", "layer/src", "optimiser/src"];

fn main() {
    FOLDERS.iter().for_each(|folder| println!("cargo::rerun-if-changed={folder}"));
    let level = std::env::var("OPT_LEVEL").expect("cargo tells build scripts the level of optimisation");
    println!("cargo::rustc-env=CPU_RNN_FINGERPRINT={:016x} O{level}", fingerprint(Path::new(""), &FOLDERS));
}

/// FNV-1a in 64 bits of all files of Rust in these folders below `root`: the name and the content of each, in the order
/// of their names, so that it is the same wherever the sources lie.
///
/// # Panics
/// If a folder cannot be read, or holds nothing that counts: the plugin is built from a whole clone of the repository.
pub fn fingerprint(root: &Path, folders: &[&str]) -> u64 {
    let mut files = Vec::new();
    for folder in folders {
        let count = files.len();
        collect(root, PathBuf::from(folder), &mut files);
        assert!(files.len() > count, "no Rust sources in {}", root.join(folder).display());
    }
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        // The length in front keeps apart what would be the same one behind the other.
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    for (name, path) in files {
        add(name.as_bytes());
        add(&fs::read(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display())));
    }
    hash
}

/// Adds the files of a folder and of those in it: the name below `root`, with slashes on every system, and the path.
fn collect(root: &Path, folder: PathBuf, files: &mut Vec<(String, PathBuf)>) {
    let path = root.join(&folder);
    let entries =
        fs::read_dir(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    for entry in entries {
        let entry = entry.unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
        let (below, path) = (folder.join(entry.file_name()), entry.path());
        if path.is_dir() {
            collect(root, below, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
            files.push((parts.join("/"), path));
        }
    }
}

//! Files that are no plugins.

use std::path::{Path, PathBuf};

use super::*;
use crate::PluginLocation;

fn load_file(path: &Path) -> String {
    LoadedPlugin::load(&PluginLocation::Library(path.to_owned())).unwrap_err().to_string()
}

#[test]
fn what_is_no_plugin_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x_sut.so");
    assert!(load_file(&path).starts_with(&format!("cannot read the plugin {}: ", path.display())));
    std::fs::write(&path, "hello").unwrap();
    let message = load_file(&path);
    assert!(message.contains("is not a shared library that can be loaded here: "), "{message}");
    assert!(message.contains("file too short") || message.contains("invalid ELF"), "{message}");
}

#[test]
fn a_library_without_the_entry_is_no_plugin() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let is_libc = |path: &&str| path.contains("/libc.so") || path.contains("/libc-");
    let path: PathBuf = maps.split_whitespace().find(is_libc).unwrap().into();
    let expected = format!(
        "{} is a shared library, but no plugin: it does not export `proctor_plugin_entry`",
        path.display()
    );
    assert_eq!(load_file(&path), expected);
}

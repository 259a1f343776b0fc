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
fn a_library_for_another_processor_is_told_with_both() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x_sut.so");
    let (number, name) = if cfg!(target_arch = "aarch64") { (62, "x86-64") } else { (183, "AArch64") };
    // A shared library of 64 bits without any segment.
    let head =
        [b"\x7fELF\x02\x01\x01".as_slice(), &[0; 9], &[3, 0, number, 0, 1, 0, 0, 0], &[0; 40]].concat();
    std::fs::write(&path, head).unwrap();
    let message = load_file(&path);
    let expected =
        format!("is not a shared library that can be loaded here: it is built for {name}, this host is ");
    assert!(message.contains(&expected), "{message}");
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

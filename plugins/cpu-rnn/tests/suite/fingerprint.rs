//! The fingerprint of the sources in the key of cached plans: any change of what computes is another one.

use std::{fs, path::Path};

use cpu_rnn_sut::planning::engine_identity;

#[path = "../../build.rs"]
#[expect(dead_code, reason = "the build script's own entry")]
mod build;

/// The fingerprint of two folders with these files, made in this order.
fn of(files: &[(&str, &str)]) -> u64 {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("it is below the folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    build::fingerprint(folder.path(), &["engine", "kernels"])
}

const FILES: [(&str, &str); 3] =
    [("engine/lib.rs", "mod a;"), ("kernels/lib.rs", "mod b;"), ("kernels/body/b.rs", "fn b() {}")];

#[test]
fn the_same_sources_have_the_same_fingerprint_wherever_they_lie() {
    let mut files = FILES;
    files.reverse();
    assert_eq!(of(&FILES), of(&files));
    let other = [("kernels/body/b.rs.orig", "fn c() {}"), ("engine/notes.md", "later")];
    assert_eq!(of(&FILES), of(&[&FILES[..], &other].concat()), "only sources count");
}

#[test]
fn each_change_of_a_source_is_another_fingerprint() {
    let mut all = vec![of(&FILES)];
    let mut changed = FILES;
    changed[2].1 = "fn b() { }";
    all.push(of(&changed));
    // The same text under another name, in another folder, and split otherwise.
    changed = FILES;
    changed[2].0 = "kernels/body/c.rs";
    all.push(of(&changed));
    changed = FILES;
    changed[2].0 = "engine/body/b.rs";
    all.push(of(&changed));
    changed = FILES;
    (changed[0].1, changed[1].1) = ("mod a;mod b;", "");
    all.push(of(&changed));
    all.push(of(&FILES[..2]));
    for (at, one) in all.iter().enumerate() {
        assert!(!all[..at].contains(one), "{at}");
    }
}

#[test]
#[should_panic(expected = "no Rust sources in")]
fn a_clone_without_the_sources_is_not_built() {
    of(&[FILES[0], ("kernels/README.md", "")]);
}

#[test]
fn the_plugin_has_the_fingerprint_of_the_sources_that_lie_here() {
    let expected = build::fingerprint(Path::new(env!("CARGO_MANIFEST_DIR")), &build::FOLDERS);
    let identity = engine_identity();
    assert!(identity.contains(&format!("sources {expected:016x}")), "{identity} {expected:016x}");
}

//! A plugin in Rust as a vendor builds it: on its own, with the default features of proctor-plugin-api.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};

use proctor_tests::{Bench, workspace};

/// The most packages that a plugin gets with proctor-plugin-api.
const PACKAGE_COUNT_MAX: usize = 25;

/// Runs cargo in the workspace and returns what it prints.
fn cargo(arguments: &str) -> String {
    let mut command = Command::new(env!("CARGO"));
    let output =
        command.args(arguments.split_whitespace()).current_dir(workspace()).output().expect("cargo starts");
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}

/// Builds the plugin, and returns the folder that its library is in, with the packages that it is made of.
///
/// Uses a target folder of its own: together with the workspace's other crates it would be built with their features.
pub(super) fn built() -> PathBuf {
    cargo("build --quiet --locked -p proctor-null-export --target-dir target/vendor");
    workspace().join("target/vendor/debug")
}

/// The library in the folder that it was built to.
pub(super) fn library(built: &Path) -> PathBuf {
    built.join("libnull_sut.so")
}

#[test]
fn a_plugin_without_the_layouts_exports_loads_and_runs() {
    let bench = Bench::new();
    let run = bench.run(&format!(
        "--plugin {} --scenario Offline --mode performance --set min_query_count=700",
        library(&built()).display()
    ));
    let result = run.assert_valid().result();
    assert_eq!(result["plugin"]["name"], "null");
    assert_eq!(result["plugin"]["layout_checked"], false);
}

#[test]
fn a_vendor_links_few_packages() {
    let tree = cargo("tree --locked -p proctor-plugin-api -e normal --prefix none --no-dedupe");
    let packages: BTreeSet<&str> = tree.lines().filter(|line| !line.is_empty()).collect();
    // The first line is proctor-plugin-api itself.
    let behind = packages.len() - 1;
    assert!((1..=PACKAGE_COUNT_MAX).contains(&behind), "{behind} packages behind it:\n{tree}");
}

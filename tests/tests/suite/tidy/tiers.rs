//! The second tier of the tests, as the runner sees it.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    process::Command,
};

use serde_json::Value;

use crate::tidy::files::{assert_none, manifest, workspace};

/// Asks the runner, as it would for a run, and returns its answer.
fn listed(arguments: &str) -> Value {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace()).args(["nextest", "list", "--message-format", "json"]);
    let output = command.args(arguments.split_whitespace()).output().expect("cargo starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo nextest list {arguments}: {errors}");
    serde_json::from_slice(&output.stdout).expect("the runner answers in JSON")
}

/// Returns how many tests of each package a profile selects.
fn selected(profile: &str, built: &str) -> BTreeMap<String, usize> {
    let list = listed(&format!("--profile {profile} --binaries-metadata {built}"));
    let mut counts = BTreeMap::new();
    for suite in list["rust-suites"].as_object().expect("the runner lists programs").values() {
        let tests = suite["testcases"].as_object().into_iter().flat_map(|tests| tests.values());
        let count = tests.filter(|test| test["filter-match"]["status"] == "matches").count();
        if count > 0 {
            *counts.entry(suite["package-name"].as_str().unwrap_or_default().to_owned()).or_default() +=
                count;
        }
    }
    counts
}

/// Also that no package has tests in a group that does not count it among what it depends on.
#[test]
fn each_group_of_the_second_tier_selects_tests_of_its_packages() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let built = folder.path().join("built.json");
    fs::write(&built, listed("--workspace --list-type binaries-only").to_string())
        .expect("a file can be written");
    let mut offences = Vec::new();
    for group in manifest(".config/second-tier.toml")["group"].as_array().expect("there are groups") {
        let name = group["name"].as_str().expect("a group has a name");
        let counts = selected(name, &built.display().to_string());
        if counts.is_empty() {
            offences.push(format!("{name} selects no test"));
        }
        let stated = group["packages"].as_array().expect("a group has packages");
        let stated: BTreeSet<_> = stated.iter().filter_map(toml::Value::as_str).collect();
        let others = counts.keys().filter(|package| !stated.contains(package.as_str()));
        offences
            .extend(others.map(|package| format!("{name} has tests of {package}, which it does not name")));
    }
    assert_none(&offences, "a group of the second tier that is not as .config/second-tier.toml has it");
}

#[test]
fn the_oldest_toolchain_is_the_one_that_is_used() {
    let [workspace, toolchain] = ["Cargo.toml", "rust-toolchain.toml"].map(manifest);
    let oldest = workspace["workspace"]["package"]["rust-version"].as_str().expect("it is stated");
    let used = toolchain["toolchain"]["channel"].as_str().expect("it is stated");
    assert!(
        used == oldest || used.starts_with(&format!("{oldest}.")),
        "{oldest} in Cargo.toml, {used} is used"
    );
}

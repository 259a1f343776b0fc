//! The second tier of the tests, as the runner sees it.

use std::{collections::BTreeSet, env, fs, process::Command};

use serde_json::Value;

use crate::tidy::files::{assert_none, manifest, workspace};

/// Asks cargo, which answers in JSON.
fn asked(arguments: &str) -> Vec<u8> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace()).args(arguments.split_whitespace());
    let output = command.output().expect("cargo starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments}: {errors}");
    output.stdout
}

/// Asks the runner, as it would for a run, and returns its answer.
fn listed(arguments: &str) -> Value {
    let answer = asked(&format!("nextest list --message-format json {arguments}"));
    serde_json::from_slice(&answer).expect("the runner answers in JSON")
}

/// A test as the runner lists it.
struct Test {
    package: String,
    name: String,
    is_selected: bool,
}

/// Returns all tests of programs that a profile may select from, and which of them it does.
fn tests(profile: &str, built: &str) -> Vec<Test> {
    let list = listed(&format!("--profile {profile} {built}"));
    let mut tests = Vec::new();
    for suite in list["rust-suites"].as_object().expect("the runner lists programs").values() {
        for (name, test) in suite["testcases"].as_object().expect("a program has tests") {
            tests.push(Test {
                package: suite["package-name"].as_str().expect("a program has a package").to_owned(),
                name: name.clone(),
                is_selected: test["filter-match"]["status"] == "matches",
            });
        }
    }
    tests
}

/// Returns the words of a filter that are long enough to be of the name of a test or of a package.
fn names(filter: &str) -> impl Iterator<Item = &str> {
    let words = filter.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
    words.filter(|word| word.len() > "package".len())
}

/// Also that no package has tests in a group that does not count it among what it depends on, and that each name in its
/// filter is that of a test: a test of the first tier that gets another name would leave it in silence.
#[test]
fn each_group_of_the_second_tier_selects_tests_of_its_packages() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let [packages, programs] =
        ["packages.json", "programs.json"].map(|name| folder.path().join(name).display().to_string());
    let write = |path: &str, bytes: &[u8]| fs::write(path, bytes).expect("a file can be written");
    write(&packages, &asked("metadata --format-version 1"));
    write(&programs, listed("--workspace --list-type binaries-only").to_string().as_bytes());
    // So that cargo need not look again for each group.
    let built = format!("--cargo-metadata {packages} --binaries-metadata {programs}");
    let filters = manifest(".config/nextest.toml");
    let mut offences = Vec::new();
    for group in manifest(".config/second-tier.toml")["group"].as_array().expect("there are groups") {
        let name = group["name"].as_str().expect("a group has a name");
        let tests = tests(name, &built);
        let packages: BTreeSet<_> =
            tests.iter().filter(|test| test.is_selected).map(|test| test.package.as_str()).collect();
        if packages.is_empty() {
            offences.push(format!("{name} selects no test"));
        }
        let stated = group["packages"].as_array().expect("a group has packages");
        let stated: BTreeSet<_> = stated.iter().filter_map(toml::Value::as_str).collect();
        let others = packages.difference(&stated);
        offences
            .extend(others.map(|package| format!("{name} has tests of {package}, which it does not name")));
        let filter = filters["profile"][name]["default-filter"].as_str().expect("a group has a filter");
        let is_there = |word: &str| tests.iter().any(|test| test.name.contains(word) || test.package == word);
        let unknown = names(filter).filter(|word| !is_there(word));
        offences
            .extend(unknown.map(|word| format!("{name} selects by `{word}`, which is in no test's name")));
    }
    assert_none(&offences, "a group of the second tier that is not as .config/second-tier.toml has it");
}

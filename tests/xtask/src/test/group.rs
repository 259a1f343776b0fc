//! The groups of the second tier, as `.config` states them.
//!
//! `nextest.toml` selects the tests of a group; `second-tier.toml` lists what they depend on.

use std::fs;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::command::workspace_root;

const RUNNER: &str = ".config/nextest.toml";
const DEFINITIONS: &str = ".config/second-tier.toml";

/// A group of the second tier.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    /// Name, which is also the name of its profile.
    pub(crate) name: String,
    /// Packages of the workspace: the packages of its tests, and the ones that the tests start or load.
    pub(crate) packages: Vec<String>,
    /// Files and folders of tests and fixtures, under the workspace. Of the folder `tests` of a package these alone
    /// count.
    pub(crate) files: Vec<String>,
    /// The filter by which the runner selects its tests.
    #[serde(skip)]
    pub(crate) filter: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Definitions {
    group: Vec<Group>,
}

/// Returns the groups in the order in which they run.
///
/// # Errors
/// If the files cannot be read, or do not agree.
pub(crate) fn groups() -> Result<Vec<Group>> {
    joined(&text(RUNNER)?, &text(DEFINITIONS)?)
}

/// Returns the groups that `names` name, in the order of `groups`.
///
/// # Errors
/// If no group has one of the names.
pub(crate) fn named(groups: Vec<Group>, names: &[String]) -> Result<Vec<Group>> {
    for name in names {
        if !groups.iter().any(|group| group.name == *name) {
            let all: Vec<_> = groups.iter().map(|group| group.name.as_str()).collect();
            bail!("there is no group `{name}`; there are {}", all.join(", "));
        }
    }
    Ok(groups.into_iter().filter(|group| names.contains(&group.name)).collect())
}

fn text(path: &str) -> Result<String> {
    fs::read_to_string(workspace_root().join(path)).with_context(|| format!("cannot read {path}"))
}

/// Returns the groups of `definitions` with their filters in `runner`.
fn joined(runner: &str, definitions: &str) -> Result<Vec<Group>> {
    let Definitions { mut group } =
        toml::from_str(definitions).with_context(|| format!("{DEFINITIONS} is not as it should be"))?;
    let runner: toml::Table = runner.parse().with_context(|| format!("{RUNNER} is no TOML"))?;
    let profiles = runner.get("profile").and_then(toml::Value::as_table);
    let profiles = profiles.with_context(|| format!("{RUNNER} has no profiles"))?;
    let filter = |name: &str| profiles.get(name)?.get("default-filter")?.as_str();
    for group in &mut group {
        let found = filter(&group.name);
        group.filter = found
            .with_context(|| format!("{RUNNER} has no profile `{}` with a default-filter", group.name))?
            .to_owned();
    }
    if let Some(other) =
        profiles.keys().find(|name| *name != "default" && !group.iter().any(|it| it.name == **name))
    {
        bail!("{RUNNER} has the profile `{other}`, which is no group of {DEFINITIONS}");
    }
    // The runner has no name for a filter, so the first tier has to repeat them.
    let all: Vec<_> = group.iter().map(|group| format!("({})", group.filter)).collect();
    let first_tier = format!("not ({})", all.join(" | "));
    let words = |filter: &str| filter.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    if words(filter("default").unwrap_or_default()) != words(&first_tier) {
        bail!("{RUNNER}: the default-filter of the profile `default` has to be\n{first_tier}");
    }
    Ok(group)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::command::{cargo, output};

    const TWO: &str = "[[group]]\nname = 'opencl'\npackages = ['o']\nfiles = []\n\
        [[group]]\nname = 'cuda'\npackages = ['c']\nfiles = ['x']\n";

    fn runner(default: &str) -> String {
        format!(
            "[profile.default]\ndefault-filter = '''{default}'''\n\
             [profile.cuda]\ndefault-filter = 'package(c)'\n[profile.opencl]\ndefault-filter = 'package(o)'\n"
        )
    }

    #[test]
    fn the_groups_of_this_workspace_agree_with_the_runner() {
        assert!(!groups().unwrap().is_empty());
    }

    #[test]
    fn each_group_has_its_filter_and_the_order_is_that_of_the_definitions() {
        let groups = joined(&runner("not ((package(o)) |\n (package(c)))"), TWO).unwrap();
        let found: Vec<_> = groups.iter().map(|group| (group.name.as_str(), group.filter.as_str())).collect();
        assert_eq!(found, [("opencl", "package(o)"), ("cuda", "package(c)")]);
        let one = named(groups.clone(), &["cuda".to_owned()]).unwrap();
        assert_eq!(one, groups[1..]);
        let error = named(groups, &["cud".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("no group `cud`; there are opencl, cuda"), "{error}");
    }

    #[test]
    fn a_test_of_no_tier_or_of_both_is_refused() {
        for default in ["not ((package(o)))", "all()", "not ((package(o)) | (package(c)) | (package(d)))"] {
            let error = joined(&runner(default), TWO).unwrap_err().to_string();
            assert!(error.ends_with("not ((package(o)) | (package(c)))"), "{error}");
        }
        let (one, _) = TWO.split_at(TWO.rfind("[[").unwrap());
        let error = joined(&runner("not ((package(o)))"), one).unwrap_err().to_string();
        assert!(error.contains("the profile `cuda`, which is no group"), "{error}");
        let other = TWO.replace("cuda", "hip");
        let error = joined(&runner("all()"), &other).unwrap_err().to_string();
        assert!(error.contains("no profile `hip`"), "{error}");
    }

    /// A test as nextest lists it.
    struct Test {
        package: String,
        name: String,
        is_selected: bool,
    }

    /// Asks nextest, as it would for a run.
    fn listed(arguments: &str) -> Value {
        let list = output(&mut cargo(&format!("nextest list --message-format json {arguments}"))).unwrap();
        serde_json::from_str(&list).unwrap()
    }

    /// Returns all tests of the programs that a profile may select from, and which of them it does.
    fn tests(profile: &str, built: &str) -> Vec<Test> {
        let list = listed(&format!("--profile {profile} {built}"));
        let mut tests = Vec::new();
        for program in list["rust-suites"].as_object().unwrap().values() {
            for (name, test) in program["testcases"].as_object().unwrap() {
                tests.push(Test {
                    package: program["package-name"].as_str().unwrap().to_owned(),
                    name: name.clone(),
                    is_selected: test["filter-match"]["status"] == "matches",
                });
            }
        }
        tests
    }

    /// Words of the language of filters, and the programs that are named in them; all others are parts of the names of
    /// tests, or packages.
    const OPERATORS: [&str; 6] = ["package", "binary", "test", "not", "suite", ""];

    /// Checks too that a group lists the packages of its tests, and that each word of its filter is a module, a test or
    /// a package: a test that is renamed would change its tier unnoticed.
    #[test]
    fn each_group_selects_tests_of_its_packages() {
        let folder = tempfile::tempdir().unwrap();
        let [packages, programs] =
            ["packages.json", "programs.json"].map(|name| folder.path().join(name).display().to_string());
        fs::write(&packages, output(&mut cargo("metadata --format-version 1")).unwrap()).unwrap();
        fs::write(&programs, listed("--workspace --list-type binaries-only").to_string()).unwrap();
        // So that cargo need not look again for each group.
        let built = format!("--cargo-metadata {packages} --binaries-metadata {programs}");
        let mut offences = Vec::new();
        for Group { name, packages, filter, .. } in groups().unwrap() {
            let tests = tests(&name, &built);
            let selected: Vec<_> = tests.iter().filter(|test| test.is_selected).collect();
            if selected.is_empty() {
                offences.push(format!("{name} selects no test"));
            }
            let others: BTreeSet<_> = selected
                .iter()
                .map(|test| &test.package)
                .filter(|package| !packages.contains(package))
                .collect();
            offences.extend(
                others.iter().map(|other| format!("{name} has tests of {other}, which it does not list")),
            );
            let is_known = |word: &str| {
                let of_test =
                    |test: &Test| test.package == word || test.name.split("::").any(|part| part == word);
                OPERATORS.contains(&word) || tests.iter().any(of_test)
            };
            let words = filter.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
            let unknown = words.filter(|word| !is_known(word));
            offences
                .extend(unknown.map(|word| format!("{name} selects by `{word}`, which nothing is called")));
        }
        assert!(offences.is_empty(), "{DEFINITIONS} and {RUNNER}:\n{}", offences.join("\n"));
    }
}

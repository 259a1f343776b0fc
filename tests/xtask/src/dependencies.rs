//! Limits on the packages that Proctor is built with: licences, sources, and which of them may occur twice.
//!
//! Each row of a list gives its reason, and the check refuses a row that nothing needs. Known vulnerabilities are in a
//! database that no registry has; `CONTRIBUTING.md` has the command that looks there.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use spdx::{Expression, ParseMode};

use crate::command::metadata;

/// Licences that a package may have, as SPDX names them, and why.
const LICENCES: &[(&str, &str)] = &[
    ("Apache-2.0", "the licence of Proctor"),
    ("BSD-3-Clause", "asks for its text to be passed on, which packages do"),
    ("IJG", "of the JPEG encoder, which only tests and benchmarks use"),
    ("ISC", "asks for its text to be passed on, which packages do"),
    ("MIT", "asks for its text to be passed on, which packages do"),
    ("Unicode-3.0", "of tables of characters; asks for its text to be passed on, which packages do"),
    ("Zlib", "asks only that changed sources say so"),
];

/// Packages with another licence, and why that does no harm.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("cbindgen", "MPL-2.0", "writes the header in a test and is in no program"),
    (
        "generational-arena",
        "MPL-2.0",
        "of abi_stable, unchanged: its sources are where the page of licences says",
    ),
];

/// Packages that occur in several versions, and the users of the older ones.
const DUPLICATES: &[(&str, usize, &str)] = &[
    ("embedded-io", 2, "postcard names both, and uses neither as it is built here"),
    ("fancy-regex", 2, "tokenizers, which candle-transformers needs, is behind"),
    ("getrandom", 2, "rand 0.9, the newest that candle-core takes"),
    ("hashbrown", 2, "safetensors is behind indexmap"),
    ("libloading", 2, "abi_stable has had no release since"),
    ("r-efi", 2, "of getrandom, on a system that Proctor does not run on"),
    ("rand", 2, "candle-core takes 0.9, proptest 0.10"),
    ("rand_core", 2, "of rand"),
    ("syn", 3, "abi_stable takes 1; macros are divided between 2 and 3"),
    ("thiserror", 2, "of sysctl, which candle-core needs on a system that Proctor does not run on"),
    ("thiserror-impl", 2, "of thiserror"),
    ("toml", 2, "cbindgen is behind"),
    ("toml_datetime", 2, "of toml"),
    ("winnow", 2, "of toml"),
];

/// Checks licences, sources and duplicate versions of all packages that the workspace resolves to.
///
/// # Errors
/// If a package is not as a list wants it, or a list has a row without need.
pub(crate) fn check() -> Result<()> {
    let offences = offences(&packages(&metadata()?)?);
    ensure!(offences.is_empty(), "packages that are not as they should be:\n  {}", offences.join("\n  "));
    Ok(())
}

/// A package that is not ours.
struct Package {
    name: String,
    version: String,
    licence: String,
    source: String,
}

fn packages(metadata: &Value) -> Result<Vec<Package>> {
    let all = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let text = |package: &Value, key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let foreign = all.iter().filter(|package| package["source"].is_string());
    let packages: Vec<_> = foreign
        .map(|package| Package {
            name: text(package, "name"),
            version: text(package, "version"),
            licence: text(package, "license"),
            source: text(package, "source"),
        })
        .collect();
    if packages.is_empty() {
        bail!("cargo metadata names no package from a registry");
    }
    Ok(packages)
}

fn offences(packages: &[Package]) -> Vec<String> {
    [of_licences(packages), of_sources(packages), of_versions(packages)].concat()
}

fn of_licences(packages: &[Package]) -> Vec<String> {
    let mut offences = Vec::new();
    let mut needed = BTreeSet::new();
    for Package { name, version, licence, .. } in packages {
        if let Some((_, excepted, _)) = EXCEPTIONS.iter().find(|(package, ..)| package == name) {
            needed.insert(name.as_str());
            if licence != excepted {
                offences
                    .push(format!("{name} {version} has the licence `{licence}`, no longer `{excepted}`"));
            }
        } else if let Err(why) = is_accepted(licence, |_| true) {
            offences.push(format!("{name} {version} has the licence `{licence}`: {why}"));
        }
    }
    for (name, licence, _) in EXCEPTIONS.iter().filter(|(name, ..)| !needed.contains(name)) {
        offences.push(format!("{name} ({licence}) is on the list of exceptions, and is not there"));
    }
    let others = || packages.iter().filter(|package| !needed.contains(package.name.as_str()));
    for (row, _) in LICENCES {
        if others().all(|package| is_accepted(&package.licence, |id| id != *row).is_ok()) {
            offences.push(format!("{row} is on the list of licences, and no package needs it"));
        }
    }
    offences
}

/// Checks that a package may be used under accepted licences for which `counts` holds.
fn is_accepted(licence: &str, counts: impl Fn(&str) -> bool) -> Result<(), String> {
    // Older packages put a slash where SPDX has a word.
    let mode = ParseMode { allow_slash_as_or_operator: true, ..ParseMode::STRICT };
    let expression = Expression::parse_mode(licence, mode).map_err(|error| error.reason.to_string())?;
    let is_met = expression.evaluate(|required| {
        let id = required.license.id().map(|id| id.name);
        LICENCES.iter().any(|(accepted, _)| id == Some(*accepted) && counts(accepted))
    });
    if is_met { Ok(()) } else { Err("it is not on the list of accepted ones".to_owned()) }
}

/// Packages come from one registry, with contents fixed in `Cargo.lock`.
fn of_sources(packages: &[Package]) -> Vec<String> {
    let registry =
        packages.iter().map(|package| &package.source).find(|source| source.starts_with("registry+"));
    let others = packages.iter().filter(|package| Some(&package.source) != registry);
    others.map(|package| format!("{} comes from {}", package.name, package.source)).collect()
}

fn of_versions(packages: &[Package]) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for Package { name, version, .. } in packages {
        versions.entry(name).or_default().insert(version);
    }
    let mut offences = Vec::new();
    for (name, versions) in &versions {
        let stated = DUPLICATES.iter().find(|(stated, ..)| stated == name).map_or(1, |(_, count, _)| *count);
        if versions.len() != stated {
            let list: Vec<_> = versions.iter().copied().collect();
            offences.push(format!(
                "{name} is there in {} versions, not {stated}: {}",
                list.len(),
                list.join(", ")
            ));
        }
    }
    let absent = DUPLICATES.iter().filter(|(name, ..)| !versions.contains_key(name));
    offences
        .extend(absent.map(|(name, ..)| format!("{name} is on the list of duplicates, and is not there")));
    offences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: &str, licence: &str, source: &str) -> Package {
        let [name, version, licence, source] = [name, version, licence, source].map(str::to_owned);
        Package { name, version, licence, source }
    }

    #[test]
    fn licences_are_read_as_expressions() {
        for licence in [
            "MIT",
            "MIT/Apache-2.0",
            "Apache-2.0 / MIT",
            "GPL-3.0-only OR MIT",
            "(MIT OR Apache-2.0) AND IJG",
        ] {
            assert_eq!(is_accepted(licence, |_| true), Ok(()), "{licence}");
        }
        for licence in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "", "no licence"] {
            assert!(is_accepted(licence, |_| true).is_err(), "{licence}");
        }
    }

    #[test]
    fn what_is_not_stated_is_named() {
        let found = of_licences(&[package("cbindgen", "1.0.0", "GPL-3.0-only", "")]);
        assert!(
            found[0].contains("no longer `MPL-2.0`") && found[1].contains("generational-arena"),
            "{found:?}"
        );
        let found =
            of_licences(&[package("a", "1.0.0", "ISC", ""), package("b", "1.0.0", "MIT OR Zlib", "")]);
        let unneeded =
            |id: &str| found.iter().any(|it| it.starts_with(&format!("{id} is on the list of licences")));
        assert!(!unneeded("ISC") && unneeded("MIT") && unneeded("Zlib"), "{found:?}");
        let found = of_sources(&[
            package("a", "1.0.0", "MIT", "registry+one"),
            package("b", "1.0.0", "MIT", "git+elsewhere"),
            package("c", "1.0.0", "MIT", "registry+another"),
        ]);
        assert_eq!(found, ["b comes from git+elsewhere", "c comes from registry+another"]);
        let twice = [package("a", "1.0.0", "MIT", ""), package("a", "2.0.0", "MIT", "")];
        let found = of_versions(&twice);
        assert_eq!(found[0], "a is there in 2 versions, not 1: 1.0.0, 2.0.0");
        assert_eq!(found.len(), 1 + DUPLICATES.len(), "{found:?}");
    }
}

//! Passed groups of the second tier, with their inputs.
//!
//! The record is committed with the change that it proves, so that the group need not run again for that change.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::{Context, Result};

use super::inputs::Inputs;
use crate::command::workspace_root;

/// The record, relative to the workspace.
pub(crate) const RECORD: &str = ".config/proven.toml";

const HEAD: &str = "# The inputs with which each group of the second tier has passed, as digests.
# Written by `cargo xtask test --all`, `--changed` and `--group`; committed with the change that it proves.
";

/// The inputs of each group when it last passed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Proven(BTreeMap<String, Inputs>);

impl Proven {
    /// Reads the record. Without one, no group has passed.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn read() -> Result<Self> {
        let path = path();
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {RECORD}"))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self> {
        toml::from_str(text)
            .map(Self)
            .with_context(|| format!("{RECORD} is not as it was written; remove it"))
    }

    /// Returns the names of the inputs of a group that differ from its last pass, in order.
    pub(crate) fn differing(&self, group: &str, inputs: &Inputs) -> Vec<String> {
        let Some(proven) = self.0.get(group) else { return vec!["it has not passed yet".to_owned()] };
        let names = inputs.keys().chain(proven.keys().filter(|name| !inputs.contains_key(*name)));
        names.filter(|name| inputs.get(*name) != proven.get(*name)).cloned().collect()
    }

    /// Records that a group has passed with these inputs, and drops groups that no longer exist.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn note(&mut self, group: &str, inputs: Inputs, groups: &[&str]) -> Result<()> {
        self.0.retain(|name, _| groups.contains(&name.as_str()));
        self.0.insert(group.to_owned(), inputs);
        let path = path();
        let temporary = path.with_extension("toml.partial");
        let text = format!("{HEAD}\n{}", self.text()?);
        fs::write(&temporary, text)
            .and_then(|()| fs::rename(&temporary, &path))
            .with_context(|| format!("cannot write {RECORD}"))
    }

    fn text(&self) -> Result<String> {
        toml::to_string(&self.0).context("digests are TOML")
    }
}

fn path() -> PathBuf {
    workspace_root().join(RECORD)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(pairs: &[(&str, &str)]) -> Inputs {
        pairs.iter().map(|(name, digest)| ((*name).to_owned(), (*digest).to_owned())).collect()
    }

    #[test]
    fn what_has_changed_since_a_group_passed_is_named() {
        let before = inputs(&[("device", "1"), ("profile", "2"), ("old", "3")]);
        let proven = Proven(BTreeMap::from([("opencl".to_owned(), before.clone())]));
        assert_eq!(proven.differing("opencl", &before), [""; 0]);
        let now = inputs(&[("device", "9"), ("new", "4"), ("profile", "2")]);
        assert_eq!(proven.differing("opencl", &now), ["device", "new", "old"]);
        assert_eq!(proven.differing("cuda", &now), ["it has not passed yet"]);
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let proven =
            Proven(BTreeMap::from([("opencl".to_owned(), inputs(&[("tests/a b", "1"), ("p", "2")]))]));
        assert_eq!(Proven::parse(&proven.text().unwrap()).unwrap(), proven);
        assert!(Proven::parse("opencl = 1").unwrap_err().to_string().contains(RECORD));
    }
}

//! Names of values that a graph does not have yet.

use std::collections::BTreeSet;

/// The names of a graph.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeSet<String>);

impl Names {
    pub(crate) fn new<'a>(taken: impl Iterator<Item = &'a str>) -> Self {
        Self(taken.map(str::to_owned).collect())
    }

    /// Returns this name, with underscores at its end if it is taken, and takes it.
    pub(crate) fn free(&mut self, name: &str) -> String {
        let mut name = name.to_owned();
        while !self.0.insert(name.clone()) {
            name.push('_');
        }
        name
    }
}

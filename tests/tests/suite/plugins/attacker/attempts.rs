//! Attempts as the attacker has logged them.

use std::collections::{BTreeMap, BTreeSet};

use proctor_tests::Run;

use super::{limits, world::User};

/// Beginning of the name of what a plugin is to be able to do.
const CONTROL: &str = "control-";

/// The attempts of a run.
pub(super) struct Attempts {
    /// By name, with what was found or why it was refused.
    made: BTreeMap<String, (bool, String)>,
}

impl Attempts {
    /// Reads them from the log.
    pub(super) fn of(run: &Run) -> Self {
        let read = |line: &str| {
            let (name, rest) = line.split_once("attempt ")?.1.split_once(": ")?;
            let (end, detail) = rest.split_once(" [")?;
            let detail = detail.split(']').next().unwrap_or_default();
            Some((name.to_owned(), (end == "SUCCEEDED", detail.to_owned())))
        };
        Self { made: run.finished.stderr.lines().filter_map(read).collect() }
    }

    /// Whether an attempt has succeeded.
    pub(super) fn has_succeeded(&self, name: &str) -> bool {
        self.made.get(name).unwrap_or_else(|| panic!("attempt {name} was not made: {:?}", self.made)).0
    }

    /// Names of all attempts but controls.
    pub(super) fn names(&self) -> BTreeSet<&str> {
        self.made.keys().map(String::as_str).filter(|name| !name.starts_with(CONTROL)).collect()
    }

    /// Asserts that there were at least as many attempts, that nothing has succeeded but what the page on isolation
    /// names, and that the plugin can do what it is to be able to do.
    pub(super) fn assert_refused(&self, user: User, least_count: usize, run: &Run) {
        let names = self.names();
        assert!(names.len() >= least_count, "{} attempts: {}", names.len(), run.finished);
        let is_control = |name: &&String| name.starts_with(CONTROL);
        assert!(self.made.keys().any(|name| is_control(&name)), "no control: {}", run.finished);
        let wrong = |(name, (has_succeeded, detail)): (&String, &(bool, String))| {
            let is_right = match is_control(&name) {
                true => *has_succeeded,
                false => !has_succeeded || limits::stands(name, user),
            };
            (!is_right).then(|| format!("{name} [{detail}]"))
        };
        let wrong: Vec<_> = self.made.iter().filter_map(wrong).collect();
        assert!(wrong.is_empty(), "{user:?}: {}\n{}", wrong.join("\n"), run.finished);
    }
}

//! Models and data sets of package registries that tests use, in the target folder.

use std::cell::RefCell;

use anyhow::{Context, Result};
use proctor_packages::{Request, Step, Watch, get, thing};
use proctor_test_needs::PACKAGES_FOLDER;

use crate::command::workspace_root;

/// Names of the things, and what they are for.
const OF_TESTS: [(&str, &str); 5] = [
    ("fashion-mnist", "a whole data set, small"),
    ("minilm-int8", "a real model, and its tokenizer"),
    ("moonshine-tiny", "a model that hears words"),
    ("librivox", "recordings for it"),
    ("smollm2-135m", "a language model"),
];

/// Gets what is missing, and says so for each. Without it tests skip themselves, or fail if the variable `CI` is set,
/// so nothing here is an error.
pub(crate) fn set_up() {
    for (name, purpose) in OF_TESTS {
        let outcome = match place(name) {
            Ok(outcome) => outcome.to_owned(),
            Err(error) => format!(
                "not available ({error:#}); tests that need it will skip themselves, or fail where CI is set"
            ),
        };
        println!("setup: {name} ({purpose}): {outcome}");
    }
}

fn place(name: &str) -> Result<&'static str> {
    let request = Request {
        thing: thing(name)?,
        root: &workspace_root().join(PACKAGES_FOLDER),
        from: None,
        convert: &|_, _| Err("tests use no model that is converted".into()),
        watch: &Printed::default(),
    };
    let got = get(&request).with_context(|| format!("cannot get {name}"))?;
    Ok(if got.placed.is_empty() { "found" } else { "placed" })
}

/// Prints each step once. Ctrl-C ends this program at once, and what it leaves goes at the next time.
#[derive(Default)]
struct Printed {
    last: RefCell<String>,
}

impl Watch for Printed {
    fn is_interrupted(&self) -> bool {
        false
    }

    fn show(&self, step: &Step<'_>) {
        // These take no time that a reader would notice.
        if matches!(step, Step::Unpacking { .. } | Step::Converting { .. }) {
            return;
        }
        let line = step.to_string();
        if self.last.replace(line.clone()) != line {
            println!("setup: {line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tests_use_is_in_the_table() {
        for (name, _) in OF_TESTS {
            assert!(thing(name).is_ok(), "{name}");
        }
    }
}

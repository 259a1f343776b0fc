//! `cargo xtask faults`: whether the tests find mistakes.
//!
//! Each fault of `table` is planted in the sources, one at a time. Then the tests run that `.ci/run` would run after
//! such a change: the first tier in the named packages and, if none of them fails, each group of the second tier whose
//! inputs the fault has changed.

mod table;

use std::{fs, path::PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use self::table::{FAULTS, Fault};
use crate::{
    command::{git, output, workspace_root},
    test::{build, changed_groups, first_failure},
};

pub(crate) const LONG_ABOUT: &str = "Plant faults in the sources and check that the tests find them.

Plants one fault at a time, builds, and runs what `.ci/run` would run after such a change, until a test fails: first the \
first tier, then the groups of the second tier that the fault affects. Stops at a fault whose file has uncommitted \
changes. Restores each file afterwards, except after Ctrl-C. Fails if a fault is not found.";

pub(crate) const EXAMPLES: &str = "Examples:
  cargo xtask faults             all faults; takes hours
  cargo xtask faults judge gemm  faults whose name contains judge or gemm";

#[derive(Args)]
pub(crate) struct FaultArgs {
    /// Only faults whose name contains one of these.
    names: Vec<String>,
}

/// Plants the faults, one after another.
///
/// # Errors
/// If one is not found, cannot be planted, or does not compile.
pub(crate) fn run(args: &FaultArgs) -> Result<()> {
    let is_named = |fault: &&Fault| {
        args.names.is_empty() || args.names.iter().any(|name| fault.name.contains(name.as_str()))
    };
    let faults: Vec<_> = FAULTS.iter().filter(is_named).collect();
    ensure!(!faults.is_empty(), "no fault has such a name");
    let mut found = Vec::new();
    for fault in faults {
        println!("\nplanting: {}", fault.name);
        found.push((fault.name, find(fault)?));
    }
    // The last build contains a fault.
    build()?;
    println!();
    for (name, by) in &found {
        println!("{name}\n    {}", by.as_deref().unwrap_or("NOT FOUND"));
    }
    let missed = found.iter().filter(|(_, by)| by.is_none()).count();
    ensure!(missed == 0, "{missed} of {} faults were not found", found.len());
    Ok(())
}

/// Returns the tier and the test that find a fault, if one does.
fn find(fault: &Fault) -> Result<Option<String>> {
    let _planted = Planted::plant(fault)?;
    if fault.packages.contains(&"proctor-tests") {
        // These start the program, which has to have the fault.
        build()?;
    }
    let packages: Vec<_> = fault.packages.iter().map(|package| format!("--package={package}")).collect();
    if let Some(test) = first_failure("default", &packages)? {
        return Ok(Some(format!("first tier: {test}")));
    }
    build()?;
    for group in changed_groups()? {
        if let Some(test) = first_failure(&group.name, &[])? {
            return Ok(Some(format!("second tier, {}: {test}", group.name)));
        }
    }
    Ok(None)
}

/// A fault in its file, which is restored on drop.
struct Planted {
    path: PathBuf,
    before: String,
}

impl Planted {
    fn plant(fault: &Fault) -> Result<Self> {
        let changed = output(git("status --porcelain --").arg(fault.file))?;
        ensure!(changed.is_empty(), "{} is not as it was committed; commit it first", fault.file);
        let path = workspace_root().join(fault.file);
        let before = fs::read_to_string(&path).with_context(|| format!("cannot read {}", fault.file))?;
        let wrong = with_fault(&before, fault)?;
        let planted = Self { path, before };
        fs::write(&planted.path, wrong).with_context(|| format!("cannot write {}", fault.file))?;
        Ok(planted)
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        if let Err(error) = fs::write(&self.path, &self.before) {
            eprintln!("error: {} still has a planted fault: {error}", self.path.display());
        }
    }
}

fn with_fault(text: &str, fault: &Fault) -> Result<String> {
    let count = text.matches(fault.right).count();
    if count != 1 {
        bail!("{} has the lines of the fault `{}` {count} times, not once", fault.file, fault.name);
    }
    Ok(text.replacen(fault.right, fault.wrong, 1))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::command::metadata;

    #[test]
    fn each_fault_has_its_place() {
        for fault in FAULTS {
            let text = fs::read_to_string(workspace_root().join(fault.file)).unwrap();
            let wrong = with_fault(&text, fault).unwrap_or_else(|error| panic!("{error}"));
            assert_ne!(wrong, text, "{}", fault.name);
        }
    }

    #[test]
    fn each_fault_has_a_name_of_its_own_and_packages_that_there_are() {
        let metadata = metadata().unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let mut names = BTreeSet::new();
        for fault in FAULTS {
            assert!(names.insert(fault.name), "{} is there twice", fault.name);
            for name in fault.packages {
                let is_there = packages.iter().any(|package| package["name"] == *name);
                assert!(is_there, "{}: there is no package {name}", fault.name);
            }
        }
    }
}

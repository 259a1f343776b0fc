//! `cargo xtask test`: everything that can fail, in two tiers.
//!
//! The first tier is every promise of the product on any machine. The second proves kernels, engines, readers and the
//! boundary of plugins case by case, in groups; a group runs again when its inputs have changed since it last passed.
//!
//! `group` has the groups, `inputs` what each depends on, `proven` what it passed with; `runner` calls nextest, whose
//! report `junit` and `skipped` read; `budget` limits the processor time of the first tier, `stress` loads the
//! machine.

mod budget;
mod group;
mod inputs;
mod junit;
mod proven;
mod runner;
mod skipped;
mod stress;

use std::{
    env,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use clap::{ArgGroup, Args};

use self::{
    group::{Group, groups, named},
    inputs::Workspace,
    proven::{Proven, RECORD},
    runner::Outcome,
    skipped::Skipped,
};
use crate::{
    command::{cargo, run as run_command, target_folder},
    setup,
    wheel::assembly::assemble,
};

pub(crate) const LONG_ABOUT: &str = "Set up, build everything and run the tests.

Builds the program, the plugin libraries and the tests, then runs the first tier: every promise of the product, the \
examples in the documentation, and the concurrency tests under loom. The second tier tests kernels, engines, readers \
and the plugin boundary case by case, in groups; --all runs it as well. .config/proven.toml records which groups passed \
with which inputs; commit it with the change. Tests that cannot run on this machine are listed at the end with the \
reason. If the variable CI is set, they fail unless they lack hardware.";

pub(crate) const EXAMPLES: &str = "Examples:
  cargo xtask test                                     the first tier
  cargo xtask test --all                               both tiers
  cargo xtask test --changed                           the groups of the second tier that the change affects
  cargo xtask test --group opencl                      one group of the second tier
  cargo xtask test --stress                            find tests that fail on a busy machine
  cargo xtask test -- early_stopping                   tests of both tiers whose name contains early_stopping
  cargo xtask test -- -E 'package(proctor-loadgen)'    the tests of one crate
  cargo xtask test -- --no-capture tidy::              the tests of one module, with their output";

#[derive(Args)]
#[group(skip)]
#[command(group = ArgGroup::new("groups").args(["all", "changed", "group"]).conflicts_with_all(["stress", "nextest"]))]
pub(crate) struct TestArgs {
    /// Run the first tier, then every group of the second.
    #[arg(long)]
    all: bool,
    /// Run the groups of the second tier whose inputs have changed since they last passed.
    #[arg(long)]
    changed: bool,
    /// Run this group of the second tier; may be repeated.
    #[arg(long, value_name = "NAME")]
    group: Vec<String>,
    /// Start no more groups of the second tier after this many minutes; groups left over fail the run.
    #[arg(long, value_name = "N", requires = "groups")]
    minutes: Option<u64>,
    /// Run the first tier once and the real-clock tests thirty times, with a load on every processor.
    #[arg(long, conflicts_with = "nextest")]
    stress: bool,
    /// Arguments for `cargo nextest run`; only the tests they select run, from either tier.
    #[arg(last = true, value_name = "NEXTEST ARGS")]
    nextest: Vec<String>,
}

/// Sets up, builds and tests.
///
/// # Errors
/// Returns the first step that fails; for groups, every one that fails.
pub(crate) fn run(args: &TestArgs) -> Result<()> {
    let start = Instant::now();
    setup::run()?;
    build()?;
    let until = args.minutes.map(|minutes| start + Duration::from_secs(60 * minutes));
    if args.stress {
        return stress::run();
    }
    if !args.nextest.is_empty() {
        return run_selected(&args.nextest);
    }
    if args.changed {
        return run_groups(&changed_groups()?, until);
    }
    if !args.group.is_empty() {
        return run_groups(&named(groups()?, &args.group)?, until);
    }
    run_first_tier()?;
    if args.all {
        run_groups(&groups()?, until)?;
    }
    Ok(())
}

/// Builds everything. The tests load plugins by path from the target folder: only a build of all targets puts the
/// libraries of every plugin and fixture there, and it has the features and the profile of the tests, so nothing is
/// compiled twice. The Python package then lies beside them.
///
/// # Errors
/// If something does not compile.
pub(crate) fn build() -> Result<()> {
    run_command(&mut cargo("build --workspace --all-targets"))?;
    assemble(&target_folder()?.join("debug"))
}

/// Runs the first tier: its tests, the examples in the documentation, and the concurrency tests.
fn run_first_tier() -> Result<()> {
    let before_s = budget::processor_time_s();
    let outcome = runner::run("default", &[])?;
    let taken_s = budget::processor_time_s().zip(before_s).map(|(after, before)| after - before);
    show_slowest(&outcome);
    if !outcome.has_passed {
        bail!("tests of the first tier failed");
    }
    runner::run_examples_beside_loom()?;
    if let Some(taken_s) = taken_s {
        budget::hold(taken_s, is_ci())?;
    }
    conclude("the first tier", &outcome)
}

/// Runs the tests that `arguments` of the runner select.
fn run_selected(arguments: &[String]) -> Result<()> {
    let mut all = vec!["--ignore-default-filter".to_owned()];
    all.extend_from_slice(arguments);
    let outcome = runner::run("default", &all)?;
    if !outcome.has_passed {
        bail!("selected tests failed");
    }
    println!("the examples of the documentation and the tests under loom run only without a selection");
    conclude("the selected tests", &outcome)
}

/// Lists the tests that skipped themselves, and says that the others passed.
///
/// # Errors
/// Where `CI` is set, if a test lacks anything but hardware.
fn conclude(what: &str, outcome: &Outcome) -> Result<()> {
    let skipped = outcome.skipped();
    show_skipped(&skipped);
    if is_ci() {
        only_hardware_is_missing(&skipped)?;
    }
    println!("{what} passed{}", counted(&skipped));
    Ok(())
}

/// Returns the groups whose inputs differ from those with which they last passed, and says which do not.
///
/// # Errors
/// If the workspace or the record cannot be read.
pub(crate) fn changed_groups() -> Result<Vec<Group>> {
    let (workspace, proven) = (Workspace::read()?, Proven::read()?);
    let mut changed = Vec::new();
    for group in groups()? {
        if proven.differing(&group.name, &workspace.inputs(&group)?).is_empty() {
            println!("second tier, {}: has passed with the same inputs", group.name);
        } else {
            changed.push(group);
        }
    }
    Ok(changed)
}

/// Runs the tests of a profile of the runner that `arguments` select until one fails, and returns that one.
///
/// # Errors
/// If they cannot be run.
pub(crate) fn first_failure(profile: &str, arguments: &[String]) -> Result<Option<String>> {
    let arguments = [arguments, &["--fail-fast".to_owned()]].concat();
    let outcome = runner::run(profile, &arguments)?;
    Ok(outcome.cases.into_iter().find(|case| case.has_failed).map(|case| case.name))
}

/// Runs groups, and keeps which of them have passed.
fn run_groups(due: &[Group], until: Option<Instant>) -> Result<()> {
    let all = groups()?;
    let names: Vec<_> = all.iter().map(|group| group.name.as_str()).collect();
    // As they were built; the plugins that a later group loads are not built again before it.
    let workspace = Workspace::read()?;
    let inputs = due.iter().map(|group| workspace.inputs(group)).collect::<Result<Vec<_>>>()?;
    let mut proven = Proven::read()?;
    let (mut noted, mut failed, mut left) = (Vec::new(), Vec::new(), Vec::new());
    for (group, inputs) in due.iter().zip(inputs) {
        let differing = proven.differing(&group.name, &inputs);
        if until.is_some_and(|until| Instant::now() >= until) {
            left.push(group.name.as_str());
            continue;
        }
        let why = if differing.is_empty() { "as asked".to_owned() } else { differing.join(", ") };
        println!("\nsecond tier, {}: runs ({why})", group.name);
        let start = Instant::now();
        let outcome = runner::run(&group.name, &[])?;
        let has_changed = Workspace::read()?.inputs(group)? != inputs;
        show_slowest(&outcome);
        let skipped = outcome.skipped();
        show_skipped(&skipped);
        let is_complete = skipped.iter().all(|test| test.is_without_hardware);
        if !outcome.has_passed || (is_ci() && !is_complete) {
            failed.push(group.name.as_str());
        } else if has_changed {
            println!(
                "second tier, {}: its inputs have changed since they were built, so it stays due",
                group.name
            );
        } else if is_complete {
            proven.note(&group.name, inputs, &names)?;
            noted.push(group.name.as_str());
        }
        println!("second tier, {}: took {} s", group.name, start.elapsed().as_secs());
    }
    if !failed.is_empty() {
        bail!("groups of the second tier failed: {}", failed.join(", "));
    }
    if !left.is_empty() {
        bail!(
            "no time was left for {}; run `cargo xtask test --changed` without a limit, and commit {RECORD}",
            left.join(", ")
        );
    }
    if !noted.is_empty() {
        println!("second tier: {} passed; {RECORD} is up to date", noted.join(", "));
    }
    Ok(())
}

fn is_ci() -> bool {
    env::var_os("CI").is_some()
}

fn show_slowest(outcome: &Outcome) {
    println!("\nslowest tests:");
    outcome.slowest().iter().for_each(|line| println!("{line}"));
}

/// Lists the tests that skipped themselves.
fn show_skipped(skipped: &[Skipped]) {
    println!();
    skipped.iter().for_each(|test| println!("{test}"));
}

/// # Errors
/// If a test skipped itself for anything but hardware.
fn only_hardware_is_missing(skipped: &[Skipped]) -> Result<()> {
    let count = skipped.iter().filter(|test| !test.is_without_hardware).count();
    if count > 0 {
        bail!("CI is set, and {count} of these tests lack something that can be installed");
    }
    Ok(())
}

fn counted(skipped: &[Skipped]) -> String {
    if skipped.is_empty() { String::new() } else { format!(", {} skipped", skipped.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_ci_only_hardware_may_be_missing() {
        // Printed here, these reasons would count as reasons of this very test.
        let skipped = |reason: &str| {
            skipped::skipped(&junit::cases(&format!("<testcase name=\"t\">\n{reason}\n</testcase>")))
        };
        let [device, compiler] = ["skipped: hardware: no device", "skipped: no compiler"].map(skipped);
        assert_eq!((device.len(), compiler.len()), (1, 1));
        assert!(only_hardware_is_missing(&device).is_ok());
        let refusal = only_hardware_is_missing(&compiler).unwrap_err().to_string();
        assert!(refusal.contains("1 of these tests"), "{refusal}");
        assert_eq!((counted(&[]), counted(&device)), (String::new(), ", 1 skipped".to_owned()));
    }
}

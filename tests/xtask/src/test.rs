//! `cargo xtask test`: everything that can fail, run.

use std::{env, fs};

use anyhow::{Context, Result, bail};

use crate::{
    command::{cargo, run as run_command, workspace_root},
    python, setup,
    skipped::{Skipped, skipped_tests},
};

pub(crate) const LONG_ABOUT: &str = "Set up, build everything, and run all tests.

Builds the program, the plugin libraries and the tests, then runs the tests with cargo nextest, the examples in the \
documentation, and the concurrency tests under loom. Tests that lack something on this machine are listed at the end with \
the reason; where the variable CI is set, that fails unless it is hardware.";

pub(crate) const EXAMPLES: &str = "Examples:
  cargo xtask test                                     everything
  cargo xtask test -- early_stopping                   the tests whose name contains early_stopping
  cargo xtask test -- -E 'package(proctor-loadgen)'    the tests of one crate
  cargo xtask test -- --no-capture tidy::              the tests of one module, with what they print";

/// Where nextest puts its report, as `.config/nextest.toml` asks; under the workspace whatever the target folder is.
const JUNIT_REPORT: &str = "target/nextest/default/junit.xml";

/// The target folder of the loom tests, under the workspace.
const LOOM_TARGET_DIR: &str = "target/loom";

/// Sets up, builds and tests; with `nextest` arguments, only the tests that they select run.
///
/// # Errors
/// The first step that fails.
pub(crate) fn run(nextest: &[String]) -> Result<()> {
    setup::run()?;
    // The tests load plugins by path from the target folder. Only a build of all targets puts the libraries of every
    // plugin and fixture there, and it has the features and the profile of the tests, so nothing is compiled twice.
    run_command(&mut cargo("build --workspace --all-targets"))?;
    let skipped = run_tests(nextest)?;
    if nextest.is_empty() {
        run_command(&mut cargo("test --doc --workspace"))?;
        run_loom_tests()?;
    }
    report(nextest, &skipped, env::var_os("CI").is_some())
}

/// Runs the tests with nextest and returns those that skipped themselves.
fn run_tests(nextest: &[String]) -> Result<Vec<Skipped>> {
    let junit = workspace_root().join(JUNIT_REPORT);
    if junit.exists() {
        fs::remove_file(&junit).with_context(|| format!("cannot remove the old {}", junit.display()))?;
    }
    let mut command = cargo("nextest run");
    if !nextest.iter().any(|argument| selects_package(argument)) {
        command.arg("--workspace");
    }
    // Without python3 the tests that need it say so.
    if let Ok(path) = python::module_path(&[
        &python::LOADGEN,
        &python::ENGINES,
        &python::TRANSFORMERS,
        &python::LIBROSA,
        &python::VOLUMES,
        &python::IMAGES,
        &python::SCORES,
    ]) {
        command.env("PYTHONPATH", path);
    }
    // PoCL would take twice as long to compile a kernel, which most tests run once on little data.
    if env::var_os("POCL_EXTRA_BUILD_FLAGS").is_none() {
        command.env("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable");
    }
    run_command(command.args(nextest))?;
    skipped_tests(&junit)
}

/// Returns whether `argument` names a package, which cargo ignores beside `--workspace`.
fn selects_package(argument: &str) -> bool {
    argument.starts_with("-p") || argument == "--package" || argument.starts_with("--package=")
}

/// Runs the concurrency tests of the load generator, the scheduler and the team of threads in every interleaving that
/// loom finds.
///
/// `--cfg loom` reaches every dependency, hence the target folder of its own. An optimised build, since loom runs each
/// test many thousand times. With nextest, which, unlike `cargo test`, fails if the filter selects no test.
fn run_loom_tests() -> Result<()> {
    run_command(
        cargo(
            "nextest run -p proctor-loadgen -p proctor-scheduler -p proctor-rnn-engine --lib --cargo-profile loom \
             -E test(loom) --target-dir",
        )
        .arg(LOOM_TARGET_DIR)
        .env("RUSTFLAGS", "--cfg loom"),
    )
}

/// Lists the skipped tests and says the verdict.
///
/// # Errors
/// As [`only_hardware_is_missing`], in CI.
fn report(nextest: &[String], skipped: &[Skipped], is_ci: bool) -> Result<()> {
    println!();
    for test in skipped {
        println!("{test}");
    }
    if is_ci {
        only_hardware_is_missing(skipped)?;
    }
    println!("{}", verdict(nextest, skipped.len()));
    Ok(())
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

fn verdict(nextest: &[String], skipped_count: usize) -> String {
    let skipped = if skipped_count == 0 { String::new() } else { format!(", {skipped_count} skipped") };
    if nextest.is_empty() {
        format!("all tests passed{skipped}")
    } else {
        format!(
            "the selected tests passed{skipped}; documentation and loom tests run only without a selection"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skipped::skipped_in;

    #[test]
    fn a_package_is_selected_in_any_spelling() {
        for argument in ["-p", "-phost", "--package", "--package=host"] {
            assert!(selects_package(argument), "{argument}");
        }
        for argument in ["package(host)", "--profile", "early_stopping"] {
            assert!(!selects_package(argument), "{argument}");
        }
    }

    #[test]
    fn in_ci_only_hardware_may_be_missing() {
        // Printed here, these reasons would count as those of this very test.
        let skipped = |reason: &str| skipped_in(&format!("<testcase name=\"t\">\n{reason}\n</testcase>"));
        let [device, compiler] = ["skipped: hardware: no device", "skipped: no compiler"].map(skipped);
        assert_eq!((device.len(), compiler.len()), (1, 1));
        assert!(only_hardware_is_missing(&device).is_ok());
        let refusal = only_hardware_is_missing(&compiler).unwrap_err().to_string();
        assert!(refusal.contains("1 of these tests"), "{refusal}");
    }

    #[test]
    fn the_verdict_says_what_did_not_run() {
        assert_eq!(verdict(&[], 0), "all tests passed");
        assert_eq!(verdict(&[], 2), "all tests passed, 2 skipped");
        let selected = verdict(&["early_stopping".to_owned()], 1);
        assert!(selected.starts_with("the selected tests passed, 1 skipped; "), "{selected}");
    }
}

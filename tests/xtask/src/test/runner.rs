//! Runs tests with nextest.

use std::{
    env, fs,
    io::{self, Write as _},
    thread,
};

use anyhow::{Context, Result, bail, ensure};

use super::{
    junit::{self, Case},
    skipped::{Skipped, skipped},
};
use crate::{
    command::{cargo, succeeded, workspace_root},
    python,
};

/// The target folder of the loom tests, under the workspace.
const LOOM_TARGET_DIR: &str = "target/loom";

/// Number of tests that run at once beyond one for each processor.
const WAITING_COUNT: usize = 2;

/// Number of the slowest tests that are shown.
const SLOWEST_COUNT: usize = 20;

/// Outcome of a run of tests.
pub(crate) struct Outcome {
    pub(crate) has_passed: bool,
    /// The tests that ran.
    pub(crate) cases: Vec<Case>,
}

impl Outcome {
    pub(crate) fn skipped(&self) -> Vec<Skipped> {
        skipped(&self.cases)
    }

    /// Returns lines with the slowest tests, slowest first.
    pub(crate) fn slowest(&self) -> Vec<String> {
        let mut cases: Vec<_> = self.cases.iter().collect();
        cases.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        cases
            .iter()
            .take(SLOWEST_COUNT)
            .map(|case| format!("{:8.2} s  {}", case.seconds, case.name))
            .collect()
    }
}

/// Runs the tests of a profile of the runner, with more `arguments` for it.
///
/// # Errors
/// If the runner cannot be started, or leaves no report.
pub(crate) fn run(profile: &str, arguments: &[String]) -> Result<Outcome> {
    let report = junit::path(profile);
    if report.exists() {
        fs::remove_file(&report).with_context(|| format!("cannot remove the old {}", report.display()))?;
    }
    let mut command = cargo("nextest run --profile");
    command.arg(profile);
    if arguments.is_empty() {
        // Variables that the tester has set could leave out cases.
        let own = env::vars_os()
            .map(|(name, _)| name)
            .filter(|name| name.as_encoded_bytes().starts_with(b"PROCTOR_"));
        own.for_each(|name| {
            command.env_remove(name);
        });
    }
    if !arguments.iter().any(|argument| selects_package(argument)) {
        command.arg("--workspace");
    }
    // Without python3 the tests that need it say so.
    if let Ok(path) = python::module_path(&python::OF_TESTS) {
        command.env("PYTHONPATH", path);
    }
    // Many tests wait for a process or a timer: with one for each processor, a fifth of the processors would idle.
    if env::var_os("NEXTEST_TEST_THREADS").is_none() {
        let count = thread::available_parallelism().map_or(1, usize::from) + WAITING_COUNT;
        command.env("NEXTEST_TEST_THREADS", count.to_string());
    }
    // Without optimisation PoCL compiles a kernel in half the time, and most tests run it once, on little data.
    if env::var_os("POCL_EXTRA_BUILD_FLAGS").is_none() {
        command.env("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable");
    }
    let has_passed = succeeded(command.args(arguments))?;
    let cases = junit::read(profile)?;
    ensure!(has_passed || cases.iter().any(|case| case.has_failed), "the tests of `{profile}` cannot be run");
    Ok(Outcome { has_passed, cases })
}

/// Runs the examples of the documentation, which mostly keep one processor busy, concurrently with the concurrency
/// tests.
///
/// # Errors
/// If one of them fails.
pub(crate) fn run_examples_beside_loom() -> Result<()> {
    const EXAMPLES: &str = "test --doc --workspace";
    println!("$ cargo {EXAMPLES} (shown when it has ended)");
    let (examples, loom) = thread::scope(|scope| {
        let examples = scope.spawn(|| cargo(EXAMPLES).output());
        let loom = run_loom_tests();
        (examples.join().expect("starting a program does not panic"), loom)
    });
    let examples = examples.with_context(|| format!("cannot start `cargo {EXAMPLES}`"))?;
    io::stderr().write_all(&examples.stderr).context("cannot write to stderr")?;
    io::stdout().write_all(&examples.stdout).context("cannot write to stdout")?;
    if !examples.status.success() {
        bail!("`cargo {EXAMPLES}` failed ({})", examples.status);
    }
    loom
}

/// Runs the concurrency tests of the load generator, the scheduler and the team of threads in every interleaving that
/// loom finds.
///
/// `--cfg loom` reaches every dependency, hence the target folder of its own. An optimised build, since loom runs each
/// test many thousand times. With nextest, which, unlike `cargo test`, fails if the filter selects no test.
///
/// # Errors
/// If one of them fails.
fn run_loom_tests() -> Result<()> {
    crate::command::run(
        cargo(
            "nextest run -p proctor-loadgen -p proctor-scheduler -p proctor-rnn-engine --lib --cargo-profile loom \
             --ignore-default-filter -E test(loom) --target-dir",
        )
        .arg(workspace_root().join(LOOM_TARGET_DIR))
        .env("RUSTFLAGS", "--cfg loom"),
    )
}

/// Returns whether `argument` names a package, which cargo ignores together with `--workspace`.
fn selects_package(argument: &str) -> bool {
    argument.starts_with("-p") || argument == "--package" || argument.starts_with("--package=")
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_slowest_come_first_and_are_not_all() {
        let case = |at: usize| Case {
            name: format!("test {at}"),
            seconds: at as f64,
            has_failed: false,
            output: String::new(),
        };
        let outcome = Outcome { has_passed: true, cases: (0..30).map(case).collect() };
        let slowest = outcome.slowest();
        assert_eq!(slowest.len(), SLOWEST_COUNT);
        assert_eq!(slowest[0], "   29.00 s  test 29");
    }
}

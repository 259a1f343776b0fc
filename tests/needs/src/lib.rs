//! Declares the requirements of a test, and skips the test if one is missing.
//!
//! The runner counts a skipped test as passed. There are therefore two kinds of needs:
//! - **hardware**, which a machine has or lacks: [`skip_without_hardware`] skips anywhere;
//! - everything else (a compiler, a package, a permission), which can be installed or granted: [`skip`] skips on a
//!   developer's machine and fails the test if the variable `CI` is set.
//!
//! Both print `skipped: <reason>`, which `cargo xtask test` lists at its end.
//!
//! Root may write where permissions forbid it. A test of permissions runs programs through [`bound_by_permissions`], or
//! itself again through [`run_again_bound_by_permissions`]: still as root, because another user might not even be able
//! to read the checkout, but without the capability to override permissions.
//!
//! [`ends_without_system_calls`] needs a kernel that can forbid them. [`packages()`] has real models and data sets.
//!
//! [`python`] runs a script that answers a test's cases a second time, and needs its packages. [`PythonPipe`] asks one
//! for case after case, and [`official_loadgen()`] the one of the official LoadGen. [`python_module()`] is an
//! interpreter with the package `proctor` of this build.
//!
//! # Example
//! ```no_run
//! # let compiler_is_there = false;
//! if !compiler_is_there {
//!     return proctor_test_needs::skip("no cc; `cargo xtask setup` installs one");
//! }
//! ```

#![forbid(unsafe_code)]

mod official_loadgen;
mod packages;
mod python;
mod python_module;
mod system_calls;

use std::{any, env, fmt::Display, fs, process::Command};

pub use crate::{
    official_loadgen::{LOADGEN_PACKAGE, is_official_setting, official_loadgen},
    packages::{PACKAGES_FOLDER, packages},
    python::{PythonPipe, python, python_packages},
    python_module::{NUMPY_PACKAGE, PythonModule, SCIKIT_LEARN_PACKAGE, python_module},
    system_calls::ends_without_system_calls,
};

/// The beginning of the line by which a test skips itself.
pub const SKIPPED: &str = "skipped: ";

/// The words that follow where hardware is missing.
pub const HARDWARE: &str = "hardware: ";

/// Capabilities of Linux by which root passes over the permissions of files, as `setpriv` names them.
const PASSING_OVER_PERMISSIONS: &str = "--bounding-set=-dac_override,-dac_read_search";

/// The bit of `dac_override` in the sets of capabilities that `/proc/self/status` shows.
const DAC_OVERRIDE: u64 = 1 << 1;

/// Says that the running test skips itself because this is missing; the test then returns.
///
/// # Panics
/// Where the variable `CI` is set: there everything but hardware is to be had.
pub fn skip(missing: impl Display) {
    assert!(env::var_os("CI").is_none(), "CI is set, where no test may skip itself for this: {missing}");
    println!("{SKIPPED}{missing}");
}

/// Says that the running test skips itself because this machine lacks hardware; the test then returns.
pub fn skip_without_hardware(missing: impl Display) {
    println!("{SKIPPED}{HARDWARE}{missing}");
}

/// Returns the words to put before a command so that permissions bind it: none if they bind this process anyway.
///
/// Without the program for it the test is to skip itself: `None`, and [`skip`] has said why.
///
/// # Panics
/// As [`skip`].
#[must_use]
pub fn bound_by_permissions() -> Option<Vec<&'static str>> {
    if permissions_bind() {
        return Some(Vec::new());
    }
    let words = vec!["setpriv", PASSING_OVER_PERMISSIONS, "--inh-caps=-all"];
    let tried = Command::new(words[0]).args(&words[1..]).arg("true").output();
    if tried.is_ok_and(|tried| tried.status.success()) {
        return Some(words);
    }
    skip(
        "permissions deny root nothing, and there is no setpriv (Debian: util-linux) that could change that",
    );
    None
}

/// Runs the one test of this name (with its modules, as the runner shows it) in a process that permissions bind, unless
/// they bind this one. Returns whether the calling test is to continue: it is the one in that process, or needs none.
///
/// # Panics
/// If that test fails or there is none, with its output; and as [`skip`].
#[must_use]
pub fn run_again_bound_by_permissions(test: &str) -> bool {
    let Some(words) = bound_by_permissions() else { return false };
    let Some((program, options)) = words.split_first() else { return true };
    let this = env::current_exe().expect("a running test has a path");
    let again = Command::new(program).args(options).arg(this).args(["--exact", test, "--nocapture"]).output();
    let again = again.expect("setpriv has just run");
    let output = [again.stdout, again.stderr].concat();
    let output = String::from_utf8_lossy(&output);
    let passed = again.status.success() && output.contains("1 passed");
    assert!(passed, "{test}, once more where permissions bind:\n{output}");
    false
}

/// Returns the name of a test (with its modules, as the runner shows it), from its function: for a test that runs
/// itself or another one in its own process, by `--exact`.
#[must_use]
pub fn name_of<T>(_test: T) -> &'static str {
    let path = any::type_name::<T>();
    path.split_once("::").map_or(path, |(_program, name)| name)
}

/// Returns whether permissions of files bind this process: root passes over them unless it lacks the capability.
fn permissions_bind() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    effective_capabilities(&status).is_none_or(|set| set & DAC_OVERRIDE == 0)
}

/// Returns the set of capabilities in effect, from the text of `/proc/<id>/status`.
fn effective_capabilities(status: &str) -> Option<u64> {
    let digits = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(digits.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use std::{env, fs, io::ErrorKind, os::unix::fs::PermissionsExt, process::Command};

    use super::*;

    /// Runs the test of this name of this program alone, with or without the variable `CI`.
    fn run_alone(test: &str, ci: Option<&str>) -> (bool, String) {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]).env("PROCTOR_NEEDS_TEST", "1").env_remove("CI");
        command.envs(ci.map(|value| ("CI", value)));
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Does nothing but in the process of the tests below.
    #[test]
    fn skips_for_the_test_below() {
        if env::var_os("PROCTOR_NEEDS_TEST").is_some() {
            skip_without_hardware("a device of the test");
            skip("a tool of the test");
        }
    }

    #[test]
    fn where_ci_is_set_only_hardware_may_be_missing() {
        let (passed, output) = run_alone(name_of(skips_for_the_test_below), None);
        assert!(passed && output.contains("skipped: a tool of the test\n"), "{output}");
        let (passed, output) = run_alone(name_of(skips_for_the_test_below), Some("true"));
        assert!(!passed && output.contains("skipped: hardware: a device of the test\n"), "{output}");
        assert!(!output.contains("skipped: a tool"), "{output}");
    }

    #[test]
    fn a_test_is_named_as_the_runner_shows_it() {
        assert_eq!(name_of(skips_for_the_test_below), "tests::skips_for_the_test_below");
    }

    #[test]
    fn capabilities_are_read_from_the_status() {
        let status = "Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t00000000000000fd\n";
        assert_eq!(effective_capabilities(status), Some(0xfd));
        assert_eq!(effective_capabilities("Name:\tx\n"), None);
    }

    #[test]
    fn permissions_bind_a_test_that_runs_again() {
        if !run_again_bound_by_permissions("tests::permissions_bind_a_test_that_runs_again") {
            return;
        }
        let closed = env::temp_dir().join(format!("proctor-needs-{}", std::process::id()));
        fs::create_dir(&closed).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
        let written = fs::write(closed.join("probe"), "");
        fs::remove_dir(&closed).unwrap();
        assert_eq!(written.unwrap_err().kind(), ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_test_that_is_not_there_cannot_run_again() {
        if bound_by_permissions().is_none_or(|words| words.is_empty()) {
            return;
        }
        let outcome = std::panic::catch_unwind(|| run_again_bound_by_permissions("tests::no_such_test"));
        assert!(outcome.is_err());
    }
}

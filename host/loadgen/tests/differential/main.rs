//! The official LoadGen 6.0.17, from its Python package, and ours: the same random settings and the same scripted system,
//! compared in what they issue, decide and write.
//!
//! The official one runs in real time. Its trace has the instant of every issue and completion to the nanosecond, so ours
//! then makes the very same test on a clock that is set to these instants, and has to issue the same samples, end for the
//! same reason, and write the same files: summary and accuracy log byte for byte, the detail log entry by entry. What
//! differs on purpose is in `differences.toml`.
//!
//! - `PROCTOR_DIFFERENTIAL_CASES`: cases of each test. `PROCTOR_DIFFERENTIAL_SEED`: the seed, a number.
//! - `PROCTOR_DIFFERENTIAL_CASE`: one case, as a failure prints it, to run alone.
//!
//! `cargo xtask differential` sets the first two. The package is there after `cargo xtask setup`; without it these tests
//! skip themselves.

mod case;
mod compare;
mod config;
mod differences;
mod generate;
mod generate_config;
mod logs;
mod official;
mod replay;
mod start;
mod timeline;
mod trace;

use std::{
    cell::{Cell, RefCell},
    env,
};

use proctor_vocabulary::Scenario;
use proptest::{
    strategy::BoxedStrategy,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner},
};

use crate::{case::Case, compare::check, differences::Differences, official::Official};

const DEFAULT_CASES: u32 = 80;
/// How many smaller cases to try after a failure, and for how long.
const MAX_SHRINKS: u32 = 300;
const MAX_SHRINK_MS: u32 = 60_000;

#[test]
fn single_stream_matches_the_official_package() {
    run("single_stream", &generate::tests(Scenario::SingleStream));
}

#[test]
fn multi_stream_matches_the_official_package() {
    run("multi_stream", &generate::tests(Scenario::MultiStream));
}

#[test]
fn server_matches_the_official_package() {
    run("server", &generate::tests(Scenario::Server));
}

#[test]
fn offline_matches_the_official_package() {
    run("offline", &generate::tests(Scenario::Offline));
}

#[test]
fn configuration_files_match_the_official_package() {
    run("configuration_files", &generate::configurations());
}

/// The case in the environment, if there is one.
#[test]
fn one_case_matches_the_official_package() {
    let Ok(text) = env::var("PROCTOR_DIFFERENTIAL_CASE") else { return };
    let case: Case =
        serde_json::from_str(&text).expect("PROCTOR_DIFFERENTIAL_CASE is a case as a failure prints it");
    let mut official = Official::start().expect("one case was asked for");
    let mut differences = Differences::read();
    if let Err(difference) = check(&case, &mut official, &mut differences) {
        panic!("{difference}");
    }
    println!("no difference beyond the listed: {}", differences.report());
}

fn run(name: &str, cases: &BoxedStrategy<Case>) {
    let official = match Official::start() {
        Ok(official) => RefCell::new(official),
        Err(reason) => {
            println!("skipped: {reason}");
            return;
        }
    };
    let differences = RefCell::new(Differences::read());
    let count = number("PROCTOR_DIFFERENTIAL_CASES")
        .map_or(DEFAULT_CASES, |count| u32::try_from(count).expect("a count of cases"));
    let seed = number("PROCTOR_DIFFERENTIAL_SEED").unwrap_or(0);
    let config = Config {
        cases: count,
        max_shrink_iters: MAX_SHRINKS,
        max_shrink_time: MAX_SHRINK_MS,
        failure_persistence: None,
        ..Config::default()
    };
    let is_first = Cell::new(true);
    let mut runner = TestRunner::new_with_rng(config, rng(name, seed));
    let result = runner.run(cases, |case| {
        let result = check(&case, &mut official.borrow_mut(), &mut differences.borrow_mut());
        if let (Err(difference), true) = (&result, is_first.get()) {
            println!("{difference}; looking for a smaller case than\n{}", line(&case));
            is_first.set(false);
        }
        result.map_err(TestCaseError::fail)
    });
    let seen = differences.borrow().report();
    println!("{name}: {count} cases with seed {seed}; listed differences: {seen}");
    if let Err(TestError::Fail(reason, case)) = result {
        panic!("{reason}\n{}", line(&case));
    } else if let Err(error) = result {
        panic!("{error}");
    }
}

/// How to run the case alone.
fn line(case: &Case) -> String {
    let case = serde_json::to_string(case).expect("a case is plain data");
    format!("PROCTOR_DIFFERENTIAL_CASE='{}'", case.replace('\'', "'\\''"))
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} = {text} is not a whole number from 0")))
}

/// Each test has its own stream of numbers.
fn rng(name: &str, seed: u64) -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    for (byte, letter) in bytes[8..].iter_mut().zip(name.bytes()) {
        *byte = letter;
    }
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}

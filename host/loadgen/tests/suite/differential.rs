//! Compares the official LoadGen 6.0.17, from its Python package, with ours: the same random settings and the
//! same scripted system, and what they issue, decide and write.
//!
//! The official one runs in real time. Its trace has the instant of every issue and completion to the
//! nanosecond, so ours then makes the very same test on a clock that is set to these instants, and has to
//! issue the same samples, end for the same reason, and write the same files: summary and accuracy log byte
//! for byte, the detail log entry by entry. Deliberate differences are in `differences.toml`.
//!
//! A few cases of each kind show whether something is broken; `at_full_count` compares more, including cases
//! that ours refuses, some of which never end in the official program.
//!
//! - `PROCTOR_DIFFERENTIAL_CASES`: cases of each test at full count, four times as many of configuration files, a
//!   quarter with several issuing threads.
//! - `PROCTOR_DIFFERENTIAL_SEED`: the seed, a number.
//! - `PROCTOR_DIFFERENTIAL_CASE`: one case, as a failure prints it, to run alone.
//!
//! `cargo xtask differential` sets the first two. `cargo xtask setup` installs the package; without it these
//! tests skip themselves, and fail if the variable `CI` is set.

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
mod threads;
mod timeline;
mod trace;

use std::{cell::RefCell, env};

use proctor_test_needs::skip;
use proctor_vocabulary::Scenario;
use proptest::{
    strategy::BoxedStrategy,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner},
};

use crate::differential::{case::Case, compare::check, differences::Differences, official::Official};

const DEFAULT_CASES: u32 = 80;
/// Cases that show whether something is broken.
const FEW: u32 = 6;
/// Cases without a test are quick.
const CONFIGURATION_FACTOR: u32 = 4;
/// Cases with several threads run in real time, twice.
const THREADS_DIVISOR: u32 = 4;
const CONFIGURATION: &str = "configuration files";
const THREADS: &str = "issuing threads";
/// Maximum number of smaller cases to try after a failure, and for how long.
const MAX_SHRINKS: u32 = 300;
const MAX_SHRINK_MS: u32 = 60_000;

#[test]
fn a_few_cases_match_the_official_package() {
    for scenario in Scenario::ALL {
        of_scenario(*scenario, FEW);
    }
    issuing_threads(FEW / 2);
    configurations(CONFIGURATION_FACTOR * FEW);
}

mod at_full_count {
    use proctor_vocabulary::Scenario;

    use super::{CONFIGURATION_FACTOR, THREADS_DIVISOR, all};

    #[test]
    fn single_stream_matches_the_official_package() {
        super::of_scenario(Scenario::SingleStream, all());
    }

    #[test]
    fn multi_stream_matches_the_official_package() {
        super::of_scenario(Scenario::MultiStream, all());
    }

    #[test]
    fn server_matches_the_official_package() {
        super::of_scenario(Scenario::Server, all());
    }

    #[test]
    fn offline_matches_the_official_package() {
        super::of_scenario(Scenario::Offline, all());
    }

    #[test]
    fn issuing_threads_match_the_official_package() {
        super::issuing_threads(all().div_ceil(THREADS_DIVISOR));
    }

    #[test]
    fn configuration_files_match_the_official_package() {
        super::configurations(CONFIGURATION_FACTOR * all());
    }

    #[test]
    fn every_listed_refusal_matches_the_official_package() {
        super::every_listed_refusal();
    }
}

fn of_scenario(scenario: Scenario, count: u32) {
    run(scenario.name(), &generate::tests(scenario), count);
}

fn issuing_threads(count: u32) {
    run(THREADS, &generate::issuing_threads(), count);
}

fn configurations(count: u32) {
    run(CONFIGURATION, &generate::configurations(), count);
}

/// Settings that ours deliberately refuses are refused, and the official program behaves as listed.
fn every_listed_refusal() {
    let Some(mut official) = start() else { return };
    let mut differences = Differences::read();
    for (id, case) in differences.refused_cases() {
        let before = differences.count(&id);
        check(&case, &mut official, &mut differences).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(
            differences.count(&id),
            before + 1,
            "{id}: the case is met by another entry: {}",
            line(&case)
        );
    }
}

/// Starts the official program; `None` if it is missing, and then the test skips itself.
fn start() -> Option<Official> {
    match Official::start() {
        Ok(official) => Some(official),
        Err(reason) => {
            skip(reason);
            None
        }
    }
}

/// Cases of each test at full count.
fn all() -> u32 {
    let cases =
        number("PROCTOR_DIFFERENTIAL_CASES").map(|count| u32::try_from(count).expect("a count of cases"));
    cases.unwrap_or(DEFAULT_CASES)
}

/// Checks random cases, or the one in the environment, if it is of this kind.
fn run(kind: &str, cases: &BoxedStrategy<Case>, count: u32) {
    let Some(official) = start() else { return };
    let mut checker = Checker { official, differences: Differences::read(), has_failed: false };
    if let Ok(text) = env::var("PROCTOR_DIFFERENTIAL_CASE") {
        let case: Case =
            serde_json::from_str(&text).expect("PROCTOR_DIFFERENTIAL_CASE is a case as a failure prints it");
        if kind_of(&case) == kind {
            checker.check(&case).unwrap_or_else(|difference| panic!("{difference}"));
            println!("no difference but listed ones: {}", checker.differences.report());
        }
        return;
    }
    let seed = number("PROCTOR_DIFFERENTIAL_SEED").unwrap_or(0);
    let config = Config {
        cases: count,
        max_shrink_iters: MAX_SHRINKS,
        max_shrink_time: MAX_SHRINK_MS,
        failure_persistence: None,
        ..Config::default()
    };
    let checker = RefCell::new(checker);
    let result = TestRunner::new_with_rng(config, rng(kind, seed))
        .run(cases, |case| checker.borrow_mut().check(&case).map_err(TestCaseError::fail));
    let differences = &checker.borrow().differences;
    let (seen, not_compared) = (differences.report(), differences.not_compared_count());
    match result {
        Ok(()) => {
            assert!(not_compared <= count / 2, "{not_compared} of {count} cases gave nothing to compare");
            println!("{kind}: {count} cases with seed {seed}, no difference but listed ones: {seen}");
            println!("{kind}: {not_compared} cases gave nothing to compare");
        }
        Err(TestError::Fail(reason, case)) => panic!("{reason}\n{}", line(&case)),
        Err(error) => panic!("{error}"),
    }
}

struct Checker {
    official: Official,
    differences: Differences,
    has_failed: bool,
}

impl Checker {
    fn check(&mut self, case: &Case) -> Result<(), String> {
        let result = check(case, &mut self.official, &mut self.differences);
        if let (Err(difference), false) = (&result, self.has_failed) {
            println!("{difference}; looking for a smaller case than\n{}", line(case));
            self.has_failed = true;
        }
        result
    }
}

/// Returns the test that a case belongs to.
fn kind_of(case: &Case) -> &str {
    match case.settings.get("scenario").and_then(|name| name.as_str()) {
        _ if case.only_configure => CONFIGURATION,
        _ if case.issuing_threads() > 0 => THREADS,
        scenario => scenario.unwrap_or_default(),
    }
}

/// Returns how to run the case alone.
fn line(case: &Case) -> String {
    let case = serde_json::to_string(case).expect("a case is plain data");
    format!("PROCTOR_DIFFERENTIAL_CASE='{}'", case.replace('\'', "'\\''"))
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} = {text} is not a whole number from 0")))
}

/// Each test has its own stream of numbers.
fn rng(kind: &str, seed: u64) -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    for (byte, letter) in bytes[8..].iter_mut().zip(kind.bytes()) {
        *byte = letter;
    }
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}

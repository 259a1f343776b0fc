//! The built-in files.

use std::{path::Path, sync::LazyLock};

use include_dir::{Dir, include_dir};
use proctor_loadgen::Rules;

use super::{SuiteBenchmark, round::RoundRules, validate};
use crate::{built_in::BuiltIn, error::ConfigErrors};

static FOLDER: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/suite");

static BENCHMARKS: LazyLock<BuiltIn<SuiteBenchmark>> =
    LazyLock::new(|| BuiltIn::new(&FOLDER, SuiteBenchmark::parse));
static ROUNDS: LazyLock<BuiltIn<RoundRules>> = LazyLock::new(|| {
    let folder = FOLDER.get_dir("rounds").expect("the rounds are there, as a test shows");
    BuiltIn::new(folder, RoundRules::parse)
});

/// Returns the benchmarks of the suites, in the order of their ids.
pub fn suite_benchmarks() -> impl Iterator<Item = &'static SuiteBenchmark> {
    BENCHMARKS.all()
}

/// Returns their ids, in the same order.
pub(crate) fn suite_ids() -> impl Iterator<Item = &'static str> {
    BENCHMARKS.ids()
}

/// Returns the rules of a round that do not concern the load generator.
///
/// # Panics
/// If there is no file for it: each round of [`Rules::all`] has one.
#[must_use]
pub fn round_rules(rules: Rules) -> &'static RoundRules {
    ROUNDS.get(rules.name).expect("each round has a file in suite/rounds, as a test shows")
}

pub(crate) fn find(id: &str) -> Option<&'static SuiteBenchmark> {
    BENCHMARKS.get(id)
}

impl SuiteBenchmark {
    /// Reads and checks the file of a benchmark. `file` is named in errors and origins.
    ///
    /// # Errors
    /// Returns everything that is wrong with it.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ConfigErrors> {
        let suites = |name: &str| ROUNDS.get(name).map(|round| round.suites.clone()).unwrap_or_default();
        validate::benchmark(text, file, suites).map_err(ConfigErrors)
    }
}

impl RoundRules {
    /// Reads and checks the file of a round. `file` is named in errors.
    ///
    /// # Errors
    /// Returns everything that is wrong with it.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ConfigErrors> {
        validate::round(text, file).map_err(ConfigErrors)
    }
}

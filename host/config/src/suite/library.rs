//! The built-in files.

use std::{path::Path, sync::LazyLock};

use include_dir::{Dir, File, include_dir};
use proctor_loadgen::Rules;

use super::{SuiteBenchmark, round::RoundRules, validate};
use crate::error::ConfigErrors;

static FOLDER: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/suite");

/// The benchmarks of the suites, in the order of their ids.
#[must_use]
pub fn suite_benchmarks() -> &'static [SuiteBenchmark] {
    static BENCHMARKS: LazyLock<Vec<SuiteBenchmark>> = LazyLock::new(|| {
        let mut benchmarks: Vec<_> = files("")
            .map(|file| {
                let benchmark = SuiteBenchmark::parse(text(file), file.path());
                benchmark.expect("the files of the suites are right, as a test shows")
            })
            .collect();
        benchmarks.sort_by(|a, b| a.id.cmp(&b.id));
        benchmarks
    });
    &BENCHMARKS
}

/// The rules of a round that are no business of the load generator.
///
/// # Panics
/// If there is no file for it: each round of [`Rules::all`] has one.
#[must_use]
pub fn round_rules(rules: Rules) -> &'static RoundRules {
    let found = rounds().iter().find(|round| round.name == rules.name);
    found.expect("each round has a file in suite/rounds, as a test shows")
}

/// The benchmark of this id.
pub(crate) fn find(id: &str) -> Option<&'static SuiteBenchmark> {
    suite_benchmarks().iter().find(|benchmark| benchmark.id == id)
}

fn rounds() -> &'static [RoundRules] {
    static ROUNDS: LazyLock<Vec<RoundRules>> = LazyLock::new(|| {
        let round = |file: &File<'_>| {
            let round = RoundRules::parse(text(file), file.path());
            round.expect("the files of the rounds are right, as a test shows")
        };
        files("rounds").map(round).collect()
    });
    &ROUNDS
}

fn files(folder: &str) -> impl Iterator<Item = &'static File<'static>> {
    let folder = if folder.is_empty() { Some(&FOLDER) } else { FOLDER.get_dir(folder) };
    let files = folder.into_iter().flat_map(Dir::files);
    files.filter(|file| file.path().extension().is_some_and(|extension| extension == "toml"))
}

fn text<'a>(file: &'a File<'_>) -> &'a str {
    file.contents_utf8().expect("these files are UTF-8, as a test shows")
}

impl SuiteBenchmark {
    /// Reads and checks the file of a benchmark. `file` is named in errors and origins.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ConfigErrors> {
        let suites = |name: &str| {
            let round = rounds().iter().find(|round| round.name == name);
            round.map(|round| round.suites.clone()).unwrap_or_default()
        };
        validate::benchmark(text, file, suites).map_err(ConfigErrors)
    }
}

impl RoundRules {
    /// Reads and checks the file of a round. `file` is named in errors.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ConfigErrors> {
        validate::round(text, file).map_err(ConfigErrors)
    }
}

//! Loads the built-in definitions, and any other one.

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

use include_dir::{Dir, include_dir};
use proctor_vocabulary::did_you_mean;

use super::{
    Benchmark,
    family::{benchmark_families, member},
};
use crate::{built_in::BuiltIn, error::ConfigError, file::text::read_text, origin::Origin};

static FOLDER: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/benchmarks");
static BENCHMARKS: LazyLock<BuiltIn<Benchmark>> = LazyLock::new(|| BuiltIn::new(&FOLDER, Benchmark::parse));

/// Returns the built-in benchmarks, in the order of their ids.
pub fn benchmarks() -> impl Iterator<Item = &'static Benchmark> {
    BENCHMARKS.all()
}

/// Returns the benchmark of this name, or of the definition at this path. A name with a `/` or with `.toml` at its end
/// is a path.
pub(crate) fn find(name: &str, origin: &Origin) -> Result<Benchmark, Vec<ConfigError>> {
    if let Some(benchmark) = BENCHMARKS.get(name) {
        return Ok(benchmark.clone());
    }
    if let Some((family, benchmark)) = member(name) {
        return benchmark.map_err(|problem| {
            let (origin, name, known) = (origin.clone(), name.to_owned(), family.pattern.to_owned());
            vec![ConfigError::UnknownBenchmark { origin, name, hint: format!(": {problem}"), known }]
        });
    }
    if is_path(name) {
        let path = PathBuf::from(name);
        let text = read_text(&path).map_err(|error| vec![*error])?;
        return Benchmark::parse(&text, &path).map_err(|errors| errors.0);
    }
    let names = || BENCHMARKS.ids();
    let patterns = benchmark_families().into_iter().map(|family| family.pattern);
    Err(vec![ConfigError::UnknownBenchmark {
        origin: origin.clone(),
        name: name.to_owned(),
        hint: did_you_mean(name, names()),
        known: names().chain(patterns).collect::<Vec<_>>().join(", "),
    }])
}

fn is_path(name: &str) -> bool {
    name.contains(std::path::is_separator) || Path::new(name).extension().is_some_and(|e| e == "toml")
}

//! Families of benchmarks, whose definitions are made from their names.

use std::path::Path;

use proctor_vocabulary::registry::{self, Named};

use super::Benchmark;

/// A family of benchmarks, registered with `inventory::submit!`.
#[derive(Debug, Clone, Copy)]
pub struct BenchmarkFamily {
    /// Pattern of its names, such as `layer-<width>-<depth>`; no other family has it.
    pub pattern: &'static str,
    /// One sentence for lists.
    pub help: &'static str,
    /// Returns the definition of the benchmark of this name, in the form of a file. `None` if the name does not belong
    /// to the family; a sentence about its mistakes if it does but has some.
    pub definition: fn(&str) -> Option<Result<String, String>>,
    /// Lists the members that a reader may look for, each with a sentence.
    pub members: fn() -> Vec<(String, &'static str)>,
}

inventory::collect!(BenchmarkFamily);

impl Named for BenchmarkFamily {
    const KIND: &'static str = "family of benchmarks";

    fn name(&self) -> &'static str {
        self.pattern
    }
}

/// Returns all families that the program has linked, in the order of their patterns.
#[must_use]
pub fn benchmark_families() -> Vec<&'static BenchmarkFamily> {
    registry::sorted(inventory::iter::<BenchmarkFamily>())
}

/// Returns the benchmark of this name with its family; `None` if no family takes the name for one of its own.
pub(super) fn member(name: &str) -> Option<(&'static BenchmarkFamily, Result<Benchmark, String>)> {
    let mut families = benchmark_families().into_iter();
    let (family, text) = families.find_map(|family| Some((family, (family.definition)(name)?)))?;
    let benchmark = text.and_then(|text| {
        let parsed = Benchmark::parse(&text, Path::new(name));
        parsed.map_err(|errors| errors.0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    });
    Some((family, benchmark))
}

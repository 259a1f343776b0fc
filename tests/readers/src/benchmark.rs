//! Definitions of benchmarks.

use std::path::Path;

use proctor_config::Benchmark;
use toml::{Table, Value};

use crate::memory::bounded_besides;

/// The known names, for hints, and the settings of each scenario.
const FIXED_BYTES: u64 = 1 << 20;
/// A pair of five bytes is a node of the parser's tree, and an error with the names that are near.
const MEMORY_FACTOR: u64 = 512;

/// Checks the reader of definitions, whose text may come from anywhere: an accepted one reads as with any TOML reader,
/// in sizes that cannot overflow.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_benchmark(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let parse = || Benchmark::parse(&text, Path::new("benchmark.toml"));
    match bounded_besides(FIXED_BYTES, text.len(), MEMORY_FACTOR, parse) {
        Err(errors) => assert!(errors.to_string().contains("benchmark.toml"), "{errors}"),
        Ok(benchmark) => {
            let table: Table = text.parse().expect("a definition is TOML");
            check(&benchmark, &table);
        }
    }
}

fn check(benchmark: &Benchmark, table: &Table) {
    assert_eq!(table["id"].as_str(), Some(&*benchmark.id));
    assert_eq!(table["model"]["id"].as_str(), Some(&*benchmark.model.id));
    assert_eq!(table["dataset"].as_str(), Some(&*benchmark.dataset));
    assert_eq!(table["quality"]["metric"].as_str(), Some(&*benchmark.quality.metric));
    // A model may have files in some precision alone.
    let files = table["model"].get("files").and_then(Value::as_table).into_iter().flat_map(Table::keys);
    assert!(files.eq(benchmark.model.files.keys()));
    for (list, tensors) in [("inputs", &benchmark.inputs), ("outputs", &benchmark.outputs)] {
        let written = table[list].as_array().expect("tensors are a list");
        assert_eq!(written.len(), tensors.len());
        let mut size_bytes = 0_usize;
        for (tensor, written) in tensors.iter().zip(written) {
            let extents = written["shape"].as_array().expect("a shape is a list").iter();
            let extents: Vec<_> = extents.map(|extent| usize::try_from(extent.as_integer()?).ok()).collect();
            assert_eq!(tensor.shape.iter().copied().map(Some).collect::<Vec<_>>(), extents);
            let of_tensor = tensor
                .shape
                .iter()
                .try_fold(tensor.element_type.bits(), |size, extent| size.checked_mul(*extent));
            let of_tensor = of_tensor.map(|bits| bits / 8);
            assert_eq!(of_tensor, Some(tensor.size_bytes()));
            let sum = of_tensor.and_then(|of_tensor| size_bytes.checked_add(of_tensor));
            size_bytes = sum.expect("the tensors of a sample have a size");
        }
    }
    let counts = [benchmark.qsl.total_sample_count, benchmark.qsl.performance_sample_count];
    let written =
        ["total_sample_count", "performance_sample_count"].map(|key| table["qsl"][key].as_integer());
    assert_eq!(counts.map(|count| i64::try_from(count).ok()), written);
    assert!(benchmark.quality.target().is_finite());
    let scenarios = table["scenarios"].as_table().map(Table::len);
    assert_eq!(Some(benchmark.scenarios.len()), scenarios);
    assert!(table.get("refused").and_then(Value::as_table).map_or(0, Table::len) == benchmark.refused.len());
}

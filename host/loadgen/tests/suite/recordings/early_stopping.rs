//! The recorded tables of early stopping.

use crate::golden_files;
use proctor_loadgen::{min_under_latency_queries, over_latency_allowance};
use serde::Deserialize;

#[derive(Deserialize)]
struct Table<Row> {
    rows: Vec<Row>,
}

#[test]
fn fewest_queries_under_latency() {
    let table: Table<(f64, u64, u64, u64)> = golden_files::read("early_stopping_min_queries.json");
    assert!(table.rows.len() > 100);
    for (quantile, over, under, total) in table.rows {
        assert_eq!(min_under_latency_queries(over, quantile), under, "{quantile} with {over} over");
        assert_eq!(under + over, total);
    }
}

#[test]
fn largest_allowance() {
    let table: Table<(f64, u64, u64)> = golden_files::read("early_stopping_estimate.json");
    assert!(table.rows.len() > 100);
    for (quantile, queries, allowance) in table.rows {
        let got = over_latency_allowance(queries, quantile).unwrap_or(0);
        assert_eq!(got, allowance, "{quantile} of {queries}");
    }
}

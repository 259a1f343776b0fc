//! Libraries of latency curves.

use std::path::Path;

use proctor_scaling::CurveLibrary;

use crate::memory::bounded;

/// A line of four bytes is its own name, a list of one latency, and an entry of the names that were seen.
const MEMORY_FACTOR: u64 = 128;

/// Checks the reader of curves: it either names the offending line, or round-trips, and estimates from a curve never
/// fall.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_curves(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let path = Path::new("curves.csv");
    match bounded(text.len(), MEMORY_FACTOR, || CurveLibrary::parse(path, &text)) {
        Err(error) => {
            let message = error.to_string();
            let line = message.strip_prefix("curves.csv, line ").map(|rest| rest.split(':').next());
            let line_count = text.lines().count();
            let is_there = |line: &str| line.parse().is_ok_and(|line| (1..=line_count).contains(&line));
            assert!(line.is_none_or(|line| line.is_some_and(is_there)), "{message}");
        }
        Ok(library) => {
            let again = CurveLibrary::parse(path, &library.to_string());
            assert_eq!(again.expect("what was written can be read"), library);
            let estimates = library.complete(&[(1, 2.0), (8, 5.0)], 10);
            assert_eq!((estimates[0], estimates[7]), (2.0, 5.0));
            assert!(estimates.is_sorted(), "{estimates:?}");
        }
    }
}

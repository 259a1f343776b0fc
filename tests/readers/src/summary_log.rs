//! `mlperf_log_summary.txt`.

use std::collections::HashSet;

use proctor_results::{ResultsError, SummaryLog};
use proctor_vocabulary::not_text;

use crate::{file::with_file, memory::bounded};

/// A line of two bytes is an entry of two texts, three times while the list grows.
const MEMORY_FACTOR: u64 = 128;

/// Title of the results, which a log has once at most.
const TITLE: &str = "MLPerf Results Summary";

/// Checks the reader of the summary log: it refuses another kind of file and the summaries of several tests, and takes
/// for each name the value of its first line.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_summary_log(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let title_count = text.lines().filter(|line| line.trim() == TITLE).count();
    let is_refused = title_count > 1 || not_text(data).is_some();
    match read(data) {
        Err(error) => assert!(is_refused, "{error}"),
        Ok(log) => {
            assert!(!is_refused, "{log:?}");
            assert!(log.error_count == 0 || text.contains(" ERROR"), "{log:?}");
            let written = written(&text, &log);
            assert_eq!(read(written.as_bytes()).expect("what was written can be read"), log);
        }
    }
}

fn read(data: &[u8]) -> Result<SummaryLog, ResultsError> {
    let log = with_file(data, |path| bounded(data.len(), MEMORY_FACTOR, || SummaryLog::read(path)));
    log.map(|log| log.expect("the file is there"))
}

/// Returns the log in LoadGen's form, with its entries by another reading of the text, which must agree with the log.
fn written(text: &str, log: &SummaryLog) -> String {
    let mut written = format!("{TITLE}\n");
    let mut seen = HashSet::new();
    for line in text.lines() {
        let Some(colon) = line.find(':') else { continue };
        let (name, value) = (line[..colon].trim(), line[colon + 1..].trim());
        if seen.insert(name) {
            assert_eq!(log.value(name), Some(value));
        }
        written.push_str(&format!("{name} : {value}\n"));
    }
    if log.error_count > 0 {
        written.push_str(&format!("\n{} ERRORS encountered. See detailed log.\n", log.error_count));
    }
    written
}

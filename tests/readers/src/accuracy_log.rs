//! `mlperf_log_accuracy.json`.

use proctor_accuracy::{LogRecord, parse_log};
use proctor_loadgen::{AccuracyRecord, log::AccuracyLogWriter};
use proctor_vocabulary::SampleIndex;
use serde_json::Value;

use crate::memory::bounded;

/// The shortest record has 32 bytes and takes 40, twice while the list grows.
const MEMORY_FACTOR: u64 = 8;

/// Checks the reader of the accuracy log against the writer of the load generator and a reader of any JSON.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_accuracy_log(data: &[u8]) {
    match bounded(data.len(), MEMORY_FACTOR, || parse_log(data)) {
        Err(reason) => assert!(!reason.is_empty()),
        Ok(records) => {
            assert_eq!(parse_log(&written(&records)).expect("what was written can be read"), records);
            let json: Value = serde_json::from_slice(data).expect("an accuracy log is JSON");
            let json = json.as_array().expect("an accuracy log is a list");
            assert_eq!(json.len(), records.len());
            for (json, record) in json.iter().zip(&records) {
                check_record(json, record);
            }
        }
    }
}

fn check_record(json: &Value, record: &LogRecord) {
    assert_eq!(json["seq_id"].as_u64(), Some(record.seq_id));
    assert_eq!(json["qsl_idx"].as_u64(), Some(record.qsl_idx));
    let digits: String = record.data.iter().map(|byte| format!("{byte:02x}")).collect();
    let data = json["data"].as_str().expect("data is a string");
    assert_eq!(data.to_ascii_lowercase(), digits);
}

/// Returns the records as the load generator writes them.
fn written(records: &[LogRecord]) -> Vec<u8> {
    let memory = "memory takes any text";
    let mut log = AccuracyLogWriter::new(Vec::new()).expect(memory);
    for LogRecord { seq_id, qsl_idx, data } in records {
        let index = SampleIndex(*qsl_idx);
        let record = AccuracyRecord { sample_id: *seq_id, index, data: data.clone(), tokens: None };
        log.record(&record).expect(memory);
    }
    log.finish().expect(memory)
}

//! Logs that LoadGen 6.0.17 wrote, from a system whose response is the sample's index as a little-endian u32.

use std::path::Path;

use proctor_accuracy::read_log;

fn read(name: &str) -> Vec<(u64, u64)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let records = read_log(&path).expect("LoadGen wrote it");
    for record in &records {
        assert_eq!(record.data, u32::try_from(record.qsl_idx).expect("indices are small").to_le_bytes());
    }
    records.iter().map(|record| (record.seq_id, record.qsl_idx)).collect()
}

#[test]
fn an_offline_log_has_every_sample() {
    let expected: [u64; 10] = [1, 5, 7, 6, 0, 8, 3, 2, 9, 4];
    assert_eq!(read("offline.json"), (0..).zip(expected).collect::<Vec<_>>());
}

#[test]
fn a_log_with_tokens_is_read_over_them() {
    let expected: [u64; 6] = [1, 5, 0, 4, 2, 3];
    assert_eq!(read("tokens_server.json"), (0..).zip(expected).collect::<Vec<_>>());
}

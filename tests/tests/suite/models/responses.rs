//! Responses to the samples of a benchmark: those that the mock is to give, and those that a run has logged.

use proctor_accuracy::read_log;
use proctor_tests::Run;

/// An answer file of the mock: a line of hexadecimal digits for each sample.
pub fn answer_file(responses: &[Vec<u8>]) -> Vec<u8> {
    // Responses of volumes are large and mostly zeros: only the other bytes are looked at.
    const PART: usize = 64;
    let mut file = Vec::new();
    for response in responses {
        let start = file.len();
        file.resize(start + 2 * response.len(), b'0');
        for (part, digits) in response.chunks(PART).zip(file[start..].chunks_mut(2 * PART)) {
            if part != &[0; PART][..part.len()] {
                digits.copy_from_slice(
                    part.iter().map(|byte| format!("{byte:02x}")).collect::<String>().as_bytes(),
                );
            }
        }
        file.extend_from_slice(if response.is_empty() { b"-\n" } else { b"\n" });
    }
    file
}

/// The responses in the accuracy log of a run, in the order of the samples; none may be missing.
pub fn logged(run: &Run) -> Vec<Vec<u8>> {
    let mut log = read_log(&run.folder().join("accuracy/mlperf_log_accuracy.json")).unwrap();
    log.sort_by_key(|record| record.qsl_idx);
    // Offline answers a sample again where the library does not fill its query.
    log.dedup_by_key(|record| record.qsl_idx);
    assert!(log.iter().map(|record| record.qsl_idx).eq(0..log.len() as u64));
    log.into_iter().map(|record| record.data).collect()
}

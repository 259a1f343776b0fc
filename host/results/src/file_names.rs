//! Names of the files and folders in the folder of a run or a campaign. Hosts write by them, and readers find by them.

/// Everything about a run.
pub const RESULT: &str = "result.json";
/// The record of a benchmark that was proven on real data.
pub const PROOF: &str = "proof.json";
/// The result of a search.
pub const FIND_MAX: &str = "find_max.json";
/// State of a search, by which it can be resumed.
pub const PROBES: &str = "probes.json";
/// The result of scaling.
pub const SCALE: &str = "scale.json";

/// Folder of the accuracy run.
pub const ACCURACY: &str = "accuracy";
/// Samples of a test.
pub const SAMPLES: &str = "samples.bin";
/// Batches of a test that are kept.
pub const BATCHES: &str = "batches.json";

/// The first samples that were answered with a wrong class.
pub const WRONG_SAMPLES: &str = "wrong_samples.json";

/// LoadGen's summary log.
pub const SUMMARY_LOG: &str = "mlperf_log_summary.txt";
/// LoadGen's detail log.
pub const DETAIL_LOG: &str = "mlperf_log_detail.txt";
/// LoadGen's log of responses.
pub const ACCURACY_LOG: &str = "mlperf_log_accuracy.json";
/// LoadGen's trace.
pub const TRACE_LOG: &str = "mlperf_log_trace.json";

/// Suffix of a folder that is not whole.
pub const PARTIAL: &str = ".partial";
/// Report of a crash.
pub const CRASH: &str = "crash.txt";
/// The error that ended a run.
pub const ERROR: &str = "error.txt";
/// File that is locked while a run continues.
pub const LOCK: &str = "running.lock";

//! Scores accuracy logs of a million entries, and large ones: time to read and score them, and peak memory of a process
//! meanwhile. Each turn is its own process, since a process cannot separate its earlier memory.

use std::{
    cell::RefCell,
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    process::Command,
    time::Instant,
};

use proctor_accuracy::{AccuracyCheck, AnswerSource, ResponseForm, scan_log};
use proctor_datasets::DataRoot;
use proctor_vocabulary::ElementType;
use proctor_words::{Conclusion, DataError, HostError, output, process_memory_bytes};
use serde::{Deserialize, Serialize};

use super::{
    bed::{Bench, folder},
    flags::{DataLogFlags, Part},
    table::{Entry, Row, Side, Unit},
};
use crate::worker::{say, this_program};

/// Number of samples of the data set `digits`.
const SAMPLE_COUNT: u64 = 600;

/// A log to be read.
struct Log {
    what: &'static str,
    entry_count: u64,
    entry_bytes: usize,
    /// Both for a mere check of function.
    quick: (u64, usize),
    is_scored: bool,
}

/// Many small entries, and entries as large as the volume of a case of KiTS19 may be, 64 MiB.
const LOGS: [Log; 2] = [
    Log {
        what: "entries of a class, scored",
        entry_count: 1_000_000,
        entry_bytes: 8,
        quick: (1_000, 8),
        is_scored: true,
    },
    Log {
        what: "entries of a volume, read",
        entry_count: 16,
        entry_bytes: 64 << 20,
        quick: (2, 1 << 16),
        is_scored: false,
    },
];

/// Figures that a process reports about itself.
#[derive(Serialize, Deserialize)]
struct Told {
    seconds: f64,
    peak_bytes: u64,
}

/// Measures both logs.
///
/// # Errors
/// If a log cannot be written.
pub(super) fn rows(bench: &Bench<'_>) -> Result<Vec<Row>, HostError> {
    let mut rows = Vec::new();
    for log in &LOGS {
        let folder = folder(None)?;
        let path = folder.path().join("mlperf_log_accuracy.json");
        let (count, bytes) = if bench.flags.quick { log.quick } else { (log.entry_count, log.entry_bytes) };
        write(&path, count, bytes).map_err(|source| output(&path, source))?;
        let peaks_mb = RefCell::new(Vec::new());
        let turn = || {
            let told = read_elsewhere(&path, log.is_scored)?;
            peaks_mb.borrow_mut().push(told.peak_bytes as f64 / 1e6);
            Ok(told.seconds)
        };
        let what = format!("{count} {}", log.what);
        let times = bench.row(Part::Log, &what, Unit::Seconds, vec![Side::ours(turn)]);
        let entries: Vec<_> =
            times.entries.iter().map(|ours| Entry { values: peaks_mb.take(), ..ours.clone() }).collect();
        rows.extend([
            times,
            Row { part: Part::Log, what: format!("{what}: most memory"), unit: Unit::Megabytes, entries },
        ]);
    }
    Ok(rows)
}

/// Reads a log in its own process.
fn read_elsewhere(log: &Path, is_scored: bool) -> Result<Told, String> {
    let mut command = Command::new(this_program()?);
    command.arg("data-log").arg(log).args(is_scored.then_some("--score"));
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} ({})", said.trim(), output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

/// Runs in the child process: reads a log, and reports the time and memory that it took.
///
/// # Errors
/// If the log cannot be read, or the system does not report the figures.
pub(crate) fn work(flags: &DataLogFlags) -> Result<Conclusion, HostError> {
    let start = Instant::now();
    if flags.score {
        let check = AccuracyCheck {
            answers: AnswerSource::Labels { dataset: "digits".to_owned(), published: None },
            metric: "top1".to_owned(),
            response: ResponseForm::exactly(ElementType::I64, 1),
            tolerance: None,
            reference_value: 1.0,
            target_ratio: 0.99,
            padding_record_count: 0,
            performance_seq_id: None,
        };
        check.run(&flags.log, &DataRoot::search())?;
    } else {
        let mut byte_count = 0;
        scan_log(&flags.log, |record| byte_count += record.data.len())?;
    }
    let seconds = start.elapsed().as_secs_f64();
    let peak_bytes =
        process_memory_bytes("VmHWM").ok_or(DataError::Stated("/proc does not tell the most memory"))?;
    say(&Told { seconds, peak_bytes });
    Ok(Conclusion::Good)
}

/// Writes a log in LoadGen's form, each of whose samples has the class of its last digit.
fn write(log: &Path, entry_count: u64, entry_bytes: usize) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(log)?);
    let rest = "01".repeat(entry_bytes.saturating_sub(8));
    for seq_id in 0..entry_count {
        let qsl_idx = seq_id % SAMPLE_COUNT;
        let begin = if seq_id == 0 { "[" } else { "," };
        let class = (qsl_idx % 10).swap_bytes();
        writeln!(file, "{begin}")?;
        write!(file, r#"{{ "seq_id" : {seq_id}, "qsl_idx" : {qsl_idx}, "data" : "{class:016X}{rest}" }}"#)?;
    }
    file.write_all(b"\n]\n")?;
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logs_have_the_entries_that_they_are_named_after() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.json");
        write(&path, 3, 10).unwrap();
        let mut records = Vec::new();
        scan_log(&path, |record| records.push((record.qsl_idx, record.data.to_vec()))).unwrap();
        assert_eq!(records.len(), 3);
        assert_eq!(records[2], (2, vec![2, 0, 0, 0, 0, 0, 0, 0, 1, 1]));
    }
}

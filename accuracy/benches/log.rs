//! Accuracy logs of a million entries, and of large ones: the time, and the most memory that the process has held.
//!
//! ```sh
//! cargo bench -p proctor-accuracy --bench log
//! ```

use std::{
    error::Error,
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
    time::Instant,
};

use proctor_accuracy::{AccuracyCheck, AnswerSource, ResponseForm, scan_log};
use proctor_datasets::DataRoot;
use proctor_vocabulary::ElementType;

/// Number of samples of the data set `digits`.
const SAMPLE_COUNT: u64 = 600;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("log.json");

    // As large as the volume of a case of KiTS19 may be.
    write(&log, 16, |_| vec![1; 64 << 20])?;
    let start = Instant::now();
    let mut byte_count = 0;
    scan_log(&log, |record| byte_count += record.data.len())?;
    report("16 volumes", &log, start)?;
    assert_eq!(byte_count, 16 * (64 << 20));

    write(&log, 1_000_000, |index| ((index % 10) as i64).to_le_bytes().to_vec())?;
    let check = AccuracyCheck {
        answers: AnswerSource::Labels { dataset: "digits".into(), published: None },
        metric: "top1".into(),
        response: ResponseForm::exactly(ElementType::I64, 1),
        class_offset: 0,
        tolerance: None,
        reference_value: 1.0,
        target_ratio: 0.99,
        padding_record_count: 0,
    };
    let start = Instant::now();
    let result = check.run(&log, &DataRoot::search())?;
    report("1,000,000 entries, scored", &log, start)?;
    assert_eq!(result.duplicate_samples.len() as u64, 1_000_000 - SAMPLE_COUNT);
    Ok(())
}

fn write(log: &Path, record_count: u64, data: impl Fn(u64) -> Vec<u8>) -> Result<(), Box<dyn Error>> {
    let mut file = BufWriter::new(File::create(log)?);
    for seq_id in 0..record_count {
        let qsl_idx = seq_id % SAMPLE_COUNT;
        write!(
            file,
            "{}\n{{ \"seq_id\" : {seq_id}, \"qsl_idx\" : {qsl_idx}, \"data\" : \"",
            if seq_id == 0 { "[" } else { "," }
        )?;
        for byte in data(seq_id) {
            let digits = b"0123456789ABCDEF";
            file.write_all(&[digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]])?;
        }
        file.write_all(b"\" }")?;
    }
    file.write_all(b"\n]\n")?;
    Ok(file.flush()?)
}

fn report(what: &str, log: &Path, start: Instant) -> Result<(), Box<dyn Error>> {
    let (time, megabytes) = (start.elapsed(), fs::metadata(log)?.len() >> 20);
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("not known").trim();
    println!("{what}: {megabytes} MiB in {:.2} s; most memory so far {peak}", time.as_secs_f64());
    Ok(())
}

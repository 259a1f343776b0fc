//! CSV: a line for each sample.

use std::io::{self, Write};

use proctor_results::Samples;

/// Writes the samples of a run, a line each in the order of issue: its number, the instant from which its
/// latency is measured in ns from the start of issuing, its latency in ns, and how it ended: `completed`,
/// `failed`, `missing` (issued and never completed) or `not_issued`. A field without a value is empty.
///
/// # Errors
/// If writing fails.
pub fn csv(samples: &Samples, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "sequence,scheduled_ns,latency_ns,state")?;
    for (sequence, record) in samples.records.iter().enumerate() {
        let scheduled_ns = record.scheduled_ns;
        match record.completed_latency_ns() {
            None if !record.is_issued() => writeln!(out, "{sequence},,,not_issued")?,
            None => writeln!(out, "{sequence},{scheduled_ns},,missing")?,
            Some(latency_ns) => {
                let state = if record.is_failed() { "failed" } else { "completed" };
                writeln!(out, "{sequence},{scheduled_ns},{latency_ns},{state}")?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proctor_loadgen::SampleRecord;

    use super::*;

    #[test]
    fn a_sample_is_a_line_with_how_it_ended() {
        let record = |scheduled_ns, latency_ns| SampleRecord { scheduled_ns, latency_ns };
        let records = vec![
            record(1, 5),
            record(2, SampleRecord::FAILED_BIT | 7),
            record(3, SampleRecord::NOT_COMPLETED),
            SampleRecord::NOT_ISSUED,
        ];
        let mut out = Vec::new();
        csv(&Samples { records, torn_bytes: 0 }, &mut out).unwrap();
        let expected = "sequence,scheduled_ns,latency_ns,state\n0,1,5,completed\n1,2,7,failed\n2,3,,missing\n3,,,not_issued\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

//! `mlperf_log_accuracy.json`: responses as a JSON list, one record a line.

use std::io::{self, Write};

use proctor_vocabulary::SampleIndex;

/// Writes the accuracy log record by record.
///
/// `[`, then for each record a line `{ "seq_id" : N, "qsl_idx" : N, "data" : "HEX" }` with a comma at its end but for
/// the last, then `]`. The data are the response bytes in memory order, two upper-case digits each. A file that does
/// not end in `]` is of a test that did not finish.
#[derive(Debug)]
pub struct AccuracyLogWriter<W: Write> {
    out: W,
    /// One line, reused.
    line: Vec<u8>,
    empty: bool,
}

impl<W: Write> AccuracyLogWriter<W> {
    /// Opens the list.
    ///
    /// # Errors
    /// What writing gives.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(b"[")?;
        Ok(Self { out, line: Vec::new(), empty: true })
    }

    /// Appends a record. `sample_id` counts all samples of the test from 0, in the order of their generation.
    ///
    /// # Errors
    /// What writing gives.
    pub fn record(&mut self, sample_id: u64, index: SampleIndex, data: &[u8]) -> io::Result<()> {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        self.line.clear();
        let separator = if self.empty { "\n" } else { ",\n" };
        write!(self.line, "{separator}{{ \"seq_id\" : {sample_id}, \"qsl_idx\" : {index}, \"data\" : \"")?;
        for byte in data {
            self.line.push(DIGITS[usize::from(byte >> 4)]);
            self.line.push(DIGITS[usize::from(byte & 15)]);
        }
        self.line.extend_from_slice(b"\" }");
        self.empty = false;
        self.out.write_all(&self.line)
    }

    /// Closes the list and returns the writer, flushed.
    ///
    /// # Errors
    /// What writing gives.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(b"\n]\n")?;
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_log_is_an_empty_list() {
        let log = AccuracyLogWriter::new(Vec::new()).unwrap().finish().unwrap();
        assert_eq!(log, b"[\n]\n");
    }

    #[test]
    fn records_are_separated_by_commas_at_the_line_end() {
        let mut log = AccuracyLogWriter::new(Vec::new()).unwrap();
        log.record(0, SampleIndex(7), &[0x0a, 0xff]).unwrap();
        log.record(1, SampleIndex(3), &[]).unwrap();
        let text = String::from_utf8(log.finish().unwrap()).unwrap();
        let expected = "[\n{ \"seq_id\" : 0, \"qsl_idx\" : 7, \"data\" : \"0AFF\" },\n{ \"seq_id\" : 1, \"qsl_idx\" : 3, \"data\" : \"\" }\n]\n";
        assert_eq!(text, expected);
    }
}

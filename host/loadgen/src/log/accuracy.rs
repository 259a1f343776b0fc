//! `mlperf_log_accuracy.json`: responses as a JSON list, one record a line.

use std::io::{self, Write};

use crate::measure::accuracy_record::AccuracyRecord;

/// Writes the accuracy log record by record.
///
/// `[`, then for each record a line `{ "seq_id" : N, "qsl_idx" : N, "data" : "HEX" }` with a comma at its end but for
/// the last, then `]`. In token runs a record has `"token_data" : "HEX"` (but not in Offline) and `"token_count" : N`,
/// too. Data are bytes in memory order, two upper-case digits each. A file that does not end in `]` is of a test that
/// did not finish.
#[derive(Debug)]
pub struct AccuracyLogWriter<W: Write> {
    out: W,
    /// Buffer of one line, reused.
    line: Vec<u8>,
    empty: bool,
}

impl<W: Write> AccuracyLogWriter<W> {
    /// Opens the list in `out`.
    ///
    /// # Errors
    /// If writing fails.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(b"[")?;
        Ok(Self { out, line: Vec::new(), empty: true })
    }

    /// Appends a record.
    ///
    /// # Errors
    /// If writing fails.
    pub fn record(&mut self, record: &AccuracyRecord) -> io::Result<()> {
        let AccuracyRecord { sample_id, index, data, tokens } = record;
        self.line.clear();
        let separator = if self.empty { "\n" } else { ",\n" };
        write!(self.line, "{separator}{{ \"seq_id\" : {sample_id}, \"qsl_idx\" : {index}, \"data\" : ")?;
        self.hex(data);
        if let Some(tokens) = tokens {
            if let Some(data) = &tokens.first_token_data {
                self.line.extend_from_slice(b", \"token_data\" : ");
                self.hex(data);
            }
            write!(self.line, ", \"token_count\" : {}", tokens.token_count)?;
        }
        self.line.extend_from_slice(b" }");
        self.empty = false;
        self.out.write_all(&self.line)
    }

    /// Appends bytes to the line as digits in quotes.
    fn hex(&mut self, data: &[u8]) {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        self.line.push(b'"');
        for byte in data {
            self.line.push(DIGITS[usize::from(byte >> 4)]);
            self.line.push(DIGITS[usize::from(byte & 15)]);
        }
        self.line.push(b'"');
    }

    /// Closes the list and returns the writer, flushed.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(b"\n]\n")?;
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use proctor_vocabulary::SampleIndex;

    use super::*;
    use crate::measure::accuracy_record::AccuracyTokens;

    fn record(sample_id: u64, index: u64, data: &[u8], tokens: Option<AccuracyTokens>) -> AccuracyRecord {
        AccuracyRecord { sample_id, index: SampleIndex(index), data: data.to_vec(), tokens }
    }

    #[test]
    fn an_empty_log_is_an_empty_list() {
        let log = AccuracyLogWriter::new(Vec::new()).unwrap().finish().unwrap();
        assert_eq!(log, b"[\n]\n");
    }

    #[test]
    fn records_are_separated_by_commas_at_the_line_end() {
        let mut log = AccuracyLogWriter::new(Vec::new()).unwrap();
        log.record(&record(0, 7, &[0x0a, 0xff], None)).unwrap();
        log.record(&record(1, 3, &[], None)).unwrap();
        let text = String::from_utf8(log.finish().unwrap()).unwrap();
        let expected = "[\n{ \"seq_id\" : 0, \"qsl_idx\" : 7, \"data\" : \"0AFF\" },\n{ \"seq_id\" : 1, \"qsl_idx\" : 3, \"data\" : \"\" }\n]\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_token_run_logs_tokens_besides() {
        let mut log = AccuracyLogWriter::new(Vec::new()).unwrap();
        let tokens = |first_token_data| Some(AccuracyTokens { first_token_data, token_count: 7 });
        log.record(&record(0, 7, &[1], tokens(Some(vec![0xab])))).unwrap();
        log.record(&record(1, 3, &[2], tokens(None))).unwrap();
        let text = String::from_utf8(log.finish().unwrap()).unwrap();
        let expected = "[\n{ \"seq_id\" : 0, \"qsl_idx\" : 7, \"data\" : \"01\", \"token_data\" : \"AB\", \"token_count\" : 7 },\n{ \"seq_id\" : 1, \"qsl_idx\" : 3, \"data\" : \"02\", \"token_count\" : 7 }\n]\n";
        assert_eq!(text, expected);
    }
}

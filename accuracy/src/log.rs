//! `mlperf_log_accuracy.json`, as LoadGen writes it: `{ "seq_id" : 0, "qsl_idx" : 7, "data" : "00FF" }`, in an array.
//!
//! White space, the order of keys and the case of hexadecimal digits are free; the keys of token benchmarks are read
//! over. Everything else is refused: an unknown or missing key, an odd digit, an array that does not end.

use std::{
    fmt,
    io::{self, BufRead, BufReader},
    path::Path,
};

use proctor_vocabulary::{not_text, open_regular};
use serde::{
    Deserialize, Deserializer as _,
    de::{self, SeqAccess, Visitor},
};
use serde_json::{
    Deserializer,
    de::{IoRead, Read},
    error::Category,
};

use crate::error::AccuracyError;

/// One logged response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// Number of the sample in the order of issue.
    pub seq_id: u64,
    /// Index of the sample in the data set.
    pub qsl_idx: u64,
    /// The response, as the plugin gave it.
    pub data: Vec<u8>,
}

/// End of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogEnd {
    /// The log ends with its array.
    Whole,
    /// The log ends earlier, as in a run that was stopped.
    CutOff {
        /// Number of whole records before the cut.
        record_count: u64,
        /// The record that is cut, counted from 1, and where.
        reason: String,
    },
}

impl LogEnd {
    /// Refuses a log that is cut off.
    ///
    /// # Errors
    /// [`AccuracyError::Log`].
    pub(crate) fn whole(self, path: &Path) -> Result<(), AccuracyError> {
        match self {
            Self::Whole => Ok(()),
            Self::CutOff { reason, .. } => Err(AccuracyError::Log { path: path.to_owned(), reason }),
        }
    }
}

/// Reads the records of an accuracy log one after another, and says how it ends. In memory is one record at a time.
///
/// A log that is cut off may or may not be scored: the reference's script for GNMT reads line by line and takes what
/// there is, the others refuse it, as [`read_log`] does.
///
/// # Errors
/// [`AccuracyError::ReadLog`], or [`AccuracyError::Log`] with the number of the record, counted from 1.
pub fn scan_log(path: &Path, on_record: impl FnMut(LogRecord)) -> Result<LogEnd, AccuracyError> {
    let unreadable = |source| AccuracyError::ReadLog { path: path.to_owned(), source };
    let file = open_regular(path).map_err(unreadable)?;
    let reader = IoRead::new(BufReader::with_capacity(BUFFER_BYTES, file));
    match scan(Deserializer::new(reader), on_record) {
        Ok(()) => Ok(LogEnd::Whole),
        Err(Flaw { error, record_count, reason }) => match error.classify() {
            Category::Io => Err(unreadable(error.into())),
            Category::Eof => Ok(LogEnd::CutOff { record_count, reason }),
            Category::Syntax | Category::Data => {
                let known = open_regular(path).and_then(|log| known_reason(BufReader::new(log)));
                let reason = known.ok().flatten().map_or(reason, str::to_owned);
                Err(AccuracyError::Log { path: path.to_owned(), reason })
            }
        },
    }
}

/// Reads a whole accuracy log into memory.
///
/// # Errors
/// As [`scan_log`], and [`AccuracyError::Log`] if the log is cut off.
pub fn read_log(path: &Path) -> Result<Vec<LogRecord>, AccuracyError> {
    let mut records = Vec::new();
    scan_log(path, |record| records.push(record))?.whole(path)?;
    Ok(records)
}

/// Reads an accuracy log from its text.
///
/// # Errors
/// Returns a sentence that says which record is wrong, counted from 1, and how.
pub fn parse_log(text: &[u8]) -> Result<Vec<LogRecord>, String> {
    let mut records = Vec::new();
    let whole = scan(Deserializer::from_slice(text), |record| records.push(record));
    whole.map_err(|flaw| known_reason(text).ok().flatten().map_or(flaw.reason, str::to_owned))?;
    Ok(records)
}

const CUT_FOR_SUBMISSION: &str = "it was cut for a submission, and its middle is gone; score the original";

/// Returns the reason why a file is not a whole log, if the parser of JSON cannot name it: it is another kind of file,
/// or it has the line that MLCommons' script for submissions leaves where it has cut out the middle.
fn known_reason(mut log: impl BufRead) -> io::Result<Option<&'static str>> {
    if let Some(words) = not_text(log.fill_buf()?) {
        return Ok(Some(words));
    }
    for line in log.split(b'\n') {
        if line?.trim_ascii() == b"..." {
            return Ok(Some(CUT_FOR_SUBMISSION));
        }
    }
    Ok(None)
}

/// Number of bytes of a log read at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// Reason why a log was not read to its end.
struct Flaw {
    error: serde_json::Error,
    record_count: u64,
    reason: String,
}

/// Passes the records of a log on, up to its end or the first flaw.
fn scan<'de, R: Read<'de>>(
    mut log: Deserializer<R>,
    mut on_record: impl FnMut(LogRecord),
) -> Result<(), Flaw> {
    let (mut record_count, mut is_in_array) = (0, false);
    let visitor = LogVisitor {
        on_record: |record| {
            record_count += 1;
            on_record(record);
        },
        is_in_array: &mut is_in_array,
    };
    let whole = log.deserialize_seq(visitor).and_then(|()| {
        // The text that follows does not belong to a record.
        log.end().inspect_err(|_| is_in_array = false)
    });
    whole.map_err(|error| {
        let reason = error.to_string();
        let reason = if is_in_array { format!("record {}: {reason}", record_count + 1) } else { reason };
        Flaw { error, record_count, reason }
    })
}

/// Hands over the records of an array.
struct LogVisitor<'a, F> {
    on_record: F,
    is_in_array: &'a mut bool,
}

impl<'de, F: FnMut(LogRecord)> Visitor<'de> for LogVisitor<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of records")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut records: A) -> Result<(), A::Error> {
        *self.is_in_array = true;
        while let Some(RawRecord { seq_id, qsl_idx, data: Hex(data), .. }) = records.next_element()? {
            (self.on_record)(LogRecord { seq_id, qsl_idx, data });
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRecord {
    seq_id: u64,
    qsl_idx: u64,
    data: Hex,
    #[serde(rename = "token_data")]
    _token_data: Option<Hex>,
    #[serde(rename = "token_count")]
    _token_count: Option<u64>,
}

/// Bytes as two hexadecimal digits each.
struct Hex(Vec<u8>);

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(HexVisitor)
    }
}

/// Value of each hexadecimal digit by its character; 255 for any other character.
const DIGITS: [u8; 256] = {
    let mut digits = [u8::MAX; 256];
    let mut value = 0;
    while value < 16 {
        digits[b"0123456789abcdef"[value] as usize] = value as u8;
        digits[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    digits
};

struct HexVisitor;

impl Visitor<'_> for HexVisitor {
    type Value = Hex;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string of hexadecimal digits")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Hex, E> {
        let (pairs, odd) = text.as_bytes().as_chunks::<2>();
        let byte = |pair: &[u8; 2]| {
            let (high, low) = (DIGITS[usize::from(pair[0])], DIGITS[usize::from(pair[1])]);
            // A digit has an empty high half, and any other character has all bits set.
            (high | low < 16).then_some(high << 4 | low)
        };
        let bytes = if odd.is_empty() { pairs.iter().map(byte).collect::<Option<_>>() } else { None };
        bytes.map(Hex).ok_or_else(|| E::custom("data must be pairs of hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Writes records in LoadGen's form.
    fn written(records: &[LogRecord]) -> String {
        let lines: Vec<_> = records
            .iter()
            .map(|LogRecord { seq_id, qsl_idx, data }| {
                let hex: String = data.iter().map(|byte| format!("{byte:02X}")).collect();
                format!("{{ \"seq_id\" : {seq_id}, \"qsl_idx\" : {qsl_idx}, \"data\" : \"{hex}\" }}")
            })
            .collect();
        format!("[\n{}\n]\n", lines.join(",\n"))
    }

    #[test]
    fn reads_an_empty_log_and_token_records() {
        assert_eq!(parse_log(b"[\n]\n"), Ok(vec![]));
        let text = br#"[{"qsl_idx":3,"seq_id":1,"data":"0aFf","token_data":"","token_count":6}]"#;
        assert_eq!(parse_log(text), Ok(vec![LogRecord { seq_id: 1, qsl_idx: 3, data: vec![0x0a, 0xff] }]));
    }

    #[test]
    fn an_error_names_the_record() {
        let good = r#"{ "seq_id" : 0, "qsl_idx" : 1, "data" : "01" }"#;
        for (second, expected) in [
            (r#"{ "seq_id" : 0, "qsl_idx" : 1, "data" : "0" }"#, "record 2: data must be pairs of"),
            (r#"{ "seq_id" : 0, "qsl_idx" : 1, "data" : "0G" }"#, "record 2: data must be pairs of"),
            (r#"{ "seq_id" : 0, "qsl_idx" : -1, "data" : "" }"#, "record 2: invalid value: integer `-1`"),
            (r#"{ "seq_id" : 0, "data" : "" }"#, "record 2: missing field `qsl_idx`"),
            (r#"{ "seq_id" : 0, "qsl_index" : 1 }"#, "record 2: unknown field `qsl_index`"),
            (r#"{ "seq_id" : 0, "seq_id" : 1 }"#, "record 2: duplicate field `seq_id`"),
        ] {
            let error = parse_log(format!("[\n{good},\n{second}\n]\n").as_bytes()).unwrap_err();
            assert!(error.starts_with(expected) && error.contains("line 3"), "{error}");
        }
    }

    #[test]
    fn a_log_that_was_cut_off_is_refused() {
        let record = |seq_id| LogRecord { seq_id, qsl_idx: seq_id, data: vec![1, 2] };
        let whole = written(&[record(0), record(1)]);
        for length in 0..whole.trim_end().len() {
            assert!(parse_log(&whole.as_bytes()[..length]).is_err(), "{length}");
        }
        assert!(parse_log(format!("{whole}[").as_bytes()).unwrap_err().starts_with("trailing characters"));
        assert!(parse_log(b"{}").unwrap_err().contains("expected an array of records"));
    }

    #[test]
    fn a_log_that_was_cut_for_a_submission_is_told_from_a_damaged_one() {
        let whole = written(&[7, 8].map(|seq_id| LogRecord { seq_id, qsl_idx: seq_id, data: vec![1, 2] }));
        for end in ["\n", "\r\n"] {
            // Wherever the cut is: in a key, in a number, in the data, between two records.
            for length in 1..whole.len() {
                let (head, tail) = (&whole[..length], &whole[whole.len() - 9..]);
                let cut = format!("{head}{end}{end}...{end}{end}{tail}");
                let expected = "it was cut for a submission, and its middle is gone; score the original";
                assert_eq!(parse_log(cut.as_bytes()), Err(expected.to_owned()), "{cut}");
                let error = scanned(cut.as_bytes()).1.unwrap_err().to_string();
                assert!(error.ends_with(&format!(" is not a whole accuracy log: {expected}")), "{error}");
            }
        }
        let damaged = whole.replace("0102", "01..");
        assert!(parse_log(damaged.as_bytes()).unwrap_err().starts_with("record 1: data must be pairs"));
    }

    #[test]
    fn a_file_that_is_no_log_is_named() {
        for (file, words) in [
            (&b"[\0\n\0{\0"[..], "it is text in UTF-16: "),
            (b"\xff\xfe[\0", "it is text in UTF-16: "),
            (b"\xef\xbb\xbf[\n]\n", "it begins with a byte order mark: "),
            (b"\x1f\x8b\x08", "it is packed by gzip: "),
            (b"PK\x03\x04", "it is a zip archive: "),
            (b"<!DOCTYPE html>", "it is a web page, "),
            (b"version https://git-lfs.github.com/spec/v1\n", "it is a pointer of Git LFS "),
        ] {
            assert!(parse_log(file).unwrap_err().starts_with(words));
            let error = scanned(file).1.unwrap_err().to_string();
            assert!(error.contains(&format!("log.json is not a whole accuracy log: {words}")), "{error}");
        }
    }

    /// Scans a text by way of a file, as logs are.
    fn scanned(text: &[u8]) -> (Vec<LogRecord>, Result<LogEnd, AccuracyError>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.json");
        std::fs::write(&path, text).unwrap();
        let mut records = Vec::new();
        let end = scan_log(&path, |record| records.push(record));
        (records, end)
    }

    #[test]
    fn a_scan_hands_over_what_is_before_the_cut_and_counts_it() {
        let record = |seq_id| LogRecord { seq_id, qsl_idx: seq_id, data: vec![1, 2] };
        let all = [record(0), record(1), record(2)];
        let whole = written(&all);
        let (records, end) = scanned(whole.as_bytes());
        assert_eq!((&records[..], end.unwrap()), (&all[..], LogEnd::Whole));
        for length in 0..whole.trim_end().len() {
            let (records, end) = scanned(&whole.as_bytes()[..length]);
            let record_count = whole[..length].matches('}').count();
            assert_eq!(records, all[..record_count], "{length}");
            let LogEnd::CutOff { record_count: counted, reason } = end.unwrap() else { panic!("{length}") };
            assert_eq!(counted, record_count as u64, "{length}");
            let number = format!("record {}: EOF", record_count + 1);
            assert!(reason.starts_with(&number) || length == 0 && reason.starts_with("EOF"), "{reason}");
        }
    }

    #[test]
    fn a_scan_keeps_one_record_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.json");
        let peak = |record_count| {
            let record = |seq_id| LogRecord { seq_id, qsl_idx: seq_id, data: vec![7; 10_000] };
            std::fs::write(&path, written(&(0..record_count).map(record).collect::<Vec<_>>())).unwrap();
            let mut count = 0;
            let memory = allocation_counter::measure(|| {
                scan_log(&path, |record| count += record.data.len()).unwrap();
            });
            assert_eq!(count, 10_000 * record_count as usize);
            memory.bytes_max
        };
        let (few, many) = (peak(3), peak(300));
        assert!(few == many && many < 200_000, "{few} and {many} bytes");
    }

    #[test]
    fn a_scan_refuses_what_no_cut_explains() {
        let text = b"[{\"seq_id\":0,\"qsl_idx\":1,\"data\":\"01\"},\n{\"seq_id\":0,\"data\":\"0";
        let (records, end) = scanned(text);
        assert_eq!((records.len(), matches!(end, Ok(LogEnd::CutOff { record_count: 1, .. }))), (1, true));
        let (records, end) = scanned(&[&text[..], b"G\"}]"].concat());
        let error = end.unwrap_err().to_string();
        assert!(
            records.len() == 1 && error.contains("not a whole accuracy log: record 2: data must"),
            "{error}"
        );
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().to_owned(), folder.path().join("absent")] {
            let error = scan_log(&path, |_| ()).unwrap_err();
            assert!(matches!(error, AccuracyError::ReadLog { .. }), "{error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            records in prop::collection::vec((any::<u64>(), any::<u64>(), prop::collection::vec(any::<u8>(), 0..9)), 0..9)
        ) {
            let records: Vec<_> =
                records.into_iter().map(|(seq_id, qsl_idx, data)| LogRecord { seq_id, qsl_idx, data }).collect();
            prop_assert_eq!(parse_log(written(&records).as_bytes()), Ok(records));
        }

        #[test]
        fn any_bytes_are_read_or_refused_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            // The result does not matter, only that there is one.
            let _ = parse_log(&bytes);
        }

        #[test]
        fn any_change_of_a_byte_is_read_or_refused_without_panic(position in 0_usize..100, byte: u8) {
            let record = LogRecord { seq_id: 1, qsl_idx: 2, data: vec![3, 4, 5] };
            let mut text = written(&[record.clone(), record]).into_bytes();
            let position = position % text.len();
            text[position] = byte;
            let _ = parse_log(&text);
        }
    }
}

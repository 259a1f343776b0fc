//! `mlperf_log_accuracy.json`, as LoadGen writes it: `{ "seq_id" : 0, "qsl_idx" : 7, "data" : "00FF" }`, in an array.
//!
//! White space, the order of keys and the case of hexadecimal digits are free; the keys of token benchmarks are read
//! over. Everything else is refused: an unknown or missing key, an odd digit, an array that does not end.

use std::{fmt, fs, path::Path};

use serde::{
    Deserialize, Deserializer,
    de::{self, SeqAccess, Visitor},
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

/// Reads a whole accuracy log.
///
/// # Errors
/// [`AccuracyError::ReadLog`], or [`AccuracyError::Log`] with the number of the record, counted from 1.
pub fn read_log(path: &Path) -> Result<Vec<LogRecord>, AccuracyError> {
    let text = fs::read(path).map_err(|source| AccuracyError::ReadLog { path: path.to_owned(), source })?;
    parse_log(&text).map_err(|reason| AccuracyError::Log { path: path.to_owned(), reason })
}

/// Reads an accuracy log from its text.
///
/// # Errors
/// A sentence that says which record is wrong, counted from 1, and how.
pub fn parse_log(text: &[u8]) -> Result<Vec<LogRecord>, String> {
    serde_json::from_slice::<Log>(text).map(|log| log.0).map_err(|error| error.to_string())
}

struct Log(Vec<LogRecord>);

impl<'de> Deserialize<'de> for Log {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(LogVisitor).map(Self)
    }
}

/// Counts the records, so that an error can name the one it is about.
struct LogVisitor;

impl<'de> Visitor<'de> for LogVisitor {
    type Value = Vec<LogRecord>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut records: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let next = records.next_element::<RawRecord>();
            let next =
                next.map_err(|error| de::Error::custom(format!("record {}: {error}", list.len() + 1)))?;
            let Some(RawRecord { seq_id, qsl_idx, data: Hex(data), .. }) = next else { return Ok(list) };
            list.push(LogRecord { seq_id, qsl_idx, data });
        }
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
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(HexVisitor)
    }
}

struct HexVisitor;

impl Visitor<'_> for HexVisitor {
    type Value = Hex;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string of hexadecimal digits")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Hex, E> {
        let (pairs, odd) = text.as_bytes().as_chunks::<2>();
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let byte = |pair: &[u8; 2]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
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
        assert!(parse_log(format!("{whole}[").as_bytes()).is_err());
        assert!(parse_log(b"{}").unwrap_err().contains("expected an array of records"));
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

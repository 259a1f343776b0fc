//! Clicks of Criteo: from the text of a day, or from the label array of DLRM-v2.

use std::{
    io::{self, BufRead, BufReader, Read},
    ops::Range,
    path::{Path, PathBuf},
};

use proctor_datasets::{
    DatasetError, check_text_start,
    npy::{HEADER_BYTES_MAX, NpyHeader},
};
use proctor_vocabulary::open_regular;

use crate::{
    error::AccuracyError,
    labels::{AnswersOf, PublishedSamples, read_answers},
};

/// The text of the day, whose lines begin with the label.
const DAY: &str = "day_23";
/// Ends of the names of arrays: of the whole set, the sample and the debugging set, in the order in which they are
/// looked for.
const SUFFIXES: [&str; 3] = ["", "_sample", "_debug"];
/// Size of a label of an array.
const ELEMENT_BYTES: u64 = 4;
/// Rows are read through a buffer of this size.
const BUFFER_BYTES: usize = 1 << 20;

/// The right answers of a data set.
#[derive(Debug)]
pub(crate) struct Clicks {
    /// Rows of each sample.
    pub(crate) row_counts: Vec<usize>,
    /// Labels of all rows of the samples, one after another.
    pub(crate) labels: Vec<u8>,
}

inventory::collect!(AnswersOf<Clicks>);
inventory::submit! {
    AnswersOf::<Clicks> {
        dataset: "criteo",
        read: |samples| {
            clicks(samples, |row_count| {
                let path = samples.folder.join(DAY);
                let labels = labels_of_day(&path, row_count)?;
                Ok((path, labels))
            })
        },
    }
}
inventory::submit! {
    AnswersOf::<Clicks> {
        dataset: "criteo-multi-hot",
        read: |samples| {
            clicks(samples, |row_count| {
                let suffix = suffix_of(&samples.folder);
                let path = samples.folder.join(format!("day_23_labels{suffix}.npy"));
                let labels = labels_of_array(&path, row_count, rows_of_features(&samples.folder, suffix))?;
                Ok((path, labels))
            })
        },
    }
}

/// Reads the labels of samples of a data set.
pub(crate) fn read(dataset: &str, samples: &PublishedSamples) -> Result<Clicks, AccuracyError> {
    read_answers("clicks", dataset, samples)
}

/// Joins samples, which are named by their rows, such as `0..200`, with the labels of this many rows, and their file.
fn clicks(
    samples: &PublishedSamples,
    read: impl FnOnce(usize) -> Result<(PathBuf, Vec<u8>), AccuracyError>,
) -> Result<Clicks, AccuracyError> {
    let rows = samples.names.iter().map(|name| rows_of(name)).collect::<Result<Vec<_>, _>>()?;
    let row_count = rows.iter().map(|rows| rows.end).max().unwrap_or_default();
    let (path, all) = read(row_count)?;
    if all.len() < row_count {
        let reason = format!("it has {} rows, and the samples have {row_count}; restore the file", all.len());
        return Err(DatasetError::Malformed { path, reason }.into());
    }
    let row_counts = rows.iter().map(ExactSizeIterator::len).collect();
    let labels = rows.into_iter().flat_map(|rows| all[rows].iter().copied()).collect();
    Ok(Clicks { row_counts, labels })
}

/// Returns the rows that a name means.
fn rows_of(name: &str) -> Result<Range<usize>, AccuracyError> {
    let rows = name.split_once("..").and_then(|(start, end)| Some(start.parse().ok()?..end.parse().ok()?));
    let rows = rows.filter(|rows: &Range<usize>| rows.start <= rows.end);
    rows.ok_or_else(|| {
        AccuracyError::Mismatch(format!("sample \"{name}\" is not named by its rows, as 0..200 is"))
    })
}

/// Returns the suffix of the files of the set with the samples: the first whose dense features exist.
fn suffix_of(folder: &Path) -> &'static str {
    SUFFIXES.into_iter().find(|suffix| dense_features(folder, suffix).is_file()).unwrap_or_default()
}

fn dense_features(folder: &Path, suffix: &str) -> PathBuf {
    folder.join(format!("day_23_dense{suffix}.npy"))
}

/// Returns the number of rows of the dense features, according to their header. Opening the samples checks the file
/// itself.
fn rows_of_features(folder: &Path, suffix: &str) -> Option<u64> {
    let mut head = Vec::new();
    let file = open_regular(&dense_features(folder, suffix)).ok()?;
    file.take(HEADER_BYTES_MAX as u64).read_to_end(&mut head).ok()?;
    NpyHeader::parse(&head).ok()?.shape.first().copied()
}

fn labels_of_day(path: &Path, row_count: usize) -> Result<Vec<u8>, DatasetError> {
    let unreadable = |source| DatasetError::Read { path: path.to_owned(), source };
    let file = open_regular(path).map_err(unreadable)?;
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
    let malformed = |reason| DatasetError::Malformed { path: path.to_owned(), reason };
    check_text_start(reader.fill_buf().map_err(unreadable)?).map_err(|fault| malformed(fault.to_string()))?;
    let (mut labels, mut line) = (Vec::new(), Vec::new());
    while labels.len() < row_count {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
            break;
        }
        let label = match line.as_slice() {
            [b'0', b'\t', ..] => 0,
            [b'1', b'\t', ..] => 1,
            _ => {
                let reason = format!(
                    "line {} does not begin with the label 0 or 1; restore the file",
                    labels.len() + 1
                );
                return Err(malformed(reason));
            }
        };
        labels.push(label);
    }
    Ok(labels)
}

/// Returns the labels of the first `row_count` rows. The array fills its file, and has as many rows as the dense
/// features.
fn labels_of_array(
    path: &Path,
    row_count: usize,
    feature_row_count: Option<u64>,
) -> Result<Vec<u8>, DatasetError> {
    let unreadable = |source: io::Error| DatasetError::Read { path: path.to_owned(), source };
    let malformed = |reason: String| DatasetError::Malformed { path: path.to_owned(), reason };
    let mut head = Vec::new();
    let mut file = open_regular(path).map_err(unreadable)?;
    let size_bytes = file.metadata().map_err(unreadable)?.len();
    file.by_ref().take(HEADER_BYTES_MAX as u64).read_to_end(&mut head).map_err(unreadable)?;
    let header =
        NpyHeader::parse(&head).map_err(|fault| malformed(format!("it {fault}; restore the file")))?;
    if header.descr != "<i4" || !matches!(header.shape[..], [_] | [_, 1]) {
        return Err(malformed(format!(
            "it is {}{:?} instead of <i4[rows, 1]; restore the file",
            header.descr, header.shape
        )));
    }
    header
        .check_size(ELEMENT_BYTES, size_bytes)
        .map_err(|fault| malformed(format!("it {fault}; restore the file")))?;
    if let Some(expected) = feature_row_count.filter(|expected| *expected != header.shape[0]) {
        return Err(malformed(format!(
            "it has {} rows instead of {expected}, the rows of the dense features; restore the file",
            header.shape[0]
        )));
    }
    let elements = head.split_off(usize::try_from(header.data_offset).unwrap_or(usize::MAX).min(head.len()));
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, elements.chain(file));
    let mut labels = Vec::new();
    while labels.len() < row_count {
        let mut element = [0; ELEMENT_BYTES as usize];
        match reader.read_exact(&mut element) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(unreadable(error)),
        }
        match i32::from_le_bytes(element) {
            label @ (0 | 1) => labels.push(label as u8),
            label => {
                return Err(malformed(format!(
                    "row {} has the label {label}; restore the file",
                    labels.len()
                )));
            }
        }
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proctor_datasets::npy;

    use super::*;

    fn samples(folder: &Path, names: &[&str]) -> PublishedSamples {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        PublishedSamples { folder: folder.to_owned(), names }
    }

    fn error(dataset: &str, samples: &PublishedSamples) -> String {
        let error = read(dataset, samples).unwrap_err();
        format!("{error}: {:?}", std::error::Error::source(&error).map(ToString::to_string))
    }

    #[test]
    fn labels_are_those_of_the_rows_in_the_names() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(DAY), "1\tx\n0\tx\n0\tx\n1\tx").unwrap();
        let named = samples(folder.path(), &["0..1", "2..4"]);
        let Clicks { row_counts, labels } = read("criteo", &named).unwrap();
        assert_eq!((row_counts, labels), (vec![1, 2], vec![1, 0, 1]));

        let array = |labels: &[i32], shape: &[u64]| {
            let elements = labels.iter().flat_map(|label| label.to_le_bytes());
            let bytes: Vec<u8> = npy::header("<i4", shape).into_iter().chain(elements).collect();
            fs::write(folder.path().join("day_23_labels_sample.npy"), bytes).unwrap();
        };
        fs::write(folder.path().join("day_23_dense_sample.npy"), []).unwrap();
        // Labels of the whole set would not belong to these samples, whose rows are not there.
        fs::write(folder.path().join("day_23_labels.npy"), []).unwrap();
        array(&[0, 1, 1, 0], &[4, 1]);
        let Clicks { labels, .. } = read("criteo-multi-hot", &named).unwrap();
        assert_eq!(labels, [0, 1, 0]);
        array(&[0, 1, 2, 0], &[4]);
        assert!(error("criteo-multi-hot", &named).contains("row 2 has the label 2"));
        array(&[0, 1, 1], &[3, 1]);
        assert!(error("criteo-multi-hot", &named).contains("it has 3 rows, and the samples have 4"));
        // The header is held against the bytes and against the dense features.
        array(&[0, 1, 1, 0], &[5, 1]);
        assert!(error("criteo-multi-hot", &named).contains("has 144 bytes instead of 148: it is cut short"));
        array(&[0, 1, 1, 0, 1], &[4, 1]);
        let trailing = "day_23_labels_sample.npy: it has 4 bytes more than its header says; restore the file";
        assert!(error("criteo-multi-hot", &named).contains(trailing));
        array(&[0; 4], &[u64::MAX, 1]);
        assert!(error("criteo-multi-hot", &named).contains("says that it has more bytes than any file"));
        let dense = npy::header("<f4", &[4, 13]);
        fs::write(folder.path().join("day_23_dense_sample.npy"), dense).unwrap();
        array(&[0, 1, 1, 0], &[4, 1]);
        assert_eq!(read("criteo-multi-hot", &named).unwrap().labels, [0, 1, 0]);
        array(&[0, 1, 1, 0, 1], &[5, 1]);
        let other = "it has 5 rows instead of 4, the rows of the dense features; restore the file";
        assert!(error("criteo-multi-hot", &named).contains(other));
        array(&[0; 4], &[2, 2]);
        assert!(error("criteo-multi-hot", &named).contains("<i4[2, 2] instead of <i4[rows, 1]"));
    }

    #[test]
    fn what_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let of = |names: &[&str]| samples(folder.path(), names);
        assert!(error("criteo", &of(&["0..1"])).contains("cannot read"));
        assert!(error("criteo-multi-hot", &of(&["0..1"])).contains("cannot read"));
        fs::write(folder.path().join(DAY), "1\tx\n2\tx\n").unwrap();
        assert!(error("criteo", &of(&["0..3"])).contains("line 2 does not begin with the label 0 or 1"));
        fs::write(folder.path().join(DAY), "1\tx\n").unwrap();
        assert!(error("criteo", &of(&["0..2"])).contains("it has 1 rows, and the samples have 2"));
        fs::write(folder.path().join(DAY), b"\x1f\x8b\x08").unwrap();
        assert!(error("criteo", &of(&["0..2"])).contains("day_23: it is packed by gzip: unpack it"));
        for name in ["0", "2..1", "a..b"] {
            assert!(error("criteo", &of(&[name])).contains("is not named by its rows"), "{name}");
        }
        assert!(error("coco", &of(&[])).contains("those of criteo, criteo-multi-hot are"));
    }
}

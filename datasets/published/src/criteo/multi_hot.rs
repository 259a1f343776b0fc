//! Arrays of day 23 with several categories for each feature, for DLRMv2.
//!
//! The categories lie in a zip archive of stored arrays and are read there, by their place: nothing is unpacked.
//!
//! Source of the layout: MLPerf Inference, the benchmark dlrm_v2 of v3.1 to v5.1.

use std::{
    borrow::Cow,
    fs::File,
    io,
    ops::Range,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use proctor_datasets::{
    Dataset, DatasetError, RawSample,
    npy::{self, HEADER_BYTES_MAX, NpyHeader},
};
use proctor_recipes::Stream;
use proctor_vocabulary::{ElementType, SampleIndex, open_regular};

use crate::{
    criteo::{
        aggregation::{Aggregation, Samples},
        content::Content,
        fault::ArrayFault,
        npz::{Member, archive, members},
        rows::{CATEGORY_FIELDS, COUNT_FIELDS},
    },
    defect::{Defect, Problem},
    entry::{CalibrationLists, OpenFolder, Opened, Published},
    generate::{Generate, write_file},
};

/// Number of categories of each feature in a row.
pub const HOT_SIZES: [u32; CATEGORY_FIELDS] =
    [3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1];
/// Rows of each feature's embedding table; categories are below it.
pub const TABLE_ROWS: [u32; CATEGORY_FIELDS] = [
    40_000_000, 39_060, 17_295, 7_424, 20_265, 3, 7_122, 1_543, 63, 40_000_000, 3_067_956, 405_282, 10,
    2_209, 11_938, 155, 4, 976, 14, 40_000_000, 40_000_000, 40_000_000, 590_152, 12_973, 108, 36,
];

/// Number of rows of the published set.
const ROW_COUNT: u64 = 178_274_637;
/// Suffixes of the names of whole set, sample and debugging set, in the order in which they are looked for.
const SUFFIXES: [&str; 3] = ["", "_sample", "_debug"];
/// Size of an element of every array: f32 or i32.
const ELEMENT_BYTES: u64 = 4;
/// Number of bytes read at a time when a file is verified; a multiple of a row of any array but the widest.
const PART_BYTES: usize = 1 << 20;
/// A generated row is a click if its first dense feature is at least this: about a quarter of them.
const CLICK_FROM: f32 = 1.5;

pub(crate) const ENTRY: Published = Published {
    name: "criteo-multi-hot",
    layout,
    open: OpenFolder::Rows(|folder, rows| {
        let dataset = match Samples::of_trace(rows)? {
            Some(samples) => open(folder)?.with_samples(samples)?,
            None => open_aggregated(folder, Aggregation::of(rows))?,
        };
        let names = dataset.samples().names();
        Ok(Opened::new(dataset, names, 0))
    }),
    verify,
    checksums: None,
    note: |_| None,
    calibration: CalibrationLists::of_samples(
        "calibration/CriteoTerabyte/README.md: the first 128,000 rows of the second half of day 23, rows of the data set itself",
    ),
    generate,
};

/// The rows of the arrays, aggregated into samples.
///
/// The bytes of a sample of `n` rows are its arrays one after another, each row-major, in native byte order: dense
/// features `[n, 13]` of f32, then for each of the 26 features its categories `[n, k]` of i32, where `k` is of
/// [`HOT_SIZES`]. Labels are not opened.
#[derive(Debug)]
pub struct MultiHotSamples {
    samples: Samples,
    arrays: Vec<Array>,
}

/// Rows of 4-byte elements within a file.
#[derive(Debug)]
struct Array {
    path: PathBuf,
    file: File,
    /// Byte at which the first row begins.
    offset: u64,
    row_count: u64,
    /// Number of elements of a row.
    width: u64,
}

impl Array {
    fn row_bytes(&self) -> u64 {
        self.width * ELEMENT_BYTES
    }
}

/// Opens the arrays with the samples of the rules; see [`open_aggregated`].
///
/// # Errors
/// As [`open_aggregated`].
pub fn open(folder: &Path) -> Result<MultiHotSamples, DatasetError> {
    open_aggregated(folder, Aggregation::Quantiles)
}

/// Opens the arrays: their headers are read, and the directory of the archive. Of the whole set the first half of the
/// rows is taken, the larger one; of `_sample` and `_debug` all.
///
/// # Errors
/// [`DatasetError::Read`]; [`DatasetError::Malformed`] if an array is not of the type, the width and the number of rows
/// that it must have.
pub fn open_aggregated(folder: &Path, aggregation: Aggregation) -> Result<MultiHotSamples, DatasetError> {
    let suffix = suffix_of(folder);
    let arrays = arrays_of(folder, suffix)?;
    let row_count = arrays[0].row_count;
    let row_count = if suffix.is_empty() { row_count.div_ceil(2) } else { row_count };
    Ok(MultiHotSamples { samples: aggregation.samples(row_count), arrays })
}

/// Returns the text on the files, and on how to get them.
#[must_use]
pub fn layout() -> &'static str {
    "day_23_dense.npy                  f32 [178274637, 13], the logarithms taken already
day_23_labels.npy                 i32 [178274637, 1]
day_23_sparse_multi_hot.npz       0.npy to 25.npy, i32 [178274637, k], stored without compression

The arrays are made from day 23 of Criteo's \"Download Terabyte Click Logs\" by the scripts of MLPerf's reference
implementation dlrm_v2, and MLCommons offers them to its members as preprocessed data. The first half of the rows are the
samples. Smaller sets have _sample or _debug at the end of the three names, and are used whole.
"
}

/// Reads every element: dense features are finite, categories lie in their tables, labels are 0 or 1, and the members
/// of the archive have their checksums. `progress` gets the bytes done and the total.
///
/// # Errors
/// If the note of a generated set cannot be read. Everything else is a defect.
pub fn verify(folder: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Defect>, DatasetError> {
    let suffix = suffix_of(folder);
    let expected = match Generate::of_folder(folder)? {
        Some(request) => Some(Aggregation::Quantiles.rows_of(request.sample_count)),
        None => suffix.is_empty().then_some(ROW_COUNT),
    };
    let mut defects = Vec::new();
    let labels_path = file_of(folder, "day_23_labels", suffix, "npy");
    let labels = plain_array(&labels_path, "<i4", 1).map_err(|problem| Defect { path: labels_path, problem });
    let arrays = match arrays_of(folder, suffix) {
        Ok(arrays) => arrays,
        Err(defect) => {
            defects.push(defect);
            defects.extend(labels.err());
            return Ok(defects);
        }
    };
    let got = arrays[0].row_count;
    if let Some(expected) = expected.filter(|expected| *expected != got) {
        let problem = Problem::Count { things: "rows", expected, got };
        defects.push(Defect { path: arrays[0].path.clone(), problem });
    }
    let mut all: Vec<(&Array, Content)> = arrays.iter().zip(contents()).collect();
    match &labels {
        Err(defect) => defects.push(defect.clone()),
        Ok(labels) if labels.row_count != got => {
            let problem = Problem::Count { things: "rows", expected: got, got: labels.row_count };
            defects.push(Defect { path: labels.path.clone(), problem });
        }
        Ok(labels) => all.push((labels, Content::Click)),
    }
    let total: u64 = all.iter().map(|(array, _)| array.row_count * array.row_bytes()).sum();
    let mut done = 0;
    for (array, content) in all {
        let outcome = check(array, content, &mut |bytes| {
            done += bytes;
            progress(done, total);
        });
        defects.extend(outcome.err().map(|problem| Defect { path: array.path.clone(), problem }));
    }
    defects.extend(wrong_checksums(&file_of(folder, "day_23_sparse_multi_hot", suffix, "npz")));
    Ok(defects)
}

/// Makes a small set in the layout of the published one, with the names of a `_sample`. Equal requests make equal
/// bytes.
///
/// The known answer: a row is a click if and only if its first dense feature is 1.5 or more; the features are drawn
/// uniformly from 0 to 2. So the first dense feature as a score has an AUC of 1, and its negative one of 0.
///
/// # Errors
/// If the folder is not empty, or cannot be written.
pub fn generate(folder: &Path, request: &Generate) -> Result<(), DatasetError> {
    request.begin(folder)?;
    let suffix = SUFFIXES[1];
    let row_count = Aggregation::Quantiles.rows_of(request.sample_count);
    let stream = Stream::new(request.seed, "criteo-multi-hot");
    let dense = |row: u64, column: u64| stream.of_sample(row).uniform(column, 1.0) + 1.0;
    let mut file = npy::header("<f4", &[row_count, COUNT_FIELDS as u64]);
    let mut labels = npy::header("<i4", &[row_count, 1]);
    for row in 0..row_count {
        for column in 0..COUNT_FIELDS as u64 {
            file.extend(dense(row, column).to_le_bytes());
        }
        labels.extend(i32::from(dense(row, 0) >= CLICK_FROM).to_le_bytes());
    }
    write_file(&file_of(folder, "day_23_dense", suffix, "npy"), &file)?;
    write_file(&file_of(folder, "day_23_labels", suffix, "npy"), &labels)?;
    let features = HOT_SIZES.into_iter().zip(TABLE_ROWS).zip(0_u64..);
    let members: Vec<_> = features
        .map(|((width, table_rows), feature)| {
            let stream = stream.of_sample(u64::MAX - feature);
            let mut member = npy::header("<i4", &[row_count, width.into()]);
            for position in 0..row_count * u64::from(width) {
                member.extend(stream.below(position, table_rows).to_le_bytes());
            }
            (format!("{feature}.npy"), member)
        })
        .collect();
    let path = file_of(folder, "day_23_sparse_multi_hot", suffix, "npz");
    match archive(&members) {
        Ok(bytes) => write_file(&path, &bytes),
        Err(source) => Err(DatasetError::Write { path, source }),
    }
}

impl MultiHotSamples {
    /// Returns the rows of each sample.
    #[must_use]
    pub fn samples(&self) -> &Samples {
        &self.samples
    }

    /// Groups the same rows into other samples, such as the samples of a trace file.
    ///
    /// # Errors
    /// [`DatasetError::Malformed`] if the samples have more rows than there are.
    pub fn with_samples(self, samples: Samples) -> Result<Self, DatasetError> {
        samples.fit(self.samples.row_count(), &self.arrays[0].path)?;
        Ok(Self { samples, ..self })
    }
}

impl Dataset for MultiHotSamples {
    fn name(&self) -> &str {
        "criteo-multi-hot"
    }

    fn sample_count(&self) -> u64 {
        self.samples.count()
    }

    /// Returns the rows of a sample, each of whose values is examined: a plugin looks them up in its tables.
    fn read(&self, index: SampleIndex) -> Result<RawSample<'_>, DatasetError> {
        let Range { start, end } = self.samples.rows(index.0).ok_or_else(|| self.no_such_sample(index))?;
        let size = self.arrays.iter().map(|array| (end - start) * array.row_bytes()).sum::<u64>();
        let mut bytes = vec![0; size as usize];
        let mut rest = &mut bytes[..];
        for (array, content) in self.arrays.iter().zip(contents()) {
            let (part, behind) = rest.split_at_mut(((end - start) * array.row_bytes()) as usize);
            array
                .file
                .read_exact_at(part, array.offset + start * array.row_bytes())
                .map_err(|source| DatasetError::Read { path: array.path.clone(), source })?;
            content.check(part, start * array.width, array.width).map_err(|fault| {
                DatasetError::Malformed { path: array.path.clone(), reason: fault.to_string() }
            })?;
            rest = behind;
        }
        to_native(&mut bytes);
        Ok(RawSample {
            element_type: ElementType::U8,
            shape: Cow::Owned(vec![bytes.len()]),
            bytes: Cow::Owned(bytes),
        })
    }
}

/// Converts from the byte order of the files.
fn to_native(bytes: &mut [u8]) {
    if cfg!(target_endian = "big") {
        bytes.as_chunks_mut::<4>().0.iter_mut().for_each(|element| element.reverse());
    }
}

/// Returns the first suffix that a file of dense features has; the suffix of the whole set if there is no such file.
fn suffix_of(folder: &Path) -> &'static str {
    let is_there = |suffix: &&&str| file_of(folder, "day_23_dense", suffix, "npy").is_file();
    SUFFIXES.iter().find(is_there).copied().unwrap_or_default()
}

fn file_of(folder: &Path, stem: &str, suffix: &str, extension: &str) -> PathBuf {
    folder.join(format!("{stem}{suffix}.{extension}"))
}

/// Returns the dense features and the categories, all of the same number of rows.
fn arrays_of(folder: &Path, suffix: &str) -> Result<Vec<Array>, Defect> {
    let path = file_of(folder, "day_23_dense", suffix, "npy");
    let dense = plain_array(&path, "<f4", COUNT_FIELDS as u64).map_err(|problem| Defect { path, problem })?;
    let path = file_of(folder, "day_23_sparse_multi_hot", suffix, "npz");
    let features = features(&path, dense.row_count).map_err(|problem| Defect { path, problem })?;
    Ok(std::iter::once(dense).chain(features).collect())
}

fn plain_array(path: &Path, descr: &str, width: u64) -> Result<Array, Problem> {
    let unreadable = |error: io::Error| Problem::of_reading(path, &error);
    let file = open_regular(path).map_err(unreadable)?;
    let size_bytes = file.metadata().map_err(unreadable)?.len();
    let whole = Member { name: String::new(), offset: 0, size_bytes, crc32: 0 };
    array_within(path, file, &whole, descr, width)
}

fn features(path: &Path, row_count: u64) -> Result<Vec<Array>, Problem> {
    let unreadable = |error: io::Error| Problem::of_reading(path, &error);
    let file = open_regular(path).map_err(unreadable)?;
    let members = members(path, &file)?;
    let mut arrays = Vec::new();
    for (feature, width) in HOT_SIZES.into_iter().enumerate() {
        let name = format!("{feature}.npy");
        let member = members.iter().find(|member| member.name == name);
        let member = member.ok_or_else(|| Problem::Array(ArrayFault::NoMember { name: name.clone() }))?;
        let file = file.try_clone().map_err(unreadable)?;
        let array = array_within(path, file, member, "<i4", width.into())?;
        if array.row_count != row_count {
            let fault = ArrayFault::Rows { member: name, expected: row_count, got: array.row_count };
            return Err(Problem::Array(fault));
        }
        arrays.push(array);
    }
    Ok(arrays)
}

/// Returns the array that a file or a member holds, which must fill it.
fn array_within(path: &Path, file: File, place: &Member, descr: &str, width: u64) -> Result<Array, Problem> {
    let mut head = vec![0; place.size_bytes.min(HEADER_BYTES_MAX as u64) as usize];
    file.read_exact_at(&mut head, place.offset).map_err(|error| Problem::of_reading(path, &error))?;
    let member = place.name.clone();
    let fault = |fault| Problem::Array(fault);
    let header = NpyHeader::parse(&head)
        .map_err(|source| fault(ArrayFault::Npy { member: member.clone(), source }))?;
    if header.descr != descr || header.shape.len() != 2 || header.shape[1] != width {
        let expected = format!("{descr} [rows, {width}]");
        let got = format!("{} {:?}", header.descr, header.shape);
        return Err(fault(ArrayFault::Kind { member, expected, got }));
    }
    header
        .check_size(ELEMENT_BYTES, place.size_bytes)
        .map_err(|source| fault(ArrayFault::Size { member, source }))?;
    let offset = place.offset + header.data_offset;
    Ok(Array { path: path.to_owned(), file, offset, row_count: header.shape[0], width })
}

/// Returns the values of the arrays of categories and of the dense features before them.
fn contents() -> impl Iterator<Item = Content> {
    let features = TABLE_ROWS.into_iter().enumerate();
    let features = features.map(|(number, table_rows)| Content::Feature { number, table_rows });
    std::iter::once(Content::Dense).chain(features)
}

/// Finds the first bad value of an array, and reports to `progress` how many bytes it has read.
fn check(array: &Array, content: Content, progress: &mut dyn FnMut(u64)) -> Result<(), Problem> {
    let size_bytes = array.row_count * array.row_bytes();
    let mut part = vec![0; PART_BYTES];
    let mut at = 0;
    while at < size_bytes {
        let length = (size_bytes - at).min(PART_BYTES as u64) as usize;
        let part = &mut part[..length];
        let read = array.file.read_exact_at(part, array.offset + at);
        read.map_err(|error| Problem::of_reading(&array.path, &error))?;
        content.check(part, at / ELEMENT_BYTES, array.width)?;
        at += length as u64;
        progress(length as u64);
    }
    Ok(())
}

/// Returns the members of the archive whose checksums are others.
fn wrong_checksums(path: &Path) -> Vec<Defect> {
    let defect = |problem| Defect { path: path.to_owned(), problem };
    let unreadable = |error: io::Error| vec![defect(Problem::of_reading(path, &error))];
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(error) => return unreadable(error),
    };
    let members = match members(path, &file) {
        Ok(members) => members,
        Err(problem) => return vec![defect(problem)],
    };
    let mut defects = Vec::new();
    let mut part = vec![0; PART_BYTES];
    for member in members {
        let mut crc = flate2::Crc::new();
        let mut at = 0;
        while at < member.size_bytes {
            let length = (member.size_bytes - at).min(PART_BYTES as u64) as usize;
            if let Err(error) = file.read_exact_at(&mut part[..length], member.offset + at) {
                defects.extend(unreadable(error));
                return defects;
            }
            crc.update(&part[..length]);
            at += length as u64;
        }
        if crc.sum() != member.crc32 {
            defects.push(defect(Problem::Array(ArrayFault::Checksum { member: member.name })));
        }
    }
    defects
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::generate::fixture::fixture;

    fixture!(5);

    fn problems(folder: &Path) -> Vec<Problem> {
        verify(folder, &mut |_, _| ()).unwrap().into_iter().map(|defect| defect.problem).collect()
    }

    fn elements(bytes: &[u8]) -> Vec<u32> {
        bytes.as_chunks::<4>().0.iter().map(|element| u32::from_ne_bytes(*element)).collect()
    }

    #[test]
    fn samples_are_rows_of_all_arrays() {
        let folder = generated(3);
        assert_eq!(problems(folder.path()), []);
        let set = open(folder.path()).unwrap();
        assert_eq!((set.sample_count(), set.samples().row_count()), (3, 600));
        let first = elements(&set.read(SampleIndex(0)).unwrap().bytes);
        let width: u32 = HOT_SIZES.iter().sum::<u32>() + 13;
        assert_eq!((width, first.len()), (227, 227 * 200));
        // One row of each: the same values, array by array.
        let single = open_aggregated(folder.path(), Aggregation::Fixed(1)).unwrap();
        let row = elements(&single.read(SampleIndex(7)).unwrap().bytes);
        assert_eq!(row.len(), 227);
        let (mut from, mut to) = (0, 0);
        for width in std::iter::once(13).chain(HOT_SIZES.map(|width| width as usize)) {
            assert_eq!(row[to..to + width], first[from + 7 * width..from + 8 * width]);
            (from, to) = (from + 200 * width, to + width);
        }
        let labels = fs::read(folder.path().join("day_23_labels_sample.npy")).unwrap();
        let clicks = elements(&labels[labels.len() - 4 * 600..]);
        let is_click = |row: usize| f32::from_bits(first[row * 13]) >= 1.5;
        assert!((0..200).all(|row| clicks[row] == u32::from(is_click(row))));
        assert!(clicks.contains(&1) && clicks.contains(&0));
    }

    #[test]
    fn of_the_whole_set_the_first_half_is_taken() {
        let folder = generated(3);
        fs::remove_file(folder.path().join(Generate::NOTE)).unwrap();
        for (stem, extension) in [("dense", "npy"), ("labels", "npy"), ("sparse_multi_hot", "npz")] {
            let file = |suffix| file_of(folder.path(), &format!("day_23_{stem}"), suffix, extension);
            fs::rename(file("_sample"), file("")).unwrap();
        }
        assert_eq!(open(folder.path()).unwrap().samples().row_count(), 300);
        assert_eq!(
            problems(folder.path()),
            [Problem::Count { things: "rows", expected: ROW_COUNT, got: 600 }]
        );
    }

    #[test]
    fn equal_requests_make_equal_bytes() {
        let bytes = |seed| {
            let folder = tempfile::tempdir().unwrap();
            generate(folder.path(), &Generate { seed, sample_count: 1 }).unwrap();
            fs::read(folder.path().join("day_23_sparse_multi_hot_sample.npz")).unwrap()
        };
        assert!(bytes(1) == bytes(1) && bytes(1) != bytes(2));
    }

    #[test]
    fn values_that_are_none_are_named() {
        let folder = generated(1);
        let change = |name: &str, from_end: usize, bytes: [u8; 4]| {
            let path = folder.path().join(name);
            let mut file = fs::read(&path).unwrap();
            let at = file.len() - from_end;
            let before = file.clone();
            file[at..at + 4].copy_from_slice(&bytes);
            fs::write(&path, file).unwrap();
            let found = problems(folder.path());
            let sample = open(folder.path()).unwrap().read(SampleIndex(0)).map(drop);
            fs::write(&path, before).unwrap();
            // Labels are no part of a sample.
            let refusal = sample.map_err(|error| error.to_string()).err();
            let expected = format!("{name}: {}", found[0]);
            assert_eq!(refusal.is_some_and(|error| error.ends_with(&expected)), !name.contains("labels"));
            found
        };
        let value = |what: &str, row, column, value| {
            Problem::Array(ArrayFault::Value { what: what.to_owned(), row, column, value })
        };
        let found = change("day_23_dense_sample.npy", 4, f32::INFINITY.to_le_bytes());
        assert_eq!(found, [value("finite dense feature", 199, 12, f64::INFINITY)]);
        let found = change("day_23_labels_sample.npy", 8, 2_i32.to_le_bytes());
        assert_eq!(found, [value("label 0 or 1", 198, 0, 2.0)]);
        let npz = fs::read(folder.path().join("day_23_sparse_multi_hot_sample.npz")).unwrap();
        let directory = npz.windows(4).position(|window| window == 0x0201_4b50_u32.to_le_bytes()).unwrap();
        let found =
            change("day_23_sparse_multi_hot_sample.npz", npz.len() - directory + 4, (-1_i32).to_le_bytes());
        let category = value("category of feature 25, from 0 to 35", 199, 0, -1.0);
        assert_eq!(found, [category, Problem::Array(ArrayFault::Checksum { member: "25.npy".to_owned() })]);
    }

    #[test]
    fn arrays_of_another_kind_are_refused() {
        let folder = generated(1);
        let dense = folder.path().join("day_23_dense_sample.npy");
        let whole = fs::read(&dense).unwrap();
        let refusal = |bytes: &[u8]| {
            fs::write(&dense, bytes).unwrap();
            let error = open(folder.path()).unwrap_err();
            let found = problems(folder.path());
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(error.to_string().contains(&found[0].to_string()), "{error} and {}", found[0]);
            found[0].to_string()
        };
        assert!(refusal(&whole[..whole.len() - 1]).contains("has 10527 bytes instead of 10528"));
        let longer = [&whole[..], &[0; 20]].concat();
        assert!(refusal(&longer).contains("it has 20 bytes more than its header says: make it again"));
        assert!(refusal(b"PK").contains("does not begin as a .npy file"));
        let other = npy::header("<f8", &[200, 13]);
        assert!(refusal(&other).contains("is <f8 [200, 13] instead of <f4 [rows, 13]"));
        let mut fewer = npy::header("<f4", &[199, 13]);
        fewer.resize(fewer.len() + 199 * 52, 0);
        assert!(refusal(&fewer).contains("member 0.npy has 200 rows instead of 199"));
        fs::remove_file(&dense).unwrap();
        assert!(matches!(open(folder.path()), Err(DatasetError::Read { .. })));
        assert_eq!(problems(folder.path())[0], Problem::Missing);
    }
}

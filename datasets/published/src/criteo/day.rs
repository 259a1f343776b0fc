//! The text file of a day, for DLRM: clicks of Criteo's terabyte. The first half of day 23 is the test set.
//!
//! Source of the layout: MLPerf Inference, the benchmark dlrm of v0.7 to v3.0.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use proctor_datasets::{Dataset, DatasetError, RawSample, check_text_start};
use proctor_recipes::Stream;
use proctor_vocabulary::{ElementType, SampleIndex, open_regular};

use crate::{
    criteo::{
        aggregation::{Aggregation, Samples},
        rows::{CATEGORY_FIELDS, COUNT_FIELDS, FIELDS, parse},
    },
    defect::{Defect, Problem},
    entry::{CalibrationLists, OpenFolder, Opened, Published},
    generate::{Generate, write_file},
};

const FILE: &str = "day_23";
/// Number of rows of the published file.
const ROW_COUNT: u64 = 178_274_637;
/// Number of rows between two rows whose offset in the file is kept.
const ROWS_BETWEEN_MARKS: u64 = 1024;
/// Number of faulty lines after which reading stops.
const FAULTS_MAX: usize = 100;
/// Rows are read through a buffer of this size.
const BUFFER_BYTES: usize = 1 << 20;
/// Upper bound of the counts in a generated row, exclusive.
const GENERATED_COUNTS: u32 = 100;
/// A generated row is a click if its first count is at least this.
const CLICK_FROM: u32 = 75;

pub(crate) const ENTRY: Published = Published {
    name: "criteo",
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

/// A day's rows, aggregated into samples.
///
/// A sample is `[rows, 39]` of i32: 13 counts, then 26 categories, each the 32 bits of its hash. The labels are
/// skipped.
#[derive(Debug)]
pub struct DaySamples {
    path: PathBuf,
    samples: Samples,
    /// Offsets of rows 0, 1024, 2048 .., in bytes.
    marks: Vec<u64>,
}

/// Opens the file with the samples of the rules; see [`open_aggregated`].
///
/// # Errors
/// As [`open_aggregated`].
pub fn open(folder: &Path) -> Result<DaySamples, DatasetError> {
    open_aggregated(folder, Aggregation::Quantiles)
}

/// Opens the file and reads it once from end to end, since text does not say where its rows begin. The samples are the
/// first half of the rows, rounded up. The last row shows whether the file is cut off.
///
/// # Errors
/// [`DatasetError::Read`], or [`DatasetError::Malformed`] if the file is packed, has no row, or its last is not whole.
pub fn open_aggregated(folder: &Path, aggregation: Aggregation) -> Result<DaySamples, DatasetError> {
    let path = folder.join(FILE);
    let (mut marks, mut last) = (Vec::new(), 0);
    let row_count = for_each_line(&path, open_rows(&path)?, |row, at, _| {
        if row % ROWS_BETWEEN_MARKS == 0 {
            marks.push(at);
        }
        last = at;
        Ok(())
    })?;
    let malformed = |reason| DatasetError::Malformed { path: path.clone(), reason };
    if row_count == 0 {
        return Err(malformed("it has no row; unpack it again".to_owned()));
    }
    let line = rest_from(&path, last).map_err(|source| DatasetError::Read { path: path.clone(), source })?;
    parse(trimmed(&line), &mut Vec::new()).map_err(|fault| {
        malformed(format!("line {row_count}, its last, {fault}; if the file is cut short, unpack it again"))
    })?;
    Ok(DaySamples { path, samples: aggregation.samples(row_count.div_ceil(2)), marks })
}

/// Returns the text on the file, and on how to get it.
#[must_use]
pub fn layout() -> &'static str {
    "day_23     178,274,637 lines: label, 13 counts, 26 categories in hexadecimal digits, separated by tabs

The file is the last of the 24 days of Criteo's data set \"Download Terabyte Click Logs\", which the Criteo AI Lab offers
as day_23.gz; unpack it. The first half of its lines are the samples, in their order.
"
}

/// Reads every line; gives up after 100 faulty ones. `progress` gets the bytes done and the total.
///
/// # Errors
/// If the note of a generated set cannot be read. Everything else is a defect.
pub fn verify(folder: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Defect>, DatasetError> {
    let expected = match Generate::of_folder(folder)? {
        Some(request) => 2 * Aggregation::Quantiles.rows_of(request.sample_count),
        None => ROW_COUNT,
    };
    let path = folder.join(FILE);
    let defect = |problem| Defect { path: path.clone(), problem };
    let size_bytes = match std::fs::metadata(&path) {
        Ok(metadata) => metadata.len(),
        Err(error) => return Ok(vec![defect(Problem::of_reading(&path, &error))]),
    };
    let reader = match open_rows(&path) {
        Ok(reader) => reader,
        Err(defect) => return Ok(vec![defect]),
    };
    let mut defects = Vec::new();
    let mut numbers = Vec::with_capacity(FIELDS);
    let mut row_count = 0;
    let outcome = for_each_line(&path, reader, |row, at, line| {
        row_count = row + 1;
        if row % ROWS_BETWEEN_MARKS == 0 {
            progress(at, size_bytes);
        }
        numbers.clear();
        if let Err(fault) = parse(line, &mut numbers) {
            defects.push(defect(Problem::Line { number: row as usize + 1, fault }));
        }
        if defects.len() < FAULTS_MAX { Ok(()) } else { Err(()) }
    });
    progress(size_bytes, size_bytes);
    match outcome {
        Ok(got) if got != expected => defects.push(defect(Problem::Count { things: "lines", expected, got })),
        Ok(_) => {}
        Err(DatasetError::Read { source, .. }) => defects.push(defect(Problem::Unreadable(source.kind()))),
        Err(_) => defects.push(defect(Problem::GivenUp { fault_count: FAULTS_MAX, line: row_count })),
    }
    Ok(defects)
}

/// Makes a small file in the layout of the published one, with twice the rows of the samples. Equal requests make equal
/// bytes.
///
/// The known answer: a row is a click if and only if its first count is 75 or more, of counts from 0 to 99, drawn
/// uniformly. So the first count as a score has an AUC of 1, and its negative one of 0.
///
/// # Errors
/// If the folder is not empty, or cannot be written.
pub fn generate(folder: &Path, request: &Generate) -> Result<(), DatasetError> {
    request.begin(folder)?;
    let stream = Stream::new(request.seed, "criteo-day");
    let row_count = 2 * Aggregation::Quantiles.rows_of(request.sample_count);
    let mut text = String::new();
    for row in 0..row_count {
        push_row(&mut text, stream.of_sample(row));
    }
    write_file(&folder.join(FILE), text.as_bytes())
}

fn push_row(text: &mut String, stream: Stream) {
    use std::fmt::Write;
    let first = stream.below(0, GENERATED_COUNTS);
    write!(text, "{}\t{first}", u8::from(first >= CLICK_FROM)).expect("writing to a string cannot fail");
    for field in 1..COUNT_FIELDS as u64 {
        // An eighth of the fields is empty, some counts are negative, as in the published file.
        match stream.below(100 + field, 8) {
            0 => text.push('\t'),
            1 => text.push_str("\t-1"),
            _ => write!(text, "\t{}", stream.below(field, 1000)).expect("writing to a string cannot fail"),
        }
    }
    for field in 0..CATEGORY_FIELDS as u64 {
        match stream.below(300 + field, 8) {
            0 => text.push('\t'),
            _ => write!(text, "\t{:08x}", stream.bits(200 + field) as u32)
                .expect("writing to a string cannot fail"),
        }
    }
    text.push('\n');
}

impl DaySamples {
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
        samples.fit(self.samples.row_count(), &self.path)?;
        Ok(Self { samples, ..self })
    }
}

impl Dataset for DaySamples {
    fn name(&self) -> &str {
        "criteo-day-23"
    }

    fn sample_count(&self) -> u64 {
        self.samples.count()
    }

    fn read(&self, index: SampleIndex) -> Result<RawSample<'_>, DatasetError> {
        let rows = self.samples.rows(index.0).ok_or_else(|| self.no_such_sample(index))?;
        let fault = |source| DatasetError::Read { path: self.path.clone(), source };
        let mark = rows.start / ROWS_BETWEEN_MARKS;
        let mut file = open_regular(&self.path).map_err(fault)?;
        file.seek(SeekFrom::Start(self.marks[mark as usize])).map_err(fault)?;
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        let mut numbers = Vec::with_capacity((rows.end - rows.start) as usize * FIELDS);
        for row in mark * ROWS_BETWEEN_MARKS..rows.end {
            line.clear();
            reader.read_until(b'\n', &mut line).map_err(fault)?;
            if row < rows.start {
                continue;
            }
            parse(trimmed(&line), &mut numbers).map_err(|fault| DatasetError::Malformed {
                path: self.path.clone(),
                reason: format!("line {} {fault}; correct the line", row + 1),
            })?;
        }
        let shape = vec![numbers.len() / FIELDS, FIELDS];
        let bytes = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        Ok(RawSample { element_type: ElementType::I32, shape: Cow::Owned(shape), bytes: Cow::Owned(bytes) })
    }
}

/// Returns the line without its end.
fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

/// Opens the file, and checks its beginning.
fn open_rows(path: &Path) -> Result<BufReader<File>, Defect> {
    let defect = |problem| Defect { path: path.to_owned(), problem };
    let unreadable = |error: io::Error| defect(Problem::of_reading(path, &error));
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, open_regular(path).map_err(unreadable)?);
    check_text_start(reader.fill_buf().map_err(unreadable)?).map_err(|fault| defect(fault.into()))?;
    Ok(reader)
}

/// Returns the end of the file, from this byte on.
fn rest_from(path: &Path, at: u64) -> io::Result<Vec<u8>> {
    let mut file = open_regular(path)?;
    file.seek(SeekFrom::Start(at))?;
    let mut rest = Vec::new();
    file.read_to_end(&mut rest)?;
    Ok(rest)
}

/// Calls `visit` for each line with its number from 0, the byte at which it begins, and its text; ends early where that
/// returns `Err`, which is an error then. Returns the number of lines.
fn for_each_line(
    path: &Path,
    mut reader: BufReader<File>,
    mut visit: impl FnMut(u64, u64, &[u8]) -> Result<(), ()>,
) -> Result<u64, DatasetError> {
    let fault = |source| DatasetError::Read { path: path.to_owned(), source };
    let mut line = Vec::new();
    let (mut row, mut at) = (0, 0);
    loop {
        line.clear();
        let length = reader.read_until(b'\n', &mut line).map_err(fault)?;
        if length == 0 {
            return Ok(row);
        }
        if visit(row, at, trimmed(&line)).is_err() {
            return Err(DatasetError::Malformed {
                path: path.to_owned(),
                reason: format!("given up at line {}", row + 1),
            });
        }
        row += 1;
        at += length as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proctor_datasets::TextFault;

    use super::*;
    use crate::{defect::LineFault, generate::fixture::fixture};

    fixture!(3);

    fn verified(folder: &Path) -> Vec<Problem> {
        verify(folder, &mut |_, _| ()).unwrap().into_iter().map(|defect| defect.problem).collect()
    }

    #[test]
    fn samples_are_runs_of_the_rows_of_the_first_half() {
        let folder = generated(9);
        assert_eq!(verified(folder.path()), []);
        let day = open(folder.path()).unwrap();
        assert_eq!((day.sample_count(), day.samples().row_count()), (9, 2400));
        let text = fs::read_to_string(folder.path().join(FILE)).unwrap();
        let lines: Vec<_> = text.lines().collect();
        for index in 0..9 {
            let rows = day.samples().rows(index).unwrap();
            let sample = day.read(SampleIndex(index)).unwrap();
            assert_eq!(*sample.shape, [(rows.end - rows.start) as usize, 39]);
            let numbers: Vec<_> =
                sample.bytes.as_chunks::<4>().0.iter().map(|bytes| i32::from_ne_bytes(*bytes)).collect();
            for (row, numbers) in rows.zip(numbers.chunks(39)) {
                let fields: Vec<_> = lines[row as usize].split('\t').collect();
                assert_eq!(fields[0] == "1", numbers[0] >= 75);
                let counts = fields[1..14].iter().map(|text| text.parse().unwrap_or(0));
                assert!(counts.eq(numbers[..13].iter().copied()));
                let hashes =
                    fields[14..].iter().map(|text| u32::from_str_radix(text, 16).unwrap_or(0).cast_signed());
                assert!(hashes.eq(numbers[13..].iter().copied()));
            }
        }
        assert!(matches!(day.read(SampleIndex(9)), Err(DatasetError::NoSuchSample { .. })));
        let traced = Samples::from_trace("0, 7, 7\n7, 2400, 2393\n").unwrap();
        let traced = open(folder.path()).unwrap().with_samples(traced).unwrap();
        assert_eq!((traced.sample_count(), traced.read(SampleIndex(0)).unwrap().shape[0]), (2, 7));
        let error =
            traced.with_samples(Samples::from_trace("0, 2401, 2401\n").unwrap()).unwrap_err().to_string();
        assert!(error.contains("its samples are 2400 rows, but the trace has 2401"), "{error}");
        let fixed = open_aggregated(folder.path(), Aggregation::Fixed(1000)).unwrap();
        assert_eq!((fixed.sample_count(), fixed.read(SampleIndex(2)).unwrap().shape[0]), (3, 400));
    }

    #[test]
    fn equal_requests_make_equal_bytes() {
        let bytes = |seed| {
            let folder = tempfile::tempdir().unwrap();
            generate(folder.path(), &Generate { seed, sample_count: 1 }).unwrap();
            fs::read(folder.path().join(FILE)).unwrap()
        };
        assert!(bytes(1) == bytes(1) && bytes(1) != bytes(2));
    }

    #[test]
    fn faulty_lines_are_defects_and_an_error_of_their_sample() {
        let folder = generated(2);
        let path = folder.path().join(FILE);
        let text = fs::read_to_string(&path).unwrap();
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines[250] = "1\t2\t3".to_owned();
        lines.pop();
        fs::write(&path, lines.join("\n")).unwrap();
        let fault = LineFault::Fields { expected: 40, got: 3 };
        let count = Problem::Count { things: "lines", expected: 800, got: 799 };
        assert_eq!(verified(folder.path()), [Problem::Line { number: 251, fault }, count]);
        let day = open(folder.path()).unwrap();
        assert_eq!(day.samples().row_count(), 400);
        assert!(day.read(SampleIndex(0)).is_ok());
        let error = day.read(SampleIndex(1)).unwrap_err().to_string();
        assert!(error.ends_with("day_23: line 251 has 3 fields instead of 40; correct the line"), "{error}");

        fs::write(&path, "x\n".repeat(300)).unwrap();
        let problems = verified(folder.path());
        assert_eq!(problems.len(), FAULTS_MAX + 1);
        assert_eq!(problems[FAULTS_MAX], Problem::GivenUp { fault_count: 100, line: 100 });
        fs::write(&path, "").unwrap();
        assert!(matches!(open(folder.path()), Err(DatasetError::Malformed { .. })));
        fs::remove_file(&path).unwrap();
        assert_eq!(verified(folder.path()), [Problem::Missing]);
        assert!(matches!(open(folder.path()), Err(DatasetError::Read { .. })));
    }

    #[test]
    fn a_file_that_is_cut_or_packed_is_refused_when_it_is_opened() {
        let folder = generated(2);
        let path = folder.path().join(FILE);
        let whole = fs::read(&path).unwrap();
        let refusal = || open(folder.path()).unwrap_err().to_string();
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        open(folder.path()).unwrap();
        let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        fs::write(&path, &whole[..last + 20]).unwrap();
        assert!(refusal().contains("day_23: line 800, its last, has "), "{}", refusal());
        fs::write(&path, [b"\x1f\x8b\x08".as_slice(), &whole].concat()).unwrap();
        assert!(refusal().ends_with("day_23: it is packed by gzip: unpack it"), "{}", refusal());
        assert_eq!(verified(folder.path()), [Problem::Text(check_text_start(b"\x1f\x8b").unwrap_err())]);
        fs::rename(&path, folder.path().join("day_23.gz")).unwrap();
        let expected = "day_23: it is missing, but day_23.gz is there: unpack it";
        assert!(refusal().ends_with(expected), "{}", refusal());
        let beside = TextFault::PackedBeside { name: "day_23.gz".to_owned() };
        assert_eq!(verified(folder.path()), [Problem::Text(beside)]);
    }
}

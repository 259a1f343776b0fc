//! `samples.bin`.

use std::{
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use proctor_loadgen::{REPORTED_QUANTILES, SampleRecord, percentile_rank};
use proctor_vocabulary::open_regular;

use crate::{
    error::ResultsError,
    schema::{latency::LatencyPart, test::TestPart},
};

const RECORD_BYTES: usize = 16;
/// Records that are read at once.
const CHUNK_RECORDS: usize = 1 << 16;
/// Maximum number of surplus records that are still counted in a file that is longer than its result says.
const SPARE_RECORDS: u64 = 1 << 16;

/// The samples of a performance run, in the order of issue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    /// Records of the samples.
    pub records: Vec<SampleRecord>,
    /// Number of bytes behind the last whole record, torn by a crash.
    pub torn_bytes: u64,
}

impl Samples {
    /// Reads a file of samples.
    ///
    /// # Errors
    /// [`ResultsError::Read`].
    pub fn read(path: &Path) -> Result<Self, ResultsError> {
        Self::read_at_most(path, u64::MAX)
    }

    /// Reads the samples of a test, and checks them against its figures. A file with another number of samples is read:
    /// it may have been cut. `issuer_count` is the number of issuing threads, each of which may leave places empty.
    ///
    /// # Errors
    /// [`ResultsError::Read`], or [`ResultsError::Malformed`] if the file is far too long, or its samples do not make
    /// the figures.
    pub(crate) fn read_of(path: &Path, test: &TestPart, issuer_count: u64) -> Result<Self, ResultsError> {
        let places = test.issued_sample_count.saturating_mul(issuer_count.max(1));
        let samples = Self::read_at_most(path, places.saturating_add(SPARE_RECORDS))?;
        match samples.other_figure(test) {
            Some(fault) => Err(ResultsError::Malformed { path: path.to_owned(), fault }),
            None => Ok(samples),
        }
    }

    /// Reads a file of no more than this many records.
    fn read_at_most(path: &Path, record_count: u64) -> Result<Self, ResultsError> {
        let unreadable = |source| ResultsError::Read { path: path.to_owned(), source };
        let mut file = open_regular(path).map_err(unreadable)?;
        let size_bytes = file.seek(SeekFrom::End(0)).and_then(|size| file.rewind().map(|()| size));
        let size_bytes = size_bytes.map_err(unreadable)?;
        if size_bytes / RECORD_BYTES as u64 > record_count {
            let fault = format!(
                "has {size_bytes} bytes, which are {} samples, and the result tells of far fewer: it is of another run",
                size_bytes / RECORD_BYTES as u64
            );
            return Err(ResultsError::Malformed { path: path.to_owned(), fault });
        }
        let mut samples = Self::default();
        let count = usize::try_from(size_bytes / RECORD_BYTES as u64).unwrap_or(usize::MAX);
        let too_many = |_| unreadable(io::Error::from(io::ErrorKind::OutOfMemory));
        samples.records.try_reserve_exact(count).map_err(too_many)?;
        let mut chunk = vec![0; CHUNK_RECORDS * RECORD_BYTES];
        let mut filled = 0;
        loop {
            let count = file.read(&mut chunk[filled..]).map_err(unreadable)?;
            filled += count;
            let (records, rest) = chunk[..filled].as_chunks();
            samples.records.extend(records.iter().map(|bytes| SampleRecord::from_bytes(*bytes)));
            let (start, rest_bytes) = (filled - rest.len(), rest.len());
            if count == 0 {
                samples.torn_bytes = rest_bytes as u64;
                return Ok(samples);
            }
            chunk.copy_within(start..filled, 0);
            filled = rest_bytes;
        }
    }

    /// Returns the samples that were issued, in the order of issue.
    pub fn issued(&self) -> impl Iterator<Item = SampleRecord> + Clone {
        self.records.iter().copied().filter(|record| record.is_issued())
    }

    /// Returns the latencies in ns of the queries all of whose samples were answered, each its slowest sample's, in the
    /// order of issue. One that failed is not answered.
    pub fn query_latencies_ns(&self, samples_per_query: usize) -> impl Iterator<Item = u64> {
        let slowest = |query: &[SampleRecord]| {
            query.iter().try_fold(0, |most: u64, record| Some(most.max(record.answered_latency_ns()?)))
        };
        self.records.chunks_exact(samples_per_query.max(1)).filter_map(slowest)
    }

    /// Returns the number of samples that completed as failed.
    #[must_use]
    pub fn failed_count(&self) -> usize {
        self.records.iter().filter(|record| record.is_failed()).count()
    }

    /// Returns the first figure of a test that contradicts its samples, as the end of a sentence about their file.
    /// Skips a file with another number of samples, and figures that leave out samples for want of tokens.
    fn other_figure(&self, test: &TestPart) -> Option<String> {
        if self.issued().count() as u64 != test.issued_sample_count {
            return None;
        }
        let other = |figure: &str, theirs: u64, ours: u64| {
            (theirs != ours).then(|| {
                format!(
                    "has {figure} {ours}, and the result has {theirs}: it is of another run, or was changed"
                )
            })
        };
        for (figure, theirs, ours) in [
            ("failed_sample_count", test.failed_sample_count, self.failed_count() as u64),
            ("missing_sample_count", test.missing_sample_count, self.missing_count() as u64),
        ] {
            if let Some(fault) = theirs.and_then(|theirs| other(figure, theirs, ours)) {
                return Some(fault);
            }
        }
        let figures = test.figures.as_ref()?;
        let part = &figures.sample_latency;
        let answered: Vec<u64> = self.issued().filter_map(SampleRecord::answered_latency_ns).collect();
        // Earlier versions took the times of failed samples for latencies.
        let mut latencies = match answered.len() as u64 == part.count {
            true => answered,
            false => self.issued().filter_map(SampleRecord::completed_latency_ns).collect(),
        };
        if latencies.len() as u64 != part.count {
            let all_counted = part.count == test.issued_sample_count;
            return if all_counted {
                other("sample_latency.count", part.count, latencies.len() as u64)
            } else {
                None
            };
        }
        let found =
            differing(part, &mut latencies).map(|(key, theirs, ours)| ("sample_latency", key, theirs, ours));
        let found = found.or_else(|| {
            // Only a query of several samples has a latency of its own.
            let (samples, queries) = (test.issued_sample_count, test.issued_query_count.max(1));
            let per_query =
                samples.is_multiple_of(queries).then_some(samples / queries).filter(|count| *count > 1)?;
            let part = &figures.query_latency;
            let per_query = usize::try_from(per_query).ok()?;
            let mut latencies: Vec<u64> = self.query_latencies_ns(per_query).collect();
            let is_of_queries = part.count == queries && latencies.len() as u64 == queries;
            let (key, theirs, ours) = differing(part, &mut latencies).filter(|_| is_of_queries)?;
            Some(("query_latency", key, theirs, ours))
        });
        let (of, key, theirs, ours) = found?;
        other(&format!("{of}.{key}"), theirs, ours)
    }

    /// Returns the number of samples that were issued and never completed.
    #[must_use]
    pub fn missing_count(&self) -> usize {
        self.issued().filter(|record| record.completed_latency_ns().is_none()).count()
    }
}

/// Returns the first figure (key, value) that the latencies contradict, and their value. Reorders `latencies`.
fn differing(part: &LatencyPart, latencies: &mut [u64]) -> Option<(&'static str, u64, u64)> {
    let count = latencies.len() as u64;
    let sum: u128 = latencies.iter().map(|latency| u128::from(*latency)).sum();
    let mean = u64::try_from(sum / u128::from(count).max(1)).unwrap_or(u64::MAX);
    let figures = [
        ("min_ns", part.min_ns, latencies.iter().copied().min().unwrap_or(0)),
        ("max_ns", part.max_ns, latencies.iter().copied().max().unwrap_or(0)),
        ("mean_ns", part.mean_ns, mean),
    ];
    if let Some(found) = figures.into_iter().find(|(_, theirs, ours)| theirs != ours) {
        return Some(found);
    }
    let keys = ["p50_ns", "p90_ns", "p95_ns", "p97_ns", "p99_ns", "p99_9_ns"];
    let theirs = [part.p50_ns, part.p90_ns, part.p95_ns, part.p97_ns, part.p99_ns, part.p99_9_ns];
    for ((key, theirs), quantile) in keys.into_iter().zip(theirs).zip(REPORTED_QUANTILES) {
        let rank = percentile_rank(count, quantile) as usize;
        let ours = if latencies.is_empty() { 0 } else { *latencies.select_nth_unstable(rank).1 };
        if theirs != ours {
            return Some((key, theirs, ours));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Samples {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        Samples::read(file.path()).unwrap()
    }

    #[test]
    fn samples_are_counted_by_how_they_ended() {
        let record = |scheduled_ns, latency_ns| SampleRecord { scheduled_ns, latency_ns };
        let all = [
            record(0, 5),
            record(1, SampleRecord::FAILED_BIT | 7),
            record(2, SampleRecord::NOT_COMPLETED),
            SampleRecord::NOT_ISSUED,
            record(3, 9),
        ];
        let bytes: Vec<u8> = all.iter().flat_map(|record| record.to_bytes()).collect();
        let samples = read(&bytes);
        assert_eq!(samples.records, all);
        assert_eq!(samples.query_latencies_ns(1).collect::<Vec<_>>(), [5, 9]);
        assert_eq!(samples.query_latencies_ns(2).count(), 0, "a failed or missing sample leaves none");
        assert_eq!(samples.issued().count(), 4);
        assert_eq!((samples.failed_count(), samples.missing_count(), samples.torn_bytes), (1, 1, 0));
        let torn = read(&bytes[..bytes.len() - 3]);
        assert_eq!((torn.records.len(), torn.torn_bytes), (4, 13));
        assert_eq!(read(&[]), Samples::default());
        assert!(Samples::read("absent/samples.bin".as_ref()).is_err());
    }

    /// The part of a result about a test of these samples, two of each query.
    fn test_part(samples: &Samples) -> TestPart {
        let part = |mut latencies: Vec<u64>| {
            latencies.sort_unstable();
            let at = |quantile| proctor_loadgen::percentile(&latencies, quantile);
            serde_json::json!({
                "count": latencies.len(),
                "min_ns": latencies[0],
                "mean_ns": latencies.iter().sum::<u64>() / latencies.len() as u64,
                "max_ns": latencies[latencies.len() - 1],
                "p50_ns": at(0.5), "p90_ns": at(0.9), "p95_ns": at(0.95), "p97_ns": at(0.97),
                "p99_ns": at(0.99), "p99_9_ns": at(0.999),
            })
        };
        let latencies = samples.issued().filter_map(SampleRecord::answered_latency_ns).collect();
        serde_json::from_value(serde_json::json!({
            "mode": "performance",
            "valid": true,
            "duration_ns": 1,
            "issued_query_count": samples.records.len() / 2,
            "issued_sample_count": samples.records.len(),
            "figures": {
                "query_latency": part(samples.query_latencies_ns(2).collect()),
                "sample_latency": part(latencies),
            },
        }))
        .unwrap()
    }

    #[test]
    fn samples_of_another_run_are_refused_with_the_figure() {
        let of = |latency: fn(u64) -> u64| Samples {
            records: (0..200).map(|n| SampleRecord { scheduled_ns: n, latency_ns: latency(n) }).collect(),
            torn_bytes: 0,
        };
        let own = of(|n| 100 + n * 37 % 200);
        let test = test_part(&own);
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = |samples: &Samples| {
            let bytes: Vec<u8> = samples.records.iter().flat_map(|record| record.to_bytes()).collect();
            std::fs::write(file.path(), bytes).unwrap();
            Samples::read_of(file.path(), &test, 1).map_err(|error| error.to_string())
        };
        assert_eq!(read(&own), Ok(own.clone()));
        let zeros =
            Samples { records: vec![SampleRecord { scheduled_ns: 0, latency_ns: 0 }; 200], torn_bytes: 0 };
        let with = |place: usize, latency_ns: u64| {
            let mut changed = own.clone();
            changed.records[place].latency_ns = latency_ns;
            changed
        };
        for (samples, figure) in [
            (zeros, "has sample_latency.min_ns 0, and the result has 100"),
            (of(|n| 101 + n * 37 % 200), "has sample_latency.min_ns 101, and the result has 100"),
            (with(0, 1_000_000), "has sample_latency.m"),
            (with(7, SampleRecord::NOT_COMPLETED), "has sample_latency.count 199, and the result has 200"),
        ] {
            let error = read(&samples).unwrap_err();
            assert!(error.contains(figure) && error.contains(&file.path().display().to_string()), "{error}");
        }
        // The same samples, so their figures are equal, but the figures of queries are not.
        let mut other_queries = own.clone();
        other_queries.records.sort_by_key(|record| record.latency_ns);
        let error = read(&other_queries).unwrap_err();
        assert!(error.contains("has query_latency."), "{error}");
        // Samples marked as failed, if the result says that none is.
        let counted =
            TestPart { failed_sample_count: Some(0), missing_sample_count: Some(0), ..test.clone() };
        let fault = |latency_ns| with(7, latency_ns).other_figure(&counted).unwrap();
        let failed = fault(own.records[7].latency_ns | SampleRecord::FAILED_BIT);
        assert!(failed.starts_with("has failed_sample_count 1, and the result has 0"), "{failed}");
        let missing = fault(SampleRecord::NOT_COMPLETED);
        assert!(missing.starts_with("has missing_sample_count 1, and the result has 0"), "{missing}");
        assert_eq!(own.other_figure(&counted), None);
        // A cut file is read, and counted by others.
        let cut = Samples { records: own.records[..50].to_vec(), torn_bytes: 0 };
        assert_eq!(read(&cut), Ok(cut));
    }

    #[test]
    fn a_file_that_is_far_too_long_is_refused_before_it_is_read() {
        let samples =
            Samples { records: vec![SampleRecord { scheduled_ns: 0, latency_ns: 5 }; 2], torn_bytes: 0 };
        let file = tempfile::NamedTempFile::new().unwrap();
        // It takes no room on the disk.
        file.as_file().set_len(40_000_000_000).unwrap();
        let error = Samples::read_of(file.path(), &test_part(&samples), 1).unwrap_err().to_string();
        assert!(error.contains("has 40000000000 bytes, which are 2500000000 samples"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn any_bytes_are_records_and_a_torn_end(length in 0_usize..3 * CHUNK_RECORDS * RECORD_BYTES) {
            let bytes: Vec<u8> = (0..length).map(|place| (place * 7 % 251) as u8).collect();
            let samples = read(&bytes);
            prop_assert_eq!(samples.records.len(), length / RECORD_BYTES);
            prop_assert_eq!(samples.torn_bytes, (length % RECORD_BYTES) as u64);
            let again: Vec<u8> = samples.records.iter().flat_map(|record| record.to_bytes()).collect();
            prop_assert!(again == bytes[..length / RECORD_BYTES * RECORD_BYTES]);
        }
    }
}

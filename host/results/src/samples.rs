//! `samples.bin`.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use proctor_loadgen::SampleRecord;

use crate::error::ResultsError;

/// Bytes of a record.
const RECORD_BYTES: usize = 16;
/// Records that are read at once.
const CHUNK_RECORDS: usize = 1 << 16;

/// The samples of a performance run, in the order of issue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    /// Their records.
    pub records: Vec<SampleRecord>,
    /// Bytes behind the last whole record: what a crash has torn.
    pub torn_bytes: u64,
}

impl Samples {
    /// Reads a file of samples.
    ///
    /// # Errors
    /// [`ResultsError::Read`].
    pub fn read(path: &Path) -> Result<Self, ResultsError> {
        let unreadable = |source| ResultsError::Read { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(unreadable)?;
        let size_bytes = file.seek(SeekFrom::End(0)).and_then(|size| file.rewind().map(|()| size));
        let size_bytes = size_bytes.map_err(unreadable)?;
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

    /// Samples that were issued, in the order of issue.
    pub fn issued(&self) -> impl Iterator<Item = SampleRecord> + Clone {
        self.records.iter().copied().filter(|record| record.is_issued())
    }

    /// Latencies in ns of the queries all of whose samples were answered, each its slowest sample's, in the order of
    /// issue. One that failed is not answered.
    pub fn query_latencies_ns(&self, samples_per_query: usize) -> impl Iterator<Item = u64> {
        let slowest = |query: &[SampleRecord]| {
            query.iter().try_fold(0, |most: u64, record| Some(most.max(record.answered_latency_ns()?)))
        };
        self.records.chunks_exact(samples_per_query.max(1)).filter_map(slowest)
    }

    /// Number of samples that completed as failed.
    #[must_use]
    pub fn failed_count(&self) -> usize {
        self.records.iter().filter(|record| record.is_failed()).count()
    }

    /// Number of samples that were issued and never completed.
    #[must_use]
    pub fn missing_count(&self) -> usize {
        self.issued().filter(|record| record.completed_latency_ns().is_none()).count()
    }
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

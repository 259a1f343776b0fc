//! Reports of the other process about samples that were issued, written to a [ring](super::ring) of both.

use std::{
    io,
    os::fd::{BorrowedFd, OwnedFd},
};

use proctor_plugin_api::{
    Response, TokenReport,
    vocabulary::{QuerySampleResponse, ResponseId, SampleStatus},
};

use crate::channels::ring::{Bell, Broken, RingReader, RingWriter};

/// Number of bytes before the samples of a report: kind (4), number of samples (4), bytes that follow (8).
const HEAD_BYTES: usize = 16;

/// Number of bytes of a sample: id (8), status (4), number of tokens (4), bytes of its data (8).
const SAMPLE_BYTES: usize = 24;

/// Maximum number of bytes of a report, more than the outputs of any sample take.
const REPORT_BYTES_MAX: usize = 1 << 30;

/// Multiple that the size of a report is rounded up to, in bytes: every report is copied in whole words.
const ALIGNMENT: usize = 8;

/// News of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum ReportKind {
    /// The samples are done.
    Completed = 1,
    /// The first tokens of the samples have come.
    FirstTokens = 2,
    /// Tokens of theirs have come, as many as the number of tokens says.
    Tokens = 3,
}

/// A report as the host takes it.
#[derive(Debug)]
pub(crate) enum Report<'a> {
    Completed(Vec<Response<'a>>),
    FirstTokens(Vec<Response<'a>>),
    Tokens(Vec<TokenReport>),
}

/// The side of the other process.
#[derive(Debug)]
pub struct ReportWriter {
    ring: RingWriter,
    report: Vec<u8>,
}

/// The side of the host.
#[derive(Debug)]
pub(crate) struct ReportReader {
    ring: RingReader,
    /// The part of a report that is missing as a whole.
    bytes: Vec<u8>,
    /// Whether a message came that is not a report, after which nothing is read.
    is_broken: bool,
}

impl ReportWriter {
    /// Opens the stream to the host behind a descriptor that it has sent.
    ///
    /// # Errors
    /// If the descriptor is not such a stream.
    pub fn open(file: OwnedFd) -> io::Result<Self> {
        Ok(Self { ring: RingWriter::open(file)?, report: Vec::new() })
    }

    /// Writes reports on samples as soon as there is room.
    pub fn write(&mut self, kind: ReportKind, responses: &[QuerySampleResponse<'_>]) {
        let Self { ring, report } = self;
        let of_sample = |response: &QuerySampleResponse<'_>| SAMPLE_BYTES + response.data.len();
        let size_bytes = responses.iter().map(of_sample).sum::<usize>().next_multiple_of(ALIGNMENT);
        report.clear();
        report.extend_from_slice(&(kind as u32).to_ne_bytes());
        let count = u32::try_from(responses.len()).expect("no call of a plugin has as many responses");
        report.extend_from_slice(&count.to_ne_bytes());
        report.extend_from_slice(&(size_bytes as u64).to_ne_bytes());
        for response in responses {
            report.extend_from_slice(&response.id.0.to_ne_bytes());
            report.extend_from_slice(&response.status.0.to_ne_bytes());
            report.extend_from_slice(&response.token_count.to_ne_bytes());
            report.extend_from_slice(&(response.data.len() as u64).to_ne_bytes());
        }
        responses.iter().for_each(|response| report.extend_from_slice(response.data));
        report.resize(HEAD_BYTES + size_bytes, 0);
        ring.write(report);
    }
}

impl ReportReader {
    pub(crate) fn new(ring: RingReader) -> Self {
        Self { ring, bytes: Vec::new(), is_broken: false }
    }

    /// Returns the descriptor, to be sent to the other process.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.ring.file()
    }

    /// Tells when there may be a report.
    pub(crate) fn bell(&self) -> Bell {
        self.ring.bell()
    }

    /// Passes every available report to `take`, and returns how many there were.
    ///
    /// # Errors
    /// If the other process writes a malformed report.
    pub(crate) fn read(&mut self, mut take: impl FnMut(Report<'_>)) -> Result<u64, Broken> {
        if self.is_broken {
            return Err(Broken);
        }
        self.is_broken = self.ring.read(&mut self.bytes).is_err();
        let (mut rest, mut count) = (self.bytes.as_slice(), 0);
        while !self.is_broken {
            match first_report(rest) {
                Ok(Some((report, after))) => {
                    take(report);
                    (rest, count) = (after, count + 1);
                }
                Ok(None) => break,
                Err(Broken) => self.is_broken = true,
            }
        }
        let taken = self.bytes.len() - rest.len();
        self.bytes.drain(..taken);
        if self.is_broken { Err(Broken) } else { Ok(count) }
    }
}

/// Returns the first report of these bytes, and the bytes after it; `None` if it is missing as a whole.
fn first_report(bytes: &[u8]) -> Result<Option<(Report<'_>, &[u8])>, Broken> {
    let Some((head, rest)) = bytes.split_at_checked(HEAD_BYTES) else { return Ok(None) };
    let (kind, count) = (word(head, 0), word(head, 4) as usize);
    let size_bytes = size(head, 8);
    if size_bytes > REPORT_BYTES_MAX || !size_bytes.is_multiple_of(ALIGNMENT) {
        return Err(Broken);
    }
    let Some((body, rest)) = rest.split_at_checked(size_bytes) else { return Ok(None) };
    let samples = count.checked_mul(SAMPLE_BYTES).and_then(|size| body.split_at_checked(size));
    let (samples, mut data) = samples.ok_or(Broken)?;
    let samples = samples.chunks_exact(SAMPLE_BYTES);
    let id = |sample| ResponseId(u64::from_ne_bytes(bytes_at(sample, 0)));
    if kind == ReportKind::Tokens as u32 {
        let tokens = samples.map(|sample| TokenReport::new(id(sample), word(sample, 12)));
        return Ok(Some((Report::Tokens(tokens.collect()), rest)));
    }
    let responses = samples.map(|sample| {
        let (own, after) = data.split_at_checked(size(sample, 16)).ok_or(Broken)?;
        data = after;
        Ok(Response::new(id(sample), own)
            .with_status(SampleStatus(word(sample, 8).cast_signed()))
            .with_token_count(word(sample, 12)))
    });
    let responses = responses.collect::<Result<_, Broken>>()?;
    let report = match kind {
        kind if kind == ReportKind::Completed as u32 => Report::Completed(responses),
        kind if kind == ReportKind::FirstTokens as u32 => Report::FirstTokens(responses),
        _ => return Err(Broken),
    };
    Ok(Some((report, rest)))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes_at(bytes, at))
}

/// Returns a size. One that no memory has is the largest there is, which is refused.
fn size(bytes: &[u8], at: usize) -> usize {
    usize::try_from(u64::from_ne_bytes(bytes_at(bytes, at))).unwrap_or(usize::MAX)
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("as many bytes as were asked for")
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn both() -> (ReportWriter, ReportReader) {
        let ring = RingReader::new().unwrap();
        let writer = ReportWriter::open(ring.file().try_clone_to_owned().unwrap()).unwrap();
        (writer, ReportReader::new(ring))
    }

    fn response(id: u64, data: &[u8]) -> QuerySampleResponse<'_> {
        QuerySampleResponse { id: ResponseId(id), status: SampleStatus(id as i32), token_count: 9, data }
    }

    /// Every report that is there, as text.
    fn all(reader: &mut ReportReader) -> Vec<String> {
        let mut reports = Vec::new();
        let count = reader.read(|report| reports.push(format!("{report:?}"))).unwrap();
        assert_eq!(count, reports.len() as u64);
        reports
    }

    #[test]
    fn reports_come_in_their_order() {
        let (mut writer, mut reader) = both();
        assert!(all(&mut reader).is_empty());
        writer.write(ReportKind::FirstTokens, &[response(3, b"first")]);
        writer.write(ReportKind::Tokens, &[response(3, b"")]);
        writer.write(ReportKind::Completed, &[response(3, b"abc"), response(4, b"defghijkl")]);
        assert_eq!(
            all(&mut reader),
            [
                "FirstTokens([Response 3: status 3, 5 bytes, 9 tokens])",
                "Tokens([TokenReport { raw: ProctorTokenReport { id: 3, token_count: 9, reserved: 0 } }])",
                "Completed([Response 3: status 3, 3 bytes, 9 tokens, Response 4: status 4, 9 bytes, 9 tokens])",
            ]
        );
        assert!(all(&mut reader).is_empty());
    }

    #[test]
    fn a_report_may_be_larger_than_the_ring() {
        let (mut writer, mut reader) = both();
        let data = vec![7; 5_000_000];
        thread::scope(|scope| {
            scope.spawn(|| writer.write(ReportKind::Completed, &[response(1, &data), response(2, b"x")]));
            let reports = loop {
                let reports = all(&mut reader);
                if !reports.is_empty() {
                    break reports;
                }
            };
            let [one] = reports.as_slice() else { panic!("{reports:?}") };
            assert!(
                one.contains("1: status 1, 5000000 bytes") && one.contains("2: status 2, 1 bytes"),
                "{one}"
            );
        });
    }

    #[test]
    fn reports_before_one_that_is_none_are_taken_once() {
        let (mut writer, mut reader) = both();
        writer.write(ReportKind::Completed, &[response(1, b"")]);
        writer.ring.write(&[9; HEAD_BYTES]);
        let mut taken = 0;
        for _ in 0..2 {
            assert_eq!(reader.read(|_| taken += 1), Err(Broken));
        }
        assert_eq!(taken, 1);
    }

    #[test]
    fn what_is_no_report_is_refused() {
        let report = |kind: u32, count: u32, size_bytes: u64, body: &[u8]| {
            let head = [kind.to_ne_bytes(), count.to_ne_bytes()].concat();
            [head, size_bytes.to_ne_bytes().to_vec(), body.to_vec()].concat()
        };
        let sample = |data_bytes: u64| [[0; 16].as_slice(), &data_bytes.to_ne_bytes()].concat();
        for (bytes, is_sound) in [
            (report(1, 1, 24, &sample(0)), true),
            (report(1, 0, 0, &[]), true),
            (report(0, 1, 24, &sample(0)), false),
            (report(4, 1, 24, &sample(0)), false),
            (report(1, 2, 24, &sample(0)), false),
            (report(1, u32::MAX, 24, &sample(0)), false),
            (report(1, 1, 24, &sample(1)), false),
            (report(1, 1, 24, &sample(u64::MAX)), false),
            (report(1, 1, 25, &sample(0)), false),
            (report(1, 1, u64::MAX - 7, &sample(0)), false),
        ] {
            assert_eq!(first_report(&bytes).is_ok_and(|found| found.is_some()), is_sound, "{bytes:?}");
        }
        assert!(first_report(&report(1, 1, 48, &sample(0))).is_ok_and(|found| found.is_none()));
    }
}

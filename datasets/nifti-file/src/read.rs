//! Turns compressed bytes into the header and the bytes of the voxels.

use std::io::{self, Read};

use flate2::bufread::GzDecoder;
use proctor_vocabulary::{beginning::GZIP, misfetched};

use crate::{
    error::NiftiError,
    header::{HEADER_BYTES, Header, short},
};

/// Deflate makes at most 258 bytes of two bits, so no stream holds more than this many times its own size.
const GZIP_RATIO_MAX: u64 = 1032;
/// The most bytes of voxels that are unpacked: 2048 slices of 512 x 512 in f64, more than the scan of a body has.
const UNPACKED_BYTES_MAX: u64 = 1 << 32;
/// Number of bytes reserved at once for each byte of the file: scans compress that well. The rest grows on demand.
const UNPACKED_AT_ONCE: usize = 8;

/// Reads the header alone.
pub(crate) fn header(bytes: &[u8]) -> Result<Header, NiftiError> {
    if !bytes.starts_with(&GZIP) {
        return unpacked_header(bytes);
    }
    Header::parse(&head(&mut Unpacked::new(bytes))?)
}

/// Reads the header of a file that gzip has not packed.
fn unpacked_header(bytes: &[u8]) -> Result<Header, NiftiError> {
    Header::parse(bytes).map_err(|error| misfetched(bytes).map_or(error, NiftiError::Misfetched))
}

/// Reads the header and the voxels.
pub(crate) fn header_and_data(bytes: &[u8]) -> Result<(Header, Vec<u8>), NiftiError> {
    if !bytes.starts_with(&GZIP) {
        let header = unpacked_header(bytes)?;
        let end = data_end(&header, bytes.len() as u64, bytes.len())?;
        let data = bytes[end.start..end.end].to_vec();
        return Ok((header, data));
    }
    let mut stream = Unpacked::new(bytes);
    let header = Header::parse(&head(&mut stream)?)?;
    let most = (bytes.len() as u64).saturating_mul(GZIP_RATIO_MAX);
    let range = data_end(&header, most, bytes.len())?;
    let size = range.end - range.start;
    if size as u64 > UNPACKED_BYTES_MAX {
        return Err(NiftiError::TooLarge { size_bytes: size as u64, most: UNPACKED_BYTES_MAX });
    }
    skip(&mut stream, range.start - HEADER_BYTES)?;
    let mut data = Vec::with_capacity(size.min(bytes.len().saturating_mul(UNPACKED_AT_ONCE)));
    stream.by_ref().take(size as u64).read_to_end(&mut data).map_err(gzip_fault)?;
    if data.len() < size {
        return Err(short("the volume", range.end as u64, range.start + data.len()));
    }
    // To the end, where the checksum is compared.
    io::copy(&mut stream, &mut io::sink()).map_err(gzip_fault)?;
    Ok((header, data))
}

/// The bytes that gzip packed: of all members of a file, one after another. Zeros between and behind them are padding,
/// as gzip takes them.
struct Unpacked<'a>(GzDecoder<&'a [u8]>);

impl<'a> Unpacked<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self(GzDecoder::new(bytes))
    }
}

impl Read for Unpacked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.0.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let behind = *self.0.get_ref();
            let Some(padding) = behind.iter().position(|byte| *byte != 0) else { return Ok(0) };
            let rest = &behind[padding..];
            if !rest.starts_with(&GZIP) {
                return Err(io::Error::other(NiftiError::Behind { size_bytes: rest.len() }));
            }
            self.0 = GzDecoder::new(rest);
        }
    }
}

/// Returns the bytes of the voxels, which must end within the `most` that a file of `got` bytes can hold.
fn data_end(header: &Header, most: u64, got: usize) -> Result<std::ops::Range<usize>, NiftiError> {
    let start = header.data_offset();
    let end = header.data_bytes().and_then(|size| start.checked_add(size as u64));
    match end.filter(|end| *end <= most).and_then(|end| usize::try_from(end).ok()) {
        Some(end) => Ok(start as usize..end),
        None => Err(short("the volume", end.unwrap_or(u64::MAX), got)),
    }
}

fn head(stream: &mut impl Read) -> Result<[u8; HEADER_BYTES], NiftiError> {
    let mut head = Vec::with_capacity(HEADER_BYTES);
    stream.take(HEADER_BYTES as u64).read_to_end(&mut head).map_err(gzip_fault)?;
    head.try_into().map_err(|head: Vec<u8>| short("the header", HEADER_BYTES as u64, head.len()))
}

fn skip(stream: &mut impl Read, count: usize) -> Result<(), NiftiError> {
    let skipped = io::copy(&mut stream.take(count as u64), &mut io::sink()).map_err(gzip_fault)?;
    if skipped < count as u64 {
        return Err(short("what precedes the voxels", count as u64, skipped as usize));
    }
    Ok(())
}

fn gzip_fault(error: io::Error) -> NiftiError {
    error.downcast().unwrap_or_else(|error: io::Error| NiftiError::Gzip(error.kind()))
}

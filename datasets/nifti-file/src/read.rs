//! From compressed bytes to the header and the bytes of the voxels.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

use crate::{
    error::NiftiError,
    header::{HEADER_BYTES, Header, short},
};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Deflate makes at most 258 bytes of two bits, so no stream holds more than this many times its own size.
const GZIP_RATIO_MAX: u64 = 1032;

/// Reads the header alone.
pub(crate) fn header(bytes: &[u8]) -> Result<Header, NiftiError> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        return Header::parse(bytes);
    }
    Header::parse(&head(&mut MultiGzDecoder::new(bytes))?)
}

/// Reads the header and the voxels.
pub(crate) fn header_and_data(bytes: &[u8]) -> Result<(Header, Vec<u8>), NiftiError> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        let header = Header::parse(bytes)?;
        let end = data_end(&header, bytes.len() as u64, bytes.len())?;
        let data = bytes[end.start..end.end].to_vec();
        return Ok((header, data));
    }
    let mut stream = MultiGzDecoder::new(bytes);
    let header = Header::parse(&head(&mut stream)?)?;
    let most = (bytes.len() as u64).saturating_mul(GZIP_RATIO_MAX);
    let range = data_end(&header, most, bytes.len())?;
    skip(&mut stream, range.start - HEADER_BYTES)?;
    let mut data = vec![0; range.end - range.start];
    fill(&mut stream, &mut data, "the volume", range.start as u64)?;
    // To the end, where the checksum is compared.
    io::copy(&mut stream, &mut io::sink()).map_err(gzip_fault)?;
    Ok((header, data))
}

/// The bytes of the voxels, which must end within the `most` that a file of `got` bytes can hold.
fn data_end(header: &Header, most: u64, got: usize) -> Result<std::ops::Range<usize>, NiftiError> {
    let start = header.data_offset();
    let end = header.data_bytes().and_then(|size| start.checked_add(size as u64));
    match end.filter(|end| *end <= most).and_then(|end| usize::try_from(end).ok()) {
        Some(end) => Ok(start as usize..end),
        None => Err(short("the volume", end.unwrap_or(u64::MAX), got)),
    }
}

fn head(stream: &mut impl Read) -> Result<[u8; HEADER_BYTES], NiftiError> {
    let mut head = [0; HEADER_BYTES];
    fill(stream, &mut head, "the header", 0)?;
    Ok(head)
}

fn skip(stream: &mut impl Read, count: usize) -> Result<(), NiftiError> {
    let skipped = io::copy(&mut stream.take(count as u64), &mut io::sink()).map_err(gzip_fault)?;
    if skipped < count as u64 {
        return Err(short("what precedes the voxels", count as u64, skipped as usize));
    }
    Ok(())
}

/// Fills the buffer from a stream that has given `before` bytes already.
fn fill(
    stream: &mut impl Read,
    buffer: &mut [u8],
    part: &'static str,
    before: u64,
) -> Result<(), NiftiError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => {
                let expected = before + buffer.len() as u64;
                return Err(short(part, expected, before as usize + filled));
            }
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(gzip_fault(error)),
        }
    }
    Ok(())
}

fn gzip_fault(error: io::Error) -> NiftiError {
    NiftiError::Gzip(error.kind())
}

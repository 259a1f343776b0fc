//! FLAC, by claxon.

use std::io::Cursor;

use claxon::{FlacReader, metadata::StreamInfo};
use md5::{Digest, Md5};

use crate::{
    error::{Part, SoundError},
    format::{Format, Header, Kind},
};

/// Maximum number of samples reserved at once for each byte of a file: a header may claim any number.
const SAMPLES_PER_BYTE: usize = 8;
/// Maximum number of samples of a FLAC file that are decoded, counting all channels: more than an hour of speech. A
/// frame of a dozen bytes may expand to 65,535, and a header may claim any number of them, or none.
pub const SAMPLES_MAX: u64 = 1 << 26;
/// Number of bytes of an ID3v1 tag, which some programs put behind the last frame.
const TAG_BYTES: usize = 128;

/// Reads the description of the samples.
///
/// # Errors
/// [`SoundError::Flac`].
pub(crate) fn header(bytes: &[u8]) -> Result<Header, SoundError> {
    Ok(described(&open(bytes)?.streaminfo()))
}

/// Decodes the samples of a file, if they are of this format.
///
/// # Errors
/// [`SoundError::Flac`], [`SoundError::Format`], [`SoundError::TooLong`] or [`SoundError::Samples`].
pub(crate) fn decode(bytes: &[u8], expected: Format) -> Result<Vec<i16>, SoundError> {
    decode_up_to(SAMPLES_MAX, bytes, expected)
}

fn decode_up_to(most: u64, bytes: &[u8], expected: Format) -> Result<Vec<i16>, SoundError> {
    let mut reader = open(bytes)?;
    let info = reader.streaminfo();
    let header = described(&info);
    header.check(expected)?;
    let channel_count = u64::from(expected.channel_count);
    let claimed = header.sample_count.map(|count| count.saturating_mul(channel_count));
    if claimed.is_some_and(|claimed| claimed > most) {
        return Err(SoundError::TooLong { most });
    }
    let room = claimed.unwrap_or(0).min((bytes.len() * SAMPLES_PER_BYTE) as u64);
    let mut samples: Vec<i16> = Vec::with_capacity(room as usize);
    let mut blocks = reader.blocks();
    let mut buffer = Vec::new();
    while let Some(block) = blocks.read_next_or_eof(buffer).map_err(fault)? {
        // A frame says for itself how many channels and bits it has.
        if block.channels() != u32::from(expected.channel_count) {
            return Err(SoundError::Samples(Part::Header));
        }
        if samples.len() as u64 + u64::from(block.len()) > claimed.unwrap_or(most) {
            let too_long = SoundError::TooLong { most };
            return Err(claimed.map_or(too_long, |_| SoundError::Samples(Part::Count)));
        }
        for at in 0..block.duration() {
            for channel in 0..block.channels() {
                let sample = i16::try_from(block.sample(channel, at));
                samples.push(sample.map_err(|_| SoundError::Samples(Part::Header))?);
            }
        }
        buffer = block.into_buffer();
    }
    if claimed.is_some_and(|claimed| claimed != samples.len() as u64) {
        return Err(SoundError::Samples(Part::Count));
    }
    // All zeros stand for a sum that the encoder has not computed.
    if info.md5sum != [0; 16] && sum(&samples) != info.md5sum {
        return Err(SoundError::Samples(Part::Checksum));
    }
    Ok(samples)
}

fn open(bytes: &[u8]) -> Result<FlacReader<Cursor<&[u8]>>, SoundError> {
    let stream = match bytes.split_last_chunk::<TAG_BYTES>() {
        Some((stream, tag)) if tag.starts_with(b"TAG") => stream,
        _ => bytes,
    };
    FlacReader::new(Cursor::new(stream)).map_err(fault)
}

fn described(info: &StreamInfo) -> Header {
    // There are at most 8 channels and 32 bits.
    let small = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
    let format = Format {
        rate_hz: info.sample_rate,
        channel_count: small(info.channels),
        bits: small(info.bits_per_sample),
    };
    Header { kind: Kind::Flac, format, sample_count: info.samples }
}

fn sum(samples: &[i16]) -> [u8; 16] {
    let mut digest = Md5::new();
    // A piece at a time, to need no second copy of the whole.
    for piece in samples.chunks(4096) {
        let bytes: Vec<u8> = piece.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        digest.update(&bytes);
    }
    digest.finalize().into()
}

fn fault(error: claxon::Error) -> SoundError {
    SoundError::Flac(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::decode;

    /// Samples of one channel as FLAC, uncompressed, in frames of this length.
    fn flac(format: Format, samples: &[i16], frame_length: u16) -> Vec<u8> {
        let mut file = b"fLaC\x80\0\0\x22".to_vec();
        file.extend([frame_length.to_be_bytes(), frame_length.to_be_bytes()].as_flattened());
        file.extend([0; 6]);
        let packed = u64::from(format.rate_hz) << 44
            | u64::from(format.channel_count - 1) << 41
            | u64::from(format.bits - 1) << 36
            | samples.len() as u64;
        file.extend(packed.to_be_bytes());
        file.extend(sum(samples));
        for (number, frame) in samples.chunks(usize::from(frame_length)).enumerate() {
            let mut bytes = vec![0xff, 0xf8, 0x70, 0x08, u8::try_from(number).unwrap()];
            bytes.extend(u16::try_from(frame.len() - 1).unwrap().to_be_bytes());
            bytes.push(u8::try_from(remainder(&bytes, 0x07, 8)).unwrap());
            bytes.push(0x02);
            bytes.extend(frame.iter().flat_map(|sample| sample.to_be_bytes()));
            bytes.extend(remainder(&bytes, 0x8005, 16).to_be_bytes());
            file.extend(bytes);
        }
        file
    }

    /// The cyclic redundancy check of this polynomial.
    fn remainder(bytes: &[u8], polynomial: u32, bits: u32) -> u16 {
        let mut remainder = 0_u32;
        for byte in bytes {
            remainder ^= u32::from(*byte) << (bits - 8);
            for _ in 0..8 {
                let carry = remainder >> (bits - 1) & 1;
                remainder = ((remainder << 1) ^ (carry * polynomial)) & ((1 << bits) - 1);
            }
        }
        u16::try_from(remainder).unwrap()
    }

    fn samples() -> Vec<i16> {
        (0..1000_i32).map(|at| i16::try_from(at * at % 65_536 - 32_768).unwrap()).collect()
    }

    #[test]
    fn samples_of_all_frames_come_back() {
        let file = flac(Format::SPEECH, &samples(), 300);
        let header = Header { kind: Kind::Flac, format: Format::SPEECH, sample_count: Some(1000) };
        assert_eq!(Header::read(&file).unwrap(), header);
        assert_eq!(decode(&file, Format::SPEECH).unwrap(), samples());
    }

    /// The file with another number of samples in its header.
    fn claiming(mut file: Vec<u8>, count: u32) -> Vec<u8> {
        file[22..26].copy_from_slice(&count.to_be_bytes());
        file
    }

    #[test]
    fn no_more_is_decoded_than_the_header_claims_or_than_is_read_at_all() {
        let whole = flac(Format::SPEECH, &samples(), 250);
        let claims_fewer = claiming(whole.clone(), 300);
        let fewer = decode(&claims_fewer, Format::SPEECH).unwrap_err();
        assert_eq!(fewer, SoundError::Samples(Part::Count));
        // Damage behind the samples that it claims is not come to.
        let end = whole.len() - 100;
        let mut damaged = claims_fewer;
        damaged[end] ^= 1;
        assert_eq!(decode(&damaged, Format::SPEECH).unwrap_err(), fewer);

        let unknown = claiming(whole.clone(), 0);
        assert_eq!(Header::read(&unknown).unwrap().sample_count, None);
        let up_to = |most, file: &[u8]| decode_up_to(most, file, Format::SPEECH);
        assert_eq!(up_to(1000, &unknown).unwrap(), samples());
        assert_eq!(up_to(999, &unknown).unwrap_err(), SoundError::TooLong { most: 999 });
        assert_eq!(up_to(1000, &whole).unwrap(), samples());
        assert_eq!(up_to(999, &whole).unwrap_err(), SoundError::TooLong { most: 999 });
        let endless = decode(&claiming(whole, u32::MAX), Format::SPEECH).unwrap_err();
        assert_eq!(endless, SoundError::TooLong { most: SAMPLES_MAX });
    }

    #[test]
    fn a_tag_behind_the_last_frame_is_passed_over() {
        let mut file = flac(Format::SPEECH, &samples(), 250);
        file.extend(b"TAG");
        file.extend([0; 125]);
        assert_eq!(decode(&file, Format::SPEECH).unwrap(), samples());
        assert_eq!(decode(&claiming(file, 0), Format::SPEECH).unwrap(), samples());
    }

    #[test]
    fn another_rate_is_refused() {
        let got = Format { rate_hz: 8000, ..Format::SPEECH };
        let error = decode(&flac(got, &samples(), 500), Format::SPEECH).unwrap_err();
        assert_eq!(error, SoundError::Format { expected: Format::SPEECH, got });
    }

    #[test]
    fn cut_and_damaged_files_are_refused() {
        let file = flac(Format::SPEECH, &samples(), 250);
        for length in (4..file.len()).step_by(37) {
            assert!(decode(&file[..length], Format::SPEECH).is_err(), "{length} of {} bytes", file.len());
        }
        // After a whole frame, only the number of samples shows that the file is cut.
        let frame_bytes = (file.len() - 42) / 4;
        let cut = decode(&file[..42 + frame_bytes], Format::SPEECH).unwrap_err();
        assert_eq!(cut, SoundError::Samples(Part::Count));
        let mut damaged = file.clone();
        damaged[30] ^= 1;
        assert_eq!(decode(&damaged, Format::SPEECH).unwrap_err(), SoundError::Samples(Part::Checksum));
        let mut damaged = file.clone();
        damaged[600] ^= 1;
        assert!(matches!(decode(&damaged, Format::SPEECH), Err(SoundError::Flac(_))));
        let mut without_sum = file;
        without_sum[26..42].fill(0);
        assert_eq!(decode(&without_sum, Format::SPEECH).unwrap(), samples());
    }
}

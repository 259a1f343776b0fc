//! WAV: chunks of a RIFF file. `fmt ` says how the samples in `data` are to be read. In files beyond 4 GiB, RF64,
//! `ds64` holds the lengths.

use crate::{
    error::{Part, SoundError},
    format::{Format, Header, Kind},
};

const PCM: u16 = 1;
/// Encoding of an extensible format: the real encoding follows the other fields.
const EXTENSIBLE: u16 = 0xfffe;
/// Offset of an extensible format's encoding in its chunk.
const EXTENDED_ENCODING: usize = 24;
/// Number of bytes of a chunk's name and size, or of the file's.
const CHUNK_HEAD: usize = 8;
const FILE_HEAD: usize = 12;
/// The least length of `data` that is not believed of a shorter file: who writes into a pipe cannot know it, and claims
/// as much as there can be: sox 7ffff000 in whole samples, arecord 80000000, ffmpeg ffffffff.
const UNKNOWN_FROM: u64 = 0x7fff_0000;

/// The two chunks that matter.
pub(crate) struct Chunks<'a> {
    format: Format,
    data: &'a [u8],
}

/// Finds the chunks of a WAV file.
///
/// # Errors
/// [`SoundError::Cut`] or [`SoundError::Encoding`].
pub(crate) fn chunks(bytes: &[u8]) -> Result<Chunks<'_>, SoundError> {
    let cut = |within| SoundError::Cut { size_bytes: bytes.len(), within };
    let mut rest = bytes.get(FILE_HEAD..).unwrap_or_default();
    let (mut format, mut size_64) = (None, None);
    loop {
        let (head, after) = rest.split_at_checked(CHUNK_HEAD).ok_or_else(|| cut(Part::Header))?;
        let size_32 = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        let size = size_32 as usize;
        let chunk = after.get(..size);
        match (&head[..4], format) {
            (b"fmt ", _) => format = Some(read_format(chunk.ok_or_else(|| cut(Part::Header))?, bytes.len())?),
            // The length of the file, then the length of `data`.
            (b"ds64", _) => size_64 = chunk.and_then(|chunk| chunk.get(8..)?.first_chunk::<8>()),
            (b"data", Some(format)) => {
                let data = samples_in(after, size_32, size_64).ok_or_else(|| cut(Part::Samples))?;
                return Ok(Chunks { format, data });
            }
            // Samples before their format are as good as none.
            _ => {}
        }
        // Chunks begin at even places.
        rest = after.get(size + size % 2..).ok_or_else(|| cut(Part::Header))?;
    }
}

/// Returns the samples at the beginning of `rest`, by the length of `data`, or by the one in `ds64` that replaces it.
/// If the writer could not know it, they continue to the end of the file.
///
/// Source: EBU Tech 3306 for `ds64`; libsndfile, which takes the rest of the file for a length of 0.
fn samples_in<'a>(rest: &'a [u8], size_32: u32, size_64: Option<&[u8; 8]>) -> Option<&'a [u8]> {
    let (size, unknown_from) = match size_64 {
        Some(size) if size_32 == u32::MAX => (u64::from_le_bytes(*size), u64::MAX),
        _ => (size_32.into(), UNKNOWN_FROM),
    };
    let claimed = usize::try_from(size).ok().and_then(|size| rest.get(..size));
    if size == 0 { Some(rest) } else { claimed.or((size >= unknown_from).then_some(rest)) }
}

fn read_format(chunk: &[u8], size_bytes: usize) -> Result<Format, SoundError> {
    let word = |at: usize| Some(u16::from_le_bytes([*chunk.get(at)?, *chunk.get(at + 1)?]));
    let cut = SoundError::Cut { size_bytes, within: Part::Header };
    let (Some(encoding), Some(channel_count), Some(low), Some(high), Some(bits)) =
        (word(0), word(2), word(4), word(6), word(14))
    else {
        return Err(cut);
    };
    let encoding = if encoding == EXTENSIBLE { word(EXTENDED_ENCODING).ok_or(cut)? } else { encoding };
    if encoding != PCM {
        return Err(SoundError::Encoding(encoding));
    }
    Ok(Format { rate_hz: u32::from(low) | u32::from(high) << 16, channel_count, bits })
}

impl Chunks<'_> {
    pub(crate) fn header(&self) -> Header {
        // A header may say 0 of both.
        let [channel_count, bytes] =
            [self.format.channel_count, self.format.bits.div_ceil(8)].map(|count| u64::from(count.max(1)));
        let sample_count = Some(self.data.len() as u64 / bytes / channel_count);
        Header { kind: Kind::Wav, format: self.format, sample_count }
    }

    /// Returns the samples of 16 bits.
    ///
    /// # Errors
    /// [`SoundError::Cut`] if the last one is half there.
    pub(crate) fn samples(&self) -> Result<Vec<i16>, SoundError> {
        match self.data.as_chunks::<2>() {
            (samples, []) => Ok(samples.iter().map(|bytes| i16::from_le_bytes(*bytes)).collect()),
            _ => Err(SoundError::Cut { size_bytes: self.data.len(), within: Part::Samples }),
        }
    }
}

/// Writes a WAV file of these samples, with channels interleaved.
///
/// # Panics
/// If a sample of the format has not 16 bits, or the file would have 2^32 bytes: a mistake of the caller.
#[must_use]
pub fn wav(format: Format, samples: &[i16]) -> Vec<u8> {
    assert_eq!(format.bits, 16, "bits of a sample");
    // These two fields follow from the others, and nothing here reads them.
    let frame_bytes = format.channel_count.saturating_mul(2);
    let second_bytes = format.rate_hz.saturating_mul(frame_bytes.into());
    let size = u32::try_from(samples.len() * 2).ok().filter(|size| *size < u32::MAX - 36);
    let size = size.expect("a WAV file has fewer than 2^32 bytes");
    let mut file = Vec::with_capacity(44 + samples.len() * 2);
    file.extend(b"RIFF");
    file.extend((36 + size).to_le_bytes());
    file.extend(b"WAVEfmt ");
    file.extend(16_u32.to_le_bytes());
    file.extend(PCM.to_le_bytes());
    file.extend(format.channel_count.to_le_bytes());
    file.extend(format.rate_hz.to_le_bytes());
    file.extend(second_bytes.to_le_bytes());
    file.extend(frame_bytes.to_le_bytes());
    file.extend(format.bits.to_le_bytes());
    file.extend(b"data");
    file.extend(size.to_le_bytes());
    file.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
    file
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::file::decode;

    #[test]
    fn other_chunks_are_passed_over_and_extensible_formats_read() {
        let plain = wav(Format::SPEECH, &[1, -2, 3]);
        let mut file = plain[..FILE_HEAD].to_vec();
        file.extend(b"LIST\x03\0\0\0abc\0");
        file.extend(b"fmt \x28\0\0\0\xfe\xff");
        file.extend(&plain[22..36]);
        file.extend([22, 0, 16, 0, 4, 0, 0, 0, 1, 0]);
        file.extend(b"\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71");
        file.extend(&plain[36..]);
        file.extend(b"id3 ....");
        assert_eq!(decode(&file, Format::SPEECH).unwrap(), [1, -2, 3]);
        assert_eq!(Header::read(&file).unwrap().sample_count, Some(3));
    }

    #[test]
    fn a_cut_file_is_told_with_the_part() {
        let whole = wav(Format::SPEECH, &[1, -2, 3]);
        for length in 12..whole.len() {
            let within = if length < 44 { Part::Header } else { Part::Samples };
            let cut = SoundError::Cut { size_bytes: length, within };
            assert_eq!(Header::read(&whole[..length]).unwrap_err(), cut);
            assert_eq!(decode(&whole[..length], Format::SPEECH).unwrap_err(), cut);
        }
        let mut odd = whole.clone();
        odd[40] = 5;
        assert!(matches!(decode(&odd, Format::SPEECH), Err(SoundError::Cut { within: Part::Samples, .. })));
    }

    #[test]
    fn samples_of_unknown_number_go_on_to_the_end() {
        let whole = wav(Format::SPEECH, &[1, -2, 3]);
        let with = |size: u32| [&whole[..40], &size.to_le_bytes(), &whole[44..]].concat();
        for size in [0, 0x7fff_effe, 0x7fff_f000, 0x8000_0000, u32::MAX] {
            assert_eq!(decode(&with(size), Format::SPEECH).unwrap(), [1, -2, 3], "{size:x}");
            assert_eq!(Header::read(&with(size)).unwrap().sample_count, Some(3));
            let half = decode(&with(size)[..49], Format::SPEECH).unwrap_err();
            assert!(matches!(half, SoundError::Cut { within: Part::Samples, .. }), "{half}");
        }
        let empty = &with(0)[..44];
        assert_eq!(decode(empty, Format::SPEECH).unwrap(), [0_i16; 0]);
        for size in [7, 0x7ffe_ffff] {
            assert!(matches!(decode(&with(size), Format::SPEECH), Err(SoundError::Cut { .. })), "{size:x}");
        }
    }

    #[test]
    fn large_files_have_their_length_in_a_chunk_of_its_own() {
        let whole = wav(Format::SPEECH, &[1, -2, 3]);
        let with = |name: &[u8], size_64: u64, size_32: u32| {
            let ds64 = [b"ds64\x1c\0\0\0".as_slice(), &[0; 8], &size_64.to_le_bytes(), &[0; 12]].concat();
            [name, &[0xff; 4], b"WAVE", &ds64, &whole[12..40], &size_32.to_le_bytes(), &whole[44..]].concat()
        };
        for name in [b"RF64", b"BW64"] {
            assert_eq!(decode(&with(name, 6, u32::MAX), Format::SPEECH).unwrap(), [1, -2, 3]);
            assert_eq!(decode(&with(name, 4, u32::MAX), Format::SPEECH).unwrap(), [1, -2]);
            assert_eq!(decode(&with(name, 4, 2), Format::SPEECH).unwrap(), [1]);
            assert_eq!(decode(&with(name, 0, u32::MAX), Format::SPEECH).unwrap(), [1, -2, 3]);
            for size in [8, 1 << 40] {
                let cut = decode(&with(name, size, u32::MAX), Format::SPEECH).unwrap_err();
                assert!(matches!(cut, SoundError::Cut { within: Part::Samples, .. }), "{cut}");
            }
        }
        // As programs write that only exchange the name.
        let renamed = [b"RF64".as_slice(), &whole[4..]].concat();
        assert_eq!(decode(&renamed, Format::SPEECH).unwrap(), [1, -2, 3]);
    }

    #[test]
    fn other_formats_and_encodings_are_refused() {
        for got in
            [Format { rate_hz: 22_050, ..Format::SPEECH }, Format { channel_count: 2, ..Format::SPEECH }]
        {
            let error = decode(&wav(got, &[1, 2]), Format::SPEECH).unwrap_err();
            assert_eq!(error, SoundError::Format { expected: Format::SPEECH, got });
        }
        let stereo = Format { channel_count: 2, ..Format::SPEECH };
        let text = SoundError::Format { expected: Format::SPEECH, got: stereo }.to_string();
        assert!(
            text.contains("16000 Hz, 2 channels and 16 bits a sample instead of 16000 Hz, 1 channel and"),
            "{text}"
        );
        let mut file = wav(Format::SPEECH, &[1, 2]);
        file[20] = 3;
        assert_eq!(decode(&file, Format::SPEECH).unwrap_err(), SoundError::Encoding(3));
        file[20] = 1;
        file[34] = 24;
        assert!(matches!(
            decode(&file, Format::SPEECH),
            Err(SoundError::Format { got: Format { bits: 24, .. }, .. })
        ));
        assert_eq!(Header::read(b"OggS").unwrap_err(), SoundError::Foreign);
        assert_eq!(Header::read(b"").unwrap_err(), SoundError::Foreign);
    }

    proptest! {
        #[test]
        fn samples_come_back(samples in prop::collection::vec(any::<i16>(), 0..300)) {
            let file = wav(Format::SPEECH, &samples);
            prop_assert_eq!(Header::read(&file).unwrap().sample_count, Some(samples.len() as u64));
            prop_assert_eq!(decode(&file, Format::SPEECH).unwrap(), samples);
        }

        #[test]
        fn no_bytes_crash_it(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes, Format::SPEECH);
            bytes.splice(0..0, *b"RIFF0000WAVEfmt \x10\0\0\0\x01\0\x01\0");
            let _ = decode(&bytes, Format::SPEECH);
            bytes.splice(.., [b"fLaC\x80\0\0\x22".as_slice(), &bytes.clone()].concat());
            let _ = decode(&bytes, Format::SPEECH);
        }
    }
}

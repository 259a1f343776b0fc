//! Either kind of file.

use proctor_vocabulary::misfetched;

use crate::{
    error::{Part, SoundError},
    flac,
    format::{Format, Header, Kind},
    wav,
};

impl Header {
    /// Reads the header at the beginning of a file.
    ///
    /// # Errors
    /// [`SoundError::Foreign`], [`SoundError::Misfetched`], [`SoundError::Cut`], [`SoundError::Encoding`] or
    /// [`SoundError::Flac`].
    pub fn read(bytes: &[u8]) -> Result<Self, SoundError> {
        let (kind, bytes) = sound(bytes)?;
        match kind {
            Kind::Wav => Ok(wav::chunks(bytes)?.header()),
            Kind::Flac => flac::header(bytes),
        }
    }

    /// Compares the form of the samples with the expected one.
    ///
    /// # Errors
    /// [`SoundError::Format`].
    pub fn check(&self, expected: Format) -> Result<(), SoundError> {
        if self.format == expected { Ok(()) } else { Err(SoundError::Format { expected, got: self.format }) }
    }
}

/// Decodes the samples of a file, with channels interleaved.
///
/// # Errors
/// Returns the fault of the file, or [`SoundError::Format`] if its samples are of another form.
pub fn decode(bytes: &[u8], expected: Format) -> Result<Vec<i16>, SoundError> {
    let (kind, bytes) = sound(bytes)?;
    match kind {
        Kind::Wav => {
            let chunks = wav::chunks(bytes)?;
            chunks.header().check(expected)?;
            chunks.samples()
        }
        Kind::Flac => flac::decode(bytes, expected),
    }
}

/// Returns the sound in a file, behind the ID3v2 tags that some programs prepend, and its kind.
///
/// Source of the tags: ID3v2.4.0, section 3.1.
///
/// # Errors
/// [`SoundError::Foreign`], [`SoundError::Misfetched`], or [`SoundError::Cut`] within a tag.
fn sound(bytes: &[u8]) -> Result<(Kind, &[u8]), SoundError> {
    let mut rest = bytes;
    while let [b'I', b'D', b'3', _, _, flags, size @ ..] = rest
        && let Some((size, behind)) = size.split_first_chunk::<4>()
    {
        // Seven bits of each byte count.
        let tag_bytes = size.iter().fold(0, |size, byte| size << 7 | usize::from(byte & 0x7f));
        let footer_bytes = if flags & 0x10 == 0 { 0 } else { 10 };
        let cut = SoundError::Cut { size_bytes: bytes.len(), within: Part::Tag };
        rest = behind.get(tag_bytes + footer_bytes..).ok_or(cut)?;
    }
    let is_wav = [b"RIFF", b"RF64", b"BW64"].iter().any(|name| rest.starts_with(*name));
    if is_wav && rest.get(8..12) == Some(b"WAVE".as_slice()) {
        Ok((Kind::Wav, rest))
    } else if rest.starts_with(b"fLaC") {
        Ok((Kind::Flac, rest))
    } else {
        Err(misfetched(bytes).map_or(SoundError::Foreign, SoundError::Misfetched))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wav::wav;

    #[test]
    fn tags_in_front_are_passed_over() {
        let sound = wav(Format::SPEECH, &[1, -2, 3]);
        let tag = |flags, size: [u8; 4], length| {
            [b"ID3\x04\0".as_slice(), &[flags], &size, &vec![0; length]].concat()
        };
        for tags in [
            tag(0, [0, 0, 0, 20], 20),
            tag(0, [0, 0, 1, 2], 130),
            tag(0x10, [0, 0, 0, 3], 13),
            [tag(0, [0, 0, 0, 1], 1), tag(0, [0; 4], 0)].concat(),
        ] {
            let file = [tags, sound.clone()].concat();
            assert_eq!(decode(&file, Format::SPEECH).unwrap(), [1, -2, 3]);
            assert_eq!(Header::read(&file).unwrap().sample_count, Some(3));
        }
        let cut = SoundError::Cut { size_bytes: 15, within: Part::Tag };
        assert_eq!(Header::read(&tag(0, [0x7f; 4], 5)).unwrap_err(), cut);
        assert_eq!(Header::read(&tag(0, [0, 0, 0, 5], 5)).unwrap_err(), SoundError::Foreign);
        assert_eq!(Header::read(b"ID3\x04\0\0\0").unwrap_err(), SoundError::Foreign);
    }

    #[test]
    fn files_that_are_no_sound_are_named() {
        for (file, words) in [
            (&b"<!DOCTYPE html>"[..], "it is a web page"),
            (b"\x1f\x8b\x08", "it is packed by gzip"),
            (b"version https://git-lfs.github.com/spec/v1\n", "it is a pointer of Git LFS"),
        ] {
            let error = decode(file, Format::SPEECH).unwrap_err().to_string();
            assert!(error.starts_with(&format!("it is neither a WAV nor a FLAC file: {words}")), "{error}");
        }
    }
}

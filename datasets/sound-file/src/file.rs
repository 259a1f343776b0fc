//! Either kind of file.

use crate::{
    error::SoundError,
    flac,
    format::{Format, Header, Kind},
    wav,
};

impl Header {
    /// Reads the header at the beginning of a file.
    ///
    /// # Errors
    /// [`SoundError::Foreign`], [`SoundError::Cut`], [`SoundError::Encoding`] or [`SoundError::Flac`].
    pub fn read(bytes: &[u8]) -> Result<Self, SoundError> {
        match kind(bytes)? {
            Kind::Wav => Ok(wav::chunks(bytes)?.header()),
            Kind::Flac => flac::header(bytes),
        }
    }

    /// Compares the form of the samples with the one that is asked for.
    ///
    /// # Errors
    /// [`SoundError::Format`].
    pub fn check(&self, expected: Format) -> Result<(), SoundError> {
        if self.format == expected { Ok(()) } else { Err(SoundError::Format { expected, got: self.format }) }
    }
}

/// The samples of a file, those of several channels in turn.
///
/// # Errors
/// The fault of the file, or [`SoundError::Format`] if its samples are of another form.
pub fn decode(bytes: &[u8], expected: Format) -> Result<Vec<i16>, SoundError> {
    match kind(bytes)? {
        Kind::Wav => {
            let chunks = wav::chunks(bytes)?;
            chunks.header().check(expected)?;
            chunks.samples()
        }
        Kind::Flac => flac::decode(bytes, expected),
    }
}

/// The kind by the first bytes of a file.
///
/// # Errors
/// [`SoundError::Foreign`].
fn kind(bytes: &[u8]) -> Result<Kind, SoundError> {
    match bytes {
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E', ..] => Ok(Kind::Wav),
        [b'f', b'L', b'a', b'C', ..] => Ok(Kind::Flac),
        _ => Err(SoundError::Foreign),
    }
}

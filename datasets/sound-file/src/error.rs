//! Faults of sound files.

use std::fmt;

use crate::format::Format;

/// Reason why a file is not the sound that it should be. The file is for the caller to name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum SoundError {
    #[error("it is neither a WAV nor a FLAC file: convert it, or restore it")]
    Foreign,
    /// The file is left over from a failed download, a checkout or a packer; the text says which.
    #[error("it is neither a WAV nor a FLAC file: {0}")]
    Misfetched(&'static str),
    #[error("it ends after {size_bytes} bytes, within {within}: restore it")]
    Cut { size_bytes: usize, within: Part },
    #[error("its samples are of the WAV encoding {0:#06x}, but 0x0001 (PCM) is read here: convert it")]
    Encoding(u16),
    #[error("it has {got} instead of {expected}: convert it, or restore it")]
    Format { expected: Format, got: Format },
    #[error("it is a damaged FLAC file ({0}): restore it")]
    Flac(String),
    /// A FLAC file has more samples than are read; a few of its bytes may expand to any number of samples.
    #[error("it has more than {most} samples, and a FLAC file of more is not read: restore it, or cut it up")]
    TooLong { most: u64 },
    #[error("its samples do not match {0} in its header: restore it")]
    Samples(Part),
}

/// A part of a sound file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// An ID3v2 tag before the sound.
    Tag,
    /// The bytes of a header, which announce the next part.
    Header,
    /// The samples.
    Samples,
    /// The number of samples.
    Count,
    /// The sum of the samples.
    Checksum,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tag => "its ID3v2 tag",
            Self::Header => "its header",
            Self::Samples => "its samples",
            Self::Count => "the number of samples",
            Self::Checksum => "the checksum",
        })
    }
}

//! Faults of sound files.

use std::fmt;

use crate::format::Format;

/// Why a file is not the sound that it should be. The file is for the caller to name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SoundError {
    /// Its first bytes belong to neither kind of file.
    #[error("it is neither a WAV nor a FLAC file: convert it, or restore it")]
    Foreign,
    /// The file is what a failed download, a checkout or a packer leaves behind; the text says which.
    #[error("it is neither a WAV nor a FLAC file: {0}")]
    Misfetched(&'static str),
    /// It ends too early.
    #[error("it ends after {size_bytes} bytes, within {within}: restore it")]
    Cut {
        /// Size of the file.
        size_bytes: usize,
        /// The part that is not whole.
        within: Part,
    },
    /// The samples of a WAV file are not plain numbers.
    #[error("its samples are of the WAV encoding {0:#06x}, but 0x0001 (PCM) is read here: convert it")]
    Encoding(u16),
    /// Rate, channels or size of the samples are not those that were asked for.
    #[error("it has {got} instead of {expected}: convert it, or restore it")]
    Format {
        /// Format that was asked for.
        expected: Format,
        /// Format of the file.
        got: Format,
    },
    /// The FLAC decoder gave up.
    #[error("it is a damaged FLAC file ({0}): restore it")]
    Flac(String),
    /// A FLAC file has more samples than are read; a few of its bytes may stand for any number of samples.
    #[error("it has more than {most} samples, and a FLAC file of more is not read: restore it, or cut it up")]
    TooLong {
        /// The most samples that are read.
        most: u64,
    },
    /// The decoded samples are not those that the header describes.
    #[error("its samples do not match {0} in its header: restore it")]
    Samples(Part),
}

/// A part of a sound file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// An ID3v2 tag in front of the sound.
    Tag,
    /// The bytes that say what follows.
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

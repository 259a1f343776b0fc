//! The words for sounds in files.

use std::fmt;

/// The kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// RIFF WAVE.
    Wav,
    /// The Free Lossless Audio Codec.
    Flac,
}

/// The form of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Number of samples of a channel in a second.
    pub rate_hz: u32,
    /// Number of channels.
    pub channel_count: u16,
    /// Size of a sample.
    pub bits: u16,
}

impl Format {
    /// The speech of LibriSpeech: 16 kHz, one channel, 16 bits.
    pub const SPEECH: Self = Self { rate_hz: 16_000, channel_count: 1, bits: 16 };
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rate_hz, channel_count, bits } = self;
        let s = if *channel_count == 1 { "" } else { "s" };
        write!(f, "{rate_hz} Hz, {channel_count} channel{s} and {bits} bits a sample")
    }
}

/// The description of its samples in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The kind of file.
    pub kind: Kind,
    /// The form of its samples.
    pub format: Format,
    /// Number of samples of each channel; a FLAC file need not say.
    pub sample_count: Option<u64>,
}

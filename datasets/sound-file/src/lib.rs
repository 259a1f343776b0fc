//! Reads WAV and FLAC files: headers and samples.
//!
//! [`Header::read`] reads the beginning of a file, [`decode`] returns its samples if they have the requested
//! [`Format`], and [`wav`] writes files. The first bytes identify the kind of file, not its name; ID3 tags around the
//! sound are skipped.
//!
//! # Choices
//! - Samples with another rate or several channels are refused, never converted: a benchmark states the format it
//!   takes.
//! - WAV is parsed here, in one pass over its chunks, so each defect has a name. FLAC is decoded by claxon, which has
//!   no dependencies; symphonia reads more formats than any benchmark has and takes longer to build.
//! - A FLAC file states its number of samples and their MD5. Both are verified: a damaged file is an error.
//! - A WAV file written to a pipe does not state the number: its samples extend to the end of the file.
//!
//! # Example
//! ```
//! use proctor_sound_file::{Format, Header, decode, wav};
//!
//! let file = wav(Format::SPEECH, &[0, 1, -32768]);
//! assert_eq!(Header::read(&file)?.format, Format::SPEECH);
//! assert_eq!(decode(&file, Format::SPEECH)?, [0, 1, -32768]);
//! # Ok::<_, proctor_sound_file::SoundError>(())
//! ```
//!
//! # Limits
//! WAV samples are 16-bit and uncompressed. FLAC files of more than [`SAMPLES_MAX`] samples are not read.

#![forbid(unsafe_code)]

mod error;
mod file;
mod flac;
mod format;
mod wav;

pub use error::{Part, SoundError};
pub use file::decode;
pub use flac::SAMPLES_MAX;
pub use format::{Format, Header, Kind};
pub use wav::wav;

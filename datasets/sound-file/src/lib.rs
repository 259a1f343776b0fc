//! Sound files, WAV and FLAC: their headers and samples.
//!
//! [`Header::read`] looks at the beginning of a file, [`decode`] takes its samples if they are of the [`Format`] that
//! is asked for, and [`wav`] writes some. Which kind of file it is, its first bytes tell, not its name; ID3 tags around
//! the sound are passed over.
//!
//! # Choices
//! - Samples of another rate or of several channels are refused, never converted: a benchmark says which it takes.
//! - WAV is read here, in one pass over its chunks, so that each fault has a name. FLAC is read by claxon, which has no
//!   dependency; symphonia reads more formats than a benchmark has and takes longer to build.
//! - A FLAC file tells how many samples it has and their MD5. Both are compared: a damaged file is an error.
//! - A WAV file that was written into a pipe does not tell how many: its samples go on to the end of the file.
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
//! Samples have 16 bits and are not compressed in WAV. A FLAC file of more than [`SAMPLES_MAX`] is not read.

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

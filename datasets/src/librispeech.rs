//! Selects the recordings of LibriSpeech that are samples, by their manifest.
//!
//! The manifest has their transcripts, too, so each of its readers takes its own part; here is the rule that all go by.

use serde::Deserialize;

/// Name of the manifest in the folder of the data set.
pub const MANIFEST: &str = "dev-clean-wav.json";

/// Longest recording that is a sample, in s; one of this length is.
///
/// Source: MLPerf Inference, `speech_recognition/rnnt`.
const DURATION_MAX_S: f64 = 15.0;

/// Speed of the file that is the sample of a recording: the original one.
const SPEED: f64 = 1.0;

/// A file of a recording, as in the manifest.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RecordingFile {
    /// Path below the folder, which is the name of the sample.
    pub fname: String,
    /// Speed; 1 is the original one, also if the manifest is silent.
    #[serde(default = "as_spoken")]
    pub speed: f64,
}

fn as_spoken() -> f64 {
    SPEED
}

/// Returns the file of a recording at the original speed, the first if there are several.
#[must_use]
pub fn spoken(files: &[RecordingFile]) -> Option<&RecordingFile> {
    files.iter().find(|file| file.speed == SPEED)
}

/// Returns whether a recording of this many seconds is short enough to be a sample.
#[must_use]
pub fn is_short_enough(duration_s: f64) -> bool {
    duration_s <= DURATION_MAX_S
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_as_spoken_of_a_recording_of_up_to_15_s_is_a_sample() {
        let file = |fname: &str, speed| RecordingFile { fname: fname.to_owned(), speed };
        let files = [file("fast", 1.1), file("spoken", 1.0), file("again", 1.0)];
        assert_eq!(spoken(&files).map(|file| file.fname.as_str()), Some("spoken"));
        assert_eq!(spoken(&files[..1]), None);
        let unsaid: RecordingFile = toml::from_str("fname = \"a\"").unwrap();
        assert_eq!(unsaid, file("a", 1.0));
        assert_eq!([0.0, 15.0, 15.001].map(is_short_enough), [true, true, false]);
    }
}

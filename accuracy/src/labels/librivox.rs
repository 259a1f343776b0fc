//! Transcripts of LibriVox's recordings, as the tests of PocketSphinx have them.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use proctor_datasets::{DatasetError, read_text};
use proctor_scores::speech::clean;

use crate::{
    error::AccuracyError,
    labels::{AnswersOf, PublishedSamples, SampleList, transcripts::Transcripts},
};

/// A line for each recording: `<s> the words </s> (name)`.
const FILE: &str = "transcription";
/// The names of the recordings, one in each line.
const LIST: &str = "fileids";
/// End of a recording's file, which is the name of its sample.
const ENDING: &str = ".wav";

inventory::submit! { SampleList { dataset: "librivox", read: listed } }
inventory::submit! {
    AnswersOf::<Transcripts> { dataset: "librivox", read: |samples| spelled(samples).map(Transcripts) }
}

/// Returns the path of the list and the files that it names.
fn listed(folder: &Path) -> Result<(PathBuf, Vec<String>), AccuracyError> {
    let path = folder.join(LIST);
    let text = read_text(&path)?;
    let names = text.lines().map(str::trim).filter(|name| !name.is_empty());
    Ok((path, names.map(|name| format!("{name}{ENDING}")).collect()))
}

/// Reads the transcripts of samples, which are named by their files.
fn spelled(samples: &PublishedSamples) -> Result<Vec<String>, AccuracyError> {
    let path = samples.folder.join(FILE);
    let text = read_text(&path)?;
    let malformed = |reason: String| DatasetError::Malformed { path: path.clone(), reason };
    let mut by_name = HashMap::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let (words, name) = parse(line).ok_or_else(|| {
            malformed(format!("line {number} is not \"<s> the words </s> (name)\"; restore the file"))
        })?;
        by_name.insert(name, words);
    }
    let transcript = |name: &String| -> Result<String, AccuracyError> {
        let found = name.strip_suffix(ENDING).and_then(|name| by_name.get(name));
        let words = found.ok_or_else(|| {
            malformed(format!("it has no transcript of {name}, which was prepared as a sample"))
        })?;
        Ok(clean(words).map_err(|error| malformed(format!("transcript of {name}: {error}")))?)
    };
    samples.names.iter().map(transcript).collect()
}

/// Splits a line into the words and the name of the recording.
fn parse(line: &str) -> Option<(&str, &str)> {
    let (words, name) = line.trim().strip_suffix(')')?.rsplit_once('(')?;
    let words = words.trim().strip_prefix("<s>")?.strip_suffix("</s>")?;
    Some((words.trim(), name))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::labels::transcripts;

    #[test]
    fn transcripts_are_joined_by_the_names_of_recordings() {
        let folder = tempfile::tempdir().unwrap();
        let names = vec!["b.wav".to_owned(), "a.wav".to_owned()];
        let samples = PublishedSamples { folder: folder.path().to_owned(), names };
        let read = || {
            let cause = |error: AccuracyError| {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                source.unwrap_or_else(|| error.to_string())
            };
            transcripts::read("librivox", &samples).map_err(cause)
        };
        assert!(read().is_err());
        let write = |text: &str| fs::write(folder.path().join(FILE), text).unwrap();
        write("<s> it's a </s> (a)\n\n<s> mr. b, (once) </s> (b)\n<s> unused </s> (c)\n");
        assert_eq!(read().unwrap(), ["mister b once", "it's a"]);
        for (text, words) in [
            ("<s> a </s> (a)\n", "it has no transcript of b.wav"),
            ("<s> a </s> (a)\nb (b)\n", "line 2 is not \"<s> the words </s> (name)\""),
            ("<s> a </s> a\n", "line 1 is not "),
        ] {
            write(text);
            let error = read().unwrap_err();
            assert!(error.contains(&format!("transcription: {words}")), "{error}");
        }
    }
}

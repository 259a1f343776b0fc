//! Transcripts of recordings. LibriSpeech has them in the list of its recordings.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use proctor_datasets::{
    DatasetError,
    librispeech::{MANIFEST, RecordingFile, is_short_enough, spoken},
    read_text,
};
use proctor_scores::speech::clean;
use serde::Deserialize;

use crate::{
    error::AccuracyError,
    labels::{AnswersOf, PublishedSamples, SampleList, read_answers},
};

/// The transcripts of samples, spelled in the labels of RNN-T.
pub(crate) struct Transcripts(pub(crate) Vec<String>);

inventory::collect!(AnswersOf<Transcripts>);
inventory::submit! { SampleList { dataset: "librispeech", read: listed } }
inventory::submit! {
    AnswersOf::<Transcripts> { dataset: "librispeech", read: |samples| spelled(samples).map(Transcripts) }
}

#[derive(Deserialize)]
struct Entry {
    files: Vec<RecordingFile>,
    transcript: String,
    #[serde(default)]
    original_duration: f64,
}

/// Returns the path of the manifest and the files of all recordings that are short enough.
fn listed(folder: &Path) -> Result<(PathBuf, Vec<String>), AccuracyError> {
    let (path, entries) = entries(folder)?;
    let mut names = Vec::new();
    for (number, entry) in (1..).zip(&entries) {
        let Some(file) = spoken(&entry.files) else {
            let reason = format!("entry {number} names no file of speed 1; correct the entry");
            return Err(DatasetError::Malformed { path, reason }.into());
        };
        if is_short_enough(entry.original_duration) {
            names.push(file.fname.clone());
        }
    }
    Ok((path, names))
}

/// Returns the list with its recordings.
fn entries(folder: &Path) -> Result<(PathBuf, Vec<Entry>), DatasetError> {
    let path = folder.join(MANIFEST);
    match serde_json::from_str(&read_text(&path)?) {
        Ok(entries) => Ok((path, entries)),
        Err(error) => {
            let reason =
                format!("it is not a list of recordings with transcripts: {error}; restore the file");
            Err(DatasetError::Malformed { path, reason })
        }
    }
}

/// Reads the transcripts of samples of a data set, spelled in the labels of RNN-T.
pub(crate) fn read(dataset: &str, samples: &PublishedSamples) -> Result<Vec<String>, AccuracyError> {
    read_answers::<Transcripts>("transcripts", dataset, samples).map(|transcripts| transcripts.0)
}

/// Reads the transcripts of samples, which are named by their files.
fn spelled(samples: &PublishedSamples) -> Result<Vec<String>, AccuracyError> {
    let (path, entries) = entries(&samples.folder)?;
    let malformed = |reason: String| DatasetError::Malformed { path: path.clone(), reason };
    let by_name: HashMap<_, _> = entries
        .iter()
        .flat_map(|entry| entry.files.iter().map(|file| (file.fname.as_str(), entry.transcript.as_str())))
        .collect();
    let transcript = |name: &String| -> Result<String, AccuracyError> {
        let found = by_name.get(name.as_str());
        let text = found.ok_or_else(|| {
            malformed(format!("it has no transcript of {name}, which was prepared as a sample"))
        })?;
        let spelled = clean(text);
        Ok(spelled.map_err(|error| malformed(format!("transcript of {name}: {error}")))?)
    };
    samples.names.iter().map(transcript).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn transcripts_are_joined_by_the_names_of_files() {
        let folder = tempfile::tempdir().unwrap();
        let names = vec!["b.wav".to_owned(), "a.wav".to_owned()];
        let samples = PublishedSamples { folder: folder.path().to_owned(), names };
        let read = || read("librispeech", &samples);
        let write = |text: &str| fs::write(folder.path().join(MANIFEST), text).unwrap();
        assert!(read().is_err());
        write(
            r#"[{"files": [{"fname": "a.wav", "speed": 1}], "transcript": "IT'S  A"},
                {"files": [{"fname": "b.wav"}], "transcript": "MR. B", "original_duration": 1.5}]"#,
        );
        assert_eq!(read().unwrap(), ["mister b", "it's a"]);
        for text in ["[]", "[{\"files\": []}]", "{}"] {
            write(text);
            assert!(read().is_err(), "{text}");
        }
        let foreign = super::read("wmt", &samples).unwrap_err().to_string();
        assert!(foreign.starts_with("no transcripts of data set \"wmt\""), "{foreign}");
    }
}

//! The list of recordings. Transcripts are parsed and never kept.

use std::collections::HashMap;

use proctor_datasets::librispeech::{RecordingFile, is_short_enough, spoken};
use serde::{Deserialize, de::IgnoredAny};

use crate::{
    defect::{EntryFault, Problem},
    files::stays_inside,
};

/// The entries, in the order of the file.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Manifest(Vec<Entry>);

/// A recording, at one speed or several.
#[derive(Deserialize)]
pub(super) struct Entry {
    files: Vec<RecordingFile>,
    original_duration: f64,
    original_num_samples: Option<u64>,
    transcript: Option<IgnoredAny>,
}

/// The file of an entry that counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recording<'a> {
    /// Path below the folder.
    pub(super) name: &'a str,
    /// Samples, if the entry says.
    pub(super) sample_count: Option<u64>,
}

impl Entry {
    /// Returns whether it is short enough to be a sample.
    pub(super) fn is_short_enough(&self) -> bool {
        is_short_enough(self.original_duration)
    }

    /// Returns the file at the original speed.
    pub(super) fn recording(&self) -> Option<Recording<'_>> {
        let file = spoken(&self.files)?;
        Some(Recording { name: &file.fname, sample_count: self.original_num_samples })
    }
}

impl Manifest {
    pub(super) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns the entries with their numbers, from 1.
    pub(super) fn entries(&self) -> impl Iterator<Item = (usize, &Entry)> {
        (1..).zip(&self.0)
    }

    /// Returns everything that is wrong with the entries.
    pub(super) fn faults(&self) -> Vec<Problem> {
        let mut faults = Vec::new();
        let mut seen = HashMap::new();
        for (number, entry) in self.entries() {
            let mut add = |fault| faults.push(Problem::Entry { number, fault });
            match entry.recording() {
                None => add(EntryFault::NoFile),
                Some(Recording { name, .. }) if !stays_inside(name) => {
                    add(EntryFault::Outside { name: name.to_owned() })
                }
                Some(Recording { name, .. }) => {
                    if let Some(first) = seen.insert(name, number) {
                        add(EntryFault::Twice { name: name.to_owned(), first });
                    }
                }
            }
            if entry.transcript.is_none() {
                add(EntryFault::NoTranscript);
            }
        }
        faults
    }
}

//! The samples that ranges are found with.

use std::{collections::HashMap, fs, path::Path};

use proctor_config::Benchmark;
use proctor_datasets::{
    DataRoot, Dataset, DatasetError, DatasetRequest, Open, dataset_entries, is_published, open_dataset,
    read_named_text, sha256_hex,
};
use proctor_published::{FileSamples, Published};
use proctor_quantise::QuantiseError;
use proctor_words::{CommandError, HostError};

use super::QuantiseFlags;
use crate::{
    calibration::{Chosen, Wanted, Words, calibration_source, malformed, of_files, shared_in_words, wanted},
    catalogue,
};

/// Number of samples that are made.
const MADE_COUNT: u64 = 16;

/// Where the samples come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// All of a data set that is there for it.
    Part(String),
    /// A list: its name, and the SHA-256 of its text.
    List { name: String, sha256: String },
    /// The files of a folder, by its name.
    Folder(String),
}

/// Samples to find ranges with.
pub(super) struct CalibrationSamples {
    pub(super) dataset: Box<dyn Dataset>,
    /// Their indices in it, in order.
    pub(super) indices: Vec<u64>,
    /// Their names, in the same order.
    pub(super) names: Vec<String>,
    pub(super) origin: Origin,
    /// Names of all samples of the data set, if they have names.
    pub(super) names_of_all: Vec<String>,
    /// Whether accuracy is also measured on each of them; `None` if that is unknown.
    are_shared: Option<Vec<bool>>,
    /// Data set that accuracy is measured on.
    of_accuracy: String,
}

impl CalibrationSamples {
    /// Opens the samples that the flags name, or the part of the benchmark's data set that is there for it.
    ///
    /// # Errors
    /// If they are not there, or there is no such part.
    pub(super) fn open(
        flags: &QuantiseFlags,
        benchmark: &Benchmark,
        root: &DataRoot,
    ) -> Result<Self, HostError> {
        if benchmark.inputs_vary {
            return Err(CommandError::NotCalibrated(benchmark.id.clone()).into());
        }
        let mut samples = match &flags.calibration {
            None => Self::part(flags, benchmark, root)?,
            Some(path) if is_published(&benchmark.dataset) => {
                Self::published(flags, catalogue::find(&benchmark.dataset)?, path)?
            }
            Some(list) => Self::listed(flags, benchmark, root, list)?,
        };
        if let Some(count) = flags.samples {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            samples.indices.truncate(count);
            samples.names.truncate(count);
            samples.are_shared.iter_mut().for_each(|are_shared| are_shared.truncate(count));
        }
        if samples.indices.is_empty() {
            return Err(HostError::data(QuantiseError::NoSamples));
        }
        Ok(samples)
    }

    /// Opens the data set that is called like the benchmark's, with `-calibration` at its end, or makes samples where
    /// all are made.
    fn part(flags: &QuantiseFlags, benchmark: &Benchmark, root: &DataRoot) -> Result<Self, HostError> {
        if let Open::Made { open, .. } = catalogue::entry(&benchmark.dataset)?.open {
            let sample_count = flags.samples.unwrap_or(MADE_COUNT);
            let (model, inputs) = (benchmark.model.id.as_str(), benchmark.inputs.as_slice());
            let dataset = open(&DatasetRequest { root, model, inputs, sample_count })?;
            return Ok(Self::all(dataset, &benchmark.dataset, benchmark, true));
        }
        let name = format!("{}-calibration", benchmark.dataset);
        if !dataset_entries().iter().any(|entry| entry.name == name) {
            return Err(CommandError::NoCalibrationPart(benchmark.dataset.clone()).into());
        }
        let dataset = open_dataset(&name, root)?;
        Ok(Self::all(dataset, &name, benchmark, false))
    }

    fn all(dataset: Box<dyn Dataset>, name: &str, benchmark: &Benchmark, are_shared: bool) -> Self {
        let indices: Vec<u64> = (0..dataset.sample_count()).collect();
        Self {
            names: indices.iter().map(u64::to_string).collect(),
            names_of_all: Vec::new(),
            are_shared: Some(vec![are_shared; indices.len()]),
            indices,
            dataset,
            origin: Origin::Part(name.to_owned()),
            of_accuracy: benchmark.dataset.clone(),
        }
    }

    /// Opens samples of a published data set by a list, or the files of a folder.
    fn published(
        flags: &QuantiseFlags,
        published: &'static Published,
        path: &Path,
    ) -> Result<Self, HostError> {
        let (found, origin) = if path.is_dir() {
            if !published.calibration.is_of_files || flags.files.is_some() {
                return Err(CommandError::NotOfFiles(published.name).into());
            }
            let names = files_of(path)?;
            let samples = FileSamples::below(published.name, path, path, &names)?;
            let data_set = flags.place.of(published);
            let data_set = if flags.place.is_named() { Some(data_set?) } else { data_set.ok() };
            let there = data_set.map(|folder| catalogue::open(published, &folder, &Default::default()));
            (of_files(samples, &names, there.transpose()?), Origin::Folder(super::name_of(path)))
        } else {
            let text = read_named_text(path)?;
            let words = Words::parse(&text).map_err(|reason| malformed(path, reason))?;
            let source = calibration_source(published, &flags.place, flags.files.as_deref())?;
            (wanted(published, &source, path, &words)?, Origin::list(path, &text))
        };
        let Wanted { dataset, indices, names: names_of_all, chosen, is_compared } = found;
        let is_shared = |chosen: &Chosen| chosen.index.is_some();
        let are_shared = is_compared.then(|| chosen.iter().map(is_shared).collect());
        let names = chosen.into_iter().map(|chosen| chosen.name).collect();
        let of_accuracy = published.name.to_owned();
        Ok(Self { dataset, indices, names, names_of_all, origin, are_shared, of_accuracy })
    }

    /// Opens samples of a data set that the host itself reads, by a list of their numbers.
    fn listed(
        flags: &QuantiseFlags,
        benchmark: &Benchmark,
        root: &DataRoot,
        list: &Path,
    ) -> Result<Self, HostError> {
        if list.is_dir() || flags.files.is_some() {
            return Err(CommandError::NotOfNumbers(benchmark.dataset.clone()).into());
        }
        let text = read_named_text(list)?;
        let words = Words::parse(&text).map_err(|reason| malformed(list, reason))?;
        let dataset = open_dataset(&benchmark.dataset, root)?;
        let indices = words.among(&HashMap::new(), dataset.sample_count());
        let indices = indices.map_err(|reason| malformed(list, reason))?;
        Ok(Self {
            names: indices.iter().map(u64::to_string).collect(),
            names_of_all: Vec::new(),
            are_shared: Some(vec![true; indices.len()]),
            indices,
            dataset,
            origin: Origin::list(list, &text),
            of_accuracy: benchmark.dataset.clone(),
        })
    }

    /// Says how many of them accuracy is also measured on.
    pub(super) fn shared_in_words(&self) -> String {
        let count = |are_shared: &Vec<bool>| are_shared.iter().filter(|is_shared| **is_shared).count();
        shared_in_words(self.are_shared.as_ref().map(count), &self.of_accuracy)
    }
}

impl Origin {
    fn list(path: &Path, text: &str) -> Self {
        Self::List { name: super::name_of(path), sha256: sha256_hex(text.as_bytes()) }
    }
}

/// Returns the names of the files of a folder, sorted; hidden ones are left out.
fn files_of(folder: &Path) -> Result<Vec<String>, HostError> {
    let unread = |source| DatasetError::Read { path: folder.to_owned(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(unread)? {
        let entry = entry.map_err(unread)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_file() && !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort_unstable();
    if names.is_empty() {
        return Err(malformed(folder, "it has no files".to_owned()));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_folder_are_sorted_and_an_empty_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = files_of(folder.path()).unwrap_err().to_string();
        assert!(error.ends_with("it has no files"), "{error}");
        for name in ["b.jpg", "a.jpg", ".hidden"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::create_dir(folder.path().join("c")).unwrap();
        assert_eq!(files_of(folder.path()).unwrap(), ["a.jpg", "b.jpg"]);
    }
}

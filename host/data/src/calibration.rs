//! Prepares calibration samples for quantising a model: one array for each input, or for each sample if these differ in
//! shape, and their sources.
//!
//! MLPerf Inference publishes a list of them for each data set. The lists are not passed on here: the user has them.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
};

use proctor_config::Benchmark;
use proctor_datasets::{Dataset, DatasetError, read_named_text, sha256_hex};
use proctor_prepared::RowAggregation;
use proctor_preprocess::Preprocessing;
use proctor_published::{FileSamples, Opened, Published};
use proctor_vocabulary::SampleIndex;
use proctor_words::{CommandError, HostError, output, write_json};
use serde::Serialize;

use crate::{
    arrays::{ArrayFile, file_name},
    catalogue::{open, try_open},
    place::Place,
    prepare::{Source, fill},
};

/// Name of the file that describes the arrays.
const CONTENTS: &str = "calibration.json";

/// Source of calibration samples.
#[derive(Debug)]
pub(crate) enum CalibrationSource<'a> {
    /// Samples of the data set itself, which lies in this folder.
    DataSet(PathBuf),
    /// Files below a folder, such as training files. They are compared with the data set, if it exists.
    Files { files: &'a Path, data_set: Option<PathBuf> },
}

/// Samples that have been prepared.
#[derive(Debug)]
pub(crate) struct Calibrated {
    pub(crate) sample_count: usize,
    /// Number of them that accuracy is also measured on; `None` if there is no data set to compare with.
    pub(crate) shared_count: Option<usize>,
}

/// Contents of the file next to the arrays.
#[derive(Debug, Serialize)]
struct Contents<'a> {
    benchmark: &'a str,
    dataset: &'a str,
    list_sha256: String,
    preprocessing: &'a Preprocessing,
    version: u32,
    inputs: Vec<Array<'a>>,
    samples: &'a [Chosen],
}

/// An array: all samples of one input in the order of the list.
#[derive(Debug, Serialize)]
struct Array<'a> {
    input: &'a str,
    /// `None` if each sample has its own arrays.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

/// A sample of the list.
#[derive(Debug, Serialize)]
pub(crate) struct Chosen {
    pub(crate) name: String,
    /// Index in the data set that accuracy is measured on, if it is one of its samples.
    pub(crate) index: Option<u64>,
    /// Its own arrays, one for each input.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
}

impl Chosen {
    pub(crate) fn new(name: String, index: Option<u64>) -> Self {
        Self { name, index, files: Vec::new() }
    }
}

/// Samples that a list selects.
pub(crate) struct Wanted {
    pub(crate) dataset: Box<dyn Dataset>,
    /// Indices in it, in the order of the list.
    pub(crate) indices: Vec<u64>,
    /// Names of the samples of the data set.
    pub(crate) names: Vec<String>,
    pub(crate) chosen: Vec<Chosen>,
    /// True if the data set of the accuracy run exists, for comparison.
    pub(crate) is_compared: bool,
}

impl Wanted {
    /// Returns the number of samples that accuracy is also measured on; `None` if there is no data set to compare with.
    pub(crate) fn shared_count(&self) -> Option<usize> {
        let shared = self.chosen.iter().filter(|chosen| chosen.index.is_some()).count();
        self.is_compared.then_some(shared)
    }
}

/// Returns where the samples of lists are: in the data set, or below the folder of files that the user names.
///
/// # Errors
/// If the data set is needed and not there, or its samples are no files.
pub(crate) fn calibration_source<'a>(
    published: &Published,
    place: &Place,
    files: Option<&'a Path>,
) -> Result<CalibrationSource<'a>, HostError> {
    let data_set = place.of(published);
    Ok(match files {
        Some(_) if !published.calibration.is_of_files => {
            return Err(CommandError::NotOfFiles(published.name).into());
        }
        // A folder that the user names must exist, for any use.
        Some(files) if place.is_named() => CalibrationSource::Files { files, data_set: Some(data_set?) },
        Some(files) => CalibrationSource::Files { files, data_set: data_set.ok() },
        None => CalibrationSource::DataSet(data_set?),
    })
}

/// Says how many calibration samples accuracy is also measured on, if it is known.
pub(crate) fn shared_in_words(shared_count: Option<usize>, dataset: &str) -> String {
    match shared_count {
        Some(0) => "none of them is a sample that accuracy is measured on".to_owned(),
        Some(count) => format!(
            "{count} of them are samples that accuracy is measured on: let them be those that the round's list has"
        ),
        None => format!("the data set {dataset} is not there, so that nothing is known of samples in both"),
    }
}

/// Prepares the samples of a list, in its order, as the benchmark's inputs. Calls `show` with the number done
/// and the total.
///
/// # Errors
/// If the list is bad or names a missing sample, a sample cannot be prepared, or a file cannot be written.
pub(crate) fn calibrate(
    benchmark: &Benchmark,
    published: &Published,
    source: &CalibrationSource<'_>,
    list: &Path,
    out: &Path,
    show: &mut dyn FnMut(usize, usize),
) -> Result<Calibrated, HostError> {
    let text = read_named_text(list)?;
    let words = Words::parse(&text).map_err(|reason| malformed(list, reason))?;
    let found = wanted(published, source, list, &words)?;
    let shared_count = found.shared_count();
    let Wanted { dataset, indices: samples, names, mut chosen, .. } = found;
    let pipeline = benchmark.preprocessing.build(&benchmark.inputs)?;
    let outputs = pipeline.outputs();
    fs::create_dir_all(out).map_err(|source| output(out, source))?;
    // Samples of several shapes are no array, and each has its own.
    let mut joined = Vec::new();
    if benchmark.inputs_vary {
        for (place, chosen) in chosen.iter_mut().enumerate() {
            chosen.files = outputs.iter().map(|input| own_file_name(&input.name, place)).collect();
        }
    } else {
        for input in outputs {
            let extents = [&[samples.len()], input.shape.as_slice()].concat();
            joined.push(ArrayFile::make(out, &file_name(&input.name), input, &extents)?);
        }
    }
    // A sample may be listed under several names.
    let mut places = HashMap::<u64, Vec<usize>>::new();
    for (place, index) in samples.iter().enumerate() {
        places.entry(*index).or_default().push(place);
    }
    let mut once: Vec<_> = places.keys().copied().map(SampleIndex).collect();
    once.sort_unstable();
    let from = Source { dataset: &*dataset, pipeline: &*pipeline, names: &names };
    fill(&from, &once, show, |index, tensors| {
        for place in &places[&index.0] {
            for (number, (input, (shape, bytes))) in outputs.iter().zip(tensors).enumerate() {
                if let Some(array) = joined.get(number) {
                    array.write(place * input.size_bytes(), bytes)?;
                } else {
                    let array = ArrayFile::make(out, &own_file_name(&input.name, *place), input, shape)?;
                    array.write(0, bytes)?;
                    array.keep()?;
                }
            }
        }
        Ok(())
    })?;
    let file = |input: &str| (!benchmark.inputs_vary).then(|| file_name(input));
    joined.into_iter().try_for_each(ArrayFile::keep)?;
    let contents = Contents {
        benchmark: &benchmark.id,
        dataset: published.name,
        list_sha256: sha256_hex(text.as_bytes()),
        preprocessing: &benchmark.preprocessing,
        version: benchmark.preprocessing.version()?,
        inputs: outputs.iter().map(|it| Array { input: &it.name, file: file(&it.name) }).collect(),
        samples: &chosen,
    };
    write_json(&out.join(CONTENTS), &contents)?;
    Ok(Calibrated { sample_count: chosen.len(), shared_count })
}

/// Returns the name of the file of an input of the sample at this place of the list.
fn own_file_name(input: &str, place: usize) -> String {
    file_name(&format!("{input}-{place:05}"))
}

/// Finds the samples that the words of a list mean.
///
/// # Errors
/// If the data set is not there, or does not have one of them.
pub(crate) fn wanted(
    published: &Published,
    source: &CalibrationSource<'_>,
    list: &Path,
    words: &Words,
) -> Result<Wanted, HostError> {
    let rows = RowAggregation::default();
    match (source, words, published.calibration.open_listed) {
        (CalibrationSource::DataSet(folder), Words::Names(names), Some(open_listed)) => {
            // They may differ from the files of the data set, which may have none.
            let samples = open_listed(folder, list, names)?;
            Ok(of_files(samples, names, try_open(published, folder, &rows).ok()))
        }
        (CalibrationSource::DataSet(folder), ..) => {
            let Opened { dataset, names, files, .. } = open(published, folder, &rows)?;
            let indices = words.among(&by_name(&names, &files), dataset.sample_count());
            let indices = indices.map_err(|reason| malformed(list, reason))?;
            let name = |index: u64| {
                let name = usize::try_from(index).ok().and_then(|index| names.get(index));
                name.cloned().unwrap_or_else(|| index.to_string())
            };
            let chosen = indices.iter().map(|index| Chosen::new(name(*index), Some(*index))).collect();
            Ok(Wanted { dataset, indices, names, chosen, is_compared: true })
        }
        (CalibrationSource::Files { .. }, Words::Numbers(_), _) => {
            let reason = "it has numbers, which are those of samples; leave out --files";
            Err(malformed(list, reason.to_owned()))
        }
        (CalibrationSource::Files { files, data_set }, Words::Names(names), _) => {
            let samples = FileSamples::below(published.name, list, files, names)?;
            let there = data_set.as_ref().map(|folder| open(published, folder, &rows)).transpose()?;
            Ok(of_files(samples, names, there))
        }
    }
}

/// Returns all of these files, in the order of the names that a list has for them. `there` is the data set that
/// accuracy is measured on.
pub(crate) fn of_files(samples: FileSamples, names: &[String], there: Option<Opened>) -> Wanted {
    let known = there.as_ref().map_or_else(HashMap::new, |opened| by_name(&opened.names, &opened.files));
    let index = |name: &String| known.get(name.as_str()).or_else(|| known.get(last(name)));
    let chosen = |name: &String| Chosen::new(name.clone(), index(name).map(|found| found[0]));
    Wanted {
        indices: (0..samples.sample_count()).collect(),
        dataset: Box::new(samples),
        names: names.to_vec(),
        chosen: names.iter().map(chosen).collect(),
        is_compared: there.is_some(),
    }
}

pub(crate) fn malformed(list: &Path, reason: String) -> HostError {
    DatasetError::Malformed { path: list.to_owned(), reason }.into()
}

/// The words of a list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// Names, one at the start of each line.
    Names(Vec<String>),
    /// Indices of samples, any number in a line.
    Numbers(Vec<u64>),
}

impl Words {
    /// Reads a list. A line of names may have a label behind its name, which is skipped.
    ///
    /// # Errors
    /// If the list is bad: it is empty, or has a duplicate.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let numbers: Option<Vec<u64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
        let words = match numbers {
            Some(numbers) => Self::Numbers(numbers),
            None => {
                let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
                Self::Names(text.lines().filter_map(first).collect())
            }
        };
        match &words {
            Self::Names(names) => check(names)?,
            Self::Numbers(numbers) => check(numbers)?,
        }
        Ok(words)
    }

    /// Returns the indices of the samples that the list means, among all of a data set.
    ///
    /// # Errors
    /// Returns the first name that is not a known sample.
    pub(crate) fn among(
        &self,
        known: &HashMap<&str, Vec<u64>>,
        sample_count: u64,
    ) -> Result<Vec<u64>, String> {
        let wanted = match self {
            Self::Numbers(numbers) => {
                // The names of COCO's pictures are numbers, too.
                let named = |number: &u64| known.get(number.to_string().as_str()).cloned();
                if let Some(indices) = numbers.iter().map(named).collect::<Option<Vec<_>>>() {
                    return Ok(indices.concat());
                }
                return match numbers.iter().find(|number| **number >= sample_count) {
                    None => Ok(numbers.clone()),
                    Some(beyond) => Err(format!(
                        "there is no sample {beyond}: the data set has {sample_count} samples, counted from 0"
                    )),
                };
            }
            Self::Names(wanted) => wanted,
        };
        let mut indices = Vec::new();
        for name in wanted {
            let found = known.get(name.as_str()).or_else(|| known.get(last(name)));
            indices.extend(found.ok_or_else(|| {
                format!(
                    "the data set has no sample {name:?}; where the list is of other files, say where they are by --files"
                )
            })?);
        }
        Ok(indices)
    }
}

/// Refuses an empty list, and one with repetitions.
fn check<T: std::hash::Hash + Eq + std::fmt::Debug>(words: &[T]) -> Result<(), String> {
    if words.is_empty() {
        return Err("it lists no sample".to_owned());
    }
    let mut seen = HashSet::new();
    match words.iter().find(|word| !seen.insert(*word)) {
        None => Ok(()),
        Some(twice) => Err(format!("it lists {twice:?} twice")),
    }
}

/// Returns the indices of samples by their names, by the last parts of their names, and by their files. A question of
/// SQuAD may have several.
fn by_name<'a>(names: &'a [String], files: &'a [String]) -> HashMap<&'a str, Vec<u64>> {
    let mut indices = HashMap::<_, Vec<_>>::new();
    let named = (0..).zip(names).flat_map(|(index, name)| [(index, name.as_str()), (index, last(name))]);
    for (index, name) in named.chain((0..).zip(files.iter().map(String::as_str))) {
        let found = indices.entry(name).or_default();
        if !found.contains(&index) {
            found.push(index);
        }
    }
    indices
}

/// Returns the name of a file without its folders.
fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_names_with_or_without_labels_or_numbers() {
        let names = |list: &[&str]| Words::Names(list.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(Words::parse("b.jpg\na.jpg\n"), Ok(names(&["b.jpg", "a.jpg"])));
        assert_eq!(Words::parse("b.jpg 0\r\n\na.jpg 1"), Ok(names(&["b.jpg", "a.jpg"])));
        assert_eq!(Words::parse("7 3\n12\n"), Ok(Words::Numbers(vec![7, 3, 12])));
        assert_eq!(Words::parse(" \n"), Err("it lists no sample".to_owned()));
        assert_eq!(Words::parse("a\na"), Err("it lists \"a\" twice".to_owned()));
        assert_eq!(Words::parse("1 2 1"), Err("it lists 1 twice".to_owned()));
    }

    #[test]
    fn samples_are_found_by_their_names_and_a_name_may_have_several() {
        let names = ["val/a.jpg", "b.jpg", "b.jpg"].map(str::to_owned);
        let among = |text: &str| Words::parse(text).unwrap().among(&by_name(&names, &[]), 3);
        assert_eq!(among("b.jpg\na.jpg\n"), Ok(vec![1, 2, 0]));
        assert_eq!(among("val/a.jpg"), Ok(vec![0]));
        assert_eq!(among("2 0"), Ok(vec![2, 0]));
        assert!(among("3").unwrap_err().contains("no sample 3: the data set has 3 samples"));
        assert!(among("c.jpg").unwrap_err().contains("no sample \"c.jpg\""));
    }

    #[test]
    fn pictures_whose_names_are_ids_are_found_by_their_files_too() {
        let names = ["139", "1", "0"].map(str::to_owned);
        let files = ["000000000139.jpg", "000000000001.jpg", "000000000000.jpg"].map(str::to_owned);
        let among = |text: &str| Words::parse(text).unwrap().among(&by_name(&names, &files), 3);
        assert_eq!(among("000000000001.jpg\nval2017/000000000139.jpg"), Ok(vec![1, 0]));
        // Ids before indices, if all are known.
        assert_eq!(among("139 0"), Ok(vec![0, 2]));
        assert_eq!(among("2 0"), Ok(vec![2, 0]));
    }
}

//! Calibration samples, prepared for those who quantise a model: one array for each input, and what they were made of.
//!
//! MLPerf Inference publishes a list of them for each data set. The lists are not passed on here: the user has them.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use proctor_config::Benchmark;
use proctor_datasets::{Dataset, DatasetError, npy, read_file, sha256_hex};
use proctor_prepared::RowAggregation;
use proctor_preprocess::{build_pipeline, pipeline_version};
use proctor_published::FileSamples;
use proctor_run::{HostError, output, write_json};
use proctor_vocabulary::{ElementType, SampleIndex, TensorSpec};
use serde::Serialize;

use crate::{
    catalogue::{Opened, Published},
    prepare::{Source, fill},
};

/// Name of the file that says what the arrays are.
const CONTENTS: &str = "calibration.json";

/// Where calibration samples come from.
#[derive(Debug)]
pub(crate) enum CalibrationSource<'a> {
    /// They are samples of the data set itself, which lies in this folder.
    DataSet(PathBuf),
    /// They are files below a folder, such as those for training. The data set, where it is there, is compared with.
    Files { files: &'a Path, data_set: Option<PathBuf> },
}

/// Samples that have been prepared.
#[derive(Debug)]
pub(crate) struct Calibrated {
    pub(crate) sample_count: usize,
    /// How many of them accuracy is measured on, too; `None` if the data set is not there to be compared with.
    pub(crate) shared_count: Option<usize>,
}

/// The file beside the arrays.
#[derive(Debug, Serialize)]
struct Contents<'a> {
    benchmark: &'a str,
    dataset: &'a str,
    list_sha256: String,
    preprocessing: &'a str,
    version: u32,
    inputs: Vec<Array<'a>>,
    samples: &'a [Chosen],
}

/// An array: all samples of one input in the order of the list.
#[derive(Debug, Serialize)]
struct Array<'a> {
    input: &'a str,
    file: String,
}

/// A sample of the list.
#[derive(Debug, Serialize)]
struct Chosen {
    name: String,
    /// Its index in the data set that accuracy is measured on, if it is one of its samples.
    index: Option<u64>,
}

/// Prepares the samples of a list, in its order, as the benchmark's inputs. `show` is told how many of how many are
/// done.
///
/// # Errors
/// The list is none or names what is not there, a sample cannot be prepared, or a file not be written.
pub(crate) fn calibrate(
    benchmark: &Benchmark,
    published: &Published,
    source: &CalibrationSource<'_>,
    list: &Path,
    out: &Path,
    show: &mut dyn FnMut(usize, usize),
) -> Result<Calibrated, HostError> {
    if benchmark.inputs_vary {
        return Err(HostError::Usage(format!(
            "samples of {} differ in shape, and are no arrays: prepare them for runs, without --calibration",
            benchmark.id
        )));
    }
    let bytes = read_file(list)?;
    let words = Words::parse(&String::from_utf8_lossy(&bytes)).map_err(|reason| malformed(list, reason))?;
    let (dataset, samples, names, chosen, is_compared) = match source {
        CalibrationSource::DataSet(folder) => {
            let Opened { dataset, names, files, .. } = published.open(folder, &RowAggregation::default())?;
            let indices = words.among(&by_name(&names, &files), dataset.sample_count());
            let indices = indices.map_err(|reason| malformed(list, reason))?;
            let name = |index: u64| {
                let name = usize::try_from(index).ok().and_then(|index| names.get(index));
                name.cloned().unwrap_or_else(|| index.to_string())
            };
            let chosen: Vec<_> =
                indices.iter().map(|index| Chosen { name: name(*index), index: Some(*index) }).collect();
            (dataset, indices, names, chosen, true)
        }
        CalibrationSource::Files { files, data_set } => {
            let Words::Names(names) = &words else {
                return Err(malformed(
                    list,
                    "it has numbers, which are those of samples; leave out --files".to_owned(),
                ));
            };
            let samples = FileSamples::below(published.name, list, files, names)?;
            let open = |folder: &PathBuf| published.open(folder, &RowAggregation::default());
            let there = data_set.as_ref().map(open).transpose()?;
            let known =
                there.as_ref().map_or_else(HashMap::new, |opened| by_name(&opened.names, &opened.files));
            let index = |name: &String| known.get(name.as_str()).or_else(|| known.get(last(name)));
            let chosen: Vec<_> = names
                .iter()
                .map(|name| Chosen { name: name.clone(), index: index(name).map(|found| found[0]) })
                .collect();
            let count = samples.sample_count();
            let dataset: Box<dyn Dataset> = Box::new(samples);
            (dataset, (0..count).collect(), names.clone(), chosen, there.is_some())
        }
    };
    let pipeline = build_pipeline(&benchmark.preprocessing, &benchmark.inputs)?;
    fs::create_dir_all(out).map_err(|source| output(out, source))?;
    let mut arrays = Vec::new();
    for input in pipeline.outputs() {
        arrays.push(ArrayFile::make(out, input, samples.len())?);
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
        for (array, (_, bytes)) in arrays.iter().zip(tensors) {
            places[&index.0].iter().try_for_each(|place| array.write(*place, bytes))?;
        }
        Ok(())
    })?;
    arrays.into_iter().try_for_each(ArrayFile::keep)?;
    let inputs = pipeline.outputs().iter();
    let contents = Contents {
        benchmark: &benchmark.id,
        dataset: published.name,
        list_sha256: sha256_hex(&bytes),
        preprocessing: &benchmark.preprocessing,
        version: pipeline_version(&benchmark.preprocessing)?,
        inputs: inputs.map(|input| Array { input: &input.name, file: file_name(&input.name) }).collect(),
        samples: &chosen,
    };
    write_json(&out.join(CONTENTS), &contents)?;
    let shared_count = chosen.iter().filter(|chosen| chosen.index.is_some()).count();
    Ok(Calibrated { sample_count: chosen.len(), shared_count: is_compared.then_some(shared_count) })
}

fn malformed(list: &Path, reason: String) -> HostError {
    DatasetError::Malformed { path: list.to_owned(), reason }.into()
}

/// The words of a list.
#[derive(Debug, PartialEq, Eq)]
enum Words {
    /// Names, one at the start of each line.
    Names(Vec<String>),
    /// Indices of samples, any number in a line.
    Numbers(Vec<u64>),
}

impl Words {
    /// Reads a list. A line of names may have a label behind its name, which is passed over.
    ///
    /// # Errors
    /// Why it is none: it is empty, or has something twice.
    fn parse(text: &str) -> Result<Self, String> {
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

    /// The indices of the samples that the list means, among all of a data set.
    ///
    /// # Errors
    /// The first that is none.
    fn among(&self, known: &HashMap<&str, Vec<u64>>, sample_count: u64) -> Result<Vec<u64>, String> {
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

/// Refuses a list without anything, and one that has something twice.
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

/// The indices of samples by their names, by the last parts of their names, and by their files. A question of SQuAD may
/// have several.
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

/// The name of a file without its folders.
fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Name of the file of an input; what a file system might take otherwise is replaced.
fn file_name(input: &str) -> String {
    let plain =
        |letter: char| if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '_' };
    format!("{}.npy", input.chars().map(plain).collect::<String>())
}

/// The file of one input. Until all samples are in it, it has another name; what is not kept is removed.
struct ArrayFile {
    file: File,
    /// Where it lies while it is written.
    partial: PathBuf,
    path: PathBuf,
    header_bytes: u64,
    sample_bytes: u64,
}

impl ArrayFile {
    /// Makes a file for all samples of an input: `[samples, ...]`, row-major.
    fn make(folder: &Path, input: &TensorSpec, sample_count: usize) -> Result<Self, HostError> {
        let path = folder.join(file_name(&input.name));
        let partial = path.with_added_extension("partial");
        let written = |source: io::Error| output(&path, source);
        let descr = numpy_word(input.element_type).ok_or_else(|| {
            HostError::Usage(format!(
                "NumPy has no name for the type {} of the input {}",
                input.element_type.name(),
                input.name
            ))
        })?;
        let extents = [&[sample_count], input.shape.as_slice()].concat();
        let extents: Vec<_> = extents.into_iter().map(|extent| extent as u64).collect();
        let header = npy::header(descr, &extents);
        let file = File::create_new(&partial).map_err(written)?;
        let (header_bytes, sample_bytes) = (header.len() as u64, input.size_bytes() as u64);
        let array = Self { file, partial, path, header_bytes, sample_bytes };
        array.file.write_all_at(&header, 0).map_err(|source| output(&array.path, source))?;
        Ok(array)
    }

    /// Gives the file, which is whole, its name.
    fn keep(self) -> Result<(), HostError> {
        fs::rename(&self.partial, &self.path).map_err(|source| output(&self.path, source))
    }

    /// Writes a sample into its place.
    fn write(&self, place: usize, bytes: &[u8]) -> Result<(), HostError> {
        let at = self.header_bytes + place as u64 * self.sample_bytes;
        self.file.write_all_at(bytes, at).map_err(|source| output(&self.path, source))
    }
}

impl Drop for ArrayFile {
    fn drop(&mut self) {
        // Where it was kept, it is not there any more.
        let _ = fs::remove_file(&self.partial);
    }
}

/// NumPy's word for a type; tensors are little-endian, as on every machine that this runs on.
fn numpy_word(element_type: ElementType) -> Option<&'static str> {
    Some(match element_type {
        ElementType::F32 => "<f4",
        ElementType::F64 => "<f8",
        ElementType::F16 => "<f2",
        ElementType::I8 => "|i1",
        ElementType::U8 => "|u1",
        ElementType::I16 => "<i2",
        ElementType::I32 => "<i4",
        ElementType::I64 => "<i8",
        ElementType::Bool => "|b1",
        ElementType::U16 => "<u2",
        ElementType::U32 => "<u4",
        ElementType::U64 => "<u8",
        _ => return None,
    })
}

const _: () = assert!(cfg!(target_endian = "little"));

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

    #[test]
    fn an_input_has_a_file_of_its_name() {
        assert_eq!(file_name("image"), "image.npy");
        assert_eq!(file_name("../a b:0"), ".._a_b_0.npy");
    }
}

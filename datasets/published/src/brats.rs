//! BraTS 2019: brains in four modalities with labels for the parts of a tumour; fold 1 is the set of MLPerf, 67 cases.
//!
//! The names of the fold are in the list `fold1_validation.txt` of the reference implementation, which must lie in the
//! folder. Without it all cases are samples, `HGG` first, each group sorted by name.
//!
//! Source of the layout: MLPerf Inference v0.7 and v1.0, the benchmark 3d-unet-brats19.

mod generate;

use std::{
    borrow::Cow,
    fs, io,
    path::{Path, PathBuf},
};

use proctor_datasets::{Dataset, DatasetError, RawSample, read_file, read_text};
use proctor_nifti_file::bundle;
use proctor_vocabulary::{ElementType, SampleIndex};

pub use generate::generate;

use crate::{
    defect::{Defect, LineFault, Problem},
    entry::{CalibrationLists, OpenFolder, Opened, Published},
    files::stays_inside,
    generate::Generate,
    volumes::{check_labels, check_scan},
};

/// The modalities of a case, in the order of the files of a sample.
pub const MODALITIES: [&str; 4] = ["t1", "t1ce", "t2", "flair"];

/// The list of the fold: a line `HGG__BraTS19_2013_13_1` for each case.
const LIST: &str = "fold1_validation.txt";
/// Number of cases of the fold.
const SAMPLE_COUNT: u64 = 67;
/// Groups of cases: tumours of high and of low grade.
const GROUPS: [&str; 2] = ["HGG", "LGG"];
/// Separator between group and case in a name.
const SEPARATOR: &str = "__";
/// Background, dead core, edema, enhancing tumour.
const LABELS: &[u8] = &[0, 1, 2, 4];

pub(crate) const ENTRY: Published = Published {
    name: "brats",
    layout,
    open: OpenFolder::Samples(|folder| {
        let dataset = open(folder)?;
        let (names, missing_count) = (dataset.sample_names().to_vec(), dataset.missing().len());
        let paths = dataset.files().iter().map(|files| files.to_vec()).collect();
        Ok(Opened { paths, ..Opened::new(dataset, names, missing_count) })
    }),
    verify,
    checksums: None,
    note,
    calibration: CalibrationLists::of_samples(
        "calibration/BraTS/brats_cal_images_list.py: 40 cases of the folds 0, 2, 3 and 4, not of the data set",
    ),
    generate,
};

/// The cases of the list whose four modalities are all there.
///
/// The bytes of a sample are its four files, [bundled](bundle) in the order of [`MODALITIES`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BratsSamples {
    names: Vec<String>,
    files: Vec<[PathBuf; 4]>,
    missing: Vec<PathBuf>,
}

/// Opens the data set. The name of a sample is the name on its line in the list.
///
/// # Errors
/// [`DatasetError::Read`] or [`DatasetError::Malformed`] for the list, or if there is no case.
pub fn open(folder: &Path) -> Result<BratsSamples, DatasetError> {
    let (names, listed_in) = match listed(folder)? {
        Some(lines) => {
            let path = folder.join(LIST);
            let mut names = Vec::new();
            for (number, line) in (1..).zip(lines) {
                names.push(line.map_err(|fault| DatasetError::Malformed {
                    path: path.clone(),
                    reason: format!("line {number} {fault}; correct the line"),
                })?);
            }
            (names, path)
        }
        None => (found(folder)?, folder.to_owned()),
    };
    let mut samples = BratsSamples { names: Vec::new(), files: Vec::new(), missing: Vec::new() };
    for name in names {
        let files = MODALITIES.map(|modality| file_of(folder, &name, modality));
        let missing: Vec<_> = files.iter().filter(|path| !path.is_file()).cloned().collect();
        if missing.is_empty() {
            samples.names.push(name);
            samples.files.push(files);
        }
        samples.missing.extend(missing);
    }
    if samples.names.is_empty() {
        let reason = format!("it has no case with all of {}; unpack them there", MODALITIES.join(", "));
        return Err(DatasetError::Malformed { path: listed_in, reason });
    }
    Ok(samples)
}

/// Reports that all cases are samples because the list is missing.
#[must_use]
pub fn note(folder: &Path) -> Option<String> {
    let note = "is not there: all cases are samples, and not those of MLPerf alone; copy it there";
    (!folder.join(LIST).is_file()).then(|| format!("{LIST} {note}"))
}

/// Returns the text on the files, and on how to get them.
#[must_use]
pub fn layout() -> &'static str {
    "HGG/BraTS19_2013_10_1/BraTS19_2013_10_1_t1.nii.gz     also _t1ce, _t2, _flair, and _seg with the labels
LGG/...                                               335 cases in both folders
fold1_validation.txt                                  67 lines: the names of the cases, such as HGG__BraTS19_2013_13_1

The folder is MICCAI_BraTS_2019_Data_Training, which the organisers of the challenge (CBICA, University of Pennsylvania)
give to those who register. The list is folds/fold1_validation.txt of MLPerf's reference implementation
vision/medical_imaging/3d-unet-brats19; without it all cases are taken, those of HGG first, each folder sorted by name.
"
}

/// Reads every voxel of the cases: files must be whole, scans finite, labels known, and extents the same. `progress`
/// gets the cases done and the total.
///
/// # Errors
/// If the note of a generated set, or the list or the folder, cannot be read. Everything else is a defect.
pub fn verify(folder: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Defect>, DatasetError> {
    let expected = Generate::of_folder(folder)?.map_or(SAMPLE_COUNT, |request| request.sample_count);
    let mut defects = Vec::new();
    let mut defect = |path: PathBuf, problem| defects.push(Defect { path, problem });
    let mut names = Vec::new();
    match listed(folder)? {
        Some(lines) => {
            for (number, line) in (1..).zip(lines) {
                match line {
                    Ok(name) => names.push(name),
                    Err(fault) => defect(folder.join(LIST), Problem::Line { number, fault }),
                }
            }
            let got = names.len() as u64;
            if got != expected {
                defect(folder.join(LIST), Problem::Count { things: "cases", expected, got });
            }
        }
        None => {
            defect(folder.join(LIST), Problem::Missing);
            names = found(folder)?;
        }
    }
    let count = names.len() as u64;
    for (done, name) in (0..).zip(names) {
        progress(done, count);
        let mut first = None;
        for modality in MODALITIES {
            let path = file_of(folder, &name, modality);
            match (check_scan(&path), first) {
                (Ok(got), Some(expected)) if got != expected => {
                    defects.push(Defect { path, problem: Problem::Extents { expected, got } });
                }
                (Ok(shape), _) => first = first.or(Some(shape)),
                (Err(defect), _) => defects.push(defect),
            }
        }
        defects.extend(check_labels(&file_of(folder, &name, "seg"), LABELS, first).err());
    }
    progress(count, count);
    Ok(defects)
}

/// Returns a file of the case of this name.
fn file_of(folder: &Path, name: &str, modality: &str) -> PathBuf {
    let (group, case) = name.split_once(SEPARATOR).unwrap_or(("", name));
    folder.join(group).join(case).join(format!("{case}_{modality}.nii.gz"))
}

/// Returns the lines of the list, each a name or a fault; `None` if there is no list.
fn listed(folder: &Path) -> Result<Option<Vec<Result<String, LineFault>>>, DatasetError> {
    let text = match read_text(&folder.join(LIST)) {
        Ok(text) => text,
        Err(DatasetError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let mut names: Vec<Result<String, LineFault>> = Vec::new();
    for line in text.lines() {
        let name = line.trim_end().to_owned();
        let first = names.iter().position(|earlier| earlier.as_ref() == Ok(&name));
        names.push(match (name.split_once(SEPARATOR), first) {
            (_, Some(first)) => Err(LineFault::Twice { name, first: first + 1 }),
            (Some((group, case)), None) if GROUPS.contains(&group) && is_folder_name(case) => Ok(name),
            _ => Err(LineFault::Case { text: name }),
        });
    }
    Ok(Some(names))
}

fn is_folder_name(case: &str) -> bool {
    stays_inside(case) && !case.contains('/') && case != "."
}

/// Returns the names of all cases in the folder.
fn found(folder: &Path) -> Result<Vec<String>, DatasetError> {
    let mut names = Vec::new();
    for group in GROUPS {
        let path = folder.join(group);
        let fault = |source| DatasetError::Read { path: path.clone(), source };
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(fault(error)),
        };
        let mut cases = Vec::new();
        for entry in entries {
            let entry = entry.map_err(fault)?;
            if entry.path().is_dir() {
                cases.push(format!("{group}{SEPARATOR}{}", entry.file_name().to_string_lossy()));
            }
        }
        cases.sort_unstable();
        names.extend(cases);
    }
    Ok(names)
}

impl BratsSamples {
    /// Returns the names of the samples, by which labels are joined, in the order of their indices.
    #[must_use]
    pub fn sample_names(&self) -> &[String] {
        &self.names
    }

    /// Returns the four files of each sample, in the order of [`MODALITIES`].
    #[must_use]
    pub fn files(&self) -> &[[PathBuf; 4]] {
        &self.files
    }

    /// Returns the files that are missing; their cases are not samples.
    #[must_use]
    pub fn missing(&self) -> &[PathBuf] {
        &self.missing
    }
}

impl Dataset for BratsSamples {
    fn name(&self) -> &str {
        "brats19"
    }

    fn sample_count(&self) -> u64 {
        self.names.len() as u64
    }

    fn read(&self, index: SampleIndex) -> Result<RawSample<'_>, DatasetError> {
        let files = usize::try_from(index.0).ok().and_then(|index| self.files.get(index));
        let files = files.ok_or_else(|| self.no_such_sample(index))?;
        let files = files.iter().map(|path| read_file(path)).collect::<Result<Vec<_>, _>>()?;
        let bytes = bundle::join(&files);
        Ok(RawSample {
            element_type: ElementType::U8,
            shape: Cow::Owned(vec![bytes.len()]),
            bytes: Cow::Owned(bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use proctor_nifti_file::{AxisOrder, Image, NiftiError};

    use super::*;
    use crate::generate::fixture::fixture;

    fixture!(7);

    fn problems(folder: &Path) -> Vec<Problem> {
        verify(folder, &mut |_, _| ()).unwrap().into_iter().map(|defect| defect.problem).collect()
    }

    #[test]
    fn samples_are_the_modalities_of_the_listed_cases() {
        let folder = generated(4);
        assert_eq!(problems(folder.path()), []);
        let set = open(folder.path()).unwrap();
        let names = set.sample_names().to_vec();
        assert_eq!(
            (names[0].as_str(), names[1].as_str()),
            ("HGG__BraTS19_Made_000_1", "LGG__BraTS19_Made_001_1")
        );
        let sample = set.read(SampleIndex(1)).unwrap();
        let files: [&[u8]; 4] = bundle::split(&sample.bytes).unwrap();
        for (modality, file) in MODALITIES.into_iter().zip(files) {
            assert_eq!(fs::read(file_of(folder.path(), &names[1], modality)).unwrap(), file);
        }
        let list = folder.path().join(LIST);
        fs::write(&list, format!("{} \n{}\n", names[3], names[0])).unwrap();
        assert_eq!(open(folder.path()).unwrap().sample_names(), [names[3].clone(), names[0].clone()]);
        assert_eq!(note(folder.path()), None);
        fs::remove_file(&list).unwrap();
        assert!(note(folder.path()).unwrap().starts_with("fold1_validation.txt is not there: all cases"));
        let all = open(folder.path()).unwrap();
        assert_eq!(all.sample_names(), [0, 2, 1, 3].map(|index: usize| names[index].clone()));
    }

    #[test]
    fn intensities_tell_the_labels_of_a_generated_case() {
        let folder = generated(2);
        for name in open(folder.path()).unwrap().sample_names() {
            let read =
                |modality| Image::parse(&fs::read(file_of(folder.path(), name, modality)).unwrap()).unwrap();
            let [_, t1ce, t2, flair] = MODALITIES
                .map(|modality| read(modality).to_f32(AxisOrder::FirstSlowest).unwrap().into_values());
            let labels = read("seg").to_labels(AxisOrder::FirstSlowest).unwrap();
            for (index, label) in labels.values().iter().enumerate() {
                let parts = (flair[index] > 350.0, t2[index] > 350.0, t1ce[index] > 350.0);
                let expected = match parts {
                    (true, true, true) => 4,
                    (true, true, false) => 1,
                    (true, false, false) => 2,
                    _ => 0,
                };
                assert_eq!((*label, parts.0), (expected, expected > 0));
            }
            assert!(
                LABELS
                    .iter()
                    .all(|label| labels.values().iter().filter(|value| *value == label).count() > 20)
            );
        }
    }

    #[test]
    fn missing_and_damaged_files_are_defects() {
        let folder = generated(3);
        let set = open(folder.path()).unwrap();
        let path = |case: usize, modality| file_of(folder.path(), &set.sample_names()[case], modality);
        fs::remove_file(path(0, "t2")).unwrap();
        let scan = fs::read(path(1, "t1")).unwrap();
        fs::write(path(1, "t1"), &scan[..1000]).unwrap();
        fs::copy(path(2, "flair"), path(2, "seg")).unwrap();
        let found = problems(folder.path());
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0], Problem::Missing);
        assert!(matches!(found[1], Problem::Nifti(NiftiError::Gzip(_) | NiftiError::Short { .. })));
        assert!(matches!(found[2], Problem::Nifti(NiftiError::Voxel { .. })));
        let open = open(folder.path()).unwrap();
        assert_eq!((open.sample_count(), open.missing()), (2, &[path(0, "t2")][..]));
    }

    #[test]
    fn faulty_lines_are_defects_and_errors() {
        let folder = generated(3);
        let names = open(folder.path()).unwrap().sample_names().to_vec();
        let text = format!("{0}\n{0}\nMGG__x\nHGG__../x\n{1}\n", names[0], names[1]);
        fs::write(folder.path().join(LIST), text).unwrap();
        let case =
            |number, text: &str| Problem::Line { number, fault: LineFault::Case { text: text.to_owned() } };
        let twice = LineFault::Twice { name: names[0].clone(), first: 1 };
        assert_eq!(
            problems(folder.path()),
            [
                Problem::Line { number: 2, fault: twice },
                case(3, "MGG__x"),
                case(4, "HGG__../x"),
                Problem::Count { things: "cases", expected: 3, got: 2 },
            ]
        );
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("line 2 names"), "{error}");
        fs::write(folder.path().join(LIST), "HGG__gone\n").unwrap();
        assert!(matches!(open(folder.path()), Err(DatasetError::Malformed { .. })));
    }
}

//! KiTS19: scans of the abdomen with labels for kidney and tumour. MLPerf uses 43 of its cases.
//!
//! Source of the layout: MLPerf Inference v1.1 to v6.1, the benchmark 3d-unet-kits19.

mod generate;

use std::path::Path;

use proctor_datasets::DatasetError;

pub use generate::generate;

use crate::{
    defect::Defect,
    entry::{CalibrationLists, OpenFolder, Opened, Published},
    files::FileSamples,
    generate::Generate,
    volumes::{check_labels, check_scan},
};

/// Numbers of the cases, in the order of the samples.
pub const CASES: [u32; 43] = [
    0, 3, 5, 6, 12, 24, 34, 41, 44, 49, 52, 56, 61, 65, 66, 70, 76, 78, 80, 84, 86, 87, 92, 111, 112, 125,
    128, 138, 157, 160, 161, 162, 169, 171, 176, 185, 187, 189, 198, 203, 206, 207, 400,
];

/// The scan in the folder of a case.
const IMAGING: &str = "imaging.nii.gz";
/// The label file of a case.
const SEGMENTATION: &str = "segmentation.nii.gz";
/// Background, kidney and tumour.
const LABELS: &[u8] = &[0, 1, 2];

pub(crate) const ENTRY: Published = Published {
    name: "kits19",
    layout,
    open: OpenFolder::Samples(|folder| open(folder).map(Opened::files)),
    verify,
    checksums: None,
    note: |_| None,
    calibration: CalibrationLists {
        open_listed: Some(open_listed),
        ..CalibrationLists::of_samples(
            "calibration/KiTS/calibration_cases.txt: 20 cases for training, not of the data set, in the same folder",
        )
    },
    generate,
};

/// Opens the data set. The bytes of a sample are the scan of its case; its name is the name of the case's folder.
///
/// # Errors
/// [`DatasetError::Malformed`] if none of the cases is there; an error of the note of a generated set.
pub fn open(folder: &Path) -> Result<FileSamples, DatasetError> {
    let names = cases(folder)?;
    let files = names.into_iter().map(|name| {
        let path = folder.join(&name).join(IMAGING);
        (name, path)
    });
    FileSamples::of_list("kits19", folder, files)
}

/// Opens the scans of the cases that a list names, such as those for calibration, which the data set leaves out.
///
/// # Errors
/// [`DatasetError::Malformed`] for the `list` if a name leads out of the folder, or a case is not there.
pub fn open_listed(folder: &Path, list: &Path, names: &[String]) -> Result<FileSamples, DatasetError> {
    let scans: Vec<_> = names.iter().map(|name| format!("{name}/{IMAGING}")).collect();
    FileSamples::below("kits19", list, folder, &scans)
}

/// Returns the text on the files, and on how to get them.
#[must_use]
pub fn layout() -> &'static str {
    "case_00000/imaging.nii.gz         the scan
case_00000/segmentation.nii.gz    labels: 0 background, 1 kidney, 2 tumour
case_00003/...                    43 cases; others beside them are not looked at

The labels are in the repository neheller/kits19 on GitHub, in its folder data; its script starter_code.get_imaging gets
the scans. The folder to name is data.
"
}

/// Reads every voxel of the cases: files must be whole, scans finite, labels known, and extents the same. `progress`
/// gets the cases done and the total.
///
/// # Errors
/// If the note of a generated set cannot be read. Everything else is a defect.
pub fn verify(folder: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Defect>, DatasetError> {
    let names = cases(folder)?;
    let count = names.len() as u64;
    let mut defects = Vec::new();
    for (done, name) in (0..).zip(names) {
        progress(done, count);
        let case = folder.join(name);
        let scan = check_scan(&case.join(IMAGING));
        let labels = check_labels(&case.join(SEGMENTATION), LABELS, scan.as_ref().ok().copied());
        defects.extend(scan.err());
        defects.extend(labels.err());
    }
    progress(count, count);
    Ok(defects)
}

/// Returns the names of the cases that the folder should have.
fn cases(folder: &Path) -> Result<Vec<String>, DatasetError> {
    let generated = Generate::of_folder(folder)?;
    let count = generated.map_or(CASES.len() as u64, |request| request.sample_count);
    Ok((0..count).map(case_name).collect())
}

/// Returns the name of a case by the index of its sample; a generated set may have more than the published one.
fn case_name(index: u64) -> String {
    let number = usize::try_from(index).ok().and_then(|index| CASES.get(index)).copied();
    format!("case_{:05}", number.map_or(1000 + index, u64::from))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proctor_datasets::Dataset;
    use proctor_nifti_file::{AxisOrder, Image, NiftiError};
    use proctor_vocabulary::SampleIndex;

    use super::*;
    use crate::{defect::Problem, generate::fixture::fixture};

    fixture!(7, by_path);

    #[test]
    fn samples_are_the_scans_of_the_list() {
        let folder = generated(3);
        assert_eq!(problems(folder.path()), []);
        let set = open(folder.path()).unwrap();
        assert_eq!(set.sample_names(), ["case_00000", "case_00003", "case_00005"]);
        let file = fs::read(folder.path().join("case_00003/imaging.nii.gz")).unwrap();
        assert_eq!(*set.read(SampleIndex(1)).unwrap().bytes, file);
        assert_eq!((case_name(42), case_name(43)), ("case_00400".to_owned(), "case_01043".to_owned()));
    }

    #[test]
    fn cases_of_a_list_need_not_be_of_the_data_set() {
        let folder = generated(2);
        fs::rename(folder.path().join("case_00003"), folder.path().join("case_00007")).unwrap();
        let listed = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            open_listed(folder.path(), Path::new("list.txt"), &names)
        };
        let cases = listed(&["case_00007", "case_00000"]).unwrap();
        let file = fs::read(folder.path().join("case_00007/imaging.nii.gz")).unwrap();
        assert_eq!((cases.sample_count(), &*cases.read(SampleIndex(0)).unwrap().bytes), (2, &file[..]));
        let error = listed(&["case_00000", "case_00003"]).unwrap_err().to_string();
        assert!(error.contains("list.txt: 1 of the 2 files that it lists are not there"), "{error}");
    }

    #[test]
    fn intensities_tell_the_labels_of_a_generated_case() {
        let folder = generated(4);
        let mut shapes = Vec::new();
        for index in 0..4 {
            let case = folder.path().join(case_name(index));
            let read = |name: &str| Image::parse(&fs::read(case.join(name)).unwrap()).unwrap();
            let scan = read(IMAGING).to_f32(AxisOrder::FirstSlowest).unwrap();
            let labels = read(SEGMENTATION).to_labels(AxisOrder::FirstSlowest).unwrap();
            let label = |value: &f32| u8::from(*value > 45.0) + u8::from(*value > 200.0);
            assert!(scan.values().iter().map(label).eq(labels.values().iter().copied()));
            assert!(
                (1..=2).all(|label| labels.values().iter().filter(|value| **value == label).count() > 20)
            );
            shapes.push(scan.shape());
        }
        shapes.sort_unstable();
        shapes.dedup();
        assert!(shapes.len() > 1);
    }

    #[test]
    fn missing_and_damaged_files_are_defects() {
        let folder = generated(3);
        let path = |case: u64, name: &str| folder.path().join(case_name(case)).join(name);
        fs::remove_file(path(0, IMAGING)).unwrap();
        fs::copy(path(2, SEGMENTATION), path(1, SEGMENTATION)).unwrap();
        let whole = fs::read(path(2, IMAGING)).unwrap();
        fs::write(path(2, IMAGING), &whole[..whole.len() - 1]).unwrap();
        let labels = fs::read(path(2, SEGMENTATION)).unwrap();
        fs::copy(path(0, SEGMENTATION), path(2, SEGMENTATION)).unwrap();
        fs::write(path(0, SEGMENTATION), b"").unwrap();
        let found = problems(folder.path());
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "case_00000/imaging.nii.gz",
                "case_00000/segmentation.nii.gz",
                "case_00003/segmentation.nii.gz",
                "case_00005/imaging.nii.gz"
            ]
        );
        assert_eq!(found[0].1, Problem::Missing);
        assert!(matches!(found[1].1, Problem::Nifti(NiftiError::Short { .. })), "{:?}", found[1]);
        assert!(matches!(found[2].1, Problem::Extents { .. }), "{:?}", found[2]);
        assert!(matches!(found[3].1, Problem::Nifti(NiftiError::Gzip(_))), "{:?}", found[3]);
        let set = open(folder.path()).unwrap();
        assert_eq!((set.sample_count(), set.missing().len()), (2, 1));
        // A label of a scan is none of the three.
        fs::write(path(2, IMAGING), &whole).unwrap();
        fs::write(path(2, SEGMENTATION), &whole).unwrap();
        assert!(matches!(problems(folder.path())[3].1, Problem::Nifti(NiftiError::Voxel { .. })));
        drop(labels);
    }

    #[test]
    fn equal_requests_make_equal_bytes() {
        let bytes = |seed| {
            let folder = tempfile::tempdir().unwrap();
            generate(folder.path(), &Generate { seed, sample_count: 1 }).unwrap();
            fs::read(folder.path().join("case_00000/imaging.nii.gz")).unwrap()
        };
        assert!(bytes(1) == bytes(1) && bytes(1) != bytes(2));
    }
}

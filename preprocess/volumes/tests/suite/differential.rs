//! Compares reading with nibabel, resampling with SciPy, and the steps of KiTS19 and BraTS 2019 with NumPy, on random
//! volumes.
//!
//! `peer.py` makes the cases and their answers, in one process. It needs the packages of `requirements.txt`, by
//! `PYTHONPATH`, as `cargo xtask test` sets it.

use std::{ffi::OsStr, fs, path::Path};

use proctor_nifti_file::{AxisOrder, Header, Image, NiftiError, Volume};
use proctor_test_needs::python;
use proctor_volumes::{VolumeError, brats, kits};
use serde_json::Value;

const SEED: &str = "1";

/// One case in this many shows whether something is broken; all of them are compared by [`at_full_count`].
const FEW: usize = 20;

/// The cases that the Python process left.
struct Cases {
    cases: Vec<Value>,
    data: Vec<u8>,
}

impl Cases {
    /// `None` where there is no Python with the packages; the test has then said that it skips itself.
    fn make(divisor: usize) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/differential/peer.py");
        let arguments: [&dyn AsRef<OsStr>; 3] = [&folder.path(), &SEED, &divisor.to_string()];
        python(&script, &arguments, "nibabel and SciPy")?;
        let lines = fs::read_to_string(folder.path().join("cases.jsonl")).unwrap();
        let cases = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Some(Self { cases, data: fs::read(folder.path().join("data.bin")).unwrap() })
    }

    fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Value> {
        let found: Vec<_> = self.cases.iter().filter(|case| case["kind"] == kind).collect();
        assert!(!found.is_empty(), "no cases of {kind}");
        found.into_iter()
    }

    fn part(&self, part: &Value) -> &[u8] {
        let [start, length]: [usize; 2] = numbers(part);
        &self.data[start..start + length]
    }

    fn floats(&self, part: &Value) -> Vec<f32> {
        self.part(part).as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }
}

fn numbers<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn volumes_are_those_of_nibabel_scipy_and_numpy() {
    compare_one_in(FEW);
}

mod at_full_count {
    #[test]
    fn volumes_are_those_of_nibabel_scipy_and_numpy() {
        super::compare_one_in(1);
    }
}

fn compare_one_in(divisor: usize) {
    let Some(cases) = Cases::make(divisor) else { return };
    reading(&cases);
    let as_resampled = kits::Recipe {
        intensities: [f32::NEG_INFINITY, f32::INFINITY],
        mean: 0.0,
        deviation: 1.0,
        fit: kits::Fit { least: 1, stride: 1 },
        ..kits::KITS19
    };
    kits_steps(&cases, "zoom", &as_resampled);
    kits_steps(&cases, "kits", &kits::Recipe { fit: kits::Fit { least: 8, stride: 4 }, ..kits::KITS19 });
    kits_steps(&cases, "true kits", &kits::KITS19);
    brats_steps(&cases, 800 / divisor);
}

fn reading(cases: &Cases) {
    let mut refused_count = 0;
    for case in cases.of_kind("read") {
        let image = Image::parse(cases.part(&case["file"])).unwrap();
        assert_eq!(image.header().shape(), numbers::<Vec<usize>>(&case["shape"]));
        assert_eq!(image.header().spacing_mm().unwrap(), numbers::<[f64; 3]>(&case["spacing"]));
        let affine: Vec<f64> = numbers(&case["affine"]);
        for (ours, theirs) in image.header().affine().as_flattened().iter().zip(&affine) {
            assert!((ours - theirs).abs() <= 1e-12 * theirs.abs().max(1.0), "{ours} and {theirs} in {case}");
        }
        let expected = cases.floats(&case["values"]);
        match image.to_f32(AxisOrder::FirstSlowest) {
            Ok(volume) => {
                assert_same(volume.values(), &expected, case);
                assert_reversed(&volume, &image.to_f32(AxisOrder::FirstFastest).unwrap());
            }
            Err(NiftiError::Voxel { .. }) => {
                assert!(expected.iter().any(|value| !value.is_finite()), "{case}");
                refused_count += 1;
            }
            Err(error) => panic!("{error} in {case}"),
        }
    }
    assert!(refused_count < 100, "{refused_count} volumes with values that are not finite");
}

fn assert_reversed(volume: &Volume<f32>, reversed: &Volume<f32>) {
    let [first, second, third] = volume.shape();
    assert_eq!(reversed.shape(), [third, second, first]);
    for i in 0..first {
        for j in 0..second {
            for k in 0..third {
                assert_eq!(volume.row(i, j)[k].to_bits(), reversed.row(k, j)[i].to_bits());
            }
        }
    }
}

fn kits_steps(cases: &Cases, kind: &str, recipe: &kits::Recipe) {
    for case in cases.of_kind(kind) {
        let image = Image::parse(cases.part(&case["file"])).unwrap();
        let labels = Image::parse(cases.part(&case["labels_file"])).unwrap();
        let steps = recipe.steps(image.header()).unwrap();
        let shape: [usize; 3] = numbers(&case["shape"]);
        assert_eq!(steps.shape(), shape, "{case}");
        let scan = steps.image(&image.to_f32(AxisOrder::FirstSlowest).unwrap());
        assert_same(scan.values(), &cases.floats(&case["values"]), case);
        let labels = steps.labels(&labels.to_labels(AxisOrder::FirstSlowest).unwrap());
        assert_eq!(labels.values(), cases.part(&case["labels"]), "{case}");
    }
}

/// Equality to the last bit, except for the sign of a zero.
fn assert_same(ours: &[f32], theirs: &[f32], case: &Value) {
    assert_eq!(ours.len(), theirs.len(), "{case}");
    let differing = ours.iter().zip(theirs).position(|(ours, theirs)| ours != theirs);
    if let Some(index) = differing {
        panic!("value {index} is {} and {} in {case}", ours[index], theirs[index]);
    }
}

fn brats_steps(cases: &Cases, least: usize) {
    let mut fitting_count = 0;
    for case in cases.of_kind("brats") {
        let files = case["files"].as_array().unwrap();
        let volumes: Vec<_> = files
            .iter()
            .map(|file| Image::parse(cases.part(file)).unwrap().to_f32(AxisOrder::FirstFastest).unwrap())
            .collect();
        let room: [usize; 3] = numbers(&case["room"]);
        let mut values = vec![f32::NAN; 4 * room.iter().product::<usize>()];
        let outcome = match brats::prepare_volumes(&volumes, room, &mut values) {
            Ok(()) => "fits",
            Err(VolumeError::Empty) => "empty",
            Err(VolumeError::TooLarge { .. }) => "too large",
            Err(error) => panic!("{error} in {case}"),
        };
        assert_eq!(case["outcome"], outcome, "{case}");
        if outcome == "fits" {
            fitting_count += 1;
            for (index, (ours, theirs)) in values.iter().zip(cases.floats(&case["values"])).enumerate() {
                // Sums in another order may round mean and deviation to the next f32.
                assert!((ours - theirs).abs() <= 2e-5, "value {index} is {ours} and {theirs} in {case}");
            }
        }
    }
    assert!(fitting_count >= least, "{fitting_count} cases that fit");
}

#[test]
fn a_shape_needs_the_beginning_of_the_file_alone() {
    let scan = Volume::new([40, 200, 300], vec![0_i16; 40 * 200 * 300]);
    let new = proctor_nifti_file::NewImage { volume: &scan, spacing_mm: [3.0, 0.8, 0.75] };
    let file = proctor_nifti_file::encode(&new);
    // 75 slices are padded; 133 rows lose 5; 188 columns gain 4.
    assert_eq!(kits::tensor_shape(&file[..1000]).unwrap(), [1, 128, 128, 192]);
    assert_eq!(kits::prepare(&file).unwrap().shape(), [128, 128, 192]);
    let header: Header = Image::parse_header(&file).unwrap();
    assert_eq!(header.volume_shape().unwrap(), [40, 200, 300]);
}

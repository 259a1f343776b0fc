//! Generated cases, prepared: their known answers are still there.

use std::fs;

use proctor_datasets::Dataset;
use proctor_nifti_file::Image;
use proctor_published::{Generate, brats as brats_set, kits as kits_set};
use proctor_vocabulary::SampleIndex;
use proctor_volumes::{brats, kits};

/// Twice the voxels in both by the voxels in each.
fn dice(ours: impl Iterator<Item = bool>, theirs: impl Iterator<Item = bool>) -> f64 {
    let (mut both, mut sum) = (0, 0);
    for (ours, theirs) in ours.zip(theirs) {
        both += usize::from(ours && theirs);
        sum += usize::from(ours) + usize::from(theirs);
    }
    2.0 * both as f64 / sum as f64
}

#[test]
fn kidney_and_tumour_are_read_off_a_prepared_scan() {
    let folder = tempfile::tempdir().unwrap();
    kits_set::generate(folder.path(), &Generate { seed: 3, sample_count: 3 }).unwrap();
    let set = kits_set::open(folder.path()).unwrap();
    let mut shapes = Vec::new();
    for (index, name) in set.sample_names().iter().enumerate() {
        let file = set.read(SampleIndex(index as u64)).unwrap().bytes.into_owned();
        let scan = kits::prepare(&file).unwrap();
        let segmentation = fs::read(folder.path().join(name).join("segmentation.nii.gz")).unwrap();
        let labels = kits::prepare_labels(&segmentation, &Image::parse_header(&file).unwrap()).unwrap();
        assert_eq!(kits::tensor_shape(&file).unwrap()[1..], scan.shape());
        assert_eq!(labels.shape(), scan.shape());
        shapes.push(scan.shape());
        for (least, label) in [(45.0, 1), (200.0, 2)] {
            let above = scan.values().iter().map(|value| value * 76.9 + 101.0 > least);
            // Between the voxels of a file, labels jump and intensities do not.
            let dice = dice(above, labels.values().iter().map(|value| *value >= label));
            assert!(dice > 0.95, "{name}, label {label}: {dice}");
        }
    }
    assert_eq!(shapes, [[128, 128, 128], [128, 128, 128], [192, 128, 128]]);
}

#[test]
fn the_parts_of_a_tumour_are_read_off_a_prepared_case() {
    assert_eq!(brats::MODALITIES, brats_set::MODALITIES);
    let folder = tempfile::tempdir().unwrap();
    brats_set::generate(folder.path(), &Generate { seed: 3, sample_count: 1 }).unwrap();
    let set = brats_set::open(folder.path()).unwrap();
    let sample = set.read(SampleIndex(0)).unwrap();
    let values = brats::prepare(&sample.bytes).unwrap();
    let channels: Vec<_> = values.chunks(values.len() / 4).collect();
    // Less the mean of the brain, the tumour is what is far above 0.
    let counts =
        [3, 2, 1].map(|channel: usize| channels[channel].iter().filter(|value| **value > 1.5).count());
    let radii = counts.map(|count| (count as f64 * 0.75 / std::f64::consts::PI).cbrt());
    assert!((10.0..14.5).contains(&radii[0]), "{radii:?}");
    assert!(
        (radii[1] / radii[0] - 0.7).abs() < 0.05 && (radii[2] / radii[0] - 0.4).abs() < 0.05,
        "{radii:?}"
    );
}

//! Tiles that are found by trying.

use std::fs;

use proctor_device::{cache::Cache, calibrate::calibrated, program::Tuning};

use crate::device::device;

#[test]
fn a_tile_is_found_once_for_each_device() {
    let Some((device, _alone)) = device() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path().to_owned());
    let tuned = |name: &str| calibrated(&device, Tuning::PROCESSOR, Some(&cache), name).unwrap();
    let files = || fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect::<Vec<_>>();

    let first = tuned("one device");
    // Tiles alone differ.
    let Tuning { width, vectors, rows, product_group, .. } = first;
    assert_eq!(first, Tuning { width, vectors, rows, product_group, ..Tuning::PROCESSOR });
    let kept = files();
    assert_eq!(kept.len(), 1);
    assert_eq!(tuned("one device"), first);
    assert_eq!(files(), kept, "it was kept");
    tuned("another device");
    assert_eq!(files().len(), 2, "each has its own");

    fs::write(&kept[0], b"damaged").unwrap();
    tuned("one device");
    assert!(fs::read(&kept[0]).unwrap().len() > 32, "it was found again");
}

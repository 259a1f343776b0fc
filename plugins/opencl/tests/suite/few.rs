//! The cases of [`proctor_device_cases::few`]: what a kernel that is wrong shows first in.
//!
//! They are few enough to be computed after every change. Each kernel is compared with the host in f32: as for a
//! processor and as for a graphics processor where vectors or groups make another text of it, else once. Factors of 8
//! bits have a case of their own, and numbers of 16 bits products and a softmax. All other tests of the device are of
//! more shapes, more models and more types.

use std::{collections::BTreeSet, fs, path::Path};

use proctor_device::{
    cache::Cache,
    calibrate::{Candidates, calibrated},
    passes,
    program::{Program, Tuning},
};
use proctor_device_cases::few;

use super::{
    device::{TUNINGS, assert_computed, device},
    narrow::{OF_OPERATORS, assert_near},
    recurrent::{GROUPS, STEPS},
};

/// Vectors and no groups, and the other way round.
const BOTH: [Tuning; 2] = [Tuning::PROCESSOR, Tuning::GPU];

#[test]
fn products_are_those_of_the_host() {
    assert_computed(&few::products(), &BOTH);
}

/// With a library in the way of columns that lie in rows.
#[test]
fn convolutions_and_windows_are_those_of_the_host() {
    let [as_processor, .., for_library] = TUNINGS;
    let cases = few::convolutions();
    assert_computed(&cases, &[as_processor]);
    assert_computed(&cases[..1], &[for_library]);
}

#[test]
fn elements_and_rows_are_those_of_the_host() {
    assert_computed(&few::elements(), &[Tuning::PROCESSOR]);
    // Many items take a row together: one that is alone takes the same way without waiting.
    assert_computed(&few::rows(), &[Tuning::GPU]);
}

#[test]
fn attention_is_that_of_the_host() {
    assert_computed(&few::attention(), &BOTH);
}

/// A GRU that resets before the product has no single steps.
#[test]
fn recurrent_layers_are_those_of_the_host() {
    let layers = few::recurrent();
    assert_computed(&layers, &[Tuning::PROCESSOR, GROUPS]);
    assert_computed(&layers[..1], &[STEPS]);
}

#[test]
fn products_of_integers_are_those_of_the_host() {
    assert_computed(&few::integers(), &[Tuning::PROCESSOR]);
}

#[test]
fn numbers_are_rounded_as_they_are_stored() {
    assert_near(&few::narrow(), OF_OPERATORS, &[Tuning::PROCESSOR]);
}

/// A kernel that none of the cases calls would be in no test of the first tier.
#[test]
fn every_kernel_is_in_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin-api/device/src/kernels");
    let mut there_are = BTreeSet::new();
    for file in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        let names = text.split("KERNEL void ").skip(1).map(|rest| rest.split('(').next().unwrap().to_owned());
        there_are.extend(names);
    }
    let mut called = BTreeSet::new();
    for mut case in few::all() {
        passes::apply(&mut case.graph, None).unwrap();
        let program = Program::new(&case.graph, Tuning::GPU).unwrap();
        called.extend(program.calls().iter().map(|call| call.kernel().unwrap().kernel.function.to_owned()));
    }
    assert_eq!(called, there_are);
}

/// Two tiles and a small product, which take no time: what is tried on a device is in [`super::calibrate`].
#[test]
fn a_tile_is_found_once_for_each_device() {
    let Some((device, _alone)) = device() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path().to_owned());
    let mut candidates = Candidates::of(Tuning::PROCESSOR);
    candidates.tiles.truncate(2);
    candidates.products = vec![[16, 40, 8]];
    let tuned = |candidates: &Candidates, name: &str| {
        let tuning = calibrated(&device, candidates, Some(&cache), name).unwrap();
        assert!(candidates.tiles.contains(&tuning), "{tuning:?}");
        tuning
    };
    let files = || fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect::<Vec<_>>();

    let first = tuned(&candidates, "one device");
    let kept = files();
    assert_eq!(kept.len(), 1);
    assert_eq!(tuned(&candidates, "one device"), first);
    assert_eq!(files(), kept, "it was kept");
    tuned(&candidates, "another device");
    assert_eq!(files().len(), 2, "each has its own");

    fs::write(&kept[0], b"damaged").unwrap();
    tuned(&candidates, "one device");
    assert!(fs::read(&kept[0]).unwrap().len() > 32, "it was found again");

    candidates.tiles.swap(0, 1);
    tuned(&candidates, "one device");
    assert_eq!(files().len(), 3, "it was found among others");
}

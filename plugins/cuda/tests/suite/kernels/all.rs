//! All kernels of all cases, on each architecture in a test of its own: the compiler does one thing at a time, tests do
//! not.

use std::{
    env,
    fs::{self, File},
    path::Path,
};

use proctor_device::program::{Tuning, call::Kernel};
use proctor_device_cases::{few, models, operators, recurrent};
use proctor_vocabulary::ElementType;

use super::{
    Compiled, Needed, compiled, compiler,
    page::{Kept, page, path},
};

/// As many calls as steps, for layers of any size.
const STEPS: Tuning = Tuning { recurrent_step_bytes: 0, ..Tuning::GPU };

/// Products for a library.
const LIBRARY: Tuning = Tuning { has_library: true, ..Tuning::GPU };

/// The kernels that all cases need on a graphics processor, with the items of their largest group.
fn needed() -> Vec<(Kernel, usize)> {
    let mut needed = Needed::default();
    for model in models::DIGITS {
        needed.add(models::trained(model, &[1, 5, 32]), None, &[Tuning::GPU]);
    }
    for model in models::GENERATED {
        needed.add(models::generated(model), None, &[Tuning::GPU]);
    }
    for cases in [operators::convolutions_of_parts(), operators::windows(), operators::products()] {
        needed.add(cases, None, &[LIBRARY]);
    }
    for cases in [
        few::all(),
        operators::convolutions_of_parts(),
        operators::windows(),
        operators::products(),
        operators::attention(),
        operators::clipped_integers(),
        operators::not_numbers(),
    ] {
        needed.add(cases, None, &[Tuning::GPU]);
    }
    needed.add(recurrent::large_layers(), None, &[Tuning::GPU]);
    for cases in
        [recurrent::layers(), recurrent::lengths(), recurrent::batch_first(), recurrent::single_results()]
    {
        needed.add(cases, None, &[Tuning::GPU, STEPS]);
    }
    for element in [ElementType::F16, ElementType::Bf16] {
        let cases = [
            models::trained("digits-lstm", &[5]),
            models::generated("mobilenet-v1-tiny"),
            models::generated("resnet50-tiny"),
            models::generated("bert-tiny"),
            few::narrow(),
            operators::rows(),
            operators::attention(),
        ];
        for cases in cases {
            needed.add(cases, Some(element), &[Tuning::GPU]);
        }
    }
    needed.in_order()
}

/// Asserts that all kernels compile for an architecture and fit there, and that its cells of the page are right.
fn assert_as_on_the_page(architecture: &str) {
    let Some(compiler) = compiler() else { return };
    let needed = needed().into_iter();
    let all: Vec<Compiled> = needed.map(|kernel| compiled(&compiler, kernel, architecture)).collect();
    if env::var_os("PROCTOR_WRITE_CUDA_KERNELS").is_some() {
        // The tests of the others write theirs to the same file.
        let folder = File::open(path().parent().unwrap_or(Path::new("."))).unwrap();
        folder.lock().unwrap();
        fs::write(path(), page(&all, architecture, &Kept::read())).unwrap();
    }
    assert!(
        fs::read_to_string(path()).unwrap_or_default() == page(&all, architecture, &Kept::read()),
        "docs/cuda-kernels.md is stale: write it anew by \
         PROCTOR_WRITE_CUDA_KERNELS=1 cargo nextest run --workspace --profile cuda-kernels"
    );
}

#[test]
fn every_kernel_compiles_and_fits_on_sm_75() {
    assert_as_on_the_page("sm_75");
}

#[test]
fn every_kernel_compiles_and_fits_on_sm_80() {
    assert_as_on_the_page("sm_80");
}

#[test]
fn every_kernel_compiles_and_fits_on_sm_90() {
    assert_as_on_the_page("sm_90");
}

#[test]
fn every_kernel_compiles_and_fits_on_sm_100() {
    assert_as_on_the_page("sm_100");
}

//! The device of a test, and the cases that it computes.

use opencl_sut::{OpenCl, OpenError, devices};
use parking_lot::{Mutex, MutexGuard};
use proctor_device::program::Tuning;
use proctor_device_cases::Case;

/// Held by each test that has a device: where tests are threads of one process, as under `cargo test`, PoCL crashes at
/// times while it compiles for several contexts at once.
static ALONE: Mutex<()> = Mutex::new(());

/// Ways to plan: for the device at hand, for a graphics processor, and for one with a library of products, which
/// this device computes by the kernel of products with matrices as they lie for the library.
pub const TUNINGS: [Tuning; 3] =
    [Tuning::PROCESSOR, Tuning::GPU, Tuning { has_library: true, ..Tuning::GPU }];

/// The device for a test alone, or nothing where there is none, after saying so.
pub fn device() -> Option<(OpenCl, MutexGuard<'static, ()>)> {
    let alone = ALONE.lock();
    match devices() {
        Ok(devices) => Some((OpenCl::open(&devices[0]).expect("the first device can be opened"), alone)),
        Err(OpenError::Failed(error)) => panic!("{error}"),
        Err(error) => {
            proctor_test_needs::skip(error);
            None
        }
    }
}

/// Asserts that the device computes these cases, with each tuning.
pub fn assert_computed(cases: &[Case], tunings: &[Tuning]) {
    let Some((device, _alone)) = device() else { return };
    cases.iter().for_each(|case| case.check(&device, tunings));
}

//! Values as the header means them.

use proctor_nifti_file::{AxisOrder, Image};

use crate::{plain, with};

/// Where the header has `scl_slope`; `scl_inter` follows.
const SLOPE: usize = 112;

fn values(file: &[u8]) -> Vec<f32> {
    Image::parse(file).unwrap().to_f32(AxisOrder::FirstSlowest).unwrap().into_values()
}

fn scaled(slope: f32, intercept: f32) -> Vec<f32> {
    values(&with(SLOPE, &[slope.to_le_bytes(), intercept.to_le_bytes()].concat()))
}

#[test]
fn slope_and_intercept_make_values_of_what_is_stored() {
    let stored = values(&plain());
    assert!(stored.contains(&-100.0) && stored.contains(&313.0), "{stored:?}");
    for (slope, intercept) in [(1.0, -1024.0), (2.0, 0.0), (-0.5, 3.0)] {
        let expected: Vec<_> = stored.iter().map(|value| value * slope + intercept).collect();
        assert_eq!(scaled(slope, intercept), expected, "{slope} and {intercept}");
    }
    // A slope of 0 says that there is no scaling.
    assert_eq!(scaled(0.0, 7.0), stored);
}

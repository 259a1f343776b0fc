//! A small set of scans with recognisable organs.

use std::path::Path;

use proctor_datasets::DatasetError;
use proctor_recipes::Stream;

use crate::{
    generate::{Generate, make_folder},
    kits::{IMAGING, SEGMENTATION, case_name},
    volumes::{Ball, write_volume},
};

/// Intensities of background, kidney and tumour, without the noise.
const INTENSITIES: [i16; 3] = [-60, 150, 250];
/// Maximum that noise adds to or subtracts from a voxel.
const NOISE: u32 = 10;

/// Makes a small set in the layout of the published one. Equal requests make equal bytes.
///
/// The known answer: a voxel above 45 is of the kidney, above 200 of the tumour. The kidney is a ball, and the tumour a
/// smaller one inside. Extents and distances between voxels differ by case, so that prepared volumes have 128 voxels
/// along most axes and 192 along some.
///
/// # Errors
/// If the folder is not empty, or cannot be written.
pub fn generate(folder: &Path, request: &Generate) -> Result<(), DatasetError> {
    request.begin(folder)?;
    let stream = Stream::new(request.seed, "kits19");
    for index in 0..request.sample_count {
        let case = folder.join(case_name(index));
        make_folder(&case)?;
        write_case(&case, index, stream.of_sample(index))?;
    }
    Ok(())
}

fn write_case(case: &Path, index: u64, stream: Stream) -> Result<(), DatasetError> {
    let between = |position: u64, least: f64, most: f64| least + stream.unit(position) * (most - least);
    // Slices of 5 mm reach further than 160 mm in every third case.
    let (slices, slice_mm) = if index % 3 == 2 {
        (54 + stream.below(0, 6), 5.0)
    } else {
        (32 + stream.below(0, 16), between(1, 2.0, 3.5))
    };
    let shape = [slices, 56 + stream.below(2, 24), 56 + stream.below(3, 24)].map(|extent| extent as usize);
    let in_plane_mm = between(4, 0.7, 1.0) as f32;
    let spacing_mm = [slice_mm as f32, in_plane_mm, in_plane_mm];
    let size_mm: [f64; 3] =
        std::array::from_fn(|axis| (shape[axis] - 1) as f64 * f64::from(spacing_mm[axis]));
    let radius_mm = between(5, 0.3, 0.4) * size_mm.iter().copied().fold(f64::INFINITY, f64::min);
    let middle_mm =
        std::array::from_fn(|axis| between(6 + axis as u64, radius_mm, size_mm[axis] - radius_mm));
    let kidney = Ball { middle_mm, radius_mm };
    let tumour_mm = radius_mm * between(9, 0.45, 0.6);
    let off_mm = (radius_mm - tumour_mm) / 3.0;
    let tumour = Ball { middle_mm: middle_mm.map(|middle| middle + off_mm), radius_mm: tumour_mm };
    // The tumour may reach no further than the kidney, wherever its middle is.
    let label =
        |at| if kidney.holds(at, spacing_mm) { 1 + u8::from(tumour.holds(at, spacing_mm)) } else { 0 };
    let noise = stream.of_sample(0);
    let scan = |at: [usize; 3]| {
        let position = (at[0] * shape[1] + at[1]) * shape[2] + at[2];
        let noise = noise.below(position as u64, 2 * NOISE + 1) as i16 - NOISE as i16;
        INTENSITIES[usize::from(label(at))] + noise
    };
    write_volume(&case.join(IMAGING), shape, spacing_mm, scan)?;
    write_volume(&case.join(SEGMENTATION), shape, spacing_mm, label)
}

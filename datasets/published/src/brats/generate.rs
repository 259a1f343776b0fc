//! A small set of brains with recognisable tumours.

use std::{fmt::Write, path::Path};

use proctor_datasets::DatasetError;
use proctor_recipes::Stream;

use crate::{
    brats::{GROUPS, LIST, MODALITIES, SEPARATOR, file_of},
    generate::{Generate, make_folder, write_file},
    volumes::{Ball, write_volume},
};

/// Distances between voxels, as in the published set.
const SPACING_MM: [f32; 3] = [1.0; 3];
/// Intensities of a modality (in the order of [`MODALITIES`]) in the brain, in edema, in the dead core, and in the
/// enhancing tumour.
const INTENSITIES: [[i16; 4]; 4] =
    [[300, 250, 200, 250], [200, 200, 150, 600], [200, 300, 500, 500], [200, 500, 500, 500]];
/// Labels of the same parts.
const LABELS: [u8; 4] = [0, 2, 1, 4];
/// Maximum that noise adds to or subtracts from a voxel.
const NOISE: u32 = 20;

/// Makes a small set in the layout of the published one, with a list. Equal requests make equal bytes.
///
/// The known answer: the whole tumour is above 350 in flair, its core in t2, and the enhancing part in t1ce. They are
/// balls around one middle, in a brain that is a ball and 0 outside. Cases are of HGG and LGG in turn.
///
/// # Errors
/// If the folder is not empty, or cannot be written.
pub fn generate(folder: &Path, request: &Generate) -> Result<(), DatasetError> {
    request.begin(folder)?;
    let stream = Stream::new(request.seed, "brats19");
    let mut list = String::new();
    for (index, group) in (0..request.sample_count).zip(GROUPS.into_iter().cycle()) {
        let name = format!("{group}{SEPARATOR}BraTS19_Made_{index:03}_1");
        make_folder(file_of(folder, &name, "").parent().unwrap_or(folder))?;
        write_case(folder, &name, stream.of_sample(index))?;
        writeln!(list, "{name}").expect("writing to a string cannot fail");
    }
    write_file(&folder.join(LIST), list.as_bytes())
}

fn write_case(folder: &Path, name: &str, stream: Stream) -> Result<(), DatasetError> {
    let shape = [0, 1, 2].map(|axis| (56 + stream.below(axis, 16)) as usize);
    let middle_mm = shape.map(|extent| extent as f64 / 2.0);
    let brain = Ball { middle_mm, radius_mm: 24.0 };
    let off = |position| stream.unit(position) * 8.0 - 4.0;
    let middle_mm = [middle_mm[0] + off(3), middle_mm[1] + off(4), middle_mm[2] + off(5)];
    let radius_mm = 10.0 + stream.unit(6) * 4.0;
    let ball = |share: f64| Ball { middle_mm, radius_mm: radius_mm * share };
    let [whole, core, enhancing] = [1.0, 0.7, 0.4].map(ball);
    let holds = |ball: Ball, at| usize::from(ball.holds(at, SPACING_MM));
    let part = |at| holds(whole, at) + holds(core, at) + holds(enhancing, at);
    for (index, modality) in (0..).zip(MODALITIES) {
        let noise = stream.of_sample(index);
        write_volume(&file_of(folder, name, modality), shape, SPACING_MM, |at| {
            if !brain.holds(at, SPACING_MM) {
                return 0;
            }
            let position = (at[0] * shape[1] + at[1]) * shape[2] + at[2];
            let noise = noise.below(position as u64, 2 * NOISE + 1) as i16 - NOISE as i16;
            INTENSITIES[index as usize][part(at)] + noise
        })?;
    }
    write_volume(&file_of(folder, name, "seg"), shape, SPACING_MM, |at| LABELS[part(at)])
}

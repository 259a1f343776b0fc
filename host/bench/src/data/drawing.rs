//! Pictures that compress like photographs: clouds, with grain on them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use proctor_words::{HostError, output};
use rand::{Rng, SeedableRng, rngs::StdRng};

/// Distance of the points of a layer in pixels, and its strength; the coarse ones are the stronger.
const LAYERS: [(usize, f32); 8] =
    [(128, 1.0), (64, 0.6), (32, 0.4), (16, 0.25), (8, 0.16), (4, 0.1), (2, 0.09), (1, 0.07)];

/// JPEG quality of data set photographs.
const QUALITY: u8 = 95;

/// Draws JPEG files of this width, with sides in the ratio of 4 to 3, into a folder.
///
/// # Errors
/// If a file cannot be written.
pub(super) fn draw(folder: &Path, width: u16, count: u32) -> Result<Vec<PathBuf>, HostError> {
    let write = |number: u32| {
        let path = folder.join(format!("{width}-{number}.jpg"));
        fs::write(&path, picture(width, number)).map_err(|source| output(&path, source))?;
        Ok(path)
    };
    (1..=count).map(write).collect()
}

/// Returns a file, from a seed.
fn picture(width: u16, seed: u32) -> Vec<u8> {
    let height = width / 4 * 3;
    let (columns, rows) = (usize::from(width), usize::from(height));
    let mut random = StdRng::seed_from_u64(seed.into());
    let mut random = move || f32::from(random.random::<u8>());
    let mut sums = vec![[0.0_f32; 3]; columns * rows];
    for (grain, strength) in LAYERS {
        let across = columns / grain + 2;
        let mut point = |_| {
            let grey = random();
            [0; 3].map(|_| strength * (0.7 * grey + 0.3 * random() - 128.0))
        };
        let points: Vec<[f32; 3]> = (0..across * (rows / grain + 2)).map(&mut point).collect();
        for (place, sum) in sums.iter_mut().enumerate() {
            let (x, y) = (place % columns, place / columns);
            let first = y / grain * across + x / grain;
            let part = |of: usize| (of % grain) as f32 / grain as f32;
            let (right, down) = (part(x), part(y));
            for (channel, sum) in sum.iter_mut().enumerate() {
                let blend = |at: usize| points[at][channel] * (1.0 - right) + points[at + 1][channel] * right;
                *sum += blend(first) * (1.0 - down) + blend(first + across) * down;
            }
        }
    }
    let pixels: Vec<u8> =
        sums.as_flattened().iter().map(|sum| (sum * 0.6 + 128.0).clamp(0.0, 255.0) as u8).collect();
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, QUALITY);
    encoder.set_sampling_factor(SamplingFactor::F_2_2);
    encoder.encode(&pixels, width, height, ColorType::Rgb).expect("the sides are those of the pixels");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_picture_takes_as_many_bytes_as_a_photograph() {
        let bytes = picture(500, 3);
        let header = proctor_jpeg_file::Header::read(&bytes).unwrap();
        assert_eq!((header.width, header.height), (500, 375));
        // Those of ImageNet take 2.7 bits for a pixel.
        let bits = 8.0 * bytes.len() as f64 / (500.0 * 375.0);
        assert!((1.5..5.0).contains(&bits), "{bits}");
        assert_ne!(bytes, picture(500, 4));
    }
}

//! Draws and encodes pictures, and checks existing ones.

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    path::{Path, PathBuf},
};

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use proctor_jpeg_file::Header;
use proctor_recipes::Stream;
use proctor_vocabulary::read_regular;

use crate::defect::{Defect, Problem};

/// Brightness that only drawn parts exceed.
const BACKGROUND: u32 = 24;

/// Quality of the coded pictures, from 1 to 100: decoded areas keep their colours within a few steps.
const QUALITY: u8 = 95;

/// A picture of three bytes a pixel: red, green, blue.
pub(crate) struct Picture {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 3]>,
}

/// A rectangle of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) left: usize,
    pub(crate) top: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// How a picture is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Coded {
    pub(crate) sampling: SamplingFactor,
    pub(crate) is_progressive: bool,
    pub(crate) is_grey: bool,
    /// Stored turned by 90 degrees, with the EXIF tag that says so.
    pub(crate) is_turned: bool,
}

impl Picture {
    /// Creates dark noise.
    pub(crate) fn dark(width: usize, height: usize, stream: Stream) -> Self {
        // Four pixels side by side are one grain, which compresses.
        let grains = width.div_ceil(4) as u64;
        let grain = |x: usize, y: usize| stream.below((y as u64 / 4) * grains + x as u64 / 4, BACKGROUND);
        let pixel = |x, y| [u8::try_from(grain(x, y)).expect("it is dark"); 3];
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| pixel(x, y))).collect();
        Self { width, height, pixels }
    }

    /// Fills an area, which lies within the picture.
    pub(crate) fn fill(&mut self, area: Area, colour: [u8; 3]) {
        for row in self.pixels.chunks_exact_mut(self.width).skip(area.top).take(area.height) {
            row[area.left..area.left + area.width].fill(colour);
        }
    }

    /// Turns the picture by 90 degrees anticlockwise: the last column becomes the first row.
    fn turned(&self) -> Self {
        let columns = (0..self.width).rev();
        let pixels = columns.flat_map(|x| (0..self.height).map(move |y| self.pixels[y * self.width + x]));
        Self { width: self.height, height: self.width, pixels: pixels.collect() }
    }

    /// Returns the file of the picture. Its sides have at most 16 bits.
    pub(crate) fn encode(&self, coded: Coded) -> Vec<u8> {
        if coded.is_turned {
            return self.turned().encode_as_stored(coded);
        }
        self.encode_as_stored(coded)
    }

    fn encode_as_stored(&self, coded: Coded) -> Vec<u8> {
        // A TIFF file of one directory with one entry: orientation 6, to be turned by 90 degrees clockwise.
        const TURN_RIGHT: &[u8] =
            b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        const IN_MEMORY: &str = "a picture of sides of 16 bits is coded into memory";
        let mut file = Vec::new();
        let mut encoder = Encoder::new(&mut file, QUALITY);
        encoder.set_sampling_factor(coded.sampling);
        encoder.set_progressive(coded.is_progressive);
        encoder.set_optimized_huffman_tables(true);
        if coded.is_turned {
            encoder.add_app_segment(1, TURN_RIGHT.to_vec()).expect("it is short");
        }
        let sides = [self.width, self.height].map(|side| u16::try_from(side).expect(IN_MEMORY));
        let (data, colour) = if coded.is_grey {
            (self.pixels.iter().map(|pixel| grey(*pixel)).collect(), ColorType::Luma)
        } else {
            (self.pixels.as_flattened().to_vec(), ColorType::Rgb)
        };
        encoder.encode(&data, sides[0], sides[1], colour).expect(IN_MEMORY);
        file
    }
}

/// Returns the brightness of a colour, as in JPEG.
fn grey([red, green, blue]: [u8; 3]) -> u8 {
    let sum = 299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue);
    u8::try_from(sum / 1000).expect("it is an average")
}

/// Checks the header and the end of a picture.
///
/// # Errors
/// Returns the defect of the file.
pub(crate) fn check_picture(path: &Path) -> Result<Header, Defect> {
    let defect = |problem| Defect { path: path.to_owned(), problem };
    let bytes = read_regular(path).map_err(|error| defect(Problem::of_reading(path, &error)))?;
    Header::read(&bytes).map_err(|error| defect(error.into()))
}

/// Finds pictures in the folder that the list does not name.
pub(crate) fn pictures_not_listed(listed: &[PathBuf], listed_in: &'static str) -> Vec<Defect> {
    let known: HashSet<&Path> = listed.iter().map(PathBuf::as_path).collect();
    let folders: BTreeSet<&Path> = listed.iter().filter_map(|path| path.parent()).collect();
    let mut others = BTreeSet::new();
    for folder in folders {
        // A folder that is not there has been found by its files.
        let Ok(entries) = fs::read_dir(folder) else { continue };
        others.extend(entries.flatten().map(|entry| entry.path()).filter(|path| {
            let is_picture = path.extension().is_some_and(|extension| {
                extension.eq_ignore_ascii_case("jpg") || extension.eq_ignore_ascii_case("jpeg")
            });
            is_picture && !known.contains(path.as_path())
        }));
    }
    others.into_iter().map(|path| Defect { path, problem: Problem::NotListed { listed_in } }).collect()
}

#[cfg(test)]
mod tests {
    use proctor_jpeg_file::{Coding, Orientation};

    use super::*;

    #[test]
    fn a_turned_picture_says_so_and_has_its_sides_exchanged() {
        let picture = Picture::dark(40, 30, Stream::new(1, "test"));
        let mut coded =
            Coded { sampling: SamplingFactor::F_2_2, is_progressive: false, is_grey: false, is_turned: true };
        let header = Header::read(&picture.encode(coded)).unwrap();
        assert_eq!((header.width, header.height, header.orientation), (30, 40, Orientation::TurnRight));
        assert_eq!(header.upright_size(), (40, 30));
        coded = Coded { is_turned: false, is_progressive: true, is_grey: true, ..coded };
        let header = Header::read(&picture.encode(coded)).unwrap();
        assert_eq!((header.width, header.component_count, header.coding), (40, 1, Coding::Progressive));
    }

    #[test]
    fn turning_goes_anticlockwise() {
        let pixels = (0..6).map(|value| [value; 3]).collect();
        let turned = Picture { width: 3, height: 2, pixels }.turned();
        assert_eq!((turned.width, turned.height), (2, 3));
        assert_eq!(turned.pixels.iter().map(|pixel| pixel[0]).collect::<Vec<_>>(), [2, 5, 1, 4, 0, 3]);
    }
}

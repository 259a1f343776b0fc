//! A small set of pictures with recognisable classes.

use std::{fmt::Write, path::Path};

use jpeg_encoder::SamplingFactor;
use proctor_datasets::DatasetError;
use proctor_recipes::Stream;

use crate::{
    generate::{Generate, write_file},
    imagenet::{CLASS_COUNT, LIST},
    images::{Area, Coded, Picture},
};

/// Colours of the three lit fields, from the top: reddish, greenish, bluish.
const COLOURS: [[u8; 3]; 3] = [[255, 96, 96], [96, 255, 96], [96, 96, 255]];

/// Number of fields side by side, one for each digit.
const DIGITS: usize = 10;

/// Makes a small set in the layout of the published one. Equal requests make equal bytes.
///
/// The known answer: in the middle of each picture is a square, 3/4 of its short side long, that is dark but for one
/// lit field in each of its three rows of ten. Their places, counted from 0 on the left, are the digits of the class:
/// hundreds in the upper row, tens, and ones in the lower. So the class is there after any centre crop to 7/8. Sides
/// are 100 to 500 pixels long, odd ones among them; among any eight pictures one is grey, one progressive, one turned
/// by EXIF, and the colours of the others have full or half as many samples.
///
/// # Errors
/// If the folder is not empty, or cannot be written.
pub fn generate(folder: &Path, request: &Generate) -> Result<(), DatasetError> {
    request.begin(folder)?;
    let stream = Stream::new(request.seed, "imagenet");
    let mut list = String::new();
    for number in 0..request.sample_count {
        let stream = stream.of_sample(number);
        let class = stream.below(0, u32::try_from(CLASS_COUNT).expect("it is a thousand"));
        let name = format!("ILSVRC2012_val_{:08}.JPEG", number + 1);
        write_file(&folder.join(&name), &picture(class, number, stream))?;
        writeln!(list, "{name} {class}").expect("writing to a string cannot fail");
    }
    write_file(&folder.join(LIST), list.as_bytes())
}

/// Returns the file of a picture of this class.
fn picture(class: u32, number: u64, stream: Stream) -> Vec<u8> {
    let least = if number % 8 == 7 { 100 } else { 280 };
    let side = |position| (least + stream.below(position, 221)) as usize;
    let (width, height) = (side(1), side(2));
    let mut picture = Picture::dark(width, height, stream.of_sample(0));
    let square = width.min(height) * 3 / 4;
    let (left, top) = ((width - square) / 2, (height - square) / 2);
    let digits = [class / 100, class / 10 % 10, class % 10].map(|digit| digit as usize);
    for (row, (digit, colour)) in digits.into_iter().zip(COLOURS).enumerate() {
        // From edge to edge, so that fractions of pixels do not add up.
        let edge = |place, count| place * square / count;
        let area = Area {
            left: left + edge(digit, DIGITS),
            top: top + edge(row, COLOURS.len()),
            width: edge(digit + 1, DIGITS) - edge(digit, DIGITS),
            height: edge(row + 1, COLOURS.len()) - edge(row, COLOURS.len()),
        };
        picture.fill(area, colour);
    }
    let samplings = [SamplingFactor::F_2_2, SamplingFactor::F_2_1, SamplingFactor::F_1_1];
    picture.encode(Coded {
        sampling: samplings[(number % 3) as usize],
        is_progressive: number % 8 == 2,
        is_grey: number % 8 == 4,
        is_turned: number % 8 == 5,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn equal_requests_make_equal_bytes_and_other_seeds_other_classes() {
        let make = |seed| {
            let folder = tempfile::tempdir().unwrap();
            generate(folder.path(), &Generate { seed, sample_count: 9 }).unwrap();
            let mut paths: Vec<_> =
                fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
            paths.sort();
            assert_eq!(paths.len(), 11, "nine pictures, the list and the note");
            paths.iter().map(|path| fs::read(path).unwrap()).collect::<Vec<_>>()
        };
        let first = make(1);
        assert!(first == make(1));
        assert_ne!(first[9], make(2)[9]);
    }
}
